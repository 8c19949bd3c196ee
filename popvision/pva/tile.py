"""Memory of one tile: totals, categories and regions, and the vertex types that live there. All figures in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.formats.profile import model
from popvision.pva.vertices import VertexType

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class MemorySum:
    """Bytes up to the highest address used, and bytes that hold data."""

    includingGaps: int
    excludingGaps: int


@dataclass(frozen=True)
class RegionMemory:
    """Bytes of one category in one region; `overlapped` bytes share their address with another variable."""

    nonOverlapped: int
    overlapped: int


@dataclass(frozen=True)
class CategoryMemory:
    """Bytes of one category on one tile."""

    total: int
    nonInterleaved: RegionMemory
    interleaved: RegionMemory
    overflowed: RegionMemory


class Categories:
    """One attribute per memory category, zero where a tile has none."""

    def __init__(self, columns: Columns, tile: int) -> None:
        self._columns = columns
        self._tile = tile

    def __getattr__(self, name: str) -> CategoryMemory:
        if name not in model.CATEGORIES:
            raise AttributeError(f"there is no memory category {name!r}; known: {', '.join(model.CATEGORIES)}")
        ipu, tile = divmod(self._tile, self._columns.target.tiles_per_ipu)
        sums = {(region, overlapped): 0 for region in model.REGIONS for overlapped in (False, True)}
        for part in self._columns.category_memory.get(name, []):
            if part.ipu == ipu:
                sums[part.region, part.overlapped] += int(part.bytes[tile])
        regions = {region: RegionMemory(sums[region, False], sums[region, True]) for region in model.REGIONS}
        return CategoryMemory(total=sum(sums.values()), **regions)

    def __dir__(self) -> list[str]:
        return list(model.CATEGORIES)


@dataclass(frozen=True)
class TileVertex:
    """A vertex type resident on a tile, and the bytes of its code there (-1: not known)."""

    type: VertexType
    codeBytes: int


class TileMemory:
    """What fills the memory of one tile."""

    def __init__(self, columns: Columns, tile: int) -> None:
        self._columns = columns
        self._tile = tile
        self.category = Categories(columns, tile)

    def _total(self, field: str) -> int:
        memory = self._columns.tile_memory
        return 0 if memory is None else int(getattr(memory, field)[self._tile])

    @property
    def total(self) -> MemorySum:
        return MemorySum(self._total("including_gaps"), self._total("excluding_gaps"))

    @property
    def overflowed(self) -> MemorySum:
        """Bytes beyond the end of the tile's memory; 0 unless out of memory."""
        beyond = max(0, self._total("including_gaps") - self._columns.target.bytes_per_tile)
        return MemorySum(beyond, self._total("overflowed"))

    @property
    def alwaysLiveBytes(self) -> int:
        return self._total("always_live")

    @property
    def notAlwaysLiveBytes(self) -> int:
        """The largest sum of not-always-live bytes at any liveness index on this tile."""
        return self._total("not_always_live")

    @property
    def vertices(self) -> list[TileVertex]:
        """Vertex types that live on this tile."""
        ipu, tile = divmod(self._tile, self._columns.target.tiles_per_ipu)
        types = {p.vertex_type for p in self._columns.all_vertices() if p.ipu == ipu and p.count[tile]}
        code = self._columns.vertex_types.code_bytes
        return [TileVertex(self._columns.vertex_type(t), int(code[t])) for t in sorted(types)]


class Tile:
    """One tile; `memory` says what fills it."""

    def __init__(self, columns: Columns, id: int) -> None:
        self.id = id
        self.memory = TileMemory(columns, id)

    def __repr__(self) -> str:
        total = self.memory.total
        return f"Tile({self.id}, {total.excludingGaps} B excluding gaps)"
