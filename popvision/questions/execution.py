"""Questions about recorded execution: runs, steps, cycles of tiles, phases, windows of time, worker lanes, blocks.

Cycles are tile clock cycles of the device; host times are wall time, and the two never mix. An execution step is a
program as it ran once; its number is the row of `steps()`, counted over all recorded runs. Windows are half-open ranges
of cycles since the first recorded run began."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from popvision.analysis.execution.aggregation import GROUP_FIGURES, aggregate
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.analysis.report.tile_knowledge import steps_of_tiles_unknown, tiles_unknown
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import BLOCK_KINDS, PHASE_OF_TYPE, PROGRAM_TYPES
from popvision.questions.question import Answer, question

#: The largest array of steps x tiles that one question returns: 1 GB.
MOST_CELLS = 128_000_000

RUNS = columns(
    "runs",
    """
    run           | id           | number of the run
    name          | text         | name passed to Engine.run
    program_index | id           | control program that ran
    steps         | count        | its execution steps
    run_cycles    | cycles       | device time
    device_us     | microseconds | device time: cycles / clock
    host_start_us | host_us      | begin on the host
    host_us       | microseconds | length on the host's clock
    truncated     | flag         | whether the cap on recorded steps was reached
    """,
)


@question(RUNS)
def runs(source: ReportSource) -> Answer:
    """Recorded runs."""
    from popvision.analysis.summary.facts import run_rows

    rows = run_rows(source)
    fields = {"run_cycles": "cycles"}
    return Answer(RUNS.table(**{name: [getattr(row, fields.get(name, name)) for row in rows] for name in RUNS.ids}))


_STEP_PROGRAM = """
    step        | id   | number of the execution step, over all runs
    run         | id   | run
    program     | id   | program
    type        | text | its type
    phase       | text | compute, exchange, global exchange, host or sync; none for types that take no time
    name        | text | its debug name
    compute_set | id   | its compute set, -1 for none
"""

STEPS = columns(
    "steps",
    f"""{_STEP_PROGRAM}
    step_cycles    | cycles | its length on the IPU where it is longest
    data_in_bytes  | bytes  | received, all IPUs
    data_out_bytes | bytes  | sent, all IPUs
    """,
)


@question(STEPS)
def steps(source: ReportSource) -> Answer:
    """Execution steps in the order they ran."""
    reader = source.reader
    count = len(reader.steps().program)
    cycles, data_in, data_out = (np.zeros(count, np.int64) for _ in range(3))
    for ipu in range(target_of(source).num_ipus if count else 0):
        on_ipu = reader.steps_on_ipu(ipu)
        cycles = np.maximum(cycles, on_ipu.cycles)
        data_in, data_out = data_in + on_ipu.data_in, data_out + on_ipu.data_out
    return Answer(
        STEPS.table(
            **_step_programs(source),
            step_cycles=cycles,
            data_in_bytes=data_in,
            data_out_bytes=data_out,
        )
    )


STEPS_ON_IPU = columns(
    "steps_on_ipu",
    f"""{_STEP_PROGRAM}
    step_cycles           | cycles | length of the step on the IPU; lengths add up to the total
    active_tiles          | count  | tiles that take part
    active_from_min_cycle | cycle  | first begin over tiles that take part
    active_from_max_cycle | cycle  | last begin over tiles that take part
    active_to_min_cycle   | cycle  | first end over tiles that take part
    active_to_max_cycle   | cycle  | last end over tiles that take part
    all_from_min_cycle    | cycle  | first begin over all tiles
    all_from_max_cycle    | cycle  | last begin over all tiles
    all_to_min_cycle      | cycle  | first end over all tiles
    all_to_max_cycle      | cycle  | last end over all tiles
    tile_cycles           | cycles | sum over tiles
    longest_tile_cycles   | cycles | maximum over tiles
    data_in_bytes         | bytes  | received
    data_out_bytes        | bytes  | sent
    tile_balance          | ratio  | mean / maximum of cycles over all tiles, 0 to 1
    active_tile_balance   | ratio  | the same over tiles that take part
    """,
)

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

#: Column -> field of StepsOnIpu, where it is not the column's name without its unit.
_FIELDS = {"step_cycles": "cycles", "longest_tile_cycles": "max_cycles"}


@question(STEPS_ON_IPU)
def steps_on_ipu(source: ReportSource, ipu: int = 0) -> Answer:
    """Execution steps on one IPU. Where hardware counted on one tile per IPU or device, what single tiles did in
    compute and syncs is missing."""
    on_ipu, programs = source.reader.steps_on_ipu(ipu), _step_programs(source)
    unknown = steps_of_tiles_unknown(source)
    figures = {}
    for id in STEPS_ON_IPU.ids[len(programs) :]:
        field = _FIELDS.get(id, id.removesuffix("_cycle").removesuffix("_bytes"))
        values = np.asarray(getattr(on_ipu, field))
        figures[id] = np.where(unknown, np.nan, values) if id in _OF_TILES and unknown.any() else values
    return Answer(STEPS_ON_IPU.table(**programs, **figures), {"ipu": ipu})


@question()
def cycles_by_tile(source: ReportSource, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
    """(steps, tiles of the IPU) cycles of steps `first` to `last` inclusive, by default of all steps; 0 = the tile
    takes no part. Raises ValueError for more than 128 million cells: read them in windows; NotRecordedError for compute
    and syncs on hardware that counted on one tile per IPU or device."""
    return _cells(source, first, last, ipu, begins=False)


@question()
def begins_by_tile(source: ReportSource, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
    """(steps, tiles of the IPU) absolute cycle at which each tile begins each step; arguments as `cycles_by_tile`."""
    return _cells(source, first, last, ipu, begins=True)


PHASE_COLUMNS = columns(
    "phases",
    """
    phase          | text        | compute, exchange, global exchange, host or sync; waiting counts as sync
    tile_cycles    | cycles      | sum over tiles
    average_cycles | mean_cycles | per tile
    time_share     | share       | part of the tile cycles; the shares add up to 1
    """,
)


@question(PHASE_COLUMNS)
def phases(source: ReportSource, ipu: int | None = None) -> Answer:
    """Tile time by phase over all recorded runs, on one IPU or on all. Phases that hardware did not record have no
    figures. Where it counted on one tile per IPU or device, an IPU counts as one tile that does what its steps say, and
    tile_cycles are unknown."""
    _check_run(source)
    totals = phase_totals(source, ipu=ipu)

    def column(figure: Callable[[str], float]) -> list[float]:
        return [math.nan if phase in totals.unknown else figure(phase) for phase in PHASES]

    return Answer(
        PHASE_COLUMNS.table(
            phase=list(PHASES),
            tile_cycles=column(totals.tile_cycles.__getitem__ if totals.of_tiles else lambda _: math.nan),
            average_cycles=column(totals.average),
            time_share=column(totals.share),
        )
    )


INTERVALS = columns(
    "intervals",
    """
    begin_cycle | cycle | begin of the interval
    end_cycle   | cycle | its end
    computing   | count | tiles that compute
    exchanging  | count | tiles that exchange
    syncing     | count | tiles that wait
    """,
)


@question(INTERVALS)
def intervals(source: ReportSource) -> Answer:
    """Numbers of tiles in each phase over time, a row per change: the rows of Poplar's reportIntervals, several for
    each step (one where hardware counted on one tile)."""
    _check_run(source)
    from popvision.analysis.execution.intervals import interval_table

    table = interval_table(source)
    return Answer(
        INTERVALS.table(
            begin_cycle=table.begin,
            end_cycle=table.end,
            computing=table.computing,
            exchanging=table.exchanging,
            syncing=table.syncing,
        )
    )


WINDOW = columns(
    "window",
    """
    phase       | text   | compute, exchange, global exchange, host or sync
    tile_cycles | cycles | sum over tiles of the parts inside the window
    time_share  | share  | part of all tile cycles of the window
    """,
)


@question(WINDOW)
def window(source: ReportSource, begin: int = 0, end: int | None = None, ipu: int = 0) -> Answer:
    """Phases of the tiles of an IPU in a window. A step that the window cuts counts with its part inside. Facts: steps,
    utilisation (useful tile cycles / all), balance and active_balance (mean / maximum of compute cycles over all tiles,
    over tiles that take part); None where nothing ran."""
    from popvision.analysis.execution.window import window_figures

    figures = window_figures(source, ipu, begin, _window_end(source, end))
    names = ("steps", "utilisation", "balance", "active_balance")
    return Answer(
        WINDOW.table(
            phase=list(PHASES),
            tile_cycles=[figures.recorded_cycles(phase) for phase in PHASES],
            time_share=[figures.share(phase) for phase in PHASES],
        ),
        {name: getattr(figures, name) for name in names},
    )


@question(catalogued("step_groups", GROUP_FIGURES))
def grouped_steps(
    source: ReportSource, by: str = "name", begin: int = 0, end: int | None = None, ipu: int | None = None
) -> Answer:
    """The steps of a window in groups, on one IPU or on all, most total cycles first. `by` is "name", "part" (of
    names), "level1" ... "level8", "type" or "program". Tile cycles are missing where hardware counted compute on one
    tile per IPU or device."""
    ipus = range(target_of(source).num_ipus) if ipu is None else [ipu]
    table = aggregate(source, list(ipus), begin, _window_end(source, end), by)
    if tiles_unknown(source):
        unknown = np.full(len(table), math.nan)
        of_tiles = ("self_tile_cycles", "total_tile_cycles")
        table = Table(
            table.id,
            [Figure(f.id, f.unit, unknown if f.id in of_tiles else f.values, f.place, f.side) for f in table],
        )
    return Answer(table, {"by": by})


WORKER_LANES = columns(
    "worker_lanes",
    """
    vertex_type   | text          | name of the vertex type
    worker        | id            | worker context, -1: no single worker
    thread_cycles | thread_cycles | as stored
    begin_cycles  | cycles        | since the compute set began
    end_cycles    | cycles        | since the compute set began
    """,
)


@question(WORKER_LANES)
def worker_lanes(source: ReportSource, compute_set: int, tile: int) -> Answer:
    """The vertices of a compute set on the workers of a tile, in issue order, as estimated."""
    from popvision.analysis.execution import worker_lanes as lanes

    table, types = lanes.worker_lanes(source, compute_set, tile), source.reader.vertex_types().name
    return Answer(
        WORKER_LANES.table(
            vertex_type=[types[number] for number in table.vertex_type.tolist()],
            worker=np.where(table.worker == lanes.NO_CONTEXT, -1, table.worker),
            thread_cycles=table.thread_cycles,
            begin_cycles=table.begin,
            end_cycles=table.end,
        ),
        {"compute_set": compute_set, "tile": tile},
    )


BLOCKS = columns(
    "recorded_blocks",
    """
    run         | id    | run
    program     | id    | program, -1 for an overflow
    type        | text  | its type
    name        | text  | its debug name
    kind        | text  | common, overflow, flush or stream copy
    begin_cycle | cycle | begin
    end_cycle   | cycle | end
    """,
)

_NO_BLOCKS = (
    "This report holds no blocks of tile {tile}: they need profiler.blocks.filter or profiler.programs.filter, and the "
    "tile among profiler.blocks.tile."
)


@question(BLOCKS)
def blocks(source: ReportSource, tile: int = 0) -> Answer:
    """Blocks that lightweight profiling recorded on a tile, in order.

    Raises NotRecordedError for a tile without blocks."""
    by_run, programs = source.reader.blocks(tile), programs_of(source)
    if not by_run:
        raise NotRecordedError(_NO_BLOCKS.format(tile=tile))
    program, kind, begin, end = (
        np.concatenate([np.asarray(getattr(run, name), np.int64) for run in by_run])
        for name in ("program", "kind", "start", "end")
    )
    ids = program.tolist()
    return Answer(
        BLOCKS.table(
            run=np.repeat(np.arange(len(by_run)), [len(run.program) for run in by_run]),
            program=program,
            type=[programs.type[number] if number >= 0 else "" for number in ids],
            name=[programs.name[number] if number >= 0 else "" for number in ids],
            kind=[BLOCK_KINDS.get(number, "unknown") for number in kind.tolist()],
            begin_cycle=begin,
            end_cycle=end,
        ),
        {"tile": tile},
    )


def _step_programs(source: ReportSource) -> dict[str, Any]:
    """The columns that name the program of each step."""
    rows, programs = source.reader.steps(), programs_of(source)
    types = [PROGRAM_TYPES[number] for number in np.asarray(rows.type).tolist()]
    return {
        "step": np.arange(len(types)),
        "run": np.asarray(rows.run, np.int64),
        "program": np.asarray(rows.program, np.int64),
        "type": types,
        "phase": [PHASE_OF_TYPE.get(type, "") for type in types],
        "name": [programs.name[number] for number in np.asarray(rows.program).tolist()],
        "compute_set": np.asarray(rows.compute_set, np.int64),
    }


def _cells(source: ReportSource, first: int, last: int | None, ipu: int, begins: bool) -> Int64Array:
    steps, tiles = len(source.reader.steps_on_ipu(ipu).cycles), target_of(source).tiles_per_ipu
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
        raise NotRecordedError(why_no_run(source))


def _window_end(source: ReportSource, end: int | None) -> int:
    _check_run(source)
    return source.reader.total_cycles() if end is None else end
