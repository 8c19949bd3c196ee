"""Rules of the last one: the tile or IPU that others wait for at syncs, the tile that receives most of an exchange.

`costs_of_waiting` ranks, over all recorded runs, each tile and program that make the tiles of an IPU wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import set_apart
from popvision.analysis.execution.waits import sync_waits
from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.steps import OF_CYCLES, ProgramSteps, line_of_program
from popvision.analysis.insights.work import LEAST_SHARE
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.programs.table import known_integers
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table
    from popvision.analysis.report.source import ReportSource

#: IPUs wait for each other enough for a finding from this part of the runs' cycles.
_IPU_SHARE = 0.05
#: A tile that is last at many syncs is worth a finding from this part of the runs' cycles.
_LAST_SHARE = 0.05
#: Programs of which it must be last; a single one is the rule of imbalance.
_LEAST_PROGRAMS = 3
#: A tile that receives more than this many times the mean of the receiving tiles limits its exchange.
_MOST_RECEIVED = 4
_TOP = 3


@dataclass(frozen=True)
class CostsOfWaiting:
    """One row per tile and program that make others wait at a sync, most waiting first. Cycles are of all recorded
    runs on one IPU."""

    ipu: int
    total: int  #: device cycles of the runs
    tile: Int64Array  #: that comes last
    program: Int64Array  #: in whose step the tile is most above the mean; -1 where no step precedes the sync
    syncs: Int64Array
    waited: Int64Array  #: tile cycles that all tiles wait
    mean: Int64Array  #: the same divided by the tiles of the IPU: device cycles saved if the last came with the mean
    longest: Int64Array  #: longest wait of a tile at one sync
    first_step: Int64Array  #: the first of the syncs


WAITS = columns(
    "waits",
    """
    tile           | id     | Last tile: the tile that arrives last, counted over all IPUs
    name           | text   | After: the step since the sync before in which it is most above the mean; its type where \
it has no name
    line           | text   | of the user's source that made the program
    syncs          | count  | syncs at which it is last for this reason, all recorded runs
    mean_cycles    | cycles | Mean wait: cycles that all tiles wait, idle ones too / tiles of the IPU, over the syncs
    run_share      | share  | Of the run: mean wait / device cycles of all recorded runs
    longest_cycles | cycles | Longest wait: the longest wait of a tile at one of these syncs
    program        | id     | id in the program tree; missing where no step precedes the sync
    step           | id     | First sync: the first of these syncs as an execution step
    ipu            | id     | IPU: the IPU of the tile
    """,
)


def waits_table(source: ReportSource, costs: CostsOfWaiting, most: int) -> Table:
    """WAITS of the first rows."""
    rows, programs = slice(most), source.reader.programs()
    program = costs.program[rows]
    places = [line_of_program(source, each) if each >= 0 else ("", 0) for each in program.tolist()]
    return WAITS.table(
        tile=costs.tile[rows],
        name=[
            programs.name[each] or programs.type[each] if each >= 0 else "(no step between two syncs)"
            for each in program.tolist()
        ],
        line=[f"{file.rsplit('/', 1)[-1]}:{line}" if file else "" for file, line in places],
        syncs=costs.syncs[rows],
        mean_cycles=costs.mean[rows],
        run_share=costs.mean[rows] / max(costs.total, 1),
        longest_cycles=costs.longest[rows],
        program=known_integers(program),
        step=costs.first_step[rows],
        ipu=np.full(len(program), costs.ipu),
    )


def costs_of_waiting(source: ReportSource, ipu: int) -> CostsOfWaiting:
    """The rows of an IPU, without runs that are set apart (once.py). Raises NotRecordedError when no run was recorded,
    ValueError for an unknown IPU."""
    if not len(source.reader.steps().type):
        raise NotRecordedError(why_no_run(source))
    waits, apart = sync_waits(source, ipu), set_apart(source)
    counted = np.flatnonzero(~apart.steps[waits.step])
    pairs = np.stack([waits.last_tile, waits.cause_program], axis=1)[counted]
    keys, first, row = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    row = row.reshape(-1)
    count, waited, longest = (np.zeros(len(keys), np.int64) for _ in range(3))
    np.add.at(count, row, 1)
    np.add.at(waited, row, waits.waited[counted])
    np.maximum.at(longest, row, waits.longest[counted])
    order = np.lexsort((keys[:, 1], keys[:, 0], -waited))
    return CostsOfWaiting(
        ipu,
        int(np.sum(source.reader.runs().cycles[~apart.runs], dtype=np.int64)),
        keys[order, 0],
        keys[order, 1],
        count[order],
        waited[order],
        waited[order] // max(waits.tiles, 1),
        longest[order],
        waits.step[counted[first[order]]],
    )


def last_tile(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """A tile that is last at the syncs of several programs."""
    costs = costs_of_waiting(source, steps.ipu)
    tiles, row = np.unique(costs.tile, return_inverse=True)
    waited, syncs, programs = (np.zeros(len(tiles), np.int64) for _ in range(3))
    np.add.at(waited, row, costs.mean)
    np.add.at(syncs, row, costs.syncs)
    np.add.at(programs, row, costs.program >= 0)
    if not len(tiles):
        return
    most = int(waited.argmax())
    lost = int(waited[most])
    if steps.share(lost) < _LAST_SHARE or programs[most] < _LEAST_PROGRAMS:
        return
    tile = int(tiles[most])
    rows = [each for each in np.flatnonzero(row == most).tolist() if costs.program[each] >= 0][:_TOP]
    names = source.reader.programs().name
    evidence = tuple(
        Evidence(
            "program",
            int(costs.program[each]),
            names[int(costs.program[each])],
            int(costs.mean[each]),
            "cycles",
            *line_of_program(source, int(costs.program[each])),
        )
        for each in rows
    )
    yield Finding(
        "last_tile",
        f"Tile {tile} is the straggler at {int(syncs[most]):,} syncs. "
        f"The tiles wait {lost:,} cycles for it on average.",
        lost,
        "cycles",
        steps.share(lost),
        OF_CYCLES,
        f"sum over these syncs of the tiles' mean wait ({lost:,}): as if tile {tile} came with the mean",
        (Evidence("tile", tile, f"tile {tile}", lost, "cycles"), *evidence),
        f"Move small variables and their vertices from tile {tile} to others (graph.setTileMapping): small work that "
        "is mapped to one tile adds up.",
    )


def received_by_few(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Exchanges in which one tile receives far more than the others."""
    rows = [row for row in steps.of_phase("exchange").tolist() if steps.share(int(steps.cycles[row])) >= LEAST_SHARE]
    received = {
        program: np.asarray(values, np.int64)
        for program, ipu, values in source.reader.program_columns("rx", [int(steps.program[row]) for row in rows])
        if ipu == steps.ipu
    }
    rate = target_of(source).exchange_bytes_per_cycle
    for row in rows:
        values = received.get(int(steps.program[row]))
        if values is None or rate <= 0 or not values.any():
            continue
        tile, most = int(values.argmax()), int(values.max())
        mean = int(values.sum()) // len(values)
        executions, cycles = int(steps.executions[row]), int(steps.cycles[row])
        lost = min(int((most - mean) / rate) * executions, cycles)
        busy = int(np.count_nonzero(values))
        if most < _MOST_RECEIVED * (int(values.sum()) // busy) and busy * 4 > len(values):
            continue
        if steps.share(lost) < LEAST_SHARE:
            continue
        place = line_of_program(source, int(steps.program[row]))
        number = steps.ipu * len(values) + tile
        yield Finding(
            "received_by_few",
            f"{steps.name[row]} lasts {cycles:,} cycles because tile {number} receives {most:,} B of the "
            f"{int(values.sum()):,} B that {with_noun(busy, 'tile')} receive.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"({most:,} B of the tile - {mean:,} B, the mean of all tiles) / {rate:g} B a cycle x {executions:,} "
            "executions",
            (
                Evidence("program", int(steps.program[row]), steps.name[row], cycles, "cycles", *place),
                Evidence("tile", number, f"tile {number}", most, "bytes"),
            ),
            "Spread what the tile receives over more tiles (poputil.mapTensorLinearly), or reduce in two stages so "
            "that partial results are added where they lie.",
        )


def last_ipu(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """IPUs that wait for one of them at external syncs."""
    reader = source.reader
    number = target_of(source).num_ipus
    if number < 2:
        return
    columns = reader.steps()
    external = np.array([each == "external" for each in reader.programs().sync_type])
    rows = np.flatnonzero(external[np.asarray(columns.program, np.int64)])
    if not len(rows):
        return
    arrivals = np.stack([np.asarray(reader.steps_on_ipu(ipu).all_from_max, np.int64)[rows] for ipu in range(number)])
    part = np.stack([np.asarray(reader.steps_on_ipu(ipu).active_tiles, np.int64)[rows] > 0 for ipu in range(number)])
    arrivals = np.where(part, arrivals, np.iinfo(np.int64).min)
    last = arrivals.argmax(axis=0)
    waits = np.where(part, arrivals.max(axis=0) - arrivals, 0)
    mean = waits.sum(axis=0) // np.maximum(part.sum(axis=0), 1)
    lost_by = np.bincount(last, weights=mean, minlength=number).astype(np.int64)
    ipu = int(lost_by.argmax())
    lost = int(lost_by[ipu])
    if steps.share(lost) < _IPU_SHARE:
        return
    own = np.flatnonzero(last == ipu)
    program = int(np.asarray(columns.program)[rows[own[int(mean[own].argmax())]]])
    yield Finding(
        "last_ipu",
        f"IPU {ipu} is the straggler at {len(own):,} of {len(rows):,} external syncs. "
        f"The IPUs wait {lost:,} cycles for it on average.",
        lost,
        "cycles",
        steps.share(lost),
        OF_CYCLES,
        f"sum over these syncs of the IPUs' mean wait ({lost:,}): as if IPU {ipu} came with the mean",
        (
            Evidence(
                "program",
                program,
                f"the sync with the longest wait ({int(mean[own].max()):,} on average)",
                int(mean[own].max()),
                "cycles",
                *line_of_program(source, program),
            ),
        ),
        f"Move layers or stages from IPU {ipu} to the others, so that all arrive together.",
    )
