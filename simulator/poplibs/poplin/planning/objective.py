"""The objective of the planner: the cost terms of PopLibs' planner, in columns of candidates.

    total = (dynamic slice + transforms (copy, exchange) + exchange (inputs, weights, partial sums) + partials + reduce
        + dynamic update + add in place) * serial passes
        + inputs broadcast before the loop + rearrangement before slicing + cast of the output

subject to temporary memory within a part of the tile (published: poplar-model 10; 7.4, 7.5, 7.7; the terms are those of
PopLibs' public planner). The exchange moves 4 bytes a cycle, and 8 for inputs where the number of output shares, whose
index runs fastest over tiles, is even: both tiles of a bus then receive the same data. A tile does not exchange the
part of its operands that its own memory holds.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.machine.cycles.elementwise import binary_1d
from simulator.machine.cycles.partial_reduction import (
    accumulator,
    reduce_add,
    reduce_add_single_input,
    stage_depths,
)
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, vector_width
from simulator.poplibs.poplin.planning.canonical_params import ELEMENT_BYTES, CanonicalConvParams
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import Method, TileWork, groups_of, partial_cycles, peak_macs
from simulator.poplibs.poplin.planning.splits import Splits
from simulator.poplibs.poplin.planning.transform_costs import Transforms

#: terms of one pass, then those outside the loop, in the order of reports
PASS_TERMS = (
    "dynamic_slice",
    "transform_copy",
    "transform_exchange",
    "input_exchange",
    "weights_exchange",
    "reduce_exchange",
    "partials",
    "reduce",
    "dynamic_update",
    "add_in_place",
)
ONCE_TERMS = ("broadcast_copy", "broadcast_exchange", "rearrange_before_slice", "output_cast")


class Columns(NamedTuple):
    """Costs of every candidate."""

    terms: dict[str, Int64Array]  #: of one pass, and those outside the loop
    passes: Int64Array

    @property
    def total(self) -> Int64Array:
        inside = sum((self.terms[t] for t in PASS_TERMS), np.zeros_like(self.passes))
        return sum((self.terms[t] for t in ONCE_TERMS), inside * self.passes)


class Share(NamedTuple):
    """The share of the fullest tile in one pass, in elements, one entry per candidate."""

    work: TileWork
    inputs: Int64Array
    weights: Int64Array
    outputs: Int64Array


def _largest(parts: int, splits: Int64Array) -> Int64Array:
    """The size of the largest share when `parts` grains are cut into `splits` shares."""
    table = ceil_div(parts, np.arange(1, int(splits.max(initial=1)) + 1))
    return np.asarray(table[splits - 1])


def share_of(params: CanonicalConvParams, method: Method, splits: Splits) -> Share:
    """The shares of the fullest tile of a pointwise convolution."""
    positions = prod(
        (_largest(size, split) for size, split in zip(params.output_field, splits.field, strict=True)),
        start=np.full_like(splits.groups, params.batch),
    )
    # All candidates of one call have the same passes.
    in_serial, out_serial = int(splits.in_serial[0]), int(splits.out_serial[0])
    cg = _largest(groups_of(params.groups, method.conv_group), splits.groups)
    inp = _largest(groups_of(-(-params.in_channels // in_serial), method.in_group), splits.inp)
    out = _largest(-(-groups_of(params.out_channels, method.out_group) // out_serial), splits.out)
    side, width = cg * method.conv_group, inp * method.in_group
    return Share(
        TileWork(cg, positions, inp, out),
        positions * width * side,
        width * out * method.out_group * side,
        positions * out * method.out_group * side,
    )


def cost_columns(
    params: CanonicalConvParams, method: Method, splits: Splits, share: Share, machine: Machine, transforms: Transforms
) -> Columns:
    """Cost every candidate of a pointwise convolution."""
    element, partial = ELEMENT_BYTES[params.dtype], ELEMENT_BYTES[method.partials]
    moved = transforms.columns(params, method, splits.tiles, machine)
    zero = np.zeros_like(splits.groups)
    field = prod(splits.field, start=np.ones_like(splits.groups))
    inputs = share.inputs - share.inputs // splits.out
    weights = share.weights - share.weights // field
    doubled = splits.out % machine.tiles_per_bus == 0
    outputs = ceil_div(share.outputs, splits.inp)
    serial = splits.passes > 1
    before = (splits.in_serial == 1) & (splits.out_serial > 1)
    input_exchange = ceil_div(inputs * element, machine.exchange_bytes * np.where(doubled, 2, 1))
    inside_exchange = np.where(before, 0, moved.input_exchange)
    terms = {
        "dynamic_slice": _slices(params, splits, share),
        "transform_copy": np.where(before, 0, moved.input_copy) + moved.weights_copy + moved.output_copy,
        "transform_exchange": inside_exchange + moved.weights_exchange + moved.output_exchange,
        "input_exchange": np.where(before, 0, input_exchange),
        "weights_exchange": ceil_div(weights * element, machine.exchange_bytes),
        "reduce_exchange": _reduce_exchange(splits.inp, share.outputs, partial, machine),
        "partials": partial_cycles(method, params.dtype, share.work, machine.wide_weight_load),
        "reduce": _reduce(params, method, splits, outputs, machine),
        "dynamic_update": np.where(splits.out_serial > 1, dynamic_slice_cycles(method.partials, outputs), 0),
        "add_in_place": np.where(splits.in_serial > 1, binary_1d("ADD", method.partials, outputs, True), 0),
        "broadcast_copy": np.where(before, moved.input_copy, 0),
        "broadcast_exchange": np.where(before, moved.input_exchange + input_exchange, 0),
        "rearrange_before_slice": zero,
        "output_cast": np.where(splits.in_serial > 1, _cast(params, method, outputs), 0),
    }
    weights_kept = params.in_channels * params.out_channels * params.groups
    if machine.fully_connected:
        # The layout of the weights is unknown: they are copied into slices once, an element a cycle, and exchanged.
        kept = ceil_div(weights_kept, splits.tiles)
        terms["rearrange_before_slice"] = np.where(serial, ceil_div(kept * element, machine.exchange_bytes) + kept, 0)
    return Columns(terms, splits.passes)


def least_cycles(params: CanonicalConvParams, method: Method, splits: Splits, share: Share) -> Int64Array:
    """A lower bound of the cycles of each candidate: its multiply-accumulates at the method's peak rate."""
    macs = share.inputs * (share.work.out_groups * method.out_group)
    return np.asarray(splits.passes * macs / peak_macs(method, params.dtype), np.int64)


def _slices(params: CanonicalConvParams, splits: Splits, share: Share) -> Int64Array:
    """Cycles to slice the weights of a pass, and in passes over input channels also its inputs."""
    weights = ceil_div(share.weights * splits.inp * splits.out * splits.groups, splits.tiles)
    inputs = ceil_div(params.positions * params.in_channels * params.groups, splits.tiles * splits.in_serial)
    cut = np.where(splits.passes > 1, dynamic_slice_cycles(params.dtype, weights), 0)
    return cut + np.where(splits.in_serial > 1, dynamic_slice_cycles(params.dtype, inputs), 0)


def dynamic_slice_cycles(dtype: str, elements: Int64Array) -> Int64Array:
    """Tile cycles of DynamicSlice1D on one region: 25 + 6 (39 + 24 + 2 floor(ceil(region / 6) / vector)) (7.3)."""
    return np.asarray(25 + WORKERS * (39 + 24 + 2 * (per_worker(elements) // vector_width(dtype))))


@lru_cache(maxsize=16)
def _stage_rows(deepest: int, multi_stage: bool) -> Int64Array:
    """Row d: the rows of partial sums that a vertex of each stage adds for partial sums d deep; 0 where the stage is
    missing."""
    rows = np.zeros((deepest + 1, 4), np.int64)
    for depth in range(2, deepest + 1):
        left = depth
        for stage, kept in enumerate((*stage_depths(depth, multi_stage), 1)):
            rows[depth, stage] = -(-left // kept)
            left = kept
    return rows


def _stages(depths: Int64Array, machine: Machine) -> list[tuple[BoolArray, Int64Array, BoolArray]]:
    """For each stage: (candidates that have it, rows added, whether it is their last stage)."""
    rows = _stage_rows(int(depths.max(initial=1)), machine.multi_stage_reduce)[depths]
    return [(rows[:, s] > 0, rows[:, s], rows[:, s + 1] == 0) for s in range(3) if (rows[:, s] > 0).any()]


def _reduce_exchange(depths: Int64Array, outputs: Int64Array, partial: int, machine: Machine) -> Int64Array:
    """Cycles to exchange partial sums: in the first stage all that a tile computed, in further stages what it holds."""
    cycles, size = np.zeros_like(depths), outputs
    for here, rows, _ in _stages(depths, machine):
        cycles += np.where(here, ceil_div(size * partial, machine.exchange_bytes), 0)
        size = ceil_div(size, np.maximum(rows, 1))
    return cycles


def _reduce(
    params: CanonicalConvParams, method: Method, splits: Splits, outputs: Int64Array, machine: Machine
) -> Int64Array:
    """Cycles to add: each stage by the formula of its vertex; a cast where only the type differs."""
    cycles = np.where((splits.in_serial > 1) | (splits.inp > 1), 0, _cast(params, method, outputs))
    size = outputs * splits.inp
    for stage, (here, rows, last) in enumerate(_stages(splits.inp, machine)):
        size = ceil_div(size, np.maximum(rows, 1))
        single = machine.fast_reduce and stage == 0
        added = _stage_cycles(method.partials, method.partials, size, rows, single)
        if params.out_dtype != method.partials:
            added = np.where(last, _stage_cycles(method.partials, params.out_dtype, size, rows, single), added)
        cycles += np.where(here, added, 0)
    return cycles


def _stage_cycles(dtype: str, out_dtype: str, outputs: Int64Array, rows: Int64Array, single: bool) -> Int64Array:
    """Cycles of one stage. `single`: rows received by exchange form one block where outputs are whole accumulators."""
    apart = reduce_add(dtype, out_dtype, outputs, rows)
    if not single:
        return apart
    block = reduce_add_single_input(dtype, out_dtype, outputs, rows - 1, True)
    return np.where(outputs % accumulator(dtype) == 0, block, apart)


def _cast(params: CanonicalConvParams, method: Method, outputs: Int64Array) -> Int64Array:
    """Tile cycles to cast the outputs of a tile (PopLibs' planner: 6 (26 + vectors of the narrower access))."""
    if params.out_dtype == method.partials:
        return np.zeros_like(outputs)
    narrow = min(vector_width(params.out_dtype), vector_width(method.partials))
    return WORKERS * (26 + ceil_div(per_worker(outputs), narrow))


def temporary_bytes(
    params: CanonicalConvParams, method: Method, splits: Splits, share: Share, machine: Machine, transforms: Transforms
) -> Int64Array:
    """Temporary bytes of the fullest tile: the largest of rearranging (before and after together), the vertex's
    operands with its partial sums, and the partial sums to be added. Sums that stay between passes are added."""
    moved = transforms.columns(params, method, splits.tiles, machine).temporary_bytes
    element, partial = ELEMENT_BYTES[params.dtype], ELEMENT_BYTES[method.partials]
    before = (splits.in_serial == 1) & (splits.out_serial > 1)
    inputs, own = share.inputs * element, ceil_div(share.outputs, splits.inp) * partial
    vertex = np.where(before, 0, inputs) + share.weights * element + share.outputs * partial
    reduce = np.where(splits.inp > 1, own * splits.inp, 0)
    kept = np.where(splits.in_serial > 1, own, 0) + np.where(before, inputs, 0)
    return np.asarray(np.maximum(np.maximum(2 * moved, vertex), reduce) + kept)
