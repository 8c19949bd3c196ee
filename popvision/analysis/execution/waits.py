"""Who comes last at each sync, how long the others wait, and the program that made that tile late: columns by sync.

A tile arrives at a sync when its Sync step begins. The tile that arrives last is late because of the steps since the
sync before: of these, the one in which it spends most above the mean of the IPU's tiles is the cause.

Cost: the starts of each distinct pattern of a sync, and its cycles where some tiles take no part; the cycles of each
distinct step that shares its span with others, since a single one is the cause. Arrays are read once, in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.phases import PHASE_INDEX, PHASES
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.reader import ProfileReader

#: Array values read at once.
_CHUNK = 2_000_000

#: In place of the array of a step's cycles: every tile takes part.
_EVERY_TILE = -2


@dataclass(frozen=True)
class SyncWaits:
    """One row per sync of `ipu` at which at least one tile waits for another, in time order."""

    ipu: int
    tiles: int  #: of the IPU
    step: Int64Array
    last_tile: Int64Array  #: of the device
    #: cycles that the tiles together wait for the last one: sum over tiles of its arrival less theirs
    waited: Int64Array
    longest: Int64Array  #: cycles that the first tile waits
    cause_step: Int64Array  #: the step that made the last tile late; -1 where none lies between the two syncs
    cause_program: Int64Array  #: its program; -1 likewise

    def of_step(self, step: int) -> int | None:
        """The row of a sync; None where nobody waits or the step is no sync."""
        row = int(np.searchsorted(self.step, step))
        return row if row < len(self.step) and int(self.step[row]) == step else None


def sync_waits(source: ReportSource, ipu: int) -> SyncWaits:
    """The syncs of one IPU. Raises NotRecordedError when no run was recorded, ValueError for an unknown IPU."""
    if not 0 <= ipu < target_of(source).num_ipus:
        raise ValueError(f"there is no IPU {ipu}: IPUs go from 0 to {target_of(source).num_ipus - 1}")
    return source.kept.recent(("sync_waits", source.generation, ipu), lambda: _sync_waits(source, ipu))


def _sync_waits(source: ReportSource, ipu: int) -> SyncWaits:
    reader, tiles = source.reader, target_of(source).tiles_per_ipu
    steps = reader.steps()
    if not len(steps.type):
        raise NotRecordedError("no run was recorded.")
    here = reader.steps_on_ipu(ipu)
    start = np.asarray(here.start_array, np.int64)
    is_sync = (PHASE_INDEX[steps.type] == PHASES.index("sync")) & (start >= 0)
    syncs = np.flatnonzero(is_sync)
    cycles = np.asarray(here.cycles_array, np.int64)[syncs]
    takes_all = np.asarray(here.active_tiles, np.int64)[syncs] == tiles
    last, waited, longest = _arrivals(reader, start[syncs], np.where(takes_all, _EVERY_TILE, cycles), tiles)
    cause = _causes(source, ipu, syncs, last)
    rows = np.flatnonzero(waited > 0)
    chosen = cause[rows]
    program = np.where(chosen >= 0, np.asarray(steps.program, np.int64)[chosen], -1)
    return SyncWaits(
        ipu, tiles, syncs[rows], ipu * tiles + last[rows], waited[rows], longest[rows], chosen, program.astype(np.int64)
    )


def _arrivals(
    reader: ProfileReader, start: Int64Array, cycles: Int64Array, tiles: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(last tile, cycles waited by all, cycles of the longest wait) of each sync; `cycles` may be _EVERY_TILE."""
    pairs, row = np.unique(np.stack([start, cycles], axis=1), axis=0, return_inverse=True)
    figures = np.zeros((len(pairs), 3), np.int64)
    whole = np.flatnonzero(pairs[:, 1] == _EVERY_TILE)
    for number, (begins,) in zip(whole.tolist(), _columns(reader, pairs[whole, :1], tiles), strict=True):
        figures[number] = _waits_for_last(np.asarray(begins, np.int64))
    partial = np.flatnonzero(pairs[:, 1] != _EVERY_TILE)
    for number, (begins, spent) in zip(partial.tolist(), _columns(reader, pairs[partial], tiles), strict=True):
        part = np.flatnonzero(np.asarray(spent))  # tiles without cycles in the step take no part
        if len(part):
            place, waited, longest = _waits_for_last(np.asarray(begins, np.int64)[part])
            figures[number] = part[place], waited, longest
    figures = figures[row.reshape(-1)]
    return figures[:, 0], figures[:, 1], figures[:, 2]


def _waits_for_last(arrivals: Int64Array) -> tuple[int, int, int]:
    """(place of the last, sum of the waits for it, longest wait)."""
    latest = int(arrivals.argmax())
    last = int(arrivals[latest])
    return latest, last * len(arrivals) - int(arrivals.sum()), last - int(arrivals.min())


def _causes(source: ReportSource, ipu: int, syncs: Int64Array, last: Int64Array) -> Int64Array:
    """For each sync the step since the one before in which its last tile spends most above the mean; -1 for none."""
    reader, tiles = source.reader, target_of(source).tiles_per_ipu
    run_of = np.asarray(reader.steps().run, np.int64)
    here = reader.steps_on_ipu(ipu)
    arrays = np.asarray(here.cycles_array, np.int64)
    mark = np.zeros(len(arrays), bool)
    mark[syncs] = True
    work = np.flatnonzero((arrays >= 0) & ~mark)
    segment = np.searchsorted(syncs, work)
    known = segment < len(syncs)
    work, segment = work[known], segment[known]
    same_run = run_of[work] == run_of[syncs[segment]]
    work, segment = work[same_run], segment[same_run]
    cause = np.full(len(syncs), -1, np.int64)
    if not len(work):
        return cause
    alone = np.bincount(segment, minlength=len(syncs))[segment] == 1
    cause[segment[alone]] = work[alone]
    work, segment = work[~alone], segment[~alone]
    if not len(work):
        return cause
    key = np.stack([arrays[work], last[segment]], axis=1)
    pairs, row = np.unique(key, axis=0, return_inverse=True)
    spent = np.zeros(len(pairs), np.int64)
    ids, begins = np.unique(pairs[:, 0], return_index=True)
    ends = np.append(begins[1:], len(pairs))
    for number, (column,) in enumerate(_columns(reader, ids[:, None], tiles)):
        of_array = slice(int(begins[number]), int(ends[number]))
        spent[of_array] = np.asarray(column)[pairs[of_array, 1]]
    excess = spent[row.reshape(-1)] * tiles - np.asarray(here.tile_cycles, np.int64)[work]
    order = np.lexsort((work, -excess, segment))
    first = np.flatnonzero(np.diff(segment[order], prepend=-1))
    cause[segment[order][first]] = work[order][first]
    return cause


def _columns(reader: ProfileReader, ids: Int64Array, tiles: int) -> Iterator[list[AnyArray]]:
    """The arrays of each row of ids, a chunk in memory at a time."""
    width = ids.shape[1]
    rows = max(1, _CHUNK // (max(tiles, 1) * width))
    for begin in range(0, len(ids), rows):
        chunk = ids[begin : begin + rows]
        arrays = reader.arrays(chunk.reshape(-1).tolist(), narrow=True)
        for row in range(len(chunk)):
            yield arrays[row * width : (row + 1) * width]
