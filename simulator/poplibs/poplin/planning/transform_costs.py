"""The cost of rearranging operands into groups of channels, and results out of them, by PopLibs' estimate before
building.

An operand is rearranged when its channels must be padded to whole groups, or when the operands are not swapped
(products favour the right operand as activations). A result is rearranged when its channels are padded or its operands
not swapped. The bytes are spread over all tiles of the plan, exchanged at 4 bytes a cycle and copied element by
element, with a surcharge of 1/4, or of 2/3 where elements are not whole pairs of floats or fours of halves. A result
whose groups of channels are not those of the next product is only regrouped, a group at a time. Source: PopLibs' public
planner; the factors are its own ("computed from a few layers of ResNet-50"). The start of the copying threads, which it
leaves out, is added: operands of small products take little else."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.cycles.convolution import IN_GROUP
from simulator.machine.cycles.rounding import WORKERS, ceil_div, passing_cycles
from simulator.machine.local_copy import START_CYCLES
from simulator.poplibs.poplin.planning.canonical_params import ELEMENT_BYTES, CanonicalConvParams
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import Method

_COPY_BYTES = 8  #: bytes a cycle that a copy moves on a tile


class Moved(NamedTuple):
    """Cycles of copies and exchanges, one entry per candidate."""

    input_copy: Int64Array
    input_exchange: Int64Array
    weights_copy: Int64Array
    weights_exchange: Int64Array
    output_copy: Int64Array
    output_exchange: Int64Array
    temporary_bytes: Int64Array  #: of the largest rearrangement


class Transforms(NamedTuple):
    """The rearrangements that a product needs, whatever its split."""

    swapped: bool
    matmul: bool = True
    expanded: bool = False  #: kernel positions become input channels, so that both operands are copied

    @property
    def misplaced(self) -> bool:
        """Whether PopLibs expects operands that are not in the order that the vertices read."""
        return self.swapped != self.matmul

    def created(self, method: Method, params: CanonicalConvParams, machine: Machine) -> bool:
        """Whether operands that were created for the product (createMatMulInputLHS) need no transform but padding."""
        whole = params.groups % method.conv_group == 0
        return whole and self.matmul and not self.expanded and not machine.fully_connected

    def columns(self, params: CanonicalConvParams, method: Method, tiles: Int64Array, machine: Machine) -> Moved:
        """The costs on `tiles` tiles. `params` describe the operands as multiplied (swapped or not)."""
        pad_in = params.in_channels % method.in_group != 0
        pad_out = params.out_channels % method.out_group != 0
        misplaced = self.misplaced or params.groups % method.conv_group != 0
        inputs = misplaced or pad_in or self.expanded or machine.fully_connected_pass in ("TRAINING_WU", "TRAINING_BWD")
        weights = misplaced or pad_in or pad_out or self.expanded
        outputs = misplaced or pad_out or machine.fully_connected_pass == "TRAINING_WU"
        regroup = not machine.fully_connected and method.out_group != IN_GROUP[params.dtype]
        in_width = _padded(params.in_channels, method.in_group)
        out_width = _padded(params.out_channels, method.out_group)
        groups = _padded(params.groups, method.conv_group)
        element = out_element = ELEMENT_BYTES[params.out_dtype]  # PopLibs counts operands in the type of the output
        scale = _surcharge(params.dtype, params.in_channels * params.out_channels)
        out_scale = _surcharge(params.out_dtype, params.out_channels)
        zero = np.zeros_like(tiles)
        i = _spread(params.input_positions * in_width * groups * element, tiles) if inputs else zero
        w = _spread(prod(params.kernel) * in_width * out_width * groups * element, tiles) if weights else zero
        o = _spread(params.positions * out_width * groups * out_element, tiles) if outputs or regroup else zero
        rate = min(_COPY_BYTES, out_element if outputs else method.out_group * out_element)
        return Moved(
            _copy(i, scale, min(_COPY_BYTES, element)),
            passing_cycles(i, machine.exchange_rate),
            _copy(w, scale, min(_COPY_BYTES, element)),
            passing_cycles(w, machine.exchange_rate),
            _copy(o, out_scale, rate),
            passing_cycles(o, machine.exchange_rate) if outputs else zero,
            np.maximum(np.maximum(i, w), o),
        )


def _spread(size: int, tiles: Int64Array) -> Int64Array:
    """Bytes per tile when spread over this many tiles."""
    table = ceil_div(size, np.arange(1, int(tiles.max(initial=1)) + 1))
    return np.asarray(table[tiles - 1])


def _padded(count: int, group: int) -> int:
    return -(-count // group) * group


def _surcharge(dtype: str, elements: int) -> tuple[int, int]:
    return (5, 4) if elements % (2 if dtype == "float" else 4) == 0 else (5, 3)


def _copy(size: Int64Array, scale: tuple[int, int], rate: int) -> Int64Array:
    started = np.where(size > 0, WORKERS * START_CYCLES, 0)
    return started + ceil_div(size * scale[0], rate * scale[1])
