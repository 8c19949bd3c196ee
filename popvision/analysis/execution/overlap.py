"""Overlapped I/O: stream copies on some tiles while others compute, and the two lanes that show them.

The rule. A StreamCopyMid *overlaps* when some OnTileExecute, DoExchange or GlobalExchange of the same IPU runs at the
same time on other tiles: their busy intervals [first begin, last end) share at least one cycle, and no tile takes part
in both. Two steps that share a tile cannot run at once, so tiles that are merely ahead of the slowest do not count.

An IPU with such a copy has a second lane, *I/O*: the overlapping copies, each with the StreamCopyBegin right before and
the StreamCopyEnd right after it, and the Sync right after that if only tiles of the copy take part in it (the others
have not come to it, and it must not hide what they do). All other steps stay in the first lane. In a lane, with `last`
= the latest end of the lane's steps before it, a step takes

    [max(last, first begin), max(last, last end))

over the tiles that take part; one without such tiles takes no time. For steps that follow each other without gaps and
overlaps this is the flat bar, so an IPU without overlap looks the same either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.raster import ArrayReader
from popvision.analysis.execution.timeline import Timeline, timeline
from popvision.arrays import BoolArray, Int64Array
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


_BEGIN, _MID, _END = (PROGRAM_TYPES.index(f"StreamCopy{part}") for part in ("Begin", "Mid", "End"))
_SYNC = PROGRAM_TYPES.index("Sync")
_WORK = np.isin(PROGRAM_TYPES, ["OnTileExecute", "DoExchange", "GlobalExchange"])


@dataclass(frozen=True)
class Lane:
    """Steps of one lane, ascending, and their bars."""

    name: str  #: "" = the first lane, "I/O"
    steps: Int64Array
    begin: Int64Array
    end: Int64Array


def lanes(source: ReportSource, ipu: int) -> list[Lane]:
    """The lanes of an IPU: one with the flat bars, or two where I/O overlaps. Raises what `timeline` raises."""
    steps = timeline(source, ipu)
    return source.kept.recent(("lanes", ipu, len(steps)), lambda: make_lanes(steps, source.reader))


def make_lanes(steps: Timeline, reader: ArrayReader) -> list[Lane]:
    """`lanes`, from a timeline."""
    every = np.arange(len(steps), dtype=np.int64)
    copies = overlapping_copies(steps, reader)
    if not len(copies):
        return [Lane("", every, steps.begin, steps.end)]
    before, after = copies[copies > 0] - 1, copies[copies < len(steps) - 1] + 1
    ends = after[steps.type[after] == _END]
    syncs = ends[ends < len(steps) - 1] + 1
    tiles = _TilesOf(steps, reader)
    own = [sync for sync in syncs[steps.type[syncs] == _SYNC].tolist() if tiles.are_within(sync, sync - 2)]
    beside = np.concatenate([copies, before[steps.type[before] == _BEGIN], ends, np.array(own, np.int64)])
    apart = np.zeros(len(steps), bool)
    apart[beside] = True
    return [_lane("", every[~apart], steps), _lane("I/O", every[apart], steps)]


def lane_timeline(steps: Timeline, lane: Lane) -> Timeline:
    """The rows of one lane as a timeline of their own, with the lane's bars."""
    if len(lane.steps) == len(steps):
        return steps
    rows = lane.steps
    return replace(
        steps, begin=lane.begin, end=lane.end, type=steps.type[rows], program=steps.program[rows], run=steps.run[rows]
    )


def bar_of(lanes_of_tiles: list[Lane], step: int) -> tuple[int, int]:
    """Begin and end of a step's bar in its lane."""
    begin, end = bars_of(lanes_of_tiles, np.array([step]))
    return int(begin[0]), int(end[0])


def bars_of(lanes_of_tiles: list[Lane], steps: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Begins and ends of the bars of recorded steps."""
    begin, end = np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64)
    for lane in lanes_of_tiles:
        row = np.searchsorted(lane.steps, steps)
        of_lane = np.flatnonzero(row < len(lane.steps))
        of_lane = of_lane[lane.steps[row[of_lane]] == steps[of_lane]]
        begin[of_lane], end[of_lane] = lane.begin[row[of_lane]], lane.end[row[of_lane]]
    return begin, end


def overlapping_copies(steps: Timeline, reader: ArrayReader) -> Int64Array:
    """StreamCopyMid steps that overlap, ascending."""
    spans, active = steps.spans, np.asarray(steps.figures.active_tiles, np.int64)
    busy = (active > 0) & (spans.busy_end > spans.busy_begin)
    copies = np.flatnonzero(busy & (steps.type == _MID) & (active < steps.tiles))
    work = np.flatnonzero(busy & _WORK[steps.type] & (active < steps.tiles))
    if not len(copies) or not len(work):
        return copies[:0]
    begins, ends = spans.busy_begin[work], spans.busy_end[work]
    order = np.argsort(begins, kind="stable")
    begins, ends, work = begins[order], ends[order], work[order]
    latest = np.maximum.accumulate(ends)
    tiles = _TilesOf(steps, reader)
    overlapping = []
    for copy in copies.tolist():
        low = int(np.searchsorted(latest, spans.busy_begin[copy], side="right"))
        high = int(np.searchsorted(begins, spans.busy_end[copy], side="left"))
        near = work[low:high][ends[low:high] > spans.busy_begin[copy]]
        if any(tiles.are_apart(copy, other) for other in near.tolist()):
            overlapping.append(copy)
    return np.array(overlapping, np.int64)


class _TilesOf:
    """Which tiles take part in a step; each stored array is read once."""

    def __init__(self, steps: Timeline, reader: ArrayReader) -> None:
        self._steps, self._reader = steps, reader
        self._active = np.asarray(steps.figures.active_tiles, np.int64)
        self._known: dict[int, BoolArray] = {}

    def are_apart(self, one: int, other: int) -> bool:
        if self._active[one] + self._active[other] > self._steps.tiles:
            return False
        return not bool((self._tiles_of(one) & self._tiles_of(other)).any())

    def are_within(self, one: int, other: int) -> bool:
        """Whether some tiles take part in one step, and all of them in the other."""
        return 0 < self._active[one] <= self._active[other] and not bool(
            (self._tiles_of(one) & ~self._tiles_of(other)).any()
        )

    def _tiles_of(self, step: int) -> BoolArray:
        identity = int(self._steps.spans.cycles_array[step])
        if identity not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            cycles = self._reader.arrays([identity], narrow=True)[0] if identity >= 0 else np.zeros(self._steps.tiles)
            self._known[identity] = np.asarray(cycles) > 0
        return self._known[identity]


def _lane(name: str, rows: Int64Array, steps: Timeline) -> Lane:
    spans, active = steps.spans, np.asarray(steps.figures.active_tiles)[rows] > 0
    ends = np.where(active, spans.busy_end[rows], 0)
    end = np.maximum.accumulate(ends) if len(rows) else ends
    last = np.concatenate([[0], end[:-1]]) if len(rows) else ends
    begin = np.where(active, np.maximum(last, spans.busy_begin[rows]), last)
    return Lane(name, rows, begin, end)
