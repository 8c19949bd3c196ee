"""Points as tasks of job arrays of Slurm, whose nodes see the sweep's folder under the same path.

Arrays follow one another, since Slurm bounds the length of one (MaxArraySize); `%N` bounds how many tasks run at once.
The command waits for the arrays and counts the points that appear in the folder; interrupted, it cancels them. Killed,
it leaves them to run: a next start refuses until they are over, and then goes on."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from popvision.sweep.dask_cluster import worker_problem
from popvision.sweep.plan import Limits, Point, SweepError
from popvision.sweep.sweep_folder import SweepFolder
from popvision.sweep.worker import worker_command

#: Tasks of one array, where Slurm allows as many.
MOST_TASKS = 1000

_LOOK_SECONDS = 1.0


class SlurmRunner:
    """Runs points as job arrays, as `run_sweep` wants it. `options` are further ones of sbatch."""

    def __init__(self, options: str = "") -> None:
        """Raises SweepError for options that no shell could read."""
        try:
            self._options = shlex.split(options)
        except ValueError as problem:
            raise SweepError(f"the options of Slurm {options!r} cannot be read: {problem}.") from None

    def __call__(
        self,
        points: Sequence[Point],
        folder: SweepFolder,
        limits: Limits,
        at_once: int | None,
        on_result: Callable[[dict[str, Any]], None],
    ) -> None:
        """Run the points, `at_once` together (by default as many as Slurm has room for). Raises SweepError."""
        _check_configuration()
        self._check_no_job(folder)
        size = min(MOST_TASKS, _most_tasks()) if points else 1
        for begin in range(0, len(points), size):
            self._run_array(points[begin : begin + size], folder, limits, at_once, on_result)

    @staticmethod
    def _check_no_job(folder: SweepFolder) -> None:
        path = folder.root / "slurm-job"
        job = path.read_text().strip() if path.exists() else ""
        if job and _is_queued(job):
            raise SweepError(
                f"the job array {job} of an earlier start still runs points of {folder.root}; wait for it, or end it "
                f"with scancel {job}."
            )

    def _run_array(
        self,
        points: Sequence[Point],
        folder: SweepFolder,
        limits: Limits,
        at_once: int | None,
        on_result: Callable[[dict[str, Any]], None],
    ) -> None:
        digests = [point.digest for point in points]
        (folder.root / "waiting").write_text("".join(f"{digest}\n" for digest in digests))
        for path in folder.root.glob("slurm-*.out"):
            path.unlink()
        before = set(folder.ended())
        job = self._submit(folder, limits, len(points), at_once)
        (folder.root / "slurm-job").write_text(job)
        try:
            left = set(digests) - before
            is_queued = True
            while left and is_queued:
                is_queued = _is_queued(job)  # before the look, so that the last points are counted
                ended = folder.ended()
                for digest in left & set(ended):
                    on_result(folder.read_point(ended[digest]))
                left -= set(ended)
                if left and is_queued:
                    time.sleep(_LOOK_SECONDS)
        except BaseException:
            with contextlib.suppress(SweepError):
                _call("scancel", job)
            raise
        if left:
            raise SweepError(_unended(folder, job, len(left)))

    def _submit(self, folder: SweepFolder, limits: Limits, count: int, at_once: int | None) -> str:
        command = worker_command(folder, "@", limits)
        words = " ".join('"$digest"' if word == "@" else shlex.quote(word) for word in command)
        script = (
            "#!/bin/sh\n"
            f'digest=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {shlex.quote(str(folder.root / "waiting"))})\n'
            f"exec {words}\n"
        )
        array = f"--array=0-{count - 1}" + (f"%{at_once}" if at_once else "")
        output = f"--output={folder.root}/slurm-%A_%a.out"
        return _call("sbatch", "--parsable", array, output, *self._options, script=script).strip().partition(";")[0]


def _check_configuration() -> None:
    """Raise SweepError where SLURM_CONF names no file: Slurm's own commands would look for it during a minute."""
    path = os.environ.get("SLURM_CONF")
    if path and not Path(path).is_file():
        raise SweepError(f"Slurm does not answer: SLURM_CONF={path} is no file; is the pod running? (docs/slurm.md)")


def _is_queued(job: str) -> bool:
    try:
        return bool(_call("squeue", "-h", "-j", job, "-o", "%i").strip())
    except SweepError as problem:
        if "Invalid job id" in str(problem):
            return False
        raise


def _most_tasks() -> int:
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", _call("scontrol", "show", "config"), re.MULTILINE)
    return max(1, int(match.group(1)) - 1) if match else MOST_TASKS


def _unended(folder: SweepFolder, job: str, count: int) -> str:
    for path in sorted(folder.root.glob(f"slurm-{job}_*.out")):
        said = _said(path)
        if said not in ("", "null") and not said.startswith("{"):
            return worker_problem(said, "a task of Slurm")
    return f"{count:,} points of the job array {job} did not end: it was cancelled or ran out of time; start again."


def _said(path: Path) -> str:
    return path.read_text(errors="replace").strip()


def _call(*words: str, script: str | None = None) -> str:
    """What a command of Slurm prints. Raises SweepError with its last line."""
    try:
        done = subprocess.run(words, input=script, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SweepError(f"{words[0]} is not installed: --slurm needs Slurm (docs/slurm.md).") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise SweepError(f"Slurm does not answer or refuses: {said[-1].strip()}.")
    return done.stdout
