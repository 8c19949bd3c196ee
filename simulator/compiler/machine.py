"""Properties of the target that the passes use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.target import IpuLinkTopology, Target, TargetType
from simulator.machine.host_exchange import HostLink, host_link
from simulator.machine.links import Links
from simulator.machine.physical_tiles import Places, bus_of_tiles, places
from simulator.machine.sync import round_trip


@dataclass(frozen=True)
class Stage:
    """The places of the tiles, and by how many cycles each leaves a sync before the last one."""

    places: Places
    lead: Int64Array


@dataclass(frozen=True)
class Machine:
    type: str  #: "Ipu", "IpuModel" or "Cpu"
    architecture: str  #: "Ipu1", "Ipu2" or "Ipu21"
    num_ipus: int  #: of one replica; passes work on one replica, since all are alike
    tiles_per_ipu: int
    bytes_per_tile: int
    region_split: int  #: byte offset at which interleaved memory begins; equals `usable_bytes` where there is none
    clock_hz: float
    exchange_rate: float  #: bytes per cycle and tile
    min_sync_delay: int  #: round trip of the tile nearest to the sync controller
    relative_sync_delay: Int64Array  #: one entry per tile of an IPU
    global_sync_cycles: int
    host_link: HostLink
    counts_code: bool  #: code and stack have sizes: hardware, or a model that compiles for the IPU
    target: Target  #: for vertex cost functions
    physical_tile: Int64Array | None = None
    reserved_bytes: int = 0  #: of a tile that no program can use; offsets do not count them
    num_replicas: int = 1

    @property
    def tiles(self) -> int:
        """Tiles of one replica."""
        return self.num_ipus * self.tiles_per_ipu

    @property
    def device_ipus(self) -> int:
        """IPUs of all replicas."""
        return self.num_ipus * self.num_replicas

    @property
    def device_tiles(self) -> int:
        """Tiles of all replicas, replica-major."""
        return self.tiles * self.num_replicas

    @property
    def usable_bytes(self) -> int:
        """Bytes of a tile that programs can use."""
        return self.bytes_per_tile - self.reserved_bytes

    @property
    def hardware(self) -> bool:
        return self.type == "Ipu"

    @cached_property
    def ipu_of_tile(self) -> Int64Array:
        return np.repeat(np.arange(self.num_ipus, dtype=np.int64), self.tiles_per_ipu)

    @cached_property
    def bus_of_tile(self) -> Int64Array:
        """Exchange bus of every tile of the device; at most two tiles share one."""
        logical = np.arange(self.tiles_per_ipu, dtype=np.int64)
        one = logical // 2 if self.physical_tile is None else bus_of_tiles(self.physical_tile)
        return np.concatenate([one + ipu * (int(one.max()) + 1) for ipu in range(self.num_ipus)])

    @cached_property
    def stage(self) -> Stage:
        """The place of every tile on the exchange of its IPU, and its lead at a sync."""
        one = places(self.target.chip, self.tiles_per_ipu)
        lead = int(self.relative_sync_delay.max()) - self.relative_sync_delay
        island, side, lead = (np.tile(column, self.num_ipus) for column in (one.island, one.side, lead))
        return Stage(Places(island, side), lead)

    @cached_property
    def links(self) -> Links:
        """The links between the IPUs of a replica."""
        torus = self.target.getIpuLinkTopology() is IpuLinkTopology.Torus
        return Links(self.num_ipus, self.clock_hz, torus)

    def tiles_of(self, ipu: int) -> slice:
        """The tiles of one IPU within arrays over a replica, or over the device."""
        return slice(ipu * self.tiles_per_ipu, (ipu + 1) * self.tiles_per_ipu)


_TYPES = {"IPU": "Ipu", "IPU_MODEL": "IpuModel", "CPU": "Cpu"}


def _reserved(target: Target) -> int:
    """Bytes reserved on the chip itself; 0 on models with other memory sizes."""
    own = target.getBytesPerTile() == target.chip.bytes_per_tile and target.region_split == target.chip.region_split
    return target.chip.reserved_bytes if own else 0


def machine_of(target: Target, replicas: int = 1, *, write_combining: bool = False) -> Machine:
    """The machine of a target of one replica."""
    hardware = target.getTargetType() is TargetType.IPU
    return Machine(
        type=_TYPES[target.getTargetType().value],
        architecture=target.getTargetArchString().capitalize(),
        num_ipus=target.getNumIPUs(),
        tiles_per_ipu=target.getTilesPerIPU(),
        bytes_per_tile=target.getBytesPerTile(),
        region_split=target.region_split - _reserved(target),
        reserved_bytes=_reserved(target),
        clock_hz=target.getTileClockFrequency(),
        exchange_rate=target.getExchangeBytesPerCycle(),
        min_sync_delay=round_trip(target.getMinIPUSyncDelay(), target.relative_sync_delay()),
        relative_sync_delay=target.relative_sync_delay(),
        global_sync_cycles=target.getGlobalSyncCycles(),
        host_link=host_link(
            hardware=hardware, clock_hz=target.getTileClockFrequency(), write_combining=write_combining
        ),
        counts_code=hardware or target.compile_ipu_code,
        target=target,
        physical_tile=target.physical_tiles(),
        num_replicas=replicas,
    )
