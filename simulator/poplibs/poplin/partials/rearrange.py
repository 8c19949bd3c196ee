"""Rearrange an operand of a product into groups of input channels.

For each group of input channels the vertices need the positions one after another, with the channels of the group
innermost. An operand whose channels are adjacent in memory is used or copied as it is. Any other operand is regrouped
(copied into blocks), transposed block by block on the tiles of the blocks, and copied to its destination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, Program, WriteUndef
from simulator.graph.tensor import Tensor, concat, tensor_of
from simulator.machine.cycles.convolution import IN_GROUP
from simulator.poplibs.poplin.planning.objective import ZEROS
from simulator.poplibs.popops.transposes import add_transposes
from simulator.poplibs.poputil import hashed_tiles, linear_shares

#: channels that become adjacent: a group of the AMP units
AMP_GROUP = {FLOAT: IN_GROUP["float"], HALF: IN_GROUP["half"]}


_VECTOR_BYTES = 8
#: channels of which the order of positions in memory is looked up
_SAMPLED = 16


def channels_adjacent(operand: Tensor, group: int) -> bool:
    """Whether the channels of a group, elements [g, p, c .. c + group) of a [groups, positions, channels] operand, are
    one run of memory."""
    return len(operand.slice([0, 0, 0], [1, 1, min(group, operand.dim(2))]).regions()[0]) == 1


def channels_in_vectors(operand: Tensor, group: int) -> bool:
    """Whether the channels of a group are runs of memory of whole vectors (64 bits): PopLibs then copies them as they
    are, and transposes nothing. So are the channels of a first layer beside each other for each kernel position."""
    _, lengths = operand.slice([0, 0, 0], [1, 1, min(group, operand.dim(2))]).regions()
    return bool((np.asarray(lengths) * operand.elementType().size % _VECTOR_BYTES == 0).all())


def zeros(graph: Graph, type_: Type, count: int) -> Tensor:
    """A constant of zeros, which stands for padding."""
    constant = graph.addConstant(type_, [count], 0, "ValuePadder/padding")
    graph.setTileMapping(constant, 0)
    return constant


def padded(graph: Graph, operand: Tensor, shape: Sequence[int]) -> Tensor:
    """A view of the operand with zeros after its end along each dimension, all read from one small constant."""
    if operand.shape() == list(shape):
        return operand
    constant = zeros(graph, operand.elementType(), ZEROS)
    for axis in reversed(range(operand.rank())):
        missing = shape[axis] - operand.dim(axis)
        if missing:
            block = [missing if a == axis else size for a, size in enumerate(operand.shape())]
            operand = concat([operand, _block_of(constant, block)], axis)
    return operand


def with_zeros(graph: Graph, tensor: Tensor, dim: int, low: int, high: int) -> Tensor:
    """A view with zeros before and after a dimension."""
    if low:
        shape = [low if axis == dim else n for axis, n in enumerate(tensor.shape())]
        tensor = concat([zeros_of(graph, tensor.elementType(), shape), tensor], dim)
    return padded(graph, tensor, [n + high * (axis == dim) for axis, n in enumerate(tensor.shape())])


def zeros_of(graph: Graph, type_: Type, shape: list[int]) -> Tensor:
    """Zeros of any shape, as a view of one small constant."""
    return _block_of(zeros(graph, type_, ZEROS), shape)


def _block_of(constant: Tensor, shape: list[int]) -> Tensor:
    """Zeros of any shape, as repeated reads of the constant along the last dimension."""
    width = shape[-1]
    block = constant.broadcast(-(-width // ZEROS), 0).slice(0, width, 0)
    for size in reversed(shape[:-1]):
        block = block.expand([0]).broadcast(size, 0)
    return block


def block_width(positions: int) -> int:
    """Positions of a block: 16 where 16 divides them, else 8, as in the published steps of tutorial 4."""
    return 16 if positions % 16 == 0 else 8


@dataclass
class Rearrangement:
    """The programs that rearrange the operands of one product, in three steps that both operands share."""

    graph: Graph
    name: DebugInfo
    spread: bool = False  #: regrouped blocks start at a hashed tile; at tile 0 for products, as the published chain's
    regroups: list[Program] = field(default_factory=list)
    transposes: ComputeSet | None = None
    copies: list[Program] = field(default_factory=list)
    regrouped: list[Tensor] = field(default_factory=list)  #: targets of `regroups`
    arranged: list[Tensor] = field(default_factory=list)  #: targets of `copies`

    def add_copy(self, source: Tensor, target: Tensor, order: Sequence[int] | None = None) -> Tensor:
        """Add the copy of an operand into its place; returns `target`. `order`: the dimensions of both in the order in
        which the copy reads them."""
        self.arranged.append(target)
        source, out = (source, target) if order is None else (source.dimShuffle(order), target.dimShuffle(order))
        self.copies.append(Copy(source, out, False, self.name))
        return target

    def programs(self) -> list[Program]:
        """All steps, preceded by a WriteUndef for each kind of target. Published program trees have two before the
        first copy of a product (published-numbers 6.1; those of a second product stand apart)."""
        written = [tensors for tensors in (self.regrouped, self.arranged) if tensors]
        undefined = [WriteUndef(concat([tensor.flatten() for tensor in tensors]), self.name) for tensors in written]
        turn = [] if self.transposes is None else [Execute(self.transposes)]
        return [*undefined, *self.regroups, *turn, *self.copies]


def transposed_in_blocks(steps: Rearrangement, operand: Tensor, group: int) -> Tensor:
    """Regroup and transpose a [groups, positions, channels] operand whose positions are adjacent in memory.

    A block is `group` channels by `block_width` positions, which follow each other in memory where the operand allows
    it (`_by_memory`): runs are what a regrouping costs. Returns a [groups, positions, channels] view in which the
    channels of a group are adjacent; positions and channels are padded with zeros to whole blocks."""
    graph, name = steps.graph, steps.name
    groups, positions, channels = operand.shape()
    width = block_width(positions)
    across, along = -(-channels // group), -(-positions // width)
    order = _by_memory(operand)
    ordered = operand if order is None else _of_positions(operand, order)
    source = padded(graph, ordered.dimShuffle([0, 2, 1]), (groups, across * group, along * width))
    type_ = operand.elementType()
    blocks = groups * across * along
    regroup = graph.addVariable(type_, [blocks, group, width], (name, "preRegroup"))
    turned = graph.addVariable(type_, [blocks, width, group], (name, "partialTranspose"))
    ends = linear_shares(blocks, graph.getTarget().getNumTiles(), 1, 1)
    begins = np.concatenate([[0], ends[:-1]])
    tiles = hashed_tiles(graph, blocks, len(ends)) if steps.spread else np.arange(len(ends), dtype=np.int64)
    for tensor in (regroup, turned):
        graph.setTileMappingIntervals(tensor, begins * group * width, ends * group * width, tiles)
    steps.regrouped.append(regroup)
    target = regroup.reshape([groups, across, along, group, width]).dimShuffle([0, 1, 3, 2, 4])
    steps.regroups.append(Copy(source.reshape([groups, across, group, along, width]), target, False, name))
    if steps.transposes is None:
        steps.transposes = graph.addComputeSet((name, "Transpose_#0"))
    add_transposes(graph, steps.transposes, regroup, turned, (begins, ends, tiles))
    by_position = turned.reshape([groups, across, along, width, group]).dimShuffle([0, 2, 3, 1, 4])
    result = by_position.reshape([groups, along * width, across * group])
    if order is None:
        return result
    return _of_positions(result, np.append(np.argsort(order), np.arange(positions, along * width)))


def _by_memory(operand: Tensor) -> Int64Array | None:
    """The positions of a [groups, positions, channels] operand in the order of memory; None where their own order has
    as few runs. Some channels are sorted, and the order of most neighbours taken: others may read padding.

    The positions of a gradient of weights are input channels by kernel positions: its activations hold the channels
    side by side, so that their own order has a run for each element."""
    elements = operand.view.element_numbers()[0].T
    sampled = elements[(2 * np.arange(_SAMPLED) + 1) * len(elements) // (2 * _SAMPLED)]
    order = np.argsort(sampled, axis=1, kind="stable")
    neighbours = _neighbours(np.take_along_axis(sampled, order, 1))
    best = int(neighbours.argmax())
    return order[best] if neighbours[best] > _neighbours(sampled).max() else None


def _neighbours(elements: Int64Array) -> Int64Array:
    """How many elements of each row follow the one before in memory."""
    return np.asarray((np.diff(elements, axis=1) == 1).sum(axis=1), np.int64)


def _of_positions(operand: Tensor, order: Int64Array) -> Tensor:
    """The positions of a [groups, positions, channels] operand in another order."""
    elements = operand.view.element_numbers()[:, order]
    return tensor_of(operand.elementType(), operand.view.with_elements(elements, operand.view.variable))
