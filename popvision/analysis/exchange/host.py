"""Copies between host and device: bytes and cycles of their three programs, over all recorded runs.

Cycles are those of the longest tile of each execution (`longest_tiles`), also of copies that overlap with compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.exchange.programs import longest_tiles, moved_bytes, recorded_totals
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Table, Unit, table_of
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


HOST_FIGURES: dict[str, Unit] = {
    "program": "id",
    "name": "text",
    "executions": "count",
    "to_device": "bytes",
    "to_host": "bytes",
    "begin": "cycles",
    "mid": "cycles",
    "end": "cycles",
    "achieved": "bytes_per_cycle",
    "use": "share",
}


def host_copies(source: ReportSource) -> Table:
    """One row per StreamCopyMid, most bytes first: program, name, executions, bytes to_device and to_host, cycles of
    mid and of the begin before and the end after it (NA where they are not there), achieved (bytes per cycle) and use
    (achieved / host rate, NaN where the report does not hold the rate)."""
    import pandas as pd

    m, r, programs = moved_bytes(source), recorded_totals(source), programs_of(source)
    mids = np.asarray([row for row, kind in enumerate(m.type) if kind == "StreamCopyMid"], np.int64)
    mids = mids[np.lexsort((m.program[mids], -(r.received + r.sent)[mids]))]
    cycles_of = longest_tiles(source)

    def part(step: int, type_: str) -> pd.api.extensions.ExtensionArray:
        at = m.program[mids] + step
        is_there = [0 <= each < len(programs.type) and programs.type[each] == type_ for each in at.tolist()]
        values = np.append(cycles_of, 0)[np.where(is_there, at, len(cycles_of))]
        return pd.arrays.IntegerArray(values, ~np.asarray(is_there, bool))

    size, cycles = (r.received + r.sent)[mids], r.cycles[mids]
    possible = target_of(source).host_bytes_per_cycle * m.ipus[mids]
    with np.errstate(divide="ignore", invalid="ignore"):
        achieved = np.where(cycles > 0, size / cycles, np.nan)
        use = np.where(possible > 0, achieved / possible, np.nan)
    return table_of(
        "host_copies",
        HOST_FIGURES,
        {
            "program": m.program[mids],
            "name": [m.name[row] or "control copy" for row in mids.tolist()],
            "executions": r.executions[mids],
            "to_device": r.received[mids],
            "to_host": r.sent[mids],
            "begin": part(-1, "StreamCopyBegin"),
            "mid": cycles,
            "end": part(1, "StreamCopyEnd"),
            "achieved": achieved,
            "use": use,
        },
    )
