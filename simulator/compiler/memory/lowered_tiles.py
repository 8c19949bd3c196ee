"""LoweredTiles: every allocation of every tile with its address, as columns of all tiles.

Compilation only narrows and keeps the columns, 18 to 25 bytes per allocation; they are sorted by tile and address when
a reader asks. An executable keeps them whether or not its options ask for a report, so that one that was saved can be
profiled later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from popvision.formats.profile.model import LoweredTile
from simulator.arrays import AnyArray, Int64Array
from simulator.compiler.machine import Machine
from simulator.compiler.memory.inventory import Allocations


@dataclass(frozen=True, eq=False)
class LoweredTiles(Sequence[LoweredTile]):
    """The tiles in order, each with its allocations sorted by address. An iteration sorts `at_a_time` tiles together
    (0 = all): small batches need less memory but scan all rows once per batch. An index scans all rows; iterate to read
    all tiles."""

    tile: AnyArray  #: with a row per allocation, as all columns
    bytes: AnyArray
    address: AnyArray  #: bytes from the begin of the tile's memory
    category: AnyArray  #: index in CATEGORIES
    variable: AnyArray  #: row of the report's variables
    eq_class: AnyArray  #: -1 = always live
    name: AnyArray  #: row of the report's names of lowered variables
    tiles: int  #: of one replica
    region_borders: tuple[int, int]  #: bytes at which the second memory region begins, and that a tile has
    at_a_time: int = 0
    replicas: int = 1  #: further replicas have the same allocations

    def over_replicas(self, replicas: int) -> LoweredTiles:
        """The tiles of all replicas."""
        return replace(self, replicas=replicas)

    def __len__(self) -> int:
        return self.tiles * self.replicas

    @overload
    def __getitem__(self, index: int) -> LoweredTile: ...
    @overload
    def __getitem__(self, index: slice) -> list[LoweredTile]: ...
    def __getitem__(self, index: int | slice) -> LoweredTile | list[LoweredTile]:
        if isinstance(index, slice):
            return list(self)[index]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        replica, tile = divmod(index % len(self), self.tiles)
        before = int(np.count_nonzero(self.tile < tile))
        [found] = self._batch(np.flatnonzero(self.tile == tile), range(tile, tile + 1), before)
        return self._in_replica(found, replica)

    def __iter__(self) -> Iterator[LoweredTile]:
        for replica in range(self.replicas):
            for tile in self._sorted():
                yield self._in_replica(tile, replica)

    def _sorted(self) -> Iterator[LoweredTile]:
        batch = self.at_a_time or self.tiles
        done = 0
        for first in range(0, self.tiles, batch):
            tiles = range(first, min(first + batch, self.tiles))
            rows = np.arange(len(self.tile))
            if len(tiles) < self.tiles:
                rows = np.flatnonzero((self.tile >= tiles.start) & (self.tile < tiles.stop))
            yield from self._batch(rows, tiles, done)
            done += len(rows)

    def _batch(self, rows: Int64Array, tiles: range, done: int) -> list[LoweredTile]:
        """The tiles of a batch, whose allocations are `rows`; `done` = number of allocations on earlier tiles."""
        rows = rows[np.lexsort((self.address[rows], self.tile[rows]))]
        columns = (self.bytes, self.address, self.category, self.variable, self.eq_class, self.name)
        size, address, category, variable, eq_class, name = (column[rows].astype(np.int64) for column in columns)
        region = np.searchsorted(self.region_borders, address, side="right")
        borders = np.searchsorted(self.tile[rows], np.arange(tiles.start, tiles.stop + 1)).tolist()
        return [
            LoweredTile(
                tile,
                done + i,
                size[i:j],
                address[i:j],
                category[i:j],
                region[i:j],
                variable[i:j],
                eq_class[i:j],
                name[i:j],
            )
            for tile, (i, j) in zip(tiles, itertools.pairwise(borders), strict=True)
        ]

    def _in_replica(self, tile: LoweredTile, replica: int) -> LoweredTile:
        first_id = tile.first_id + replica * len(self.tile)
        return replace(tile, tile=tile.tile + replica * self.tiles, first_id=first_id) if replica else tile


def lowered_tiles(a: Allocations, address: Int64Array, machine: Machine, at_a_time: int) -> LoweredTiles:
    """The allocations of a device's tiles at their addresses."""
    return LoweredTiles(
        _narrow(a.tile),
        _narrow(a.bytes),
        _narrow(address),
        _narrow(a.category),
        a.variable.astype(np.int32),
        np.maximum(a.live_class, -1).astype(np.int32),
        a.name.astype(np.int32),
        machine.tiles,
        (machine.region_split, machine.usable_bytes),
        at_a_time,
    )


def _narrow(column: Int64Array) -> AnyArray:
    """The smallest unsigned integers that hold a column."""
    return column.astype(np.min_scalar_type(int(column.max(initial=0))))
