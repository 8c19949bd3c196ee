"""Questions about recorded execution: runs, steps, cycles of tiles, phases, windows of time, worker lanes, blocks.

Cycles are tile clock cycles of the device; host times are wall time, and the two never mix. An execution step is a
program as it ran once; its number is the row of `steps()`, counted over all recorded runs. Windows are half-open ranges
of cycles since the first recorded run began."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.execution import worker_lanes as lanes
from popvision.analysis.execution.aggregation import aggregate
from popvision.analysis.execution.intervals import interval_table
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.execution.window import window_figures
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.not_recorded import EXECUTION_PROFILE, NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import steps_of_tiles_unknown, tiles_unknown
from popvision.analysis.report.tiles import target_of
from popvision.analysis.summary.facts import run_rows
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES
from popvision.opened.frames import report_frame, report_table
from popvision.opened.questions import check_ipu, check_tile
from popvision.query.functions import BLOCK_KINDS

if TYPE_CHECKING:
    import pandas as pd

    from popvision.formats.profile.model import StepsOnIpu


#: The largest array of steps x tiles that one question returns: 1 GB.
MOST_CELLS = 128_000_000

#: Columns of `steps_on_ipu` that single tiles decide; unknown where hardware counted on one tile (`tile_knowledge`).
_OF_TILES = (
    "active_from_min_cycle",
    "active_to_min_cycle",
    "all_from_min_cycle",
    "all_to_min_cycle",
    "tile_cycles",
    "longest_tile_cycles",
    "tile_balance",
    "active_tile_balance",
)

#: Field of StepsOnIpu -> column.
_STEP_COLUMNS = {
    "cycles": "step_cycles",
    "active_tiles": "active_tiles",
    "active_from_min": "active_from_min_cycle",
    "active_from_max": "active_from_max_cycle",
    "active_to_min": "active_to_min_cycle",
    "active_to_max": "active_to_max_cycle",
    "all_from_min": "all_from_min_cycle",
    "all_from_max": "all_from_max_cycle",
    "all_to_min": "all_to_min_cycle",
    "all_to_max": "all_to_max_cycle",
    "tile_cycles": "tile_cycles",
    "max_cycles": "longest_tile_cycles",
    "data_in": "data_in_bytes",
    "data_out": "data_out_bytes",
    "tile_balance": "tile_balance",
    "active_tile_balance": "active_tile_balance",
}

_NO_BLOCKS = (
    "This report holds no blocks of tile {tile}: they need profiler.blocks.filter or profiler.programs.filter, and the "
    "tile among profiler.blocks.tile."
)


def runs(source: ReportSource) -> pd.DataFrame:
    """A row per recorded run: run, name, program_index, steps, run_cycles, device_us (cycles / clock),
    host_start_us (since the epoch), host_us, truncated (the cap on recorded steps was reached)."""
    rows = run_rows(source)
    return report_frame(
        source,
        {
            "run": [each.run for each in rows],
            "name": [each.name for each in rows],
            "program_index": [each.program_index for each in rows],
            "steps": [each.steps for each in rows],
            "run_cycles": [each.cycles for each in rows],
            "device_us": [each.device_us for each in rows],
            "host_start_us": [each.host_start_us for each in rows],
            "host_us": [each.host_us for each in rows],
            "truncated": [each.truncated for each in rows],
        },
    )


def steps(source: ReportSource) -> pd.DataFrame:
    """A row per execution step: step, run, program, type, phase ("compute", "exchange", "global exchange", "host",
    "sync" or ""), name, compute_set (-1 for none), step_cycles (its length on the IPU where it is longest),
    data_in_bytes, data_out_bytes (all IPUs)."""
    reader = source.reader
    count = len(reader.steps().program)
    cycles, data_in, data_out = (np.zeros(count, np.int64) for _ in range(3))
    for ipu in range(target_of(source).num_ipus if count else 0):
        on_ipu = reader.steps_on_ipu(ipu)
        cycles = np.maximum(cycles, on_ipu.cycles)
        data_in, data_out = data_in + on_ipu.data_in, data_out + on_ipu.data_out
    figures = {"step_cycles": cycles, "data_in_bytes": data_in, "data_out_bytes": data_out}
    return report_frame(source, _step_programs(source, np.arange(count)) | figures)


def steps_on_ipu(source: ReportSource, ipu: int = 0) -> pd.DataFrame:
    """A row per execution step on one IPU: step, run, program, type, phase, name, compute_set; step_cycles (lengths
    add up to the total), active_tiles, windows over active and over all tiles (<active|all>_<from|to>_<min|max>_cycle,
    absolute), tile_cycles (sum over tiles), longest_tile_cycles, data_in_bytes, data_out_bytes, tile_balance and
    active_tile_balance (mean / maximum, 0 to 1). Where hardware counted on one tile per IPU or device, compute and
    syncs have no first begin, first end, tile_cycles, longest_tile_cycles and balances (NaN)."""
    on_ipu = _steps_on_ipu(source, ipu)
    figures = {name: np.asarray(getattr(on_ipu, field)) for field, name in _STEP_COLUMNS.items()}
    unknown = steps_of_tiles_unknown(source)
    if unknown.any():
        figures |= {name: np.where(unknown, np.nan, figures[name]) for name in _OF_TILES}
    return report_frame(source, _step_programs(source, np.arange(len(on_ipu.cycles))) | figures, ipu=ipu)


def cycles_by_tile(source: ReportSource, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
    """(steps, tiles of the IPU) cycles of steps `first` to `last` inclusive, by default of all steps; 0 = the tile
    takes no part. Raises ValueError for more than 128 million cells: read them in windows; NotRecordedError for compute
    and syncs on hardware that counted on one tile per IPU or device."""
    return _cells(source, first, last, ipu, begins=False)


def begins_by_tile(source: ReportSource, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
    """(steps, tiles of the IPU) absolute cycle at which each tile begins each step; arguments as `cycles_by_tile`."""
    return _cells(source, first, last, ipu, begins=True)


def phases(source: ReportSource, ipu: int | None = None) -> pd.DataFrame:
    """A row per phase over all recorded runs, on one IPU or on all: phase, tile_cycles (sum over tiles),
    average_cycles (per tile), time_share (the shares add up to 1; waiting counts as sync). Phases that hardware did not
    record have no figures. Where it counted on one tile per IPU or device, an IPU counts as one tile that does what its
    steps say, and tile_cycles are unknown."""
    _check_run(source)
    if ipu is not None:
        check_ipu(source, ipu)
    totals = phase_totals(source, ipu=ipu)

    def column(figure: Callable[[str], float]) -> list[float]:
        return [math.nan if each in totals.unknown else figure(each) for each in PHASES]

    return report_frame(
        source,
        {
            "phase": list(PHASES),
            "tile_cycles": column(totals.tile_cycles.__getitem__ if totals.of_tiles else lambda _: math.nan),
            "average_cycles": column(totals.average),
            "time_share": column(totals.share),
        },
    )


def intervals(source: ReportSource) -> pd.DataFrame:
    """Numbers of tiles in each phase over time, a row per change: begin_cycle, end_cycle, computing, exchanging,
    syncing; the rows of Poplar's reportIntervals, several for each step (one where hardware counted on one tile)."""
    _check_run(source)
    table = interval_table(source)
    return report_frame(
        source,
        {
            "begin_cycle": table.begin,
            "end_cycle": table.end,
            "computing": table.computing,
            "exchanging": table.exchanging,
            "syncing": table.syncing,
        },
    )


def window(source: ReportSource, begin: int = 0, end: int | None = None, ipu: int = 0) -> pd.DataFrame:
    """A row per phase of the tiles of an IPU in a window: phase, tile_cycles, time_share (of all tile cycles). A step
    that the window cuts counts with its part inside. `attrs`: steps, utilisation (useful tile cycles / all), balance
    and active_balance (mean / maximum of compute cycles over all tiles, over tiles that take part); None where nothing
    ran."""
    figures = window_figures(source, ipu, begin, _window_end(source, end))
    return report_frame(
        source,
        {
            "phase": list(PHASES),
            "tile_cycles": [figures.recorded_cycles(each) for each in PHASES],
            "time_share": [figures.share(each) for each in PHASES],
        },
        steps=figures.steps,
        utilisation=figures.utilisation,
        balance=figures.balance,
        active_balance=figures.active_balance,
    )


def grouped_steps(
    source: ReportSource, by: str = "name", begin: int = 0, end: int | None = None, ipu: int | None = None
) -> pd.DataFrame:
    """The steps of a window in groups, on one IPU or on all, most total cycles first: name, count, self_cycles,
    total_cycles (parts of the flat bars, summed over IPUs), self_tile_cycles, total_tile_cycles, mean_cycles,
    min_cycles, max_cycles, time_share, cumulative_share. `by` is "name", "part" (of names), "level1" ... "level8",
    "type" or "program". Tile cycles are NaN where hardware counted compute on one tile per IPU or device."""
    ipus = range(target_of(source).num_ipus) if ipu is None else [ipu]
    table = opened_frame(aggregate(source, list(ipus), begin, _window_end(source, end), by))
    if tiles_unknown(source):
        table = table.assign(self_tile_cycles=math.nan, total_tile_cycles=math.nan)
    return report_table(source, table, by=by)


def worker_lanes(source: ReportSource, compute_set: int, tile: int) -> pd.DataFrame:
    """The vertices of a compute set on the workers of a tile, in issue order, as estimated: vertex_type, worker (-1:
    no single worker), thread_cycles as stored, begin_cycle and end_cycle since the compute set began."""
    table, types = lanes.worker_lanes(source, compute_set, tile), source.reader.vertex_types().name
    return report_frame(
        source,
        {
            "vertex_type": [types[each] for each in table.vertex_type.tolist()],
            "worker": np.where(table.worker == lanes.NO_CONTEXT, -1, table.worker),
            "thread_cycles": table.thread_cycles,
            "begin_cycle": table.begin,
            "end_cycle": table.end,
        },
        compute_set=compute_set,
        tile=tile,
    )


def blocks(source: ReportSource, tile: int = 0) -> pd.DataFrame:
    """Blocks that lightweight profiling recorded on a tile, in order: run, program (-1 for an overflow), type, name,
    kind ("common", "overflow", "flush" or "stream copy"), begin_cycle, end_cycle.

    Raises NotRecordedError for a tile without blocks."""
    check_tile(source, tile)
    by_run, programs = source.reader.blocks(tile), programs_of(source)
    if not by_run:
        raise NotRecordedError(_NO_BLOCKS.format(tile=tile))
    program, kind, begin, end = (
        np.concatenate([np.asarray(getattr(each, name), np.int64) for each in by_run])
        for name in ("program", "kind", "start", "end")
    )
    ids = program.tolist()
    return report_frame(
        source,
        {
            "run": np.repeat(np.arange(len(by_run)), [len(each.program) for each in by_run]),
            "program": program,
            "type": [programs.type[each] if each >= 0 else "" for each in ids],
            "name": [programs.name[each] if each >= 0 else "" for each in ids],
            "kind": [BLOCK_KINDS.get(each, "unknown") for each in kind.tolist()],
            "begin_cycle": begin,
            "end_cycle": end,
        },
        tile=tile,
    )


def _step_programs(source: ReportSource, step: Int64Array) -> dict[str, Any]:
    """The columns that name the program of each step."""
    rows, programs = source.reader.steps(), programs_of(source)
    types = [PROGRAM_TYPES[each] for each in np.asarray(rows.type).tolist()]
    return {
        "step": step,
        "run": np.asarray(rows.run, np.int64),
        "program": np.asarray(rows.program, np.int64),
        "type": types,
        "phase": [PHASE_OF_TYPE.get(each, "") for each in types],
        "name": [programs.name[each] for each in np.asarray(rows.program).tolist()],
        "compute_set": np.asarray(rows.compute_set, np.int64),
    }


def _steps_on_ipu(source: ReportSource, ipu: int) -> StepsOnIpu:
    check_ipu(source, ipu)
    return source.reader.steps_on_ipu(ipu)


def _cells(source: ReportSource, first: int, last: int | None, ipu: int, begins: bool) -> Int64Array:
    steps, tiles = len(_steps_on_ipu(source, ipu).cycles), target_of(source).tiles_per_ipu
    _check_run(source)
    last = steps - 1 if last is None else last
    if not 0 <= first <= last < steps:
        raise ValueError(f"steps {first} to {last} do not exist: this report has steps 0 to {steps - 1}")
    count = last - first + 1
    if count * tiles > MOST_CELLS:
        raise ValueError(
            f"{count:,} steps x {tiles:,} tiles are more than {MOST_CELLS:,} cells; read fewer steps at once"
        )
    unknown = np.flatnonzero(steps_of_tiles_unknown(source)[first : last + 1])
    if len(unknown):
        raise NotRecordedError(f"{tiles_unknown(source)} It is step {first + int(unknown[0])}.")
    cells = np.zeros((count, tiles), np.int64)
    for step, base, start, cycles in source.reader.intervals(ipu, first, last):
        cells[step - first] = base + start if begins else cycles
    return cells


def _check_run(source: ReportSource) -> None:
    if not len(source.reader.steps().program):
        raise NotRecordedError(EXECUTION_PROFILE)


def _window_end(source: ReportSource, end: int | None) -> int:
    _check_run(source)
    return source.reader.total_cycles() if end is None else end
