"""Getters of a target about convolution units, exchange blocks and the limits of types."""

from __future__ import annotations

import numpy as np

from simulator.base.errors import invalid_tile_mapping, poplar_error
from simulator.base.quarter import QuarterMetadata, largest
from simulator.base.types import FLOAT, HALF, QUARTER, Type
from simulator.machine.targets import Chip


def not_known(what: str, chip: Chip) -> poplar_error:
    """The error of getters whose figure nobody has published."""
    return poplar_error(f"{what} of a {chip.title} is not known: no figure is public.")


class ConvolutionGetters:
    """Convolution units."""

    chip: Chip

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
        return self.chip.conv_units_half

    def getFp32InFp32OutConvUnitsPerTile(self) -> int:
        return self.chip.conv_units_float

    def getConvUnitCoeffLoadBytesPerCycle(self) -> int:
        return self.chip.coeff_load_bytes_per_cycle

    def getWeightsPerConvUnit(self, type_: Type) -> int:
        """Input channels that one convolution unit holds: 16 for half, 8 for float. Raises `poplar_error` for
        others."""
        if _input_type(type_) is QUARTER:
            raise not_known("The number of 8-bit weights of a convolution unit", self.chip)
        return 16 if type_ is HALF else 8

    def getNumConvUnits(self, input_type: Type, partial_type: Type) -> int:
        """For an input type and a type of partial sums; 0 where there are none, as for QUARTER before "ipu21"."""
        if input_type is QUARTER:
            return self.getFp8InFp16OutConvUnitsPerTile()
        return self.chip.conv_units_half if input_type is HALF else self.chip.conv_units_float

    def getFp8InFp16OutConvUnitsPerTile(self) -> int:
        """0 for chips before "ipu21", which have no 8-bit arithmetic; `poplar_error` for that one."""
        if self.chip.name != "ipu21":
            return 0
        raise not_known("The number of 8-bit convolution units per tile", self.chip)

    def getConvUnitInputLoadElemsPerCycle(self, type_: Type) -> int:
        """Elements of an input type (QUARTER, HALF or FLOAT) that one load brings."""
        return self.chip.data_path_bits // (8 * _input_type(type_).size)

    def getConvUnitMaxPipelineDepth(self, type_: Type) -> int:
        """Raises `poplar_error`: no figure is public."""
        raise not_known(f"The pipeline depth of the convolution units for {_input_type(type_)}", self.chip)

    def getFp8ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(QUARTER)

    def getFp16ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(HALF)

    def getFp32ConvUnitMaxPipelineDepth(self) -> int:
        """Raises `poplar_error`: no figure is public."""
        return self.getConvUnitMaxPipelineDepth(FLOAT)


class ExchangeBlockGetters:
    """Exchange blocks, which connect tiles with the outside. Which tiles share one is not public: here contexts are
    runs of tiles in order of their ids, a guess."""

    chip: Chip
    tiles_per_ipu: int

    def getNumTilesPerXBContext(self) -> int:
        return self.chip.tiles_per_xb_context

    def getNumContextsPerXB(self) -> int:
        return self.chip.host_contexts_per_xb

    def getTileHostExchangeXB(self, tile: int) -> int:
        """The exchange block, within its IPU, of a tile."""
        return self.getTileHostExchangeContext(tile) // self.chip.host_contexts_per_xb

    def getTileHostExchangeContext(self, tile: int) -> int:
        """The exchange block context, within its IPU, of a tile; `invalid_tile_mapping` where there is no such tile."""
        return self._of_ipu(tile) // self.chip.tiles_per_xb_context

    def getTileHostExchangeContextPosition(self, tile: int) -> int:
        """The place of a tile within its context."""
        return self._of_ipu(tile) % self.chip.tiles_per_xb_context

    def _of_ipu(self, tile: int) -> int:
        if not 0 <= tile < self.getNumTiles():
            raise invalid_tile_mapping(f"Tile {tile} is not one of the target's {self.getNumTiles()} tiles.")
        return tile % self.tiles_per_ipu

    def getNumTiles(self) -> int:
        raise NotImplementedError


def limits_of(type_: Type) -> tuple[float, float]:
    """The lowest and the largest value of a type."""
    if type_ is QUARTER:
        top = largest(QuarterMetadata(QuarterMetadata.Format.F152, 0))
        return -top, top
    if type_.dtype.kind == "b":
        return 0.0, 1.0
    info = np.finfo(type_.dtype) if type_.dtype.kind == "f" else np.iinfo(type_.dtype)
    return float(info.min), float(info.max)


def _input_type(type_: Type) -> Type:
    if type_ not in (QUARTER, HALF, FLOAT):
        raise poplar_error(f"Convolution units read quarter, half and float, not {type_}.")
    return type_
