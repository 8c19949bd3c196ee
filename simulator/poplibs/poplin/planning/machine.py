"""The properties of a target and of the options that the planner reads."""

from __future__ import annotations

from typing import NamedTuple

from simulator.machine.exchange import CROSSING_CYCLES, CYCLES_PER_ISLAND, LAUNCH_CYCLES

#: tiles of one row of islands: sixteen columns of islands of four tiles
_TILES_OF_ROW = 64

#: default of availableMemoryProportion: the part of a tile's memory that a product may take while it runs
DEFAULT_PROPORTION = 0.6


class Machine(NamedTuple):
    tiles: int
    bytes_per_tile: int
    units_half: int = 16  #: convolution units that take halves and write halves
    units_half_to_float: int = 8
    units_float: int = 16
    exchange_rate: float = 4.0  #: bytes per cycle and tile
    tiles_per_bus: int = 2
    sync_cycles: int = 100  #: of the shortest internal sync
    memory_proportion: float = DEFAULT_PROPORTION
    wide_weight_load: bool = False  #: use128BitConvUnitLoad
    multi_stage_reduce: bool = True  #: enableMultiStageReduce
    fast_reduce: bool = False  #: enableFastReduce
    fully_connected_pass: str = "NONE"  #: fullyConnectedPass

    def units(self, dtype: str, partials: str) -> int:
        """Convolution units for inputs and partial sums of these types."""
        if dtype == "float":
            return self.units_float
        return self.units_half_to_float if partials == "float" else self.units_half

    @property
    def exchange_start(self) -> int:
        """Cycles before the first word of an exchange from the other side of the chip arrives: the shortest sync, the
        launch, the way."""
        return self.sync_cycles + LAUNCH_CYCLES + CROSSING_CYCLES + CYCLES_PER_ISLAND * (self.tiles // _TILES_OF_ROW)

    @property
    def fully_connected(self) -> bool:
        return self.fully_connected_pass != "NONE"

    @property
    def memory_limit(self) -> int:
        return int(self.memory_proportion * self.bytes_per_tile)
