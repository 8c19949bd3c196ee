"""Runs the points of a sweep that have not ended, a bounded number at once, and counts what became of all."""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popvision.sweep.plan import Limits, Point, Sweep
from popvision.sweep.point_process import CHECK_SECONDS, PointProcess
from popvision.sweep.program_files import PlannedFiles
from popvision.sweep.sweep_folder import DONE, SweepFolder

#: Called as a point ends, with the counts so far.
OnEnd = Callable[["Progress"], None]


@dataclass
class Progress:
    """Counts of points. Those `skipped` had ended before this start; `done` and `failed` count all that have ended."""

    total: int
    skipped: int
    done: int
    failed: int
    began: float  #: of time.monotonic

    @property
    def left(self) -> int:
        """Points that have not ended."""
        return self.total - self.done - self.failed

    @property
    def seconds_left(self) -> float | None:
        """An estimate, at the mean pace since this start; None before the first end."""
        ended = self.done + self.failed - self.skipped
        return (time.monotonic() - self.began) / ended * self.left if ended else None


@dataclass(frozen=True)
class Outcome:
    """A sweep whose points have all ended."""

    folder: Path
    total: int
    skipped: int
    done: int
    failures: list[tuple[Path, str]]  #: folder and error of each point that failed


#: Runs points, each to its end: (points, folder, limits, how many at once or None, called with each result).
Runner = Callable[[Sequence[Point], SweepFolder, Limits, int | None, Callable[[dict[str, Any]], None]], None]


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    at_once: int | None = None,
    retry_failed: bool = False,
    on_end: OnEnd | None = None,
    runner: Runner | None = None,
) -> Outcome:
    """Run the points of `sweep` that have not ended in `folder`, `at_once` together; `runner` knows what that is by
    default, here one per processor.

    A point that is done is skipped; one that failed too, unless `retry_failed`. Points of earlier sweeps in the folder
    stay. `runner` = where they run, by default processes of this machine.

    Raises SweepError: the sweep cannot be planned, another sweep holds the folder, the disk is full. Points that ended
    before stay ended; a second call goes on."""
    place = SweepFolder(folder)
    with place.locked():
        points = sweep.points(place.root / "commits")
        ended = place.ended()
        if retry_failed:
            again = [point.digest for point in points if _is_failed(ended.get(point.digest))]
            place.forget(ended.pop(digest) for digest in again)
        place.write_plan(points)
        waiting = [point for point in points if point.digest not in ended]
        mine = [ended[point.digest] for point in points if point.digest in ended]
        failed = sum(map(_is_failed, mine))
        progress = Progress(len(points), len(mine), len(mine) - failed, failed, time.monotonic())

        def count(result: dict[str, Any]) -> None:
            if result["error"]:
                progress.failed += 1
            else:
                progress.done += 1
            if on_end is not None:
                on_end(progress)

        (runner or run_here)(waiting, place, sweep.limits, at_once, count)
        return _outcome(place, points, progress.skipped)


def _is_failed(folder: Path | None) -> bool:
    return folder is not None and folder.parent.name != DONE


def _outcome(place: SweepFolder, points: Sequence[Point], skipped: int) -> Outcome:
    ended = place.ended()
    folders = [ended[point.digest] for point in points if point.digest in ended]
    failed = [each for each in folders if _is_failed(each)]
    errors = [(each, str(place.read_point(each).get("error"))) for each in failed]
    return Outcome(place.root, len(points), skipped, len(folders) - len(failed), errors)


def run_here(
    points: Sequence[Point],
    folder: SweepFolder,
    limits: Limits,
    at_once: int | None,
    on_result: Callable[[dict[str, Any]], None],
) -> None:
    """Run points as child processes of this one. Raises SweepError; children that run are killed then."""
    waiting, places = deque(points), at_once or len(os.sched_getaffinity(0))
    running: set[PointProcess] = set()
    planned = PlannedFiles()
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < places:
                    process = PointProcess(waiting.popleft(), folder, limits, planned)
                    running.add(process)
                    selector.register(process.handle, selectors.EVENT_READ, process)
                for key, _ in selector.select(CHECK_SECONDS if _is_limited(limits) else None):
                    process = key.data
                    selector.unregister(process.handle)
                    running.discard(process)
                    result = process.end()
                    if result is not None:
                        on_result(result)
                for process in running:
                    process.check()
        finally:
            for process in running:
                process.discard()


def _is_limited(limits: Limits) -> bool:
    return limits.memory_bytes is not None or limits.seconds is not None
