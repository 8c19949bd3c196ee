"""All tiles of a replica in order of what they use: the table of tiles, and how many tiles use how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


#: Figures of a tile that are bytes.
FIGURES = (
    "Including gaps",
    "Excluding gaps",
    "Gaps",
    "Always live",
    "Not always live",
    "Live at its peak",
    "Beyond its memory",
)


def tile_ranking(source: ReportSource, replica: int | None = 0) -> pd.DataFrame:
    """Tiles of a replica, most memory including gaps first: Rank (equals share the first place), Tile, IPU, Physical
    (-1 unknown), then FIGURES in bytes; "Beyond its memory" = including gaps above the capacity of a tile, else 0.
    Raises as `memory_by_tile`."""
    import pandas as pd

    memory = memory_by_tile(source, replica)
    target = target_of(source)
    tiles = np.arange(memory.tiles.start, memory.tiles.stop)
    ids = target.physical_tile
    known = ids is not None and len(ids) > 0
    physical = np.asarray(ids)[tiles % target.tiles_per_ipu].astype(np.int64) if known else np.full(len(tiles), -1)
    order = np.lexsort((tiles, -memory.including_gaps))
    used = memory.including_gaps[order]
    columns: dict[str, Int64Array] = {
        "Rank": 1 + np.searchsorted(-used, -used, side="left"),
        "Tile": tiles[order],
        "IPU": tiles[order] // target.tiles_per_ipu,
        "Physical": physical[order],
        "Including gaps": used,
        "Excluding gaps": memory.excluding_gaps[order],
        "Gaps": memory.gaps[order],
        "Always live": memory.always_live[order],
        "Not always live": memory.not_always_live[order],
        "Live at its peak": (memory.always_live + memory.not_always_live)[order],
        "Beyond its memory": np.maximum(used - memory.capacity, 0),
    }
    return pd.DataFrame(columns)


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
