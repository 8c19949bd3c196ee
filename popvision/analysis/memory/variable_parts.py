"""Allocations of one variable, tile by tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import lowered_names, variables
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.report.tiles import Where, target_of, tiles_of_replica

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def parts_table(source: ReportSource, variable: int, where: Where = Where()) -> Table:  # noqa: B008
    """tile, ipu, name (of the lowered variable), address (byte offset in the tile's memory), size_bytes: a row per
    allocation of the variable on the tiles of `where`, by tile, then address. They add up to the variable's row there.

    Raises ValueError for a variable that does not exist, NotRecordedError without lowered variables.
    """
    count = len(variables(source).eq_class)
    if not 0 <= variable < count:
        raise ValueError(f"variable {variable} does not exist: this report has variables 0 to {count - 1}")
    return source.kept.recent(("variable parts", variable, where), lambda: _parts(source, variable, where))


def _parts(source: ReportSource, variable: int, where: Where) -> Table:
    target = target_of(source)
    if where.kind == "all":
        tiles = tiles_of_replica(target, where.number)
    elif where.kind == "ipu":
        tiles = range(where.number * target.tiles_per_ipu, (where.number + 1) * target.tiles_per_ipu)
    else:
        tiles = range(where.number, where.number + 1)
    parts: list[np.ndarray] = []
    seen = 0
    for batch in source.reader.lowered_tiles(tiles, ("variable", "name", "address", "bytes")):
        seen += len(batch)
        rows_by_column: dict[int, np.ndarray] = {}
        for number, columns in batch:
            owner = columns["variable"]
            if id(owner) not in rows_by_column:  # tiles laid out alike share the column
                rows_by_column[id(owner)] = np.flatnonzero(owner == variable)
            rows = rows_by_column[id(owner)]
            if len(rows):
                picked = [columns[name][rows].astype(np.int64) for name in ("name", "address", "bytes")]
                parts.append(np.stack([np.full(len(rows), number), *picked]))
    if seen < len(tiles):
        raise NotRecordedError(LOWERED_VARIABLES)
    tile, name, address, size = np.concatenate(parts, axis=1) if parts else np.empty((4, 0), dtype=np.int64)
    order = np.lexsort((address, tile))
    names = lowered_names(source)
    return Table(
        "variable_parts",
        [
            Figure("tile", "id", tile[order]),
            Figure("ipu", "id", tile[order] // target.tiles_per_ipu),
            Figure("name", "text", [names[each] if 0 <= each < len(names) else "" for each in name[order].tolist()]),
            Figure("address", "id", address[order]),
            Figure("size_bytes", "bytes", size[order]),
        ],
    )
