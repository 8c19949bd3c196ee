"""Vertices of the selected tiles, counted per compute set and vertex type: a dense table with a row per distinct array.

Obvious way: for each group of vertices (one type in one compute set on one IPU) read its instances per tile and add up
those of the selected tiles. This module reads all groups once into a table (distinct arrays x tiles) of the narrowest
type that fits; equal groups share a row, and a selection of a few tiles reads a few columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.tile_columns import TileColumns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import AnyArray, BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class VerticesOnTiles:
    """Row r: the vertices of one type in one compute set; `counts` is (rows, columns). `holders` is (types, columns):
    tiles of the column with at least one instance of the type."""

    compute_set: Int64Array
    vertex_type: Int64Array
    counts: Int64Array
    holders: Int64Array


@dataclass(frozen=True)
class _Groups:
    """Group g has `table[row[g], t]` instances on tile t of its IPU; `present[type, tile]` over all tiles."""

    compute_set: Int64Array
    vertex_type: Int64Array
    ipu: Int64Array
    row: Int64Array
    table: AnyArray
    total: Int64Array  #: instances per row of the table
    present: BoolArray


def vertices_on_tiles(source: ReportSource, columns: TileColumns) -> VerticesOnTiles:
    """Groups with at least one vertex in a column, by compute set and type."""
    target = target_of(source)
    groups = source.kept.once("vertex_groups", lambda: _read(source))
    types = len(groups.present)
    key = groups.compute_set * max(types, 1) + groups.vertex_type
    keys, which = np.unique(key, return_inverse=True)
    counts = np.zeros((len(keys), columns.width), dtype=np.int64)
    for ipu in range(target.num_ipus):
        of_ipu = np.flatnonzero(groups.ipu == ipu)
        for column, tiles in columns.on_ipu(ipu):
            is_all_tiles = len(tiles) == target.tiles_per_ipu
            rows = groups.row[of_ipu]
            on_tiles = groups.total[rows] if is_all_tiles else groups.table[rows][:, tiles].sum(axis=1, dtype=np.int64)
            np.add.at(counts[:, column], which[of_ipu], on_tiles)
    holders = np.zeros((types, columns.width), dtype=np.int64)
    for column, tiles in enumerate(columns.tiles):
        holders[:, column] = groups.present[:, tiles].sum(axis=1)
    has_vertices = np.flatnonzero(counts.any(axis=1))
    return VerticesOnTiles(
        keys[has_vertices] // max(types, 1), keys[has_vertices] % max(types, 1), counts[has_vertices], holders
    )


def _read(source: ReportSource) -> _Groups:
    target = target_of(source)
    compute_set, vertex_type, ipu, counts = source.reader.compute_set_counts()
    first: dict[int, int] = {}
    row = np.asarray([first.setdefault(id(each), len(first)) for each in counts], dtype=np.int64)
    distinct = [counts[at] for at in np.unique(row, return_index=True)[1].tolist()]
    kind = np.result_type(np.uint8, *{each.dtype for each in distinct})
    table = np.zeros((len(distinct), target.tiles_per_ipu), dtype=kind)
    for at, each in enumerate(distinct):
        table[at, : len(each)] = each
    types = len(source.reader.vertex_types().name)
    present = np.zeros((types, target.num_tiles), dtype=np.bool_)
    for group, at in enumerate(row.tolist()):
        tiles = slice(int(ipu[group]) * target.tiles_per_ipu, (int(ipu[group]) + 1) * target.tiles_per_ipu)
        present[int(vertex_type[group]), tiles] |= table[at] > 0
    return _Groups(compute_set, vertex_type, ipu, row, table, table.sum(axis=1, dtype=np.int64), present)
