"""Logical and physical tile ids, the pairs that share an exchange bus, and the distance from the sync controller.

Mk1 has 16 columns of 80 tiles of which 76 are in use (published); the four unused ones are taken to be the last of
each column. For Mk2 no table of unused tiles is public, so its logical ids fill 16 columns of 92. Two physical tiles
whose ids differ in bit 1 share a bus (published for Mk2), and PopLibs' planners count on consecutive logical tiles
2k and 2k + 1 sharing one: so within every four tiles logical ids 0, 1, 2, 3 are physical ids 0, 2, 1, 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.targets import Chip


@lru_cache(maxsize=16)
def physical_tile_table(chip: Chip, tiles: int | None = None) -> Int64Array:
    """Physical id of each logical tile of one IPU; with `tiles` fewer than the chip has, of its first ones."""
    used = chip.tiles // chip.columns
    height = chip.physical_tiles // chip.columns
    logical = np.arange(chip.tiles if tiles is None else tiles, dtype=np.int64)
    # Bits 0 and 1 change places, so that neighbours by logical id differ in bit 1 of the physical id.
    place = logical % used
    place = (place & ~3) | ((place & 1) << 1) | ((place >> 1) & 1)
    table = logical // used * height + place
    table.setflags(write=False)
    return table


def logical_tile_table(chip: Chip) -> Int64Array:
    """Logical id of each physical tile of one IPU, -1 where it is not in use."""
    table = np.full(chip.physical_tiles, -1, np.int64)
    physical = physical_tile_table(chip)
    table[physical] = np.arange(len(physical))
    return table


def bus_of_tiles(physical: Int64Array) -> Int64Array:
    """The exchange bus of each of these physical tiles: tiles whose ids differ in bit 1 alone share one."""
    return physical & ~np.int64(2)


@dataclass(frozen=True)
class Places:
    """Where tiles lie on the exchange of their IPU: `island` counts groups of four tiles along the column from its
    base, `side` = 0 or 1, the half of the columns it belongs to."""

    island: Int64Array
    side: Int64Array

    def take(self, tiles: Int64Array) -> Places:
        """The places of these tiles."""
        return Places(self.island[tiles], self.side[tiles])


def places(chip: Chip, tiles: int | None = None) -> Places:
    """Place of each logical tile of one IPU; with `tiles` fewer than the chip has, of its first ones.

    Four tiles share an island (published for Mk1). That the columns lie on two sides follows from the published names
    of the constants (column base to opposite side); which columns lie on which is a guess: the first half, the rest."""
    physical = physical_tile_table(chip, tiles)
    column, row = np.divmod(physical, chip.physical_tiles // chip.columns)
    return Places(row // chip.tiles_per_super_tile, (column >= chip.columns // 2).astype(np.int64))


def relative_sync_delays(chip: Chip, tiles: int | None = None) -> Int64Array:
    """Cycles between a tile and the sync controller, one way, relative to the nearest tile.

    Fitted: the delay falls evenly along a column, island by island, from its base to its far end, by the published
    difference between the longest and the shortest sync. `simulator.machine.sync` has the evidence and what else was
    tried."""
    last = (chip.tiles // chip.columns - 1) // chip.tiles_per_super_tile
    island = places(chip, tiles).island
    farthest = chip.max_ipu_sync_delay - chip.min_ipu_sync_delay
    return np.asarray((last - island) * farthest // max(1, last), dtype=np.int64)
