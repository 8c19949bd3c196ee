"""What allocations want of their addresses, besides room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import link_error
from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Allocations


@dataclass(frozen=True)
class Needs:
    """What variable rows want beyond a place: `group` numbers sets of rows that must not share a memory element with
    another set's (0 = no matter), `wide` = begins at a multiple of 16 bytes. `fixed`: address of what others have
    placed, by (variable row, tile)."""

    group: Int64Array
    wide: BoolArray
    fixed: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def addresses(self, a: Allocations) -> Int64Array:
        """The fixed address of each allocation, -1 for those that layout places."""
        found = np.full(len(a), -1, np.int64)
        for (variable, tile), address in self.fixed.items():
            mine = (a.variable == variable) & (a.tile == tile) & (a.category == CATEGORY_NUMBER["variable"])
            found[mine] = address
        return found


def taken_by(a: Allocations, fixed: Int64Array, tiles: int, nowhere: int) -> tuple[Int64Array, Int64Array]:
    """(address, top) of each allocation with a fixed address, (allocations, tiles): `nowhere` and 0 on other tiles."""
    rows = np.flatnonzero(fixed >= 0)
    address, top = np.full((len(rows), tiles), nowhere, np.int64), np.zeros((len(rows), tiles), np.int64)
    at = np.arange(len(rows)), a.tile[rows]
    address[at], top[at] = fixed[rows], fixed[rows] + a.bytes[rows]
    return address, top


def check_fixed(a: Allocations, fixed: Int64Array, address: Int64Array, names: Sequence[str]) -> None:
    """Raise link_error where something with a fixed address overlaps what is stacked from the bottom, or another."""
    for row in np.flatnonzero(fixed >= 0).tolist():
        meets = (a.tile == a.tile[row]) & (address < address[row] + a.bytes[row]) & (address + a.bytes > address[row])
        meets[row] = False
        if meets.any():
            other = int(np.flatnonzero(meets)[0])
            raise link_error(
                f"The {a.bytes[row]} bytes preallocated at address {address[row]} of tile {a.tile[row]} overlap "
                f"'{names[a.name[other]]}', which ends at {address[other] + a.bytes[other]}; place them higher.",
                f"overlap at tile {a.tile[row]}, address {address[row]}",
            )
