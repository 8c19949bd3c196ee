"""Tiles of a view and their order.

Tiles count over all replicas, IPU-major: tile t lies on IPU `t // tiles_per_ipu`. Replicas are neighbouring groups of
IPUs that run the same program. Software order is the tile number; hardware order sorts the tiles of each IPU by
physical id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.arrays import Int64Array
from popvision.formats.profile.model import Target as Target

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Where:
    """All tiles of a replica (`number` = the replica), one IPU or one tile."""

    kind: Literal["all", "ipu", "tile"] = "all"
    number: int = 0


def target_of(source: ReportSource) -> Target:
    """The report's target, read once."""
    return source.kept.once("target", source.reader.target)


def tiles_of_replica(target: Target, replica: int | None) -> range:
    """Tile numbers of one replica, or of all of them when `replica` is None.

    Raises ValueError when the report has no such replica.
    """
    if replica is None:
        return range(target.num_tiles)
    if not 0 <= replica < target.num_replicas:
        raise ValueError(f"replica {replica} does not exist: this report has replicas 0 to {target.num_replicas - 1}")
    size = target.num_tiles // target.num_replicas
    return range(replica * size, (replica + 1) * size)


def ipus_of_replica(target: Target, replica: int | None) -> range:
    """IPU numbers of one replica, or of all of them when `replica` is None (ValueError as above)."""
    tiles = tiles_of_replica(target, replica)
    return range(tiles.start // target.tiles_per_ipu, tiles.stop // target.tiles_per_ipu)


def ipu_of_tile(target: Target, tile: int) -> int:
    return tile // target.tiles_per_ipu


def physical_ids(target: Target) -> Int64Array:
    """Physical id of each tile of an IPU.

    Raises NotRecordedError when the report does not say (an unknown target).
    """
    if target.physical_tile is None or not len(target.physical_tile):
        raise NotRecordedError(
            "This report does not hold physical tile ids, so tiles are known in software order only."
        )
    return np.asarray(target.physical_tile, dtype=np.int64)


def physical_id(target: Target, tile: int) -> int | None:
    """Physical id of a tile within its IPU, None when the report does not say."""
    if target.physical_tile is None or not len(target.physical_tile):
        return None
    return int(target.physical_tile[tile % target.tiles_per_ipu])


def tiles_in_order(target: Target, tiles: range, order: str) -> Int64Array:
    """The tiles as drawn from left to right: `order` is "software" or "hardware" (ValueError otherwise).

    Raises NotRecordedError for hardware order when physical ids are not known.
    """
    numbers = np.arange(tiles.start, tiles.stop, dtype=np.int64)
    if order == "software":
        return numbers
    if order != "hardware":
        raise ValueError(f"tile order {order!r} is unknown: use software or hardware")
    within = physical_ids(target)[numbers % target.tiles_per_ipu]
    return numbers[np.lexsort((within, numbers // target.tiles_per_ipu))]
