"""Vertices of the selected tiles, counted per compute set and vertex type in one pass over the report's groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.tile_columns import TileColumns
from popvision.analysis.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class VerticesOnTiles:
    """Row r: the vertices of one type in one compute set; `counts` is (rows, columns). `holders` is (types, columns):
    tiles of the column with at least one instance of the type."""

    compute_set: Int64Array
    vertex_type: Int64Array
    counts: Int64Array
    holders: Int64Array


def vertices_on_tiles(source: ReportSource, columns: TileColumns) -> VerticesOnTiles:
    """Groups with at least one vertex in a column, in report order."""
    target = target_of(source)
    types = len(source.reader.vertex_types().name)
    wanted = {ipu: here for ipu in range(target.num_ipus) if (here := list(columns.on_ipu(ipu)))}
    counts: dict[tuple[int, int], Int64Array] = {}
    held: dict[int, npt.NDArray[np.bool_]] = {}
    for group in source.reader.compute_set_vertices():
        if group.ipu not in wanted:
            continue
        holds = np.asarray(group.count) > 0
        present = held.setdefault(group.ipu, np.zeros((types, target.tiles_per_ipu), dtype=bool))
        present[group.vertex_type] |= holds
        for column, tiles in wanted[group.ipu]:
            count = int(np.asarray(group.count)[tiles].sum(dtype=np.int64))
            if count:
                key = (group.compute_set, group.vertex_type)
                counts.setdefault(key, np.zeros(columns.width, dtype=np.int64))[column] += count
    holders = np.zeros((types, columns.width), dtype=np.int64)
    for ipu, present in held.items():
        for column, tiles in wanted[ipu]:
            holders[:, column] += present[:, tiles].sum(axis=1)
    keys = np.asarray(list(counts), dtype=np.int64).reshape(-1, 2)
    rows = np.asarray(list(counts.values()), dtype=np.int64).reshape(-1, columns.width)
    return VerticesOnTiles(keys[:, 0], keys[:, 1], rows, holders)
