"""The properties of a target and of the options that the planner reads."""

from __future__ import annotations

from typing import NamedTuple

#: default of availableMemoryProportion: the part of a tile's memory that a product may take while it runs
DEFAULT_PROPORTION = 0.6


class Machine(NamedTuple):
    tiles: int
    bytes_per_tile: int
    units_half: int = 16  #: convolution units that take halves
    units_float: int = 16
    exchange_bytes: int = 4  #: per cycle and tile
    tiles_per_bus: int = 2
    memory_proportion: float = DEFAULT_PROPORTION
    wide_weight_load: bool = False  #: use128BitConvUnitLoad
    multi_stage_reduce: bool = True  #: enableMultiStageReduce
    fast_reduce: bool = False  #: enableFastReduce
    fully_connected_pass: str = "NONE"  #: fullyConnectedPass

    def units(self, dtype: str) -> int:
        return self.units_half if dtype == "half" else self.units_float

    @property
    def fully_connected(self) -> bool:
        return self.fully_connected_pass != "NONE"

    @property
    def memory_limit(self) -> int:
        return int(self.memory_proportion * self.bytes_per_tile)
