"""Floor plan of an IPU: the grid place of each tile on the tile map. The places are a guess.

Public sources give 16 columns of tiles per IPU, grouped in islands of four (Jia et al. 2019 for Mk1: 16 columns of
80 physical tiles, 76 enabled), and name physical ids, but no public table maps an id to a place. So in this plan ids
run along one column after the other, and the four tiles of an island lie two by two. Islands and columns follow the
ids, and tiles that share an exchange bus (id XOR 2) lie side by side. Columns run from left to right, because pages are
wider than high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.tiles import physical_ids
from popvision.arrays import Float64Array, Int64Array
from popvision.formats.profile.model import Target

COLUMNS = 16  #: columns of tiles on an IPU
ISLAND = 4  #: tiles of an island, two by two


@dataclass(frozen=True)
class FloorPlan:
    """Cell of each tile of an IPU: `x[t], y[t]` on a grid of `width` by `height` cells, y counted from the top."""

    x: Int64Array
    y: Int64Array
    width: int
    height: int


def floor_plan(target: Target) -> FloorPlan:
    """The plan of one IPU of `target`, the same for all. Raises NotRecordedError without physical ids."""
    physical = physical_ids(target)
    span = int(physical.max()) + 1
    islands = -(-span // ISLAND)
    # An experiment's small machine has no published columns: about twice as wide as high.
    columns = COLUMNS if islands >= COLUMNS * COLUMNS else max(1, round((islands / 2) ** 0.5))
    islands_per_column = -(-islands // columns)
    island, corner = physical // ISLAND, physical % ISLAND
    # Corner bits: ids that differ by 2 share an exchange bus and lie side by side.
    x = 2 * (island % islands_per_column) + (corner >> 1)
    y = 2 * (island // islands_per_column) + (corner & 1)
    return FloorPlan(x, y, 2 * islands_per_column, 2 * columns)


def on_floor_plan(plan: FloorPlan, values: npt.NDArray[np.generic]) -> Float64Array:
    """`values` (one per tile of an IPU) as an image (height, width); cells without a tile are NaN."""
    image = np.full((plan.height, plan.width), np.nan)
    image[plan.y, plan.x] = values
    return image
