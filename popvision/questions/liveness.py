"""Questions about live memory over all tiles of a replica, one IPU or one tile. All sizes are bytes.

A liveness index is a position in the static order of the program: a loop body has one position per program, a function
body one at each call site."""

from __future__ import annotations

import numpy as np

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.device_time import timed_steps
from popvision.analysis.liveness.peaks import peaks
from popvision.analysis.liveness.variables import ALWAYS_LIVE_FIGURES, LIVE_FIGURES, always_live_table, live_table
from popvision.analysis.report.columns import eq_classes, programs_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.analysis.report.tiles import Where
from popvision.questions.question import Answer, question


def scope_of(ipu: int | None, tile: int | None) -> Where:
    """One IPU, one tile, or all tiles of the first replica. Raises ValueError when both are given."""
    if ipu is not None and tile is not None:
        raise ValueError("give an IPU or a tile, not both")
    if tile is not None:
        return Where("tile", tile)
    return Where("all", 0) if ipu is None else Where("ipu", ipu)


LIVENESS = columns(
    "liveness",
    """
    liveness_index        | id    | position in the static order of the program
    program               | id    | program there
    type                  | text  | its type
    name                  | text  | its name
    not_always_live_bytes | bytes | not-always-live bytes there
    live_bytes            | bytes | all live bytes there
    """,
)


@question(LIVENESS)
def liveness(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> Answer:
    """The liveness curve of a replica, an IPU or a tile, a row per liveness index. Facts: always_live_bytes,
    capacity_bytes, peak_index (the first highest), peaks (indices of the main peaks).

    Raises NotRecordedError when liveness was not recorded; for a tile also without lowered variables."""
    line, programs = curve(source, scope_of(ipu, tile)), programs_of(source)
    ids = line.program.tolist()
    return Answer(
        LIVENESS.table(
            liveness_index=np.arange(len(ids)),
            program=line.program,
            type=[programs.type[program] for program in ids],
            name=[programs.name[program] for program in ids],
            not_always_live_bytes=line.not_always_live,
            live_bytes=line.not_always_live + line.always_live,
        ),
        {
            "always_live_bytes": line.always_live,
            "capacity_bytes": line.capacity,
            "peak_index": peak(line).index,
            "peaks": peaks(line.not_always_live).tolist(),
        },
    )


LIVE_VARIABLES = catalogued("live_variables", LIVE_FIGURES)


@question(LIVE_VARIABLES)
def live_variables(source: ReportSource, index: int, ipu: int | None = None, tile: int | None = None) -> Answer:
    """Not-always-live variables that are live at a liveness index, largest first. The sizes add up to the curve at that
    index."""
    where = scope_of(ipu, tile)
    count = len(curve(source, where).program)
    if not 0 <= index < count:
        raise ValueError(f"liveness index {index} does not exist: this report has indices 0 to {count - 1}")
    return Answer(live_table(source, [index], where), {"liveness_index": index})


@question(LIVE_VARIABLES)
def peak_variables(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> Answer:
    """`live_variables` at the first liveness index where the curve is highest."""
    return live_variables(source, peak(curve(source, scope_of(ipu, tile))).index, ipu, tile)


@question(catalogued("always_live_variables", ALWAYS_LIVE_FIGURES))
def always_live_variables(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> Answer:
    """Always-live variables, largest first."""
    return Answer(always_live_table(source, scope_of(ipu, tile)))


LIVE_RANGES = columns(
    "live_ranges",
    """
    eq_class    | id | class of variables and lowered_variables
    begin_index | id | first liveness index of the range
    end_index   | id | the liveness index after the last one
    """,
)


@question(LIVE_RANGES)
def live_ranges(source: ReportSource) -> Answer:
    """Ranges of liveness indices at which each equivalence class is live."""
    classes = eq_classes(source)
    offsets = np.asarray(classes.offsets, np.int64)
    return Answer(
        LIVE_RANGES.table(
            eq_class=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
            begin_index=np.asarray(classes.starts, np.int64),
            end_index=np.asarray(classes.ends, np.int64),
        )
    )


LIVENESS_OVER_TIME = columns(
    "liveness_over_time",
    """
    step           | id    | execution step, counted over all runs
    begin_cycle    | cycle | its begin
    end_cycle      | cycle | its end
    liveness_index | id    | its liveness index, -1 before the first known one
    live_bytes     | bytes | all live bytes; missing before the first known liveness index
    """,
)


@question(LIVENESS_OVER_TIME)
def liveness_over_time(source: ReportSource, run: int = 0, ipu: int = 0, tile: int | None = None) -> Answer:
    """Live bytes during a run, on an IPU or a tile, a row per step."""
    import pandas as pd

    timed = timed_steps(source, run, ipu)
    line = curve(source, scope_of(None if tile is not None else ipu, tile))
    index = timed.carried()
    live = line.not_always_live[np.maximum(index, 0)] + line.always_live
    return Answer(
        LIVENESS_OVER_TIME.table(
            step=timed.step,
            begin_cycle=timed.begin,
            end_cycle=timed.end,
            liveness_index=index,
            live_bytes=pd.arrays.IntegerArray(live.astype(np.int64), index < 0),
        ),
        {"run": run},
    )
