"""Allocations of one tile by address: the table of its lowered variables, gaps and shared addresses.

An allocation covers the half-open range [address, address + bytes) of the tile's memory. Allocations that share bytes
are never live at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import (
    lowered_names,
    stored_eq_classes,
    stored_liveness,
    stored_variables,
    variables,
)
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.memory_labels import CATEGORY_LABELS, REGION_LABELS
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS, EquivalenceClasses, LoweredTile

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def lowered_tile(source: ReportSource, tile: int) -> LoweredTile:
    """Allocations of one tile, sorted by address.

    Raises ValueError for a tile that does not exist and NotRecordedError when the report has none for it.
    """
    count = target_of(source).num_tiles
    if not 0 <= tile < count:
        raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {count - 1}")
    allocations = source.reader.lowered_tile(tile)
    if allocations is None:
        raise NotRecordedError(LOWERED_VARIABLES)
    return allocations


@dataclass(frozen=True)
class AddressUse:
    """`gap_starts[i]:gap_ends[i]` are the unused ranges below the highest used address; `shared[r]` says whether
    allocation r has a byte that another allocation also uses."""

    gap_starts: Int64Array
    gap_ends: Int64Array
    shared: BoolArray
    including_gaps: int
    excluding_gaps: int


def address_use(tile: LoweredTile) -> AddressUse:
    """Gaps, shared addresses and the two totals of a tile, from its allocations alone (bytes)."""
    start = np.asarray(tile.address, dtype=np.int64)
    end = start + np.asarray(tile.bytes, dtype=np.int64)
    rows = np.flatnonzero(end > start)
    rows = rows[np.argsort(start[rows], kind="stable")]
    first, last = start[rows], end[rows]
    # reach[r]: end of everything before row r; following[r]: where the row after r begins.
    reach = np.concatenate([np.zeros(1, dtype=np.int64), np.maximum.accumulate(last)])
    following = np.append(first[1:], np.iinfo(np.int64).max)
    shared = np.zeros(len(start), dtype=bool)
    shared[rows] = (first < reach[:-1]) | (following < last)
    opens = np.flatnonzero(first > reach[:-1])
    gaps = int((first[opens] - reach[opens]).sum())
    return AddressUse(reach[opens], first[opens], shared, int(reach[-1]), int(reach[-1]) - gaps)


def class_rows(classes: EquivalenceClasses, chosen: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(rows of starts and ends, position in `chosen`) of all ranges of the chosen classes."""
    offsets = np.asarray(classes.offsets, dtype=np.int64)
    first = offsets[chosen]
    count = offsets[chosen + 1] - first
    of = np.repeat(np.arange(len(chosen)), count)
    before = np.cumsum(count) - count
    return first[of] + np.arange(len(of)) - before[of], of


def lifetime_text(classes: EquivalenceClasses | None, eq_class: int) -> str:
    """Live ranges of a class as inclusive liveness indices, "3-7, 12"; "always" for -1."""
    if eq_class < 0:
        return "always"
    if classes is None:
        return "unknown"
    rows = slice(int(classes.offsets[eq_class]), int(classes.offsets[eq_class + 1]))
    spans = zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)
    return ", ".join(str(s) if e == s + 1 else f"{s}-{e - 1}" for s, e in spans if e > s)


def variables_table(source: ReportSource) -> Table:
    """Variables before lowering, largest first: name, variable (its id), size_bytes (over one replica), live ("always"
    or "at times"). Raises as `variables`."""
    known = variables(source)
    size = np.asarray(known.bytes, np.int64) // target_of(source).num_replicas
    order = np.lexsort((np.arange(len(size)), -size))
    always = np.asarray(known.always_live, bool)
    return Table(
        "variables",
        [
            Figure("name", "text", [known.name[row] for row in order.tolist()]),
            Figure("variable", "id", order),
            Figure("size_bytes", "bytes", size[order]),
            Figure("live", "text", ["always" if each else "at times" for each in always[order].tolist()]),
        ],
    )


def lowered_table(source: ReportSource, tile: int) -> Table:
    """The allocations of a tile in address order: id, name, variable_name, category, region, address, size_bytes, live
    (liveness indices), indices (how many those are), shared ("yes" when another allocation uses an address of it too)
    and variable (its id, -1 where there is none). Raises as `lowered_tile`."""
    low = lowered_tile(source, tile)
    names = lowered_names(source)
    unlowered = stored_variables(source)
    classes = stored_eq_classes(source)
    unique, which = np.unique(np.asarray(low.eq_class, dtype=np.int64), return_inverse=True)
    texts = np.asarray([lifetime_text(classes, int(c)) for c in unique], dtype=object)
    lengths = np.asarray([_indices_live(source, classes, int(c)) for c in unique], dtype=np.int64)
    owner = np.asarray(low.variable, dtype=np.int64).tolist()
    known = unlowered.name if unlowered is not None else []
    own_name = [names[i] if 0 <= i < len(names) else "" for i in np.asarray(low.name).tolist()]
    category = [CATEGORY_LABELS[CATEGORIES[c]] for c in np.asarray(low.category).tolist()]
    return Table(
        "lowered_variables",
        [
            Figure("id", "id", low.first_id + np.arange(len(low.bytes))),
            Figure("name", "text", own_name),
            Figure("variable_name", "text", [known[v] if 0 <= v < len(known) else "" for v in owner]),
            Figure("category", "text", category),
            Figure("region", "text", [REGION_LABELS[REGIONS[r]] for r in np.asarray(low.region).tolist()]),
            Figure("address", "id", np.asarray(low.address, dtype=np.int64)),
            Figure("size_bytes", "bytes", np.asarray(low.bytes, dtype=np.int64)),
            Figure("live", "text", texts[which] if len(which) else []),
            Figure("indices", "count", lengths[which] if len(which) else []),
            Figure("shared", "text", np.where(address_use(low).shared, "yes", "no")),
            Figure("variable", "id", owner),
        ],
    )


def _indices_live(source: ReportSource, classes: EquivalenceClasses | None, eq_class: int) -> int:
    """Number of liveness indices at which a class is live: all for -1."""
    if eq_class < 0 or classes is None:
        stored = stored_liveness(source)
        return len(stored.program) if stored is not None else 1
    rows = slice(int(classes.offsets[eq_class]), int(classes.offsets[eq_class + 1]))
    return int((np.asarray(classes.ends[rows]) - np.asarray(classes.starts[rows])).sum())
