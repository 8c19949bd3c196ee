"""Columns of a table over tiles: one per selected tile or IPU, or one over all tiles of a replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.tiles import tiles_of_replica
from popvision.arrays import Int64Array
from popvision.formats.profile.model import Target


@dataclass(frozen=True)
class TileColumns:
    """`tiles[c]` are the global tile numbers that make up column c."""

    labels: list[str]
    tiles: list[Int64Array]
    tiles_per_ipu: int
    single: bool  #: every column is one tile

    @property
    def width(self) -> int:
        return len(self.labels)

    def on_ipu(self, ipu: int) -> Iterator[tuple[int, Int64Array]]:
        """(column, tile numbers within the IPU) of the columns that have tiles there."""
        for column, tiles in enumerate(self.tiles):
            tiles_of_ipu = tiles[tiles // self.tiles_per_ipu == ipu] % self.tiles_per_ipu
            if len(tiles_of_ipu):
                yield column, tiles_of_ipu

    def pick(self, values: npt.NDArray[np.integer]) -> list[int]:
        """Sum per column of an array with one entry per tile of all replicas."""
        return [int(values[tiles].sum(dtype=np.int64)) for tiles in self.tiles]


def tile_columns(
    target: Target, tiles: Sequence[int] = (), ipus: Sequence[int] = (), replica: int | None = 0
) -> TileColumns:
    """A column for each of `tiles`, else for each of `ipus`, else one over all tiles of `replica` (None: of all).

    Raises ValueError for a tile, IPU or replica that does not exist.
    """
    per_ipu = target.tiles_per_ipu
    for tile in tiles:
        if not 0 <= tile < target.num_tiles:
            raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {target.num_tiles - 1}")
    if tiles:
        each = [np.asarray([tile], dtype=np.int64) for tile in tiles]
        return TileColumns([f"tile {tile}" for tile in tiles], each, per_ipu, True)
    for ipu in ipus:
        if not 0 <= ipu < target.num_ipus:
            raise ValueError(f"IPU {ipu} does not exist: this report has IPUs 0 to {target.num_ipus - 1}")
    if ipus:
        whole_ipus = [np.arange(ipu * per_ipu, (ipu + 1) * per_ipu, dtype=np.int64) for ipu in ipus]
        return TileColumns([f"IPU {ipu}" for ipu in ipus], whole_ipus, per_ipu, False)
    all_tiles = tiles_of_replica(target, replica)
    label = "all tiles" if target.num_replicas == 1 or replica is None else f"all tiles of replica {replica}"
    return TileColumns([label], [np.arange(all_tiles.start, all_tiles.stop, dtype=np.int64)], per_ipu, False)
