"""The table of tiles, what each holds, also in order of what they use; and how many tiles use how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.figure import Table
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


TILES = columns(
    "tiles",
    """
    rank                  | id    | place by memory including gaps; equals share the first place
    tile                  | id    | tile, counted over all IPUs
    ipu                   | id    | IPU: its IPU
    physical_tile         | id    | Physical: physical id within the IPU; missing where the report does not know it
    capacity_bytes        | bytes | memory of a tile
    including_gaps_bytes  | bytes | highest used address
    excluding_gaps_bytes  | bytes | bytes of all allocations, a shared address once
    gaps_bytes            | bytes | unused bytes below the highest used address
    always_live_bytes     | bytes | bytes that may be needed at every liveness index
    not_always_live_bytes | bytes | the tile's own maximum of not-always-live bytes over liveness indices
    peak_live_bytes       | bytes | Live at its peak: always live + not always live at the tile's own peak
    overflowed_bytes      | bytes | Overflowed: bytes in use beyond the end of the tile's memory
    excess_bytes          | bytes | Too much: how far the highest used address lies beyond the end of the tile's memory
    """,
)


def tile_table(source: ReportSource, replica: int | None = 0) -> Table:
    """A row per tile of a replica, of all for None, by number. Raises as `memory_by_tile`."""
    import pandas as pd

    memory, target = memory_by_tile(source, replica), target_of(source)
    tile = np.arange(memory.tiles.start, memory.tiles.stop)
    known = target.physical_tile is not None and len(target.physical_tile) > 0
    places = np.asarray(target.physical_tile, np.int64) if known else np.zeros(target.tiles_per_ipu, np.int64)
    used = memory.including_gaps
    return TILES.table(
        rank=1 + np.searchsorted(np.sort(-used), -used, side="left"),
        tile=tile,
        ipu=tile // target.tiles_per_ipu,
        physical_tile=pd.arrays.IntegerArray(places[tile % target.tiles_per_ipu], np.full(len(tile), not known)),
        capacity_bytes=np.full(len(tile), memory.capacity),
        including_gaps_bytes=used,
        excluding_gaps_bytes=memory.excluding_gaps,
        gaps_bytes=memory.gaps,
        always_live_bytes=memory.always_live,
        not_always_live_bytes=memory.not_always_live,
        peak_live_bytes=memory.always_live + memory.not_always_live,
        overflowed_bytes=memory.overflowed,
        excess_bytes=np.maximum(used - memory.capacity, 0),
    )


def fullest_first(table: Table) -> Table:
    """The same rows by rank: tiles with most memory including gaps first, equals by number."""
    return table.take(np.lexsort((np.asarray(table["tile"]), np.asarray(table["rank"]))))


@dataclass(frozen=True)
class Histogram:
    """`tiles[i]` tiles use from `edges[i]` to below `edges[i + 1]` bytes. Edges are multiples of `width`."""

    edges: Int64Array
    tiles: Int64Array
    width: int


def histogram(values: npt.ArrayLike, most: int = 40) -> Histogram:
    """How many values fall into each of at most `most` + 1 bins, whose width is a power of two bytes and whose first
    edge is a multiple of it. Every value is counted once. Raises ValueError when there are none."""
    numbers = np.asarray(values, dtype=np.int64)
    if not numbers.size:
        raise ValueError("a histogram needs at least one value")
    low, high = int(numbers.min()), int(numbers.max())
    width = 1
    while width * most < high - low + 1:
        width *= 2
    first = low // width
    counts = np.bincount(numbers // width - first)
    edges = (first + np.arange(len(counts) + 1)) * width
    return Histogram(edges, counts.astype(np.int64), width)
