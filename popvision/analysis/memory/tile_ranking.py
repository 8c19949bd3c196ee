"""All tiles of a replica in order of what they use: the table of tiles, and how many tiles use how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def tile_ranking(source: ReportSource, replica: int | None = 0) -> Table:
    """Tiles of a replica, most memory including gaps first: rank (equals share the first place), tile, ipu,
    physical_tile (-1 unknown), then figures in bytes; overflowed_bytes = including gaps above the capacity of a tile,
    else 0. Raises as `memory_by_tile`."""
    memory = memory_by_tile(source, replica)
    target = target_of(source)
    tiles = np.arange(memory.tiles.start, memory.tiles.stop)
    ids = target.physical_tile
    known = ids is not None and len(ids) > 0
    physical = np.asarray(ids)[tiles % target.tiles_per_ipu].astype(np.int64) if known else np.full(len(tiles), -1)
    order = np.lexsort((tiles, -memory.including_gaps))
    used = memory.including_gaps[order]
    return Table(
        "tile_ranking",
        [
            Figure("rank", "id", 1 + np.searchsorted(-used, -used, side="left")),
            Figure("tile", "id", tiles[order]),
            Figure("ipu", "id", tiles[order] // target.tiles_per_ipu),
            Figure("physical_tile", "id", physical[order]),
            Figure("including_gaps_bytes", "bytes", used),
            Figure("excluding_gaps_bytes", "bytes", memory.excluding_gaps[order]),
            Figure("gaps_bytes", "bytes", memory.gaps[order]),
            Figure("always_live_bytes", "bytes", memory.always_live[order]),
            Figure("not_always_live_bytes", "bytes", memory.not_always_live[order]),
            Figure("peak_live_bytes", "bytes", (memory.always_live + memory.not_always_live)[order]),
            Figure("overflowed_bytes", "bytes", np.maximum(used - memory.capacity, 0)),
        ],
    )


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
