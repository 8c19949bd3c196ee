"""Columns of a table over tiles: one per selected tile, or one over all tiles of a replica when none is selected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.analysis.tiles import tiles_of_replica
from popvision.formats.profile.model import Target

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TileColumns:
    """`tiles[c]` are the global tile numbers that make up column c."""

    labels: list[str]
    tiles: list[Int64Array]
    tiles_per_ipu: int

    @property
    def width(self) -> int:
        return len(self.labels)

    def on_ipu(self, ipu: int) -> Iterator[tuple[int, Int64Array]]:
        """(column, tile numbers within the IPU) of the columns that have tiles there."""
        for column, tiles in enumerate(self.tiles):
            here = tiles[tiles // self.tiles_per_ipu == ipu] % self.tiles_per_ipu
            if len(here):
                yield column, here

    def pick(self, values: npt.NDArray[np.integer]) -> list[int]:
        """Sum per column of an array with one entry per tile of the whole report."""
        return [int(values[tiles].sum(dtype=np.int64)) for tiles in self.tiles]


def tile_columns(target: Target, tiles: Sequence[int] = (), replica: int | None = 0) -> TileColumns:
    """Columns of `tiles`, or one column over all tiles of `replica` (None: of all replicas).

    Raises ValueError for a tile or replica that does not exist.
    """
    for tile in tiles:
        if not 0 <= tile < target.num_tiles:
            raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {target.num_tiles - 1}")
    if tiles:
        each = [np.asarray([tile], dtype=np.int64) for tile in tiles]
        return TileColumns([f"tile {tile}" for tile in tiles], each, target.tiles_per_ipu)
    whole = tiles_of_replica(target, replica)
    return TileColumns(["all tiles"], [np.arange(whole.start, whole.stop, dtype=np.int64)], target.tiles_per_ipu)
