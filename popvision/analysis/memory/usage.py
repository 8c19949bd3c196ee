"""Memory of each tile: totals and breakdowns per tile and per IPU.

Three laws are tested for every tile: including gaps = excluding gaps + gaps; the series of each breakdown
add up to excluding gaps; an IPU's figure is the sum of its tiles'. All figures are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.columns import stored_tile_memory
from popvision.analysis.report.memory_labels import CATEGORY_LABELS, REGION_LABELS
from popvision.analysis.report.not_recorded import GRAPH_PROFILE, NotRecordedError
from popvision.analysis.report.tiles import target_of, tiles_of_replica
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS, Target

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: What a breakdown can be by.
BREAKDOWNS = ("region", "category", "liveness")

#: The category of each number that a lowered variable carries.
CATEGORY_KEYS = CATEGORIES


LIVENESS_KEYS = ("alwaysLive", "notAlwaysLive", "rest")
LIVENESS_LABELS = ("Always live", "Not always live at the tile's peak", "Held for other times")


@dataclass(frozen=True)
class MemoryByTile:
    """Totals of the tiles `tiles` (global numbers, software order): one entry per tile in each array."""

    tiles: range
    tiles_per_ipu: int
    capacity: int  #: bytes of one tile's memory
    including_gaps: Int64Array
    excluding_gaps: Int64Array
    always_live: Int64Array
    not_always_live: Int64Array  #: each tile's own maximum over liveness indices
    overflowed: Int64Array

    @property
    def gaps(self) -> Int64Array:
        """Unused bytes below the highest used address."""
        return self.including_gaps - self.excluding_gaps

    @property
    def over_capacity(self) -> Int64Array:
        """Numbers of the tiles whose highest used address lies beyond their memory."""
        return self.tiles.start + np.flatnonzero(self.including_gaps > self.capacity)


@dataclass(frozen=True)
class Breakdown:
    """Series that add up to excluding gaps: `values[i]` (one entry per tile) belongs to `labels[i]`."""

    by: str
    keys: list[str]
    labels: list[str]
    values: list[Int64Array]


def memory_by_tile(source: ReportSource, replica: int | None = 0) -> MemoryByTile:
    """Totals of the tiles of one replica, all of them for None.

    Raises NotRecordedError without a graph profile, ValueError for a replica that does not exist.
    """
    target = target_of(source)
    tiles = tiles_of_replica(target, replica)
    memory = stored_tile_memory(source)
    if memory is None:
        raise NotRecordedError(GRAPH_PROFILE)
    columns = (
        np.asarray(column, dtype=np.int64)[tiles.start : tiles.stop]
        for column in (
            memory.including_gaps,
            memory.excluding_gaps,
            memory.always_live,
            memory.not_always_live,
            memory.overflowed,
        )
    )
    return MemoryByTile(tiles, target.tiles_per_ipu, target.bytes_per_tile, *columns)


def by_ipu(values: npt.ArrayLike, tiles_per_ipu: int) -> Int64Array:
    """Sums over the tiles of each IPU of a per-tile array that covers complete IPUs."""
    sums: Int64Array = np.asarray(values, dtype=np.int64).reshape(-1, tiles_per_ipu).sum(axis=1)
    return sums


def category_arrays(source: ReportSource) -> dict[tuple[str, str, bool], Int64Array]:
    """Bytes of every tile (all replicas) by (category, region, overlapped), in report order; absent = zero everywhere.

    Raises NotRecordedError without a graph profile.
    """
    target = target_of(source)
    arrays = source.kept.once("category_arrays", lambda: _read_categories(source, target))
    if not arrays:
        raise NotRecordedError(GRAPH_PROFILE)
    return arrays


def _read_categories(source: ReportSource, target: Target) -> dict[tuple[str, str, bool], Int64Array]:
    arrays: dict[tuple[str, str, bool], Int64Array] = {}
    for part in source.reader.category_memory():
        key = (part.category, part.region, bool(part.overlapped))
        all_tiles = arrays.setdefault(key, np.zeros(target.num_tiles, dtype=np.int64))
        first = part.ipu * target.tiles_per_ipu
        all_tiles[first : first + target.tiles_per_ipu] += np.asarray(part.bytes, dtype=np.int64)
    return dict(sorted(arrays.items(), key=_report_order))


def _report_order(item: tuple[tuple[str, str, bool], Int64Array]) -> tuple[int, int, bool]:
    (category, region, overlapped), _ = item
    rank = CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)
    return rank, REGIONS.index(region) if region in REGIONS else len(REGIONS), overlapped


def breakdown(source: ReportSource, by: str, replica: int | None = 0) -> Breakdown:
    """Excluding gaps split by "region", "category" or "liveness"; series that are zero on every tile are left out.

    By liveness: always-live bytes; the bytes not always live at the index where the tile's own curve peaks; and the
    rest, bytes that only variables of other times use. Raises as `memory_by_tile`, and ValueError for another `by`.
    """
    if by == "liveness":
        return _by_liveness(memory_by_tile(source, replica))
    if by not in BREAKDOWNS:
        raise ValueError(f"breakdown {by!r} is unknown: use region, category or liveness")
    tiles = tiles_of_replica(target_of(source), replica)
    part, labels = (0, CATEGORY_LABELS) if by == "category" else (1, REGION_LABELS)
    sums: dict[str, Int64Array] = {}
    for key, values in category_arrays(source).items():
        name = key[0] if part == 0 else key[1]
        window = values[tiles.start : tiles.stop]
        sums[name] = sums[name] + window if name in sums else window
    keys = [key for key in (CATEGORIES if by == "category" else REGIONS) if key in sums and sums[key].any()]
    return Breakdown(by, keys, [labels[key] for key in keys], [sums[key] for key in keys])


def breakdown_keys(by: str) -> list[str]:
    """Every part that a breakdown can have, in the order in which they are drawn."""
    return list({"category": CATEGORIES, "region": REGIONS}.get(by, LIVENESS_KEYS))


def _by_liveness(memory: MemoryByTile) -> Breakdown:
    rest = memory.excluding_gaps - memory.always_live - memory.not_always_live
    values = [memory.always_live, memory.not_always_live, rest]
    return Breakdown("liveness", list(LIVENESS_KEYS), list(LIVENESS_LABELS), values)


def category_by_tile(source: ReportSource, category: str, replica: int | None = 0) -> Int64Array:
    """Bytes of one category on each tile of a replica. Raises ValueError for an unknown category, else as above."""
    if category not in CATEGORIES:
        raise ValueError(f"memory category {category!r} is unknown: use one of {', '.join(CATEGORIES)}")
    tiles = tiles_of_replica(target_of(source), replica)
    total = np.zeros(len(tiles), dtype=np.int64)
    for (name, _, _), values in category_arrays(source).items():
        if name == category:
            total += values[tiles.start : tiles.stop]
    return total
