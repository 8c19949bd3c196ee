"""The objective of the planner: the cost terms of PopLibs' planner and of the steps around them, by candidate.

    total = (dynamic slice + exchange (inputs, weights, partial sums) + own part of the inputs + partials + reduce
        + dynamic update + add in place + starts of exchanges) * serial passes
        + transforms of operands and output (copy, exchange) + inputs broadcast before the loop
        + rearrangement before slicing + cast of the output

subject to temporary memory within a part of the tile (published: poplar-model 10; 7.4, 7.5, 7.7; the terms are those of
PopLibs' public planner). The exchange moves 4 bytes a cycle, and 8 for inputs where the number of output shares, whose
index runs fastest over tiles, is even: both tiles of a bus then receive the same data, but for the parts that the two
hold themselves. A tile does not exchange the part of its operands or partial sums that its own memory holds.

Some things differ from PopLibs, so that a plan costs what its program takes (`python -m benchmarks.sweep`): each
exchange also takes a sync and its launch; a tile copies its own part of a line of inputs beside what it receives;
weights that both tiles of a bus receive pass at twice the rate, zeros of padding once; rows of partial sums are added
by a tile more or less; and transforms happen once, not in each pass, because the program has them before its loop.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.machine.cycles.elementwise import binary_1d
from simulator.machine.cycles.movement import cast_1d
from simulator.machine.cycles.partial_reduction import (
    accumulator,
    reduce_add,
    reduce_add_single_input,
    stage_depths,
)
from simulator.machine.cycles.rounding import WORKERS, ceil_div, passing_cycles, per_worker, vector_width
from simulator.machine.local_copy import local_copy_cycles
from simulator.poplibs.poplin.planning.canonical_params import ELEMENT_BYTES, CanonicalConvParams
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import Method, TileWork, groups_of, partial_cycles, peak_macs
from simulator.poplibs.poplin.planning.splits import Splits
from simulator.poplibs.poplin.planning.transform_costs import Moved, Transforms

#: elements of the constant that padding is read from
ZEROS = 64
#: what the program of a product does not have: regrouping its result, which the next reader does; and transforms of
#: operands that are not swapped, which PopLibs assumes (products favour swapped ones) even where they were created so
OUTSIDE_TERMS = ("output_copy", "output_exchange", "assumed_copy", "assumed_exchange")
#: terms of one pass, then those outside the loop, in the order of reports
PASS_TERMS = (
    "dynamic_slice",
    "input_exchange",
    "input_copy",
    "weights_exchange",
    "reduce_exchange",
    "partials",
    "reduce",
    "dynamic_update",
    "add_in_place",
    "exchange_starts",
)
ONCE_TERMS = (
    "transform_copy",
    "transform_exchange",
    "broadcast_copy",
    "broadcast_exchange",
    "rearrange_before_slice",
    "output_cast",
    *OUTSIDE_TERMS,
)


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
    block = method.out_group * method.conv_group  # the channels of a position stay together
    outputs = ceil_div(share.outputs // block, splits.inp) * block
    serial = splits.passes > 1
    before = (splits.in_serial == 1) & (splits.out_serial > 1)
    paired_inputs = splits.out % machine.tiles_per_bus == 0
    alone = np.where(paired_inputs, share.inputs // splits.out, inputs)  # what the other tile of the bus holds itself
    input_exchange = passing_cycles((inputs + alone) * element, 2 * machine.exchange_rate)
    created = transforms.created(method, params, machine)
    pieces = _weight_pieces(params, method, share, field) if created else Pieces(zero, zero)
    own_lines, own_all = _own_inputs(method, splits, share, element, pieces.where(~serial))
    assumed = moved if transforms.misplaced and created else None
    if created:
        moved = _padded(params, method, splits, share, moved)
        moved = moved._replace(weights_copy=np.where(serial, pieces.cycles, 0))
    terms = {
        "dynamic_slice": _slices(params, method, splits, share),
        "input_exchange": np.where(before, 0, input_exchange),
        "input_copy": np.where(before, 0, own_lines),
        "weights_exchange": _weights_exchange(params, method, splits, share, created, machine),
        "reduce_exchange": _reduce_exchange(splits.inp, share.outputs // block, block * partial, machine),
        "partials": partial_cycles(method, params.dtype, share.work, machine.wide_weight_load),
        "reduce": _reduce(params, method, splits, share.outputs // block, machine),
        "dynamic_update": np.where(splits.out_serial > 1, dynamic_slice_cycles(method.partials, outputs), 0),
        "add_in_place": np.where(splits.in_serial > 1, binary_1d("ADD", method.partials, outputs, True), 0),
        "exchange_starts": _exchanges(splits, machine, before) * machine.exchange_start,
        "transform_copy": moved.input_copy + moved.weights_copy,
        "transform_exchange": moved.input_exchange + moved.weights_exchange,
        "broadcast_copy": np.where(before, own_all, 0),
        "broadcast_exchange": np.where(before & (splits.out > 1), input_exchange + machine.exchange_start, 0),
        "rearrange_before_slice": zero,
        "output_cast": np.where(splits.in_serial > 1, _cast(params, method, outputs), 0),
        "output_copy": moved.output_copy,
        "output_exchange": moved.output_exchange,
        "assumed_copy": zero if assumed is None else assumed.input_copy + assumed.weights_copy,
        "assumed_exchange": zero if assumed is None else assumed.input_exchange + assumed.weights_exchange,
    }
    weights_kept = params.in_channels * params.out_channels * params.groups
    if machine.fully_connected:
        # The layout of the weights is unknown: they are copied into slices once, an element a cycle, and exchanged.
        kept = ceil_div(weights_kept, splits.tiles)
        terms["rearrange_before_slice"] = np.where(
            serial, passing_cycles(kept * element, machine.exchange_rate) + kept, 0
        )
    return Columns(terms, splits.passes)


def least_cycles(params: CanonicalConvParams, method: Method, splits: Splits, share: Share) -> Int64Array:
    """A lower bound of the cycles of each candidate: its multiply-accumulates at the method's peak rate."""
    macs = share.inputs * (share.work.out_groups * method.out_group)
    return np.asarray(splits.passes * macs / peak_macs(method, params.dtype), np.int64)


def _weights_exchange(
    params: CanonicalConvParams, method: Method, splits: Splits, share: Share, created: bool, machine: Machine
) -> Int64Array:
    """Cycles to exchange the weights: where a tile computes all output channels, and the number of field shares is
    even, both tiles of a bus receive the same. Of weights that were created for the product, missing output channels
    are zeros, which one tile sends to all: `ZEROS` at the most, once for each missing channel."""
    element, field = ELEMENT_BYTES[params.dtype], prod(splits.field, start=np.ones_like(splits.groups))
    side = share.work.conv_groups * method.conv_group
    width = share.work.in_groups * method.in_group
    wanted, sent = share.weights, np.zeros_like(field)
    missing = share.work.out_groups * method.out_group - params.out_channels
    if created and (missing > 0).any():
        real = width * params.out_channels * side
        wanted = np.where(missing > 0, real + np.minimum(width, ZEROS), wanted)
        zeros = np.maximum(missing, 0) * min(ZEROS, params.in_channels)
        held = np.where(field > 1, ceil_div(real, field), 0)
        sent = np.where((missing > 0) & (splits.tiles > 1), zeros + held, 0)
    blocks = share.work.conv_groups * share.work.in_groups * share.work.out_groups  # a tile holds whole ones
    block = ceil_div(wanted, blocks)
    alone = np.where((blocks % 2 == 1) & (blocks < field), block, 0)  # to the tile beside the last that holds one
    paired = (splits.out == 1) & (field % machine.tiles_per_bus == 0)
    passing = np.where(paired, wanted + alone, 2 * (wanted - blocks // field * block)) * element
    received = passing_cycles(passing, 2 * machine.exchange_rate)
    return np.maximum(received, passing_cycles(sent * element, machine.exchange_rate))


class Pieces(NamedTuple):
    """What a tile copies: bytes and runs of memory, one entry per candidate."""

    moved: Int64Array
    runs: Int64Array

    @property
    def cycles(self) -> Int64Array:
        return local_copy_cycles(self.moved, self.runs, np.zeros_like(self.runs))

    def where(self, wanted: BoolArray) -> Pieces:
        """These for some candidates, nothing for others."""
        return Pieces(np.where(wanted, self.moved, 0), np.where(wanted, self.runs, 0))

    def __add__(self, other: Pieces) -> Pieces:  # type: ignore[override]
        return Pieces(self.moved + other.moved, self.runs + other.runs)


def _own_inputs(
    method: Method, splits: Splits, share: Share, element: int, weights: Pieces
) -> tuple[Int64Array, Int64Array]:
    """Cycles to copy what a tile holds of its inputs beside what it receives, with `weights` in the same step: of lines
    (all positions of a group of channels) that it holds in part, which the vertex needs in one piece, and of all lines,
    which a broadcast copies.

    The tiles of the output shares hold equal parts of the lines, one after another: 1 / out of all positions."""
    positions, lines = share.work.positions, share.work.conv_groups * share.work.in_groups
    block = method.in_group * method.conv_group * element
    held = ceil_div(positions * lines, splits.out)
    cut = (splits.out > 1) & (positions > 1) & (lines % splits.out != 0)
    in_part = Pieces(np.minimum(held, 2 * positions) * block, np.full_like(held, 2)).where(cut)
    all_lines = Pieces(held * block, ceil_div(lines, splits.out) + 1).where(splits.out > 1)
    return (in_part + weights).cycles, all_lines.cycles


def _weight_pieces(params: CanonicalConvParams, method: Method, share: Share, field: Int64Array) -> Pieces:
    """Weights without whole groups of channels. Missing input channels: of each output channel, weights and zeros of
    the last group are a run of memory each. Missing output channels: a run of zeros each, and the block of a tile."""
    missing = -params.in_channels % method.in_group
    work = share.work
    if missing == 0 and params.out_channels % method.out_group == 0:
        return Pieces(np.zeros_like(work.positions), np.zeros_like(work.positions))
    side = work.conv_groups * method.conv_group
    if missing:
        outputs = work.out_groups * method.out_group * side
        return Pieces(outputs * method.in_group * ELEMENT_BYTES[params.dtype], 2 * outputs)
    none = -params.out_channels % method.out_group
    row = method.in_group * ELEMENT_BYTES[params.dtype]
    blocks = work.in_groups * side  # of the last group of output channels; others send most of their own rows
    local = ceil_div(blocks, field)
    return Pieces((blocks * none + local * (method.out_group - none)) * row, blocks * none + local)


def _padded(params: CanonicalConvParams, method: Method, splits: Splits, share: Share, moved: Moved) -> Moved:
    """The transforms of operands that were created for the product: missing input channels of the last group are filled
    with zeros, each position being a run of memory; weights are padded where they are read (`_weight_pieces`)."""
    work, zero = share.work, np.zeros_like(share.inputs)
    missing = -params.in_channels % method.in_group
    held = ceil_div(work.positions * work.conv_groups * work.in_groups, splits.out)
    rows = np.minimum(held, work.positions)
    side = method.conv_group * ELEMENT_BYTES[params.dtype]
    inputs = local_copy_cycles(held * method.in_group * side, rows, rows * missing * side) if missing else zero
    return moved._replace(input_copy=inputs, weights_copy=zero, input_exchange=zero, weights_exchange=zero)


def _exchanges(splits: Splits, machine: Machine, before: BoolArray) -> Int64Array:
    """Exchanges of a pass: operands, each stage of reduction, the number of the slice before it is cut or written."""
    field = prod(splits.field, start=np.ones_like(splits.groups))
    count = (((splits.out > 1) & ~before) | (field > 1)).astype(np.int64)
    for stage in _stages(splits.inp, machine):
        count += stage.here
    return count + np.where(splits.passes > 1, 2, 0)


def _slices(params: CanonicalConvParams, method: Method, splits: Splits, share: Share) -> Int64Array:
    """Cycles to slice the weights of a pass, and in passes over input channels also its inputs. Tiles that read the
    same weights hold whole blocks of them."""
    field = prod(splits.field, start=np.ones_like(splits.groups))
    work = share.work
    block = method.in_group * method.out_group * method.conv_group
    weights = ceil_div(work.conv_groups * work.in_groups * work.out_groups, field) * block
    inputs = ceil_div(params.positions * params.in_channels * params.groups, splits.tiles * splits.in_serial)
    cut = np.where(splits.passes > 1, dynamic_slice_cycles(params.dtype, weights), 0)
    return cut + np.where(splits.in_serial > 1, dynamic_slice_cycles(params.dtype, inputs), 0)


def dynamic_slice_cycles(dtype: str, elements: Int64Array) -> Int64Array:
    """Tile cycles of DynamicSlice1D on one region: 25 + 6 (39 + 24 + 2 floor(ceil(region / 6) / vector)) (7.3)."""
    return np.asarray(25 + WORKERS * (39 + 24 + 2 * (per_worker(elements) // vector_width(dtype))))


class Stage(NamedTuple):
    """A stage of adding partial sums, one entry per candidate and kind of row: rows are added by the least or the most
    tiles, which differ by one. Candidates without the stage have no rows."""

    adders: Int64Array  #: [kinds, candidates] tiles that add a row
    rows: Int64Array  #: [kinds, candidates] partial sums that each of them adds
    last: BoolArray  #: whether it is the candidate's last

    @property
    def here(self) -> BoolArray:
        return np.asarray(self.rows[0] > 0)


@lru_cache(maxsize=16)
def _stage_table(deepest: int, multi_stage: bool) -> Int64Array:
    """[depth, stage, kind, (adders, rows)] of partial sums that deep; 0 where the stage is missing."""
    table = np.zeros((deepest + 1, 4, 2, 2), np.int64)
    for depth in range(2, deepest + 1):
        left = depth
        for stage, kept in enumerate((*stage_depths(depth, multi_stage), 1)):
            cut = np.arange(kept + 1)
            adders, rows = np.diff(cut * depth // kept), np.diff(cut * left // kept)
            for kind, count in enumerate((int(adders.min()), int(adders.max()))):
                table[depth, stage, kind] = count, rows[adders == count].max()
            left = kept
    return table


def _stages(depths: Int64Array, machine: Machine) -> list[Stage]:
    table = _stage_table(int(depths.max(initial=1)), machine.multi_stage_reduce)[depths]
    return [
        Stage(table[:, s, :, 0].T, table[:, s, :, 1].T, table[:, s + 1, 0, 1] == 0)
        for s in range(3)
        if table[:, s].any()
    ]


def _reduce_exchange(depths: Int64Array, blocks: Int64Array, block_bytes: int, machine: Machine) -> Int64Array:
    """Cycles to exchange partial sums. In the first stage a tile sends all that it computed but its own part, and
    receives the other rows of its part; in further stages it sends what it holds, and receives all rows."""
    cycles, held = np.zeros_like(depths), blocks
    for number, stage in enumerate(_stages(depths, machine)):
        part = ceil_div(blocks, np.maximum(stage.adders, 1))
        received = (part * (stage.rows - (number == 0))).max(axis=0)
        sent = held - part.min(axis=0) if number == 0 else held
        size = np.maximum(received, sent) * block_bytes
        cycles += np.where(stage.here, passing_cycles(size, machine.exchange_rate), 0)
        held = part.max(axis=0)
    return cycles


def _reduce(
    params: CanonicalConvParams, method: Method, splits: Splits, blocks: Int64Array, machine: Machine
) -> Int64Array:
    """Cycles to add: each stage by the formula of its vertex, of the tiles that take longest, and the gather before it;
    a cast where only the type differs."""
    block = method.out_group * method.conv_group
    cycles = np.where((splits.in_serial > 1) | (splits.inp > 1), 0, _cast(params, method, blocks * block))
    before: Stage | None = None
    for stage in _stages(splits.inp, machine):
        part = ceil_div(blocks, np.maximum(stage.adders, 1))
        single = machine.fast_reduce and before is None
        added = _stage_cycles(method.partials, method.partials, part * block, stage.rows, single)
        if params.out_dtype != method.partials:
            last_added = _stage_cycles(method.partials, params.out_dtype, part * block, stage.rows, single)
            added = np.where(stage.last, last_added, added)
        cycles += np.where(stage.here, added.max(axis=0), 0)
        if before is not None:
            size = part.max(axis=0) * block * ELEMENT_BYTES[method.partials]
            gathered = stage.here & _cut_apart(blocks, before, part.max(axis=0))
            cycles += np.where(gathered, local_copy_cycles(size, np.full_like(size, 2), np.zeros_like(size)), 0)
        before = stage
    return cycles


def _cut_apart(blocks: Int64Array, before: Stage, part: Int64Array) -> BoolArray:
    """Candidates in which a tile of a further stage may hold a piece of a row of its part, not all of it: the parts of
    the stage before are no multiple of those that it cuts. The tile gathers such a row."""
    earlier = ceil_div(blocks, np.maximum(before.adders, 1))
    return np.asarray(((earlier % np.maximum(part, 1) != 0) & (earlier < blocks)).any(axis=0))


def _stage_cycles(dtype: str, out_dtype: str, outputs: Int64Array, rows: Int64Array, single: bool) -> Int64Array:
    """Cycles of one stage. `single`: rows received by exchange form one block where outputs are whole accumulators."""
    apart = reduce_add(dtype, out_dtype, outputs, rows)
    if not single:
        return apart
    block = reduce_add_single_input(dtype, out_dtype, outputs, rows - 1, True)
    return np.where(outputs % accumulator(dtype) == 0, block, apart)


def _cast(params: CanonicalConvParams, method: Method, outputs: Int64Array) -> Int64Array:
    """Tile cycles to cast the outputs of a tile."""
    if params.out_dtype == method.partials:
        return np.zeros_like(outputs)
    return cast_1d(method.partials, params.out_dtype, outputs)


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
