"""A matrix that a library operation left in blocks, as one strided view.

A product lies as [out groups, field, units]; seen as a matrix it is no longer one strided view, but each of its axes
still steps evenly within blocks and from block to block. Found again, the view lets a kernel read memory directly
instead of gathering element by element. Any other tensor is returned as it is.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.graph.tensor import Tensor


def blocked_view(matrix: Tensor) -> Tensor:
    """A strided tensor of shape [rows / r, r, columns / c, c] with the elements of `matrix` in the same order, or
    `matrix` itself when it is strided already or has no such form."""
    if matrix.strided() is not None or matrix.rank() != 2 or len(matrix._variables()) != 1:
        return matrix
    elements = regions.elements(*matrix.regions()).reshape(matrix.shape())
    down, across = elements[:, 0] - elements[0, 0], elements[0] - elements[0, 0]
    if not np.array_equal(elements, elements[0, 0] + down[:, None] + across[None, :]):
        return matrix
    axes = [_two_levels(down), _two_levels(across)]
    if axes[0] is None or axes[1] is None:
        return matrix
    (rows, row_steps), (columns, column_steps) = axes[0], axes[1]
    variable = matrix._variables()[0]
    whole = Tensor._of_variable(matrix._store, variable, matrix._type, (matrix._store.variables.numel[variable],))
    return whole._strided(int(elements[0, 0]), (*rows, *columns), (*row_steps, *column_steps))


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
