"""Target: what a program is compiled for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import (
    graph_replication_error,
    invalid_machine_model,
    invalid_option,
    invalid_tile_mapping,
    poplar_error,
)
from simulator.base.types import FLOAT, HALF, QUARTER, Type, limits_of
from simulator.base.wrong_arguments import checks_arguments, methods_refuse_wrong_arguments
from simulator.machine import physical_tiles
from simulator.machine.targets import CHIPS, MK2, Chip, element_offsets


class TargetType(Enum):
    IPU = "IPU"
    IPU_MODEL = "IPU_MODEL"
    CPU = "CPU"


class IpuLinkConfiguration(Enum):
    Default = "default"
    SlidingWindow = "sliding window"
    BarleyTwist = "barley twist"


class IpuLinkTopology(Enum):
    Mesh = "mesh"
    Torus = "torus"
    Line = "line"


@methods_refuse_wrong_arguments()
@dataclass(frozen=True)
class Target:
    """A machine: the constants of a chip with the changes of a model or an override. Sizes in bytes,
    delays in cycles."""

    type: TargetType
    chip: Chip = MK2
    num_ipus: int = 1
    tiles_per_ipu: int = MK2.tiles
    bytes_per_tile: int = MK2.bytes_per_tile
    clock_hz: float = MK2.clock_hz
    worker_contexts: int = 6
    exchange_bytes_per_cycle: float = 4.0
    memcpy_bytes_per_cycle: int = 8
    interleaved_element: int = MK2.region_split // MK2.memory_element_bytes
    min_sync_delay: int = MK2.min_ipu_sync_delay
    global_sync_cycles: int = MK2.global_sync_cycles
    no_relative_sync_delay: bool = False
    compile_ipu_code: bool = False  #: code and stack have sizes (always on hardware)
    overrides: tuple[str, ...] = ()  #: what POPVISION_TARGET and POPVISION_TILES changed, one sentence each
    #: for each tile of this (virtual) target, its tile on the device; None = the same
    device_tiles: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        sizes: tuple[tuple[str, object], ...]
        sizes = (("number of IPUs", self.num_ipus), ("number of tiles per IPU", self.tiles_per_ipu))
        for name, value in sizes:
            if not isinstance(value, int | np.integer):
                raise invalid_machine_model(f"The {name} is {value!r}; give a whole number.")
        if self.num_ipus < 1 or self.tiles_per_ipu < 1:
            raise invalid_machine_model(
                f"A target of {self.num_ipus} IPUs with {self.tiles_per_ipu} tiles each is empty."
            )
        if self.bytes_per_tile < 1 or self.clock_hz <= 0 or self.worker_contexts < 1:
            raise invalid_machine_model("Bytes per tile, clock and worker contexts of a target must be positive.")

    @property
    def region_split(self) -> int:
        """Byte offset within a tile at which interleaved memory begins; the tile's size when there is none."""
        return min(self.interleaved_element * self.chip.memory_element_bytes, self.bytes_per_tile)

    def relative_sync_delay(self) -> Int64Array:
        """Cycles between each tile of an IPU and the sync controller, one way."""
        if self.no_relative_sync_delay:
            return np.zeros(self.tiles_per_ipu, np.int64)
        return physical_tiles.relative_sync_delays(self.chip, self.tiles_per_ipu)

    def physical_tiles(self) -> Int64Array:
        """Physical id of each tile of an IPU."""
        return physical_tiles.physical_tile_table(self.chip, self.tiles_per_ipu)

    def createVirtualTarget(self, numIPUs: int, tilesPerIPU: int) -> Target:
        """A target of the same kind with fewer IPUs or tiles."""
        if not (1 <= numIPUs <= self.num_ipus and 1 <= tilesPerIPU <= self.tiles_per_ipu):
            raise invalid_machine_model(
                f"A virtual target of {numIPUs} IPUs with {tilesPerIPU} tiles does not fit into one of "
                f"{self.num_ipus} IPUs with {self.tiles_per_ipu}."
            )
        return replace(self, num_ipus=numIPUs, tiles_per_ipu=tilesPerIPU)

    def of_replica(self, replicas: int) -> Target:
        """The target of one of `replicas` equal parts. Raises graph_replication_error where the IPUs cannot be shared
        out evenly."""
        if isinstance(replicas, bool) or not isinstance(replicas, int | np.integer) or replicas < 1:
            raise graph_replication_error(f"A replication factor is a whole number from 1 on, not {replicas!r}.")
        if self.num_ipus % replicas:
            raise graph_replication_error(
                f"A replication factor of {replicas} does not divide the {self.num_ipus} IPUs of the target; use a "
                f"device with a multiple of {replicas} IPUs."
            )
        return self if replicas == 1 else replace(self, num_ipus=self.num_ipus // int(replicas))

    def getTargetType(self) -> TargetType:
        return self.type

    def getTargetArchString(self) -> str:
        return self.chip.name

    def getTargetSystemString(self) -> str:
        return (
            "ipu-model" if self.type is TargetType.IPU_MODEL else "cpu" if self.type is TargetType.CPU else "simulated"
        )

    def getNumIPUs(self) -> int:
        return self.num_ipus

    def getTilesPerIPU(self) -> int:
        return self.tiles_per_ipu

    def getNumTiles(self) -> int:
        return self.num_ipus * self.tiles_per_ipu

    def getNumWorkerContexts(self) -> int:
        return self.worker_contexts

    def getBytesPerTile(self) -> int:
        return self.bytes_per_tile

    def getMemoryBytes(self) -> int:
        """Bytes of tile memory of all IPUs."""
        return self.getNumTiles() * self.bytes_per_tile

    def getExchangeBytesPerCycle(self) -> float:
        return self.exchange_bytes_per_cycle

    def getMemcpyBytesPerCycle(self) -> int:
        return self.memcpy_bytes_per_cycle

    def getMinIPUSyncDelay(self) -> int:
        """Cycles of a sync whose last tile is the nearest one to the sync controller."""
        return self.min_sync_delay

    def getMaxIPUSyncDelay(self) -> int:
        """Cycles of a sync whose last tile is the farthest one from the sync controller."""
        return self.min_sync_delay + int(self.relative_sync_delay().max())

    def getGlobalSyncCycles(self) -> int:
        return self.global_sync_cycles

    def getMemoryElementOffsets(self) -> list[int]:
        return element_offsets(self.chip, self.bytes_per_tile)

    def getInterleavedMemoryElementIndex(self) -> int:
        return self.interleaved_element

    def getDataPathWidth(self) -> int:
        """Bits of a load or store."""
        return self.chip.data_path_bits

    def getNumStrideBits(self) -> int:
        return self.chip.stride_bits

    def getRptCountMax(self) -> int:
        return self.chip.rpt_count_max

    def supportsExchangeBusSharing(self) -> bool:
        return True

    def getTilesPerSharedExchangeBus(self) -> int:
        return self.chip.tiles_per_shared_bus

    def getFloatVectorWidth(self) -> int:
        return 2

    def getHalfVectorWidth(self) -> int:
        return 4

    def getQuarterVectorWidth(self) -> int:
        return 8

    @checks_arguments
    def getVectorWidth(self, type_: Type) -> int:
        """Elements of a 64-bit vector; 1 for types without vector arithmetic."""
        return {FLOAT: 2, HALF: 4, QUARTER: 8}.get(type_, 1)

    def getTileClockFrequency(self) -> float:
        """Hz."""
        return self.clock_hz

    def hash(self) -> int:
        """A number that equal targets share."""
        return hash(self)

    @checks_arguments
    def getTypeLimitsMaxAs(self, type_: Type) -> float:
        """The largest value of a type; of QUARTER that of format F152 with scale 0."""
        return limits_of(type_)[1]

    @checks_arguments
    def getTypeLimitsLowestAs(self, type_: Type) -> float:
        """The lowest value of a type; of QUARTER that of format F152 with scale 0."""
        return limits_of(type_)[0]

    # ---- convolution units -------------------------------------------------------------------------------------

    def getFp8ConvUnitInputLoadElemsPerCycle(self) -> int:
        """One load of the data path per cycle."""
        return self.chip.data_path_bits // 8

    def getFp16ConvUnitInputLoadElemsPerCycle(self) -> int:
        """One load of the data path per cycle."""
        return self.chip.data_path_bits // 16

    def getFp32ConvUnitInputLoadElemsPerCycle(self) -> int:
        return self.chip.data_path_bits // 32

    def getFp16InFp16OutConvUnitsPerTile(self) -> int:
        return self.chip.conv_units_half

    def getFp16InFp32OutConvUnitsPerTile(self) -> int:
        return self.chip.conv_units_half_to_float

    def getFp32InFp32OutConvUnitsPerTile(self) -> int:
        return self.chip.conv_units_float

    def getConvUnitCoeffLoadBytesPerCycle(self) -> int:
        return self.chip.coeff_load_bytes_per_cycle

    def getWeightsPerConvUnit(self, type_: Type) -> int:
        """Input channels that one convolution unit holds: 16 for half, 8 for float. Raises `poplar_error` for
        others."""
        if _input_type(type_) is QUARTER:
            raise _not_known("The number of 8-bit weights of a convolution unit", self.chip)
        return 16 if type_ is HALF else 8

    @checks_arguments
    def getNumConvUnits(self, input_type: Type, partial_type: Type) -> int:
        """For an input type and a type of partial sums; 0 where there are none, as for QUARTER before "ipu21"."""
        if input_type is QUARTER:
            return self.getFp8InFp16OutConvUnitsPerTile()
        if input_type is not HALF:
            return self.chip.conv_units_float
        return self.chip.conv_units_half_to_float if partial_type is FLOAT else self.chip.conv_units_half

    def getFp8InFp16OutConvUnitsPerTile(self) -> int:
        """0 for chips before "ipu21", which have no 8-bit arithmetic; `poplar_error` for that one."""
        if self.chip.name != "ipu21":
            return 0
        raise _not_known("The number of 8-bit convolution units per tile", self.chip)

    def getConvUnitInputLoadElemsPerCycle(self, type_: Type) -> int:
        """Elements of an input type (QUARTER, HALF or FLOAT) that one load brings."""
        return self.chip.data_path_bits // (8 * _input_type(type_).size)

    def getConvUnitMaxPipelineDepth(self, type_: Type) -> int:
        """Raises `poplar_error`: no figure is public."""
        raise _not_known(f"The pipeline depth of the convolution units for {_input_type(type_)}", self.chip)

    def getFp8ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(QUARTER)

    def getFp16ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(HALF)

    def getFp32ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(FLOAT)

    # ---- exchange blocks ---------------------------------------------------------------------------------------

    # They connect tiles with the outside. Which tiles share one is not public: contexts are runs of tiles in order of
    # their ids, a guess.

    def getNumTilesPerXBContext(self) -> int:
        return self.chip.tiles_per_xb_context

    def getNumContextsPerXB(self) -> int:
        return self.chip.host_contexts_per_xb

    @checks_arguments
    def getTileHostExchangeXB(self, tile: int) -> int:
        """The exchange block, within its IPU, of a tile."""
        return self.getTileHostExchangeContext(tile) // self.chip.host_contexts_per_xb

    @checks_arguments
    def getTileHostExchangeContext(self, tile: int) -> int:
        """The exchange block context, within its IPU, of a tile; `invalid_tile_mapping` where there is no such tile."""
        return self._of_ipu(tile) // self.chip.tiles_per_xb_context

    @checks_arguments
    def getTileHostExchangeContextPosition(self, tile: int) -> int:
        """The place of a tile within its context."""
        return self._of_ipu(tile) % self.chip.tiles_per_xb_context

    def _of_ipu(self, tile: int) -> int:
        if not 0 <= tile < self.getNumTiles():
            raise invalid_tile_mapping(f"Tile {tile} is not one of the target's {self.getNumTiles()} tiles.")
        return tile % self.tiles_per_ipu

    # ---- kinds of targets --------------------------------------------------------------------------------------

    @staticmethod
    def createCPUTarget(accurateHalf: bool = False, numIPUs: int = 1) -> Target:
        """The host itself, divided like so many IPUs of one tile. Half is always accurate here."""
        return Target(TargetType.CPU, num_ipus=numIPUs, tiles_per_ipu=1)

    @overload
    @staticmethod
    def createIPUTarget(systemType: str, opts: Mapping[str, Any] | None = None, /) -> Target: ...
    @overload
    @staticmethod
    def createIPUTarget(numIPUs: int, systemType: str, opts: Mapping[str, Any] | None = None, /) -> Target: ...
    @overload
    @staticmethod
    def createIPUTarget(
        numIPUs: int, tilesPerIPU: int, systemType: str, opts: Mapping[str, Any] | None = None, /
    ) -> Target: ...
    @staticmethod
    def createIPUTarget(*arguments: Any) -> Target:
        """Simulated hardware of a system type ("ipu1", "ipu2", "ipu21", or a name with "M2000", "POD", "BOW", "C600",
        "C2" in it). Raises `invalid_machine_model` for others, and `invalid_option` for options: there are none."""
        return ipu_target(*arguments)

    @checks_arguments
    def getTypeSize(self, type_: Type) -> int:
        """Bytes."""
        return type_.size

    def getAtomicStoreGranularity(self) -> int:
        """Bytes that one store writes at least: two workers must not share such a word."""
        return 4

    def getIpuLinkConfiguration(self) -> IpuLinkConfiguration:
        return IpuLinkConfiguration.Default

    def getIpuLinkTopology(self) -> IpuLinkTopology:
        return IpuLinkTopology.Mesh

    def getIpuLinkDomainSize(self) -> int:
        return self.num_ipus

    def getInstanceSize(self) -> int:
        return self.num_ipus

    def getGatewayMode(self) -> bool:
        return False

    def with_tiles(self, device_tiles: Sequence[int], num_ipus: int) -> Target:
        """The view of a virtual graph: these tiles of the device, IPU-major."""
        return replace(
            self,
            num_ipus=num_ipus,
            tiles_per_ipu=len(device_tiles) // num_ipus,
            device_tiles=tuple(int(t) for t in device_tiles),
        )


def target_of(source: Any) -> Target:
    """The target of a Device, or a target as it is."""
    if isinstance(source, Target):
        return source
    get = getattr(source, "getTarget", None)
    if get is None:
        raise invalid_machine_model(
            f"{source!r} is neither a Target nor a Device; take one from IPUModel().createDevice()."
        )
    target = get()
    assert isinstance(target, Target)
    return target


def ipu_target(*arguments: Any) -> Target:
    """`Target.createIPUTarget`: (numIPUs, tilesPerIPU, systemType, options), all but the third optional."""
    given = list(arguments)
    if given and (given[-1] is None or isinstance(given[-1], Mapping)):
        for name, value in (given.pop() or {}).items():
            raise invalid_option(f"'{name}' (value '{value}') is not an option of createIPUTarget; it takes none.")
    if not given or not isinstance(given[-1], str) or len(given) > 3:
        raise invalid_machine_model(f"createIPUTarget: {arguments!r:.60} names no system type, for example 'ipu2'.")
    chip = chip_of_system(given.pop())
    ipus = given[0] if given else 1
    return Target(
        TargetType.IPU,
        chip,
        num_ipus=ipus,
        tiles_per_ipu=given[1] if len(given) > 1 else chip.tiles,
        bytes_per_tile=chip.bytes_per_tile,
        clock_hz=chip.clock_hz,
        interleaved_element=chip.region_split // chip.memory_element_bytes,
        compile_ipu_code=True,
    )


def chip_of_system(name: str) -> Chip:
    """The chip of a system type."""
    if name in CHIPS:
        return CHIPS[name]
    words = name.upper()
    for part, chip in (("BOW", "ipu21"), ("C600", "ipu21"), ("M2000", "ipu2"), ("POD", "ipu2"), ("C2", "ipu1")):
        if part in words:
            return CHIPS[chip]
    raise invalid_machine_model(f"'{name}' is not a system type; use {', '.join(CHIPS)}, or a name such as IPU-POD16.")


def _not_known(what: str, chip: Chip) -> poplar_error:
    """The error of getters whose figure nobody has published."""
    return poplar_error(f"{what} of a {chip.title} is not known: no figure is public.")


def _input_type(type_: Type) -> Type:
    if type_ not in (QUARTER, HALF, FLOAT):
        raise poplar_error(f"Convolution units read quarter, half and float, not {type_}.")
    return type_
