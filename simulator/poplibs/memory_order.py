"""Views for element-wise kernels: the operands in the memory order of the output.

An output that a product left in blocks is no strided view of its variable, so reading or writing it in its own order
means gathering element by element. An element-wise kernel may process the elements in any order, so it follows memory:
the output, and each operand with the same layout, is then one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.graph.tensor import Tensor, taken, tensor_of
from simulator.graph.view import View


def in_memory_order(out: Tensor, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands, then the output. With a strided output all are in the blocks of an operand where possible, else all
    are in the output's memory order: with a dimension for each level of its blocks, or flat. Operands of one element
    stay one element."""
    if out.view.strides is not None:
        return _in_blocks([*operands, out])
    by_levels = ordered_by_memory(out, [t for t in operands if t.numElements() > 1])
    if by_levels is not None:
        target, *read = by_levels
        ordered = iter(read)
        return [*[t.flatten() if t.numElements() == 1 else next(ordered) for t in operands], target]
    order = np.argsort(regions.elements(*out.regions()), kind="stable")
    shape = tuple(out.shape())
    flat = [t.flatten() if t.numElements() == 1 else taken(broadcast_to(t, shape), order) for t in operands]
    return [*flat, taken(out, order)]


def _in_blocks(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors in the blocks of the first tensor that is in blocks, where all others allow it."""
    shape = tensors[-1].shape()
    views = [blocked_view(t) for t in tensors]
    blocks = next((v.shape() for v in views if v.rank() == 4 and v.strided() is not None), None)
    if blocks is None or len(shape) != 2 or any(t.shape() != shape and t.numElements() != 1 for t in tensors):
        return tensors
    seen = [
        t if t.numElements() == 1 else v if v.shape() == blocks else t.reshape(blocks)
        for t, v in zip(tensors, views, strict=True)
    ]
    return seen if all(t.strided() is not None for t in seen) else tensors


def broadcast_to(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A view of `tensor` with the given shape; dimensions of size 1 and missing ones are repeated."""
    missing = len(shape) - tensor.rank()
    out = tensor.expand([0] * missing) if missing else tensor
    for axis, (have, want) in enumerate(zip(out.shape(), shape, strict=True)):
        if have != want:
            out = out.broadcast(want, axis)
    return out


#: from so many elements per region on, regions alone say enough: a view is not searched for levels
_LONG_REGION = 64
#: of a strided view: its first element, the levels of each axis
_Levels = tuple[int, list[list[tuple[int, int]]]]


def ordered_by_memory(out: Tensor, operands: Sequence[Tensor]) -> list[Tensor] | None:
    """`out` with its elements in the order of memory, then the operands with theirs in the same order, each a strided
    view where it can be; None where regions say as much or `out` has no such form.

    Each axis of a tensor in blocks has several levels: channels step by 1 within a group, and by a group's size from
    group to group. With a dimension for each level the tensor is strided, and its dimensions can be sorted by stride.
    Operands are broadcast, or cut into the same shape. Costs a few passes over the elements; a tensor that is strided
    already costs nothing."""
    placed = _levels_of(out)
    if placed is None:
        return None
    start, axes = placed
    levels = [level for axis in axes for level in axis]
    order = sorted(range(len(levels)), key=lambda number: -abs(levels[number][1]))
    if out.view.strides is not None and order == list(range(len(levels))):
        return None
    shape = [n for n, _ in levels]
    view = out.view.with_strides(start, tuple(shape), tuple(step for _, step in levels))
    target = tensor_of(out.elementType(), view).dimShuffle(order)
    read = [
        _strided_where_possible(_of_shape(t, tuple(out.shape())).reshape(shape).dimShuffle(order)) for t in operands
    ]
    return [target, *read]


def _of_shape(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """As many elements under the shape, fewer broadcast to it."""
    return tensor.reshape(shape) if tensor.numElements() == prod(shape) else broadcast_to(tensor, shape)


def _strided_where_possible(tensor: Tensor) -> Tensor:
    """The same tensor, strided where its axes step evenly."""
    placed = None if tensor.view.strides is not None else _levels_of(tensor)
    if placed is None or any(len(axis) > 1 for axis in placed[1]):
        return tensor
    start, axes = placed
    steps = tuple(axis[0][1] if axis else 0 for axis in axes)
    return tensor_of(tensor.elementType(), tensor.view.with_strides(start, tuple(tensor.shape()), steps))


def _levels_of(tensor: Tensor) -> _Levels | None:
    """The first element of a tensor and the (size, step) levels of each axis, outermost first; None where the axes do
    not step each for itself, or where long regions say as much."""
    view = tensor.view
    if view.strides is not None:
        return view.start, [[level] for level in zip(view.shape, view.strides, strict=True)]
    if view.variable < 0 or tensor.numElements() == 0 or view.has_regions_of(_LONG_REGION):
        return None
    elements = view.element_numbers()
    start = int(elements.flat[0])
    expected, axes = np.full((1,) * elements.ndim, start, np.int64), []
    for axis in range(elements.ndim):
        line = elements[(0,) * axis + (slice(None),) + (0,) * (elements.ndim - axis - 1)] - start
        levels = _levels(line)
        if levels is None:
            return None
        axes.append(levels)
        expected = expected + line.reshape([-1 if other == axis else 1 for other in range(elements.ndim)])
    return (start, axes) if np.array_equal(elements, expected) else None


def _levels(offsets: Int64Array) -> list[tuple[int, int]] | None:
    """(size, step) of the levels of an axis, outermost first; None where blocks differ."""
    if len(offsets) == 1:
        return [(1, 0)]
    step = int(offsets[1])
    breaks = np.flatnonzero(np.diff(offsets) != step)
    size = int(breaks[0]) + 1 if len(breaks) else len(offsets)
    if size == len(offsets):
        return [(size, step)]
    if len(offsets) % size:
        return None
    blocks = offsets.reshape(-1, size)
    if not np.array_equal(blocks - blocks[:, :1], np.broadcast_to(blocks[0], blocks.shape)):
        return None
    outer = _levels(blocks[:, 0])
    return None if outer is None else [*outer, (size, step)]


def blocked_view(matrix: Tensor) -> Tensor:
    """A strided tensor of shape [rows / r, r, columns / c, c] with the elements of `matrix` in the same order. Returns
    `matrix` itself when it is strided already or has no such form.

    A product is stored as [out groups, field, units]; as a matrix it is no strided view, but each of its axes has one
    step within blocks and another from block to block. This view lets a kernel read memory directly."""
    if matrix.strided() is not None or matrix.rank() != 2 or len(matrix.view.variables()) != 1:
        return matrix
    elements = matrix.view.element_numbers()
    down, across = elements[:, 0] - elements[0, 0], elements[0] - elements[0, 0]
    if not np.array_equal(elements, elements[0, 0] + down[:, None] + across[None, :]):
        return matrix
    axes = [_two_levels(down), _two_levels(across)]
    if axes[0] is None or axes[1] is None:
        return matrix
    (rows, row_steps), (columns, column_steps) = axes[0], axes[1]
    variable = matrix.view.variables()[0]
    whole = View.of_variable(matrix.view.store, variable, ())
    view = whole.with_strides(int(elements[0, 0]), (*rows, *columns), (*row_steps, *column_steps))
    return tensor_of(matrix.element_type, view)


def _two_levels(offsets: Int64Array) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """((blocks, size), (block step, step)) with offsets[b * size + i] = b * block step + i * step, or None."""
    n = len(offsets)
    if n == 1:
        return (1, 1), (0, 0)
    step = int(offsets[1])
    breaks = np.flatnonzero(np.diff(offsets) != step)
    size = int(breaks[0]) + 1 if len(breaks) else n
    if n % size:
        return None
    block_step = int(offsets[size]) if size < n else 0
    expected = np.arange(n // size)[:, None] * block_step + np.arange(size) * step
    return ((n // size, size), (block_step, step)) if np.array_equal(expected.reshape(-1), offsets) else None
