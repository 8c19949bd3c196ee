"""Questions about live memory over all tiles of a replica, one IPU or one tile. All sizes are bytes.

A liveness index is a position in the static order of the program: a loop body has one position per program, a function
body one at each call site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.device_time import timed_steps
from popvision.analysis.liveness.peaks import peaks
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.report.columns import eq_classes, programs_of
from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from popvision.opened.frames import report_frame, report_table

if TYPE_CHECKING:
    import pandas as pd


def scope_of(ipu: int | None, tile: int | None) -> Where:
    """One IPU, one tile, or all tiles of the first replica. Raises ValueError when both are given."""
    if ipu is not None and tile is not None:
        raise ValueError("give an IPU or a tile, not both")
    if tile is not None:
        return Where("tile", tile)
    return Where("all", 0) if ipu is None else Where("ipu", ipu)


def liveness(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
    """The liveness curve of a replica, an IPU or a tile, a row per liveness index: liveness_index, program, type, name,
    not_always_live_bytes, live_bytes (always-live bytes included). `attrs`: always_live_bytes, capacity_bytes,
    peak_index (the first highest), peaks (indices of the main peaks).

    Raises NotRecordedError when liveness was not recorded; for a tile also without lowered variables."""
    line, programs = curve(source, scope_of(ipu, tile)), programs_of(source)
    ids = line.program.tolist()
    return report_frame(
        source,
        {
            "liveness_index": np.arange(len(ids)),
            "program": line.program,
            "type": [programs.type[each] for each in ids],
            "name": [programs.name[each] for each in ids],
            "not_always_live_bytes": line.not_always_live,
            "live_bytes": line.not_always_live + line.always_live,
        },
        always_live_bytes=line.always_live,
        capacity_bytes=line.capacity,
        peak_index=peak(line).index,
        peaks=peaks(line.not_always_live).tolist(),
    )


def live_variables(source: ReportSource, index: int, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
    """Not-always-live variables that are live at a liveness index, largest first: name, variable (row of
    `variables()`, -1 for none), live (its indices as text), size_bytes within the scope. The sizes add up to the curve
    at that index."""
    where = scope_of(ipu, tile)
    count = len(curve(source, where).program)
    if not 0 <= index < count:
        raise ValueError(f"liveness index {index} does not exist: this report has indices 0 to {count - 1}")
    return report_table(source, opened_frame(live_table(source, [index], where)), liveness_index=index)


def peak_variables(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
    """`live_variables` at the first liveness index where the curve is highest; `attrs`: liveness_index."""
    return live_variables(source, peak(curve(source, scope_of(ipu, tile))).index, ipu, tile)


def always_live_variables(source: ReportSource, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
    """Always-live variables, largest first: name, variable (-1 for none), size_bytes within the scope."""
    return report_table(source, opened_frame(always_live_table(source, scope_of(ipu, tile))))


def live_ranges(source: ReportSource) -> pd.DataFrame:
    """A row per range of liveness indices over which an equivalence class is live: eq_class, begin_index, end_index
    (half-open: live at begin_index, no longer live at end_index)."""
    classes = eq_classes(source)
    offsets = np.asarray(classes.offsets, np.int64)
    return report_frame(
        source,
        {
            "eq_class": np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
            "begin_index": np.asarray(classes.starts, np.int64),
            "end_index": np.asarray(classes.ends, np.int64),
        },
    )


def liveness_over_time(source: ReportSource, run: int = 0, ipu: int = 0, tile: int | None = None) -> pd.DataFrame:
    """Live bytes during a run, on an IPU or a tile, a row per step: step, begin_cycle, end_cycle, liveness_index (-1
    before the first known one), live_bytes (missing there)."""
    import pandas as pd

    timed = timed_steps(source, run, ipu)
    line = curve(source, scope_of(None if tile is not None else ipu, tile))
    index = timed.carried()
    live = line.not_always_live[np.maximum(index, 0)] + line.always_live
    return report_frame(
        source,
        {
            "step": timed.step,
            "begin_cycle": timed.begin,
            "end_cycle": timed.end,
            "liveness_index": index,
            "live_bytes": pd.arrays.IntegerArray(live.astype(np.int64), index < 0),
        },
        run=run,
    )
