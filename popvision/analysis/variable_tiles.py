"""How many bytes of chosen variables lie on each tile, gathered from the allocations of all tiles in one reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.kept import kept
from popvision.analysis.lowered import variables
from popvision.analysis.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.tiles import target_of, tiles_of_replica

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

Int64Array = npt.NDArray[np.int64]


def variable_bytes_by_tile(source: ReportSource, chosen: Sequence[int], replica: int | None = 0) -> Int64Array:
    """(variables, tiles of the replica): bytes of each chosen variable on each tile.

    The first question about a variable reads every tile of the replica once; its column is kept for the next.
    Raises ValueError for a variable that does not exist, NotRecordedError when the report holds no lowered variables.
    """
    count = len(variables(source).eq_class)
    for variable in chosen:
        if not 0 <= variable < count:
            raise ValueError(f"variable {variable} does not exist: this report has variables 0 to {count - 1}")
    tiles = tiles_of_replica(target_of(source), replica)
    known: dict[int, Int64Array] = kept(source, f"variable_tiles_{replica}", dict)
    missing = np.asarray([variable for variable in chosen if variable not in known], dtype=np.int64)
    if len(missing):
        known.update(zip(missing.tolist(), _gather(source, missing, tiles), strict=True))
    if not chosen:
        return np.zeros((0, len(tiles)), dtype=np.int64)
    return np.stack([known[variable] for variable in chosen])


def _gather(source: ReportSource, chosen: Int64Array, tiles: range) -> Int64Array:
    sums = np.zeros((len(chosen), len(tiles)), dtype=np.int64)
    seen = 0
    for batch in source.reader.lowered_tiles(tiles, ("variable", "bytes")):
        seen += len(batch)
        for tile, columns in batch:
            for row, variable in enumerate(chosen):
                mine = columns["bytes"][columns["variable"] == variable]
                sums[row, tile - tiles.start] = mine.sum(dtype=np.int64)
    if seen < len(tiles):
        raise NotRecordedError(LOWERED_VARIABLES)
    return sums
