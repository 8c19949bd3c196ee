"""The folder of a sweep, and the states of its points.

    lock                            flock of the sweep that runs, with its process and host
    points.jsonl                    the points as planned, one JSON object a line
    points/LABEL-DIGEST/            a point that is done: its report, point.json and output.txt
    failed/LABEL-DIGEST/            a point that failed: the same, with its error; a report as far as there is one
    points/.DIGEST.HOST.PID.N/      a point that runs
    waiting, slurm-job, slurm-*.out the points of a job array of Slurm, its id, what its tasks said
    commits/ID/                     files of a commit

A point ends by one rename, from its running folder to its place, so a killed sweep leaves no report that looks whole
and no point ends twice: a second rename of the same point fails, and its folder is removed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from popvision.formats.replacing import replacing
from popvision.sweep.plan import DIGITS, Point, SweepError
from popvision.sweep.process_tree import is_running

DONE, FAILED = "points", "failed"

_POINTS = "points.jsonl"
_NUMBERS = itertools.count()
_DAY = 86_400.0  #: seconds


class SweepFolder:
    """A folder of points below `root`."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one sweep; folders of points that an earlier, killed sweep left running go away.

        Raises SweepError when another sweep holds it, or the path is a file."""
        try:
            self.root.joinpath(DONE).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise SweepError(f"the folder of the sweep, {self.root}, is a file; give another one with -d.") from None
        except OSError as problem:
            raise storage_error(problem, self.root) from None
        with (self.root / "lock").open("a+") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                raise SweepError(
                    f"another sweep ({stream.read(200).strip() or 'just started'}) runs in {self.root}; wait for it, "
                    "or give another folder with -d."
                ) from None
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()}")
            stream.flush()
            self._remove_running()
            try:
                yield
            finally:
                self._remove_running()  # of workers that died

    def _remove_running(self) -> None:
        for folder in self.root.joinpath(DONE).glob(".*"):
            if not _may_run(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def ended(self) -> dict[str, Path]:
        """Digest -> folder of each point that is done or failed. Lists folders, opens none."""
        places: dict[str, Path] = {}
        for kind in (FAILED, DONE):
            with contextlib.suppress(FileNotFoundError), os.scandir(self.root / kind) as entries:
                for entry in entries:
                    digest = entry.name[-DIGITS:]
                    if not entry.name.startswith(".") and entry.name[-DIGITS - 1 : -DIGITS] == "-":
                        places[digest] = Path(entry.path)
        return places

    def forget(self, folders: Iterable[Path]) -> None:
        """Remove points that ended, so that they are run again."""
        for folder in folders:
            shutil.rmtree(folder)

    def write_plan(self, points: Iterable[Point]) -> None:
        """Write points.jsonl."""
        with replacing(self.root / _POINTS) as path, path.open("w") as stream:
            for point in points:
                stream.write(json.dumps(asdict(point)) + "\n")

    def read_point_of_plan(self, digest: str) -> Point:
        """One point of points.jsonl; parses only its line. Raises SweepError when it is not there."""
        path = self.root / _POINTS
        mark = f'"digest": "{digest}"'
        try:
            with path.open() as stream:
                line = next((each for each in stream if mark in each), "")
        except OSError as problem:
            raise SweepError(f"{path} cannot be read: {problem.strerror or problem}.") from None
        if not line:
            raise SweepError(f"{path} holds no point {digest}.")
        return Point(**json.loads(line))

    def begin(self, point: Point) -> Path:
        """A new folder in which the point runs."""
        name = f".{point.digest}.{socket.gethostname()}.{os.getpid()}.{next(_NUMBERS)}"
        folder = self.root / DONE / name
        folder.mkdir(parents=True)
        return folder

    def end(self, point: Point, running: Path, result: dict[str, Any]) -> bool:
        """Write point.json and give the folder its place. False when the point had ended already, or the running
        folder was taken away because the sweep that started it is gone: then nothing remains of this attempt."""
        kind = FAILED if result["error"] else DONE
        place = self.root / kind / f"{point.label}-{point.digest}"
        try:
            with replacing(running / "point.json") as path:
                path.write_text(json.dumps(asdict(point) | result, indent=1) + "\n")
            place.parent.mkdir(exist_ok=True)
            running.rename(place)
        except OSError as problem:
            shutil.rmtree(running, ignore_errors=True)
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise
            return False
        return True

    @staticmethod
    def read_point(folder: Path) -> dict[str, Any]:
        """The point.json of a point that ended. Raises SweepError."""
        try:
            document = json.loads((folder / "point.json").read_text())
        except (OSError, ValueError) as problem:
            raise SweepError(f"{folder / 'point.json'} cannot be read: {problem}.") from None
        if not isinstance(document, dict):
            raise SweepError(f"{folder / 'point.json'} holds no point.")
        return document


def _may_run(folder: Path) -> bool:
    """Whether the process that made a running folder may still be there: on another host, for a day after the last file
    was added."""
    own = re.fullmatch(rf"\.[0-9a-f]+\.{re.escape(socket.gethostname())}\.(\d+)\.\d+", folder.name)
    if own is not None:
        return is_running(int(own.group(1)))
    try:
        return time.time() - folder.stat().st_mtime < _DAY
    except OSError:
        return False


def storage_error(problem: OSError, root: Path) -> SweepError:
    """One sentence about a folder that cannot be written."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return SweepError(
            f"the disk of {root} is full on {socket.gethostname()}; make room and start the sweep again: it goes on "
            "where it stopped."
        )
    return SweepError(f"{problem.filename or root} cannot be written: {problem.strerror or problem}.")
