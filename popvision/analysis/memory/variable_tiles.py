"""Bytes of chosen variables on each tile, gathered from the allocations of all tiles in one reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.memory.lowered_sums import allocation_sums
from popvision.analysis.report.columns import lowered_names, variables
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.report.tile_columns import TileColumns
from popvision.analysis.report.tiles import target_of, tiles_of_replica
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def variable_bytes_by_tile(source: ReportSource, chosen: Sequence[int], replica: int | None = 0) -> Int64Array:
    """(variables, tiles of the replica): bytes of each chosen variable on each tile.

    The first question about a variable reads every tile of the replica once; its column is cached for the next.
    Raises ValueError for a variable that does not exist, NotRecordedError when the report holds no lowered variables.
    """
    count = len(variables(source).eq_class)
    for variable in chosen:
        if not 0 <= variable < count:
            raise ValueError(f"variable {variable} does not exist: this report has variables 0 to {count - 1}")
    tiles = tiles_of_replica(target_of(source), replica)
    if not chosen:
        return np.zeros((0, len(tiles)), dtype=np.int64)
    keys = [("variable on tiles", replica, variable) for variable in chosen]
    rows = source.kept.recent_all(
        keys, lambda missing: _gather(source, np.asarray([key[2] for key in missing], np.int64), tiles)
    )
    return np.stack(rows)


def _gather(source: ReportSource, chosen: Int64Array, tiles: range) -> Int64Array:
    sums = np.zeros((len(chosen), len(tiles)), dtype=np.int64)
    seen = 0
    for batch in source.reader.lowered_tiles(tiles, ("variable", "bytes")):
        seen += len(batch)
        for tile, columns in batch:
            for row, variable in enumerate(chosen):
                sizes = columns["bytes"][columns["variable"] == variable]
                sums[row, tile - tiles.start] = sizes.sum(dtype=np.int64)
    if seen < len(tiles):
        raise NotRecordedError(LOWERED_VARIABLES)
    return sums


def variable_table(source: ReportSource, columns: TileColumns) -> Table:
    """Variables on chosen tiles or IPUs, most bytes first: name, variable (its id; -1 for an allocation without one,
    which comes under its own name), live ("always" or "at times"), then size_bytes per column.

    Raises NotRecordedError without lowered variables of one of the tiles.
    """
    sums = [allocation_sums(source, tiles.tolist()) for tiles in columns.tiles]
    names, lowered = variables(source).name, lowered_names(source)
    keys = np.unique(np.concatenate([np.stack([s.eq_class, s.variable, s.name]) for s in sums], axis=1), axis=1)
    table = np.zeros((columns.width, keys.shape[1]), dtype=np.int64)
    place = {tuple(key): at for at, key in enumerate(keys.T.tolist())}
    for row, each in enumerate(sums):
        at = [
            place[key] for key in zip(each.eq_class.tolist(), each.variable.tolist(), each.name.tolist(), strict=True)
        ]
        table[row, at] = each.bytes
    order = np.lexsort((np.arange(keys.shape[1]), -table.sum(axis=0)))
    eq_class, variable, name = keys[:, order].tolist()
    sizes = [Figure("size_bytes", "bytes", table[i, order], place) for i, place in enumerate(columns.labels)]
    return Table(
        "variables_on_tiles",
        [
            Figure("name", "text", [names[v] if v >= 0 else lowered[n] for v, n in zip(variable, name, strict=True)]),
            Figure("variable", "id", np.asarray(variable, dtype=np.int64)),
            Figure("live", "text", ["always" if c < 0 else "at times" for c in eq_class]),
            *sizes,
        ],
    )
