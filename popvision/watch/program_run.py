"""Runs of one program, each forked from a warm process (`popvision.watch.warm_process`) and watched until its end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popvision.sweep.point_process import die_with
from popvision.sweep.process_tree import end_descendants
from popvision.sweep.profiled_child import profiling_environment
from popvision.watch.limits import Limits
from popvision.watch.saved_source import Problem

#: Seconds between two looks at a running program.
LOOK = 0.05

#: Seconds that imports of the warm process may take.
_IMPORT_SECONDS = 120.0

#: Characters of the output's end that are shown.
_TAIL = 4_000

#: Reports that a program needs for figures of its lines; its user's own options go before these.
_OPTIONS = {"autoReport.outputArchive": "false", "autoReport.outputSerializedGraph": "false"}


@dataclass(frozen=True)
class Ended:
    """A run: its folder, the end of its output, the user's own files that it imported, and why it failed."""

    folder: Path
    output: str
    files: list[str]
    problem: Problem | None


class _LostError(Exception):
    """The warm process is gone."""


class ProgramRuns:
    """Runs `program` with `arguments`; the options in `options` go before those of the watch. What imports write into
    the folder of temporary files comes to `scratch`. Not thread-safe."""

    def __init__(
        self, program: str, arguments: Sequence[str], limits: Limits, options: dict[str, object], scratch: Path
    ) -> None:
        self._scratch = scratch
        self._program, self._arguments, self._limits, self._options = program, list(arguments), limits, options
        self._modules: list[str] = []
        self._imported: set[str] = set()
        self._may_import = True
        self._warm: subprocess.Popen[str] | None = None
        self._is_ready = False
        self._nice = os.getpriority(os.PRIO_PROCESS, 0)

    def run(self, folder: Path, is_cancelled: Callable[[], bool]) -> Ended | None:
        """Run the program with its reports in `folder`, which must be new. None when it was cancelled."""
        folder.mkdir(mode=0o700)
        (folder / "temporary").mkdir()
        (folder / "output.txt").touch(mode=0o600)
        try:
            warm = self._ready()
            self._order(warm, self._run_order(folder))
            code, broken = self._follow(warm, folder, is_cancelled)
        except _LostError:
            self.close()
            return self._ended(folder, None, "The process that runs the program ended unexpectedly; save again.")
        if code is None and not broken:
            return None
        ended = self._ended(folder, code, broken)
        if not set(self._modules) <= self._imported and self._may_import:
            self.close()
        self._start()
        return ended

    def close(self) -> None:
        """End the warm process and all below it."""
        if self._warm is None:
            return
        end_descendants(self._warm.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._warm.pid, signal.SIGKILL)
        self._warm.wait()
        for stream in (self._warm.stdin, self._warm.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._warm, self._is_ready = None, False

    def _start(self) -> subprocess.Popen[str]:
        """The warm process, started where there is none; it imports what the last run did."""
        if self._warm is not None:
            return self._warm
        parent = os.getpid()
        self._scratch.mkdir(mode=0o700, exist_ok=True)
        paths = profiling_environment(".", trace=False)["PYTHONPATH"]
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "popvision.watch.warm_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(self._scratch)},
            preexec_fn=lambda: die_with(parent),
        )
        modules = self._modules if self._may_import else []
        self._order(self._warm, {"program": self._program, "modules": modules, "nice": self._nice})
        return self._warm

    def _ready(self) -> subprocess.Popen[str]:
        for _ in range(2):
            warm = self._start()
            if self._is_ready:
                return warm
            answer = self._answer(warm, time.monotonic() + _IMPORT_SECONDS)
            if "ready" in answer:
                self._is_ready, self._imported = True, {*answer["ready"], *self._modules}
                return warm
            self.close()
            self._may_import = False
        raise _LostError

    def _run_order(self, folder: Path) -> dict[str, Any]:
        environment, arguments = run_environment(folder, self._options), self._arguments
        return {"folder": str(folder), "arguments": arguments, "environment": environment, "disk": self._limits.disk}

    def _follow(self, warm: subprocess.Popen[str], folder: Path, is_cancelled: Callable[[], bool]) -> Any:
        """(exit code, the limit that was broken) of the program at its end; (None, "") when it was cancelled."""
        began, broken, cancelled = time.monotonic(), "", False
        assert warm.stdout is not None
        while not select.select([warm.stdout], [], [], LOOK)[0]:
            broken = broken or self._limits.broken_by(warm.pid, folder, time.monotonic() - began)
            cancelled = cancelled or is_cancelled()
            if broken or cancelled:
                end_descendants(warm.pid)
        code = self._answer(warm, time.monotonic() + _IMPORT_SECONDS)["code"]
        end_descendants(warm.pid)  # what the program left behind
        return (None, "") if cancelled and not broken else (code, broken)

    def _order(self, warm: subprocess.Popen[str], order: dict[str, Any]) -> None:
        assert warm.stdin is not None
        try:
            warm.stdin.write(json.dumps(order) + "\n")
            warm.stdin.flush()
        except OSError:
            raise _LostError from None

    def _answer(self, warm: subprocess.Popen[str], ends: float) -> dict[str, Any]:
        assert warm.stdout is not None
        if not select.select([warm.stdout], [], [], max(0.0, ends - time.monotonic()))[0]:
            raise _LostError
        try:
            answer = json.loads(warm.stdout.readline())
        except (OSError, ValueError):
            raise _LostError from None
        return dict(answer)

    def _ended(self, folder: Path, code: int | None, broken: str) -> Ended:
        facts = _read_outcome(folder / "outcome.json")
        modules, files = facts.get("modules"), facts.get("files")
        if isinstance(modules, list) and modules:
            self._modules = modules
        problem = Problem(broken) if broken else _problem(facts.get("problem"), code)
        return Ended(folder, tail(folder / "output.txt"), list(files or []), problem)


def run_environment(folder: Path, options: dict[str, object]) -> dict[str, str]:
    """Variables of a run whose reports and temporary files go to `folder`."""
    environment = profiling_environment(folder, trace=False, options=_OPTIONS | options)
    return environment | {"TMPDIR": str(folder / "temporary")}


def _read_outcome(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _problem(facts: dict[str, Any] | None, code: int | None) -> Problem | None:
    """The exception that ended the program, else its exit code."""
    if facts is None:
        return exit_problem(code)
    kind, text = str(facts["kind"]), str(facts["text"])[:1000]
    sentence = f"{kind}: {text}" if text else kind
    if kind == "EOFError":
        sentence = "The program asks for input, which a watched program has none of (EOFError)."
    return Problem(sentence, str(facts["file"]), int(facts["line"]))


def exit_problem(code: int | None) -> Problem | None:
    """An exit code or signal as a sentence; None for 0."""
    if not code:
        return None
    ending = f"exit code {code}" if code > 0 else signal.Signals(-code).name
    hint = " It wrote a file beyond the limit (--disk)." if code == -signal.SIGXFSZ else ""
    return Problem(f"The program ended by {ending}.{hint}")


def tail(path: Path) -> str:
    """The end of a program's output."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
