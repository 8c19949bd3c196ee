"""The waterfalls of a tile's peak in two reports: rows matched by group, category and variable.

Rows of the source keep their order; a row that only the target has stands behind the row before it in the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import match_variables
from popvision.analysis.liveness.tile_peak import PeakRow, TilePeak, peak_table
from popvision.analysis.report.figure import Figure, Table
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: (group, category, name in the words of the source).
_Key = tuple[str, str, str]


def compared_peaks(source: ReportSource, target: ReportSource, peaks: tuple[TilePeak, TilePeak]) -> Table:
    """A row per bar of either waterfall: part, label, category, variable (of the source, else of the target) and
    size_bytes of both, NaN where a report lacks the row."""
    partner = match_variables(source, target).source_rows()
    bars = [
        {_key(row, partner if side else None): (at, row) for at, row in enumerate(peak.rows)}
        for side, peak in enumerate(peaks)
    ]
    keys = _merge(list(bars[0]), list(bars[1]))
    sizes: list[Float64Array] = [
        np.array([float(side[key][1].bytes) if key in side else np.nan for key in keys]) for side in bars
    ]
    texts = [peak_table(peak) for peak in peaks]
    places = [(0, bars[0][key][0]) if key in bars[0] else (1, bars[1][key][0]) for key in keys]
    figures = [
        Figure(figure.id, figure.unit, [texts[side][figure.id][at] for side, at in places])
        for figure in texts[0].select(["part", "label", "category", "variable"])
    ]
    return Table(
        "tile_peak",
        [
            *figures,
            Figure("size_bytes", "bytes", sizes[0], side="source"),
            Figure("size_bytes", "bytes", sizes[1], side="target"),
        ],
    )


def _key(row: PeakRow, partner: Int64Array | None) -> _Key:
    """`partner`: row of the target's variable -> the source's, -1 for none; None for a row of the source. A row that
    stands for the rest of a category matches the other report's, however many variables each stands for."""
    if row.variable >= 0:
        variable = row.variable if partner is None else int(partner[row.variable])
        return row.group, row.category, f"#{variable}" if variable >= 0 else f"target #{row.variable}"
    if row.group == "rest":
        return row.group, "", ""
    return row.group, row.category, "" if row.count > 1 else row.label


def _merge(keys: list[_Key], others: list[_Key]) -> list[_Key]:
    """Keys of both, those of `others` alone behind the key before them in `others`."""
    merged, at = list(keys), 0
    for key in others:
        if key in merged:
            at = merged.index(key) + 1
        else:
            merged.insert(at, key)
            at += 1
    return merged
