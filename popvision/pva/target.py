"""The machine, and the counts of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.formats.profile import model
from popvision.pva.enums import BoundEnum, member
from popvision.pva.partly_known import PartlyKnown
from popvision.pva.plain import ints

if TYPE_CHECKING:
    from popvision.pva.listview import ListView
    from popvision.pva.tile import Tile


class IPU:
    """One chip of the target: `tiles` are its tiles. `IPU.Architecture` names the generations."""

    class Architecture(BoundEnum):
        """IPU generations."""

        Ipu1 = 1
        Ipu2 = 2
        Ipu21 = 3
        Unknown = 4

    def __init__(self, id: int, tiles: ListView[Tile]) -> None:
        self.id = id
        self.tiles = tiles

    def __repr__(self) -> str:
        return f"IPU({self.id}, {len(self.tiles)} tiles)"


class Target:
    """The machine that the program was compiled for. Memory in bytes, frequency in Hz, delays in tile clock cycles."""

    class Type(BoundEnum):
        """Kinds of device."""

        Ipu = 0
        IpuModel = 1
        Cpu = 2
        Unknown = 3

    def __init__(self, target: model.Target) -> None:
        self.type: Target.Type = member(self.Type, target.type)
        self.architecture: IPU.Architecture = member(IPU.Architecture, target.architecture)
        self.numIPUs = int(target.num_ipus)
        self.tilesPerIpu = int(target.tiles_per_ipu)
        self.numTiles = int(target.num_tiles)
        self.bytesPerTile = int(target.bytes_per_tile)
        self.bytesPerIPU = self.bytesPerTile * self.tilesPerIpu
        self.totalMemory = self.bytesPerTile * self.numTiles
        self.clockFrequency = float(target.clock_hz)
        self.numReplicas = int(target.num_replicas)
        self.ipusPerReplica = self.numIPUs // self.numReplicas
        self.tilesPerReplica = self.numTiles // self.numReplicas
        self.memoryPerReplica = self.totalMemory // self.numReplicas
        self.minSyncDelay = int(target.min_sync_delay)
        self._delays = target.relative_sync_delay

    @property
    def relativeSyncDelayByTile(self) -> list[int]:
        """Cycles of each tile's synchronisation beyond `minSyncDelay`; empty where the report lacks them."""
        return [] if self._delays is None else ints(self._delays) * self.numIPUs

    def __repr__(self) -> str:
        return f"Target({self.type.name}, {self.architecture.name}, {self.numTiles} tiles)"


@dataclass(frozen=True, repr=False)
class Graph(PartlyKnown):
    """Counts of the graph over all tiles of one replica."""

    numComputeSets: int
    numVertices: int
    numEdges: int
    numVars: int
