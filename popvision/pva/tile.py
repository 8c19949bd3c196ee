"""Memory of one tile: totals, categories and regions, and the vertex types that live there. All figures in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.formats.profile import model
from popvision.pva import errors
from popvision.pva.listview import PrintedList
from popvision.pva.partly_known import PartlyKnown
from popvision.pva.vertices import VertexType, vertex_type

if TYPE_CHECKING:
    from popvision.pva.columns import Columns

#: Categories that read as zero where a report has none: ours, and one that only other writers have.
CATEGORIES = (*model.CATEGORIES, "padding")


@dataclass(frozen=True, repr=False)
class MemorySum(PartlyKnown):
    """Bytes of address space in use, gaps included, and bytes that hold data."""

    includingGaps: int
    excludingGaps: int


@dataclass(frozen=True)
class RegionMemory:
    """Bytes of one category in one region. `overlapped` bytes share their address with another variable; a shared
    address counts once, in the category of the allocation with the lowest address."""

    nonOverlapped: int
    overlapped: int


@dataclass(frozen=True, repr=False)
class CategoryMemory(PartlyKnown):
    """Bytes of one category on one tile."""

    total: int
    nonInterleaved: RegionMemory
    interleaved: RegionMemory
    overflowed: RegionMemory


class Categories:
    """One attribute per memory category, zero where a tile has none."""

    __slots__ = ("_columns", "_tile")

    def __init__(self, columns: Columns, tile: int) -> None:
        self._columns = columns
        self._tile = tile

    def __getattr__(self, name: str) -> CategoryMemory:
        if name not in CATEGORIES:
            raise AttributeError(f"there is no memory category {name!r}; use one of {', '.join(CATEGORIES)}")
        if not self._columns.category_memory and self._columns.reader.foreign:
            return self._from_variables(name)
        ipu, tile = divmod(self._tile, self._columns.shape.tiles_per_ipu)
        sums = {(region, overlapped): 0 for region in model.REGIONS for overlapped in (False, True)}
        for part in self._columns.category_memory.get((name, ipu), ()):
            sums[part.region, part.overlapped] += int(part.bytes[tile])
        regions = {region: RegionMemory(sums[region, False], sums[region, True]) for region in model.REGIONS}
        return CategoryMemory(total=sum(sums.values()), **regions)

    def _from_variables(self, name: str) -> CategoryMemory:
        """The sum over another tool's table of variables, which has no regions."""
        bytes_of = self._columns.bytes_by_category
        if not bytes_of:
            raise errors.absent("this report has no memory by category: it was written by another tool")

        def region() -> RegionMemory:
            raise errors.absent("this report has no memory by region: it was written by another tool")

        total = bytes_of[name][self._tile] if name in bytes_of else 0
        regions = dict.fromkeys(("nonInterleaved", "interleaved", "overflowed"), region)
        return CategoryMemory.of(total=lambda: total, **regions)

    def __dir__(self) -> list[str]:
        return list(CATEGORIES)

    def __repr__(self) -> str:
        used = ((name, getattr(self, name).total) for name in CATEGORIES)
        return f"Categories({', '.join(f'{name}={total}' for name, total in used if total)})"


@dataclass(frozen=True)
class TileVertex:
    """A vertex type on a tile: bytes of its code there (0 where the report counts no code, as for an IPU Model without
    IPU code) and of the state of its instances there."""

    type: VertexType
    codeBytes: int
    vertexDataBytes: int


class TileMemory:
    """The memory of one tile."""

    __slots__ = ("_columns", "_tile")

    def __init__(self, columns: Columns, tile: int) -> None:
        self._columns = columns
        self._tile = tile

    def _figure(self, field: str) -> int:
        memory = self._columns.tile_memory
        return 0 if memory is None else memory.at(field, self._tile)

    @property
    def total(self) -> MemorySum:
        """Bytes up to the highest address in use, and bytes that hold data; what did not fit counts too."""
        try:
            return MemorySum(self._figure("including_gaps"), self._figure("excluding_gaps"))
        except errors.AbsentError:
            return MemorySum.of(
                includingGaps=lambda: self._figure("including_gaps"),
                excludingGaps=lambda: self._figure("excluding_gaps"),
            )

    @property
    def nonInterleaved(self) -> MemorySum:
        """Memory below the interleaved region. `includingGaps` of this, `interleaved` and `overflowed` add up to the
        total's: a region that ends below the highest address in use counts in full."""
        return MemorySum(self._below_border(), self._data("nonInterleaved"))

    @property
    def interleaved(self) -> MemorySum:
        """Memory in the interleaved region, the upper part of a tile's memory."""
        rest = self._figure("including_gaps") - self._below_border() - self.overflowed.includingGaps
        return MemorySum(max(0, rest), self._data("interleaved"))

    @property
    def overflowed(self) -> MemorySum:
        """Bytes that did not fit; 0 unless the tile is out of memory."""
        beyond = max(0, self._figure("including_gaps") - self._columns.target.bytes_per_tile)
        overflowed = self._figure("overflowed")
        return MemorySum(max(beyond, overflowed), overflowed)

    def _below_border(self) -> int:
        target = self._columns.target
        return min(self._figure("including_gaps"), target.region_split or target.bytes_per_tile)

    def _data(self, region: str) -> int:
        """Bytes that hold data in a region."""
        ipu, tile = divmod(self._tile, self._columns.shape.tiles_per_ipu)
        parts = (part for (_, number), all_ in self._columns.category_memory.items() if number == ipu for part in all_)
        return sum(int(part.bytes[tile]) for part in parts if part.region == region)

    @property
    def alwaysLiveBytes(self) -> int:
        """Bytes of the always-live variables on the tile."""
        return self._figure("always_live")

    @property
    def notAlwaysLiveBytes(self) -> int:
        """The largest sum of not-always-live bytes at any liveness index on this tile."""
        return self._figure("not_always_live")

    @property
    def category(self) -> Categories:
        """Bytes by memory category."""
        return Categories(self._columns, self._tile)

    @property
    def vertices(self) -> list[TileVertex]:
        """Vertex types with instances on this tile."""
        columns = self._columns
        count = columns.vertices.count_of_types[:, self._tile]
        vertices = []
        for row in np.flatnonzero(count).tolist():
            kind = vertex_type(columns, row)
            code = max(0, int(columns.vertices.types.code_bytes[row]))
            vertices.append(TileVertex(kind, code, int(count[row]) * kind.size))
        return PrintedList(vertices, columns.printing)

    def __repr__(self) -> str:
        return f"TileMemory(tile {self._tile}, {self.total})"


class Tile:
    """One tile; its memory is `memory`."""

    __slots__ = ("_columns", "id")

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self.id = id

    @property
    def memory(self) -> TileMemory:
        return TileMemory(self._columns, self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tile) and self.id == other.id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "tile", self.id))

    def __repr__(self) -> str:
        return f"Tile({self.id}, {self.memory.total})"
