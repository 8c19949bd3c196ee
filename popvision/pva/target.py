"""The machine, and the counts of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from popvision.formats.profile import model


class IPU:
    """One chip of the target: `tiles` are its tiles. `IPU.Architecture` names the generations."""

    class Architecture(Enum):
        """IPU generations."""

        Ipu1 = 1
        Ipu2 = 2
        Ipu21 = 3
        Unknown = 4

    def __init__(self, id: int, tiles: object) -> None:
        self.id = id
        self.tiles = tiles

    def __repr__(self) -> str:
        return f"IPU({self.id})"


class Target:
    """What the program was compiled for. Memory in bytes, frequency in Hz."""

    class Type(Enum):
        """Kinds of device."""

        Ipu = 0
        IpuModel = 1
        Cpu = 2
        Unknown = 3

    def __init__(self, target: model.Target) -> None:
        self.type = self.Type.__members__.get(target.type, self.Type.Unknown)
        self.architecture = IPU.Architecture.__members__.get(target.architecture, IPU.Architecture.Unknown)
        self.numIPUs = target.num_ipus
        self.tilesPerIpu = target.tiles_per_ipu
        self.numTiles = target.num_tiles
        self.bytesPerTile = target.bytes_per_tile
        self.bytesPerIPU = target.bytes_per_tile * target.tiles_per_ipu
        self.totalMemory = target.bytes_per_tile * target.num_tiles
        self.clockFrequency = float(target.clock_hz)
        self.numReplicas = target.num_replicas
        self.ipusPerReplica = target.num_ipus // target.num_replicas
        self.tilesPerReplica = target.num_tiles // target.num_replicas
        self.memoryPerReplica = self.totalMemory // target.num_replicas
        self.minSyncDelay = target.min_sync_delay
        delays = target.relative_sync_delay
        self.relativeSyncDelayByTile = [] if delays is None else delays.tolist()

    def __repr__(self) -> str:
        return f"Target({self.type.name}, {self.architecture.name}, {self.numTiles} tiles)"


@dataclass(frozen=True)
class Graph:
    """How large the graph is, over all tiles of one replica."""

    numComputeSets: int
    numVertices: int
    numEdges: int
    numVars: int
