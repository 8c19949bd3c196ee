"""A tile's memory at its peak liveness index, as a waterfall whose parts add up to the byte.

    always live, by category (the largest variables of each apart)
  + live at the peak index only, by category, likewise            = live at the peak
  + reserved for other indices (their addresses are not reused at the peak)  = memory excluding gaps
  + gaps                                                          = memory including gaps
  + free, or - beyond the tile's memory                           = memory of a tile

Every sum is an identity of the columns (tested on random reports): live allocations never share an address, so what is
live at the peak is counted once, and so is excluding gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.liveness.curve import curve, live_classes, peak
from popvision.analysis.memory.lowered import lowered_tile
from popvision.analysis.memory.usage import CATEGORY_KEYS, memory_by_tile
from popvision.analysis.report.columns import lowered_names, stored_variables
from popvision.analysis.report.figure import Table, Unit, Values, table_of
from popvision.analysis.report.memory_labels import CATEGORY_LABELS
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.report.tiles import Where, target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import LoweredTile


#: Variables named per category and group; the rest stands in one row.
LARGEST = 4

#: Group of a row -> its name.
GROUPS = {
    "always": "Always live",
    "peak": "Live at the peak",
    "other": "Reserved",
    "gaps": "Gaps",
    "rest": "Free",
    "total": "Sum",
}

#: Figures of `peak_table`.
PEAK_FIGURES: dict[str, Unit] = {
    "kind": "text",
    "group": "text",
    "part": "text",
    "label": "text",
    "size_bytes": "bytes",
    "category": "text",
    "so_far_bytes": "bytes",
    "share": "share",
    "variable": "id",
    "variables": "count",
}

#: Figures of the table on the page, and of the frame that `popvision.open` gives.
SHOWN_FIGURES = ("part", "label", "category", "size_bytes", "so_far_bytes", "share", "variable")
OPENED_FIGURES = ("kind", "group", "label", "size_bytes", "category", "variable", "variables")


@dataclass(frozen=True)
class PeakRow:
    """One bar of the waterfall. `kind`: "part" (adds `bytes`) or "total" (the sum so far). `group`: "always", "peak",
    "other", "gaps", "rest" or "total"; `category` "" where there is none; `variable` -1 unless it is one variable's."""

    kind: str
    group: str
    label: str
    bytes: int
    category: str = ""
    variable: int = -1
    count: int = 0  #: variables that the row stands for


@dataclass(frozen=True)
class TilePeak:
    """The waterfall of `tile`. `index` and `program` are -1 where the report has no liveness. `note` says what is
    missing of the breakdown, "" when nothing is."""

    tile: int
    index: int
    program: int
    capacity: int
    rows: list[PeakRow]
    note: str = ""


def peak_table(peak: TilePeak) -> Table:
    """The waterfall as rows: kind, group, part (name of the group), label, size_bytes, category, so_far_bytes (sum of
    the parts down to the row), share (of the tile's memory), variable and variables (their number)."""
    rows = peak.rows
    columns: dict[str, Values] = {
        "kind": [row.kind for row in rows],
        "group": [row.group for row in rows],
        "part": [GROUPS[row.group] for row in rows],
        "label": [row.label for row in rows],
        "size_bytes": [row.bytes for row in rows],
        "category": [row.category for row in rows],
        "so_far_bytes": list(accumulate(row.bytes if row.kind == "part" else 0 for row in rows)),
        "share": [row.bytes / peak.capacity for row in rows],
        "variable": [row.variable for row in rows],
        "variables": [row.count for row in rows],
    }
    return table_of("tile_peak", PEAK_FIGURES, columns)


def tile_peak(source: ReportSource, tile: int) -> TilePeak:
    """The waterfall of a tile; without lowered variables its parts are all always-live bytes and all others.

    Raises NotRecordedError without a graph profile, ValueError for a tile that does not exist.
    """
    memory = memory_by_tile(source, None)
    if tile not in memory.tiles:
        raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {memory.tiles.stop - 1}")
    always, temporary = int(memory.always_live[tile]), int(memory.not_always_live[tile])
    excluding, including = int(memory.excluding_gaps[tile]), int(memory.including_gaps[tile])
    index, program, parts, note = -1, -1, _two_parts(always, temporary), LOWERED_VARIABLES
    try:
        top = peak(curve(source, Where("tile", tile)))
        index, program, note = top.index, top.program, ""
        parts = _parts(source, lowered_tile(source, tile), index)
    except NotRecordedError as problem:
        note = str(problem)
    live = sum(row.bytes for row in parts)
    rows = [
        *parts,
        PeakRow("total", "total", "Live at the peak", live),
        PeakRow("part", "other", "Reserved for other indices", excluding - live),
        PeakRow("total", "total", "Memory excluding gaps", excluding),
        PeakRow("part", "gaps", "Gaps", including - excluding),
        PeakRow("total", "total", "Memory including gaps", including),
    ]
    free = memory.capacity - including
    label = "Free" if free >= 0 else "Beyond the memory of the tile"
    rows += [PeakRow("part", "rest", label, free), PeakRow("total", "total", "Memory of a tile", memory.capacity)]
    return TilePeak(tile, index, program, target_of(source).bytes_per_tile, rows, note)


def _two_parts(always: int, temporary: int) -> list[PeakRow]:
    return [
        PeakRow("part", "always", "Always live", always),
        PeakRow("part", "peak", "Not always live, at the peak", temporary),
    ]


def _parts(source: ReportSource, low: LoweredTile, index: int) -> list[PeakRow]:
    owner = np.asarray(low.eq_class, dtype=np.int64)
    live = np.isin(owner, live_classes(source, index))
    return _by_category(source, low, np.flatnonzero(owner < 0), "always") + _by_category(
        source, low, np.flatnonzero(live), "peak"
    )


def _by_category(source: ReportSource, low: LoweredTile, rows: npt.NDArray[np.intp], group: str) -> list[PeakRow]:
    """Rows of a group: categories with most bytes first, in each the largest variables and the rest."""
    category = np.asarray(low.category, dtype=np.int64)[rows]
    size = np.asarray(low.bytes, dtype=np.int64)[rows]
    sums = np.bincount(category, size, len(CATEGORY_KEYS)).astype(np.int64)
    bars: list[PeakRow] = []
    for code in np.argsort(-sums, kind="stable")[: np.count_nonzero(sums)].tolist():
        bars += _largest(source, low, rows[category == code], group, CATEGORY_KEYS[code])
    return bars


def _largest(
    source: ReportSource, low: LoweredTile, rows: npt.NDArray[np.intp], group: str, category: str
) -> list[PeakRow]:
    """The largest variables of one category, the rest in one row. Allocations of one variable count together."""
    variable = np.asarray(low.variable, dtype=np.int64)[rows]
    name = np.asarray(low.name, dtype=np.int64)[rows]
    key = np.where(variable >= 0, variable, -2 - name)  # one number per variable, or per name where there is none
    keys, first, which = np.unique(key, return_index=True, return_inverse=True)
    sums = np.bincount(which, np.asarray(low.bytes, dtype=np.int64)[rows]).astype(np.int64)
    order = np.argsort(-sums, kind="stable")
    label = CATEGORY_LABELS[category]
    if len(keys) == 1 and _name(source, low, int(rows[0])) == category:
        return [PeakRow("part", group, label, int(sums[0]), category, int(variable[0]), 1)]
    named = order if len(order) <= LARGEST + 1 else order[:LARGEST]
    bars = [
        PeakRow(
            "part",
            group,
            _name(source, low, int(rows[first[each]])),
            int(sums[each]),
            category,
            int(variable[first[each]]),
            1,
        )
        for each in named.tolist()
    ]
    rest = len(order) - len(named)
    if rest:
        total = int(sums.sum()) - sum(row.bytes for row in bars)
        bars.append(PeakRow("part", group, f"{rest:,} more of {label}", total, category, -1, rest))
    return bars


def _name(source: ReportSource, low: LoweredTile, row: int) -> str:
    variable, name = int(low.variable[row]), int(low.name[row])
    known = stored_variables(source)
    if known is not None and 0 <= variable < len(known.name):
        return known.name[variable]
    names = lowered_names(source)
    return names[name] if 0 <= name < len(names) else "(unnamed)"
