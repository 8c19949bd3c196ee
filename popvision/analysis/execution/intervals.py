"""Tiles that compute, exchange and sync over time, counted by an event sweep: the rows of Poplar's `reportIntervals`.

The slow obvious way: for every cycle, count the tiles whose interval covers it, by phase; merge equal neighbours.
The sweep counts only where an interval begins or ends: each adds one at its begin and subtracts one at its end, and a
running sum over the sorted distinct moments gives the counts. Steps of a pattern have few distinct begins and ends, so
`np.unique` reduces each step before the sweep.

Phases: compute; exchange = internal, global and host exchange with the waits of StreamCopyBegin;
sync = barriers with their waits, and each tile's tail at the end of a run. The three add up to all tiles.

Where single tiles are unknown (`tiles_unknown`), the tiles that take part in a step do so from its begin to its end,
and the others sync.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

import numpy as np

from popvision.analysis.execution.timeline import Timeline, timeline
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.arrays import Int64Array, IntegerArray
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES

_COLUMN_OF_PHASE = {"compute": 0, "exchange": 1, "global exchange": 1, "host": 1, "sync": 2}
#: Column of each program type, by its index in PROGRAM_TYPES; -1 takes no time.
_COLUMN_OF_TYPE = [_COLUMN_OF_PHASE[PHASE_OF_TYPE[t]] if t in PHASE_OF_TYPE else -1 for t in PROGRAM_TYPES]
_SYNC = 2
#: Deltas are folded together when this many have been collected, so that memory follows distinct moments, not steps.
_FOLD_AT = 4_000_000


@dataclass(frozen=True)
class IntervalTable:
    """Rows [begin, end) in device cycles since the first recorded run began, and tiles in each phase."""

    begin: Int64Array
    end: Int64Array
    computing: Int64Array
    exchanging: Int64Array
    syncing: Int64Array


class _Deltas:
    """Changes of the three counts at moments, folded as they come."""

    def __init__(self) -> None:
        self._moments: list[Int64Array] = []
        self._changes: list[Int64Array] = []
        self._kept = 0

    def add(self, column: int, begin: Int64Array, end: Int64Array, tiles: Int64Array | None = None) -> None:
        """Intervals of one tile each, or of as many as `tiles` says."""
        for moments, sign in ((begin, 1), (end, -1)):
            if tiles is None:
                distinct, counts = np.unique(moments, return_counts=True)
            else:
                distinct, row = np.unique(moments, return_inverse=True)
                counts = np.zeros(len(distinct), np.int64)
                np.add.at(counts, row, tiles)
            change = np.zeros((len(distinct), 3), np.int64)
            change[:, column] = sign * counts
            self._moments.append(distinct)
            self._changes.append(change)
            self._kept += len(distinct)
        if self._kept > _FOLD_AT:
            moments, changes = self.folded()
            self._moments, self._changes, self._kept = [moments], [changes], len(moments) // 2

    def folded(self) -> tuple[Int64Array, Int64Array]:
        if not self._moments:
            return np.empty(0, np.int64), np.empty((0, 3), np.int64)
        moments, row = np.unique(np.concatenate(self._moments), return_inverse=True)
        changes = np.concatenate(self._changes)
        summed = np.stack([np.bincount(row, changes[:, c], len(moments)) for c in range(3)], axis=1)
        return moments, np.rint(summed).astype(np.int64)


def interval_table(source: ReportSource) -> IntervalTable:
    """The rows over all recorded runs and all IPUs; equal neighbours are merged."""
    reader = source.reader
    types, runs = reader.steps().type, reader.runs()
    deltas = _Deltas()
    if tiles_unknown(source):
        for ipu in range(reader.target().num_ipus):
            _add_flat_bars(deltas, timeline(source, ipu))
        return _rows(*deltas.folded())
    for ipu in range(reader.target().num_ipus):
        for step, base, start, cycles in reader.intervals(ipu, 0, len(types)):
            column = _COLUMN_OF_TYPE[int(types[step])]
            busy = cycles > 0
            if column >= 0 and busy.any():
                begin = base + start[busy].astype(np.int64)
                deltas.add(column, begin, begin + cycles[busy].astype(np.int64))
        for run, run_end in enumerate(np.cumsum(runs.cycles.astype(np.int64)).tolist()):
            tail: IntegerArray = reader.run_tail(run, ipu).astype(np.int64)
            waiting = tail[tail > 0]
            if len(waiting):
                deltas.add(_SYNC, run_end - waiting, np.full(len(waiting), run_end, np.int64))
    return _rows(*deltas.folded())


def _add_flat_bars(deltas: _Deltas, steps: Timeline) -> None:
    """Every step with the tiles that take part, the other tiles syncing."""
    column = np.array(_COLUMN_OF_TYPE)[steps.type]
    drawn = (column >= 0) & (steps.end > steps.begin)
    active = np.where(column == _SYNC, 0, np.asarray(steps.figures.active_tiles, np.int64))
    for of in range(_SYNC):
        here = drawn & (column == of)
        deltas.add(of, steps.begin[here], steps.end[here], active[here])
    deltas.add(_SYNC, steps.begin[drawn], steps.end[drawn], steps.tiles - active[drawn])


def _rows(moments: Int64Array, changes: Int64Array) -> IntervalTable:
    counts = np.cumsum(changes, axis=0)
    is_change = np.ones(len(moments), bool)
    is_change[1:] = changes[1:].any(axis=1)
    moments, counts = moments[is_change], counts[is_change]
    if not len(moments):
        empty = np.empty(0, np.int64)
        return IntervalTable(empty, empty, empty, empty, empty)
    return IntervalTable(moments[:-1], moments[1:], counts[:-1, 0], counts[:-1, 1], counts[:-1, 2])


def write_intervals(source: ReportSource, stream: IO[str]) -> int:
    """Write the published CSV (begin, end, computing, exchanging, syncing; no header) and return the number of rows."""
    table = interval_table(source)
    columns = (table.begin, table.end, table.computing, table.exchanging, table.syncing)
    for first in range(0, len(table.begin), 65536):
        chunk = zip(*(column[first : first + 65536].tolist() for column in columns), strict=True)
        stream.writelines(f"{a},{b},{c},{d},{e}\n" for a, b, c, d, e in chunk)
    return len(table.begin)
