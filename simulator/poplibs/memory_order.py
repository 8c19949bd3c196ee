"""Views for element-wise kernels: the operands in the memory order of the output.

An output that a product left in blocks is no strided view of its variable, so reading or writing it in its own order
means gathering element by element. An element-wise kernel may process the elements in any order, so it follows memory:
the output, and each operand with the same layout, is then one run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.graph.tensor import Tensor, taken, tensor_of
from simulator.graph.view import View


def in_memory_order(out: Tensor, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands, then the output. With a strided output all are in the blocks of an operand where possible, else all
    are flat in the output's memory order. Operands of one element stay one element."""
    if out.strided() is not None:
        return _in_blocks([*operands, out])
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
