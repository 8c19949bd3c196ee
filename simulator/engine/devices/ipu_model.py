"""IPUModel: a machine of estimates. It never stops when memory is exceeded; code has sizes only with compileIPUCode."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import Any

from simulator.base.errors import invalid_machine_model, invalid_option
from simulator.base.target import Target, TargetType
from simulator.base.text_output import no_effect
from simulator.base.wrong_arguments import checks_arguments, methods_refuse_wrong_arguments
from simulator.engine.devices.device import Device
from simulator.engine.devices.what_if import overridden
from simulator.machine.targets import CHIPS, Chip


class RelativeSyncDelayType(Enum):
    AUTO = "auto"
    NO_DELAY = "no delay"


@methods_refuse_wrong_arguments()
class IPUModel:
    """Change fields, then `createDevice()`. Versions: "ipu1" (Mk1), "ipu2" (Mk2, the default), "ipu21" (Bow)."""

    RelativeSyncDelayType = RelativeSyncDelayType

    def __init__(self, IPUVersion: str = "ipu2") -> None:
        if IPUVersion not in CHIPS:
            raise invalid_machine_model(f"'{IPUVersion}' is not an IPU version; the versions are {', '.join(CHIPS)}.")
        chip = CHIPS[IPUVersion]
        self.IPUVersion = IPUVersion
        self.numIPUs = 1
        self.tilesPerSuperTile = chip.tiles_per_super_tile
        self.tilesPerIPU = chip.tiles
        self.numWorkerContexts = chip.worker_contexts
        self.memoryBytesPerTile = chip.bytes_per_tile
        self.tileClockFrequency = chip.clock_hz  #: Hz
        self.exchangeBytesPerCycle = chip.exchange_bytes_per_cycle
        self.memcpyBytesPerCycle = chip.memcpy_bytes_per_cycle
        self.instructionBytes = 4
        self.supportsSuperTileSendReceive = IPUVersion == "ipu1"
        #: index of the first interleaved memory element; an index past the last one = none
        self.interleavedMemoryElementIndex = chip.region_split // chip.memory_element_bytes
        self.minIPUSyncDelay = chip.min_ipu_sync_delay  #: cycles
        self.globalSyncCycles = chip.global_sync_cycles
        self.relativeSyncDelay = RelativeSyncDelayType.AUTO
        self.compileIPUCode = False

    @checks_arguments
    def createDevice(self, opts: Mapping[str, Any] | None = None, accurateHalf: bool = False) -> Device:
        """A device of this model. There are no device options yet; `accurateHalf` is how half always works here:
        float32 inside a vertex, rounded once per result."""
        if opts:
            name, value = next(iter(opts.items()))
            raise invalid_option(f"'{name}' (value '{value}') is not a device option; createDevice takes none.")
        return Device(overridden(self._target(CHIPS[self.IPUVersion]), os.environ))

    def _report_unused_fields(self, chip: Chip) -> None:
        """Say on standard error which changed fields have no effect."""
        defaults = {
            "tilesPerSuperTile": chip.tiles_per_super_tile,
            "memcpyBytesPerCycle": chip.memcpy_bytes_per_cycle,
            "instructionBytes": 4,
            "supportsSuperTileSendReceive": chip.name == "ipu1",
        }
        for name, default in defaults.items():
            if getattr(self, name) != default:
                no_effect(f"IPUModel.{name}={getattr(self, name)}")

    def _target(self, chip: Chip) -> Target:
        self._report_unused_fields(chip)
        if isinstance(self.tilesPerIPU, int) and self.tilesPerIPU > chip.tiles:
            raise invalid_machine_model(
                f"tilesPerIPU={self.tilesPerIPU} is more than the {chip.tiles} tiles of {chip.title}."
            )
        if not isinstance(self.relativeSyncDelay, RelativeSyncDelayType):
            raise invalid_machine_model(f"relativeSyncDelay={self.relativeSyncDelay!r} must be AUTO or NO_DELAY.")
        if self.minIPUSyncDelay < 0 or self.globalSyncCycles < 0 or self.interleavedMemoryElementIndex < 0:
            raise invalid_machine_model("Delays and memory element indices of an IPUModel cannot be negative.")
        if self.exchangeBytesPerCycle <= 0 or self.memcpyBytesPerCycle <= 0:
            raise invalid_machine_model("exchangeBytesPerCycle and memcpyBytesPerCycle must be positive.")
        return Target(
            TargetType.IPU_MODEL,
            chip,
            num_ipus=self.numIPUs,
            tiles_per_ipu=self.tilesPerIPU,
            bytes_per_tile=self.memoryBytesPerTile,
            clock_hz=float(self.tileClockFrequency),
            worker_contexts=self.numWorkerContexts,
            exchange_bytes_per_cycle=float(self.exchangeBytesPerCycle),
            memcpy_bytes_per_cycle=self.memcpyBytesPerCycle,
            interleaved_element=self.interleavedMemoryElementIndex,
            min_sync_delay=self.minIPUSyncDelay,
            global_sync_cycles=self.globalSyncCycles,
            no_relative_sync_delay=self.relativeSyncDelay is RelativeSyncDelayType.NO_DELAY,
            compile_ipu_code=bool(self.compileIPUCode),
        )
