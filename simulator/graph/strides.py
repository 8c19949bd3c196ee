"""Shapes and strides of views, in elements: pure functions that know neither views nor tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from simulator.base.errors import index_error

Ints = tuple[int, ...]


def row_major(shape: Sequence[int]) -> Ints:
    """The strides of a dense row-major array of this shape."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def is_row_major(shape: Ints, strides: Ints) -> bool:
    """Whether the view is one ascending run of consecutive elements."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def reshaped_strides(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | None:
    """Strides of the same elements in `new_shape`, or None when no strides can say that.

    Neighbouring dimensions that step evenly are fused; every fused dimension must then be a product of consecutive
    new dimensions."""
    if prod(shape) == 0:
        return row_major(new_shape)
    fused: list[list[int]] = []  # [size, stride of its last dimension]
    for n, stride in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if fused and fused[-1][1] == stride * n:
            fused[-1] = [fused[-1][0] * n, stride]
        else:
            fused.append([n, stride])
    out: list[int] = []
    left = 1  # elements of the fused dimension that the new dimensions so far do not account for
    for n in reversed(new_shape):
        if n == 1:
            out.append(1)
            continue
        if left == 1:
            left, step = fused.pop()
        if left % n:
            return None
        out.append(step)
        step *= n
        left //= n
    return tuple(reversed(out))


def checked_dimension(rank: int, dimension: int, what: str) -> int:
    """`dimension` if a tensor of this rank has it, else `index_error`."""
    if not 0 <= dimension < rank:
        raise index_error(f"{what}: dimension {dimension} does not exist in a tensor of rank {rank}.")
    return dimension


def checked_shape(shape: Sequence[int], count: int) -> Ints:
    """`shape` as a tuple if it holds `count` elements, else `index_error`."""
    new_shape = tuple(int(n) for n in shape)
    if any(n < 0 for n in new_shape) or prod(new_shape) != count:
        raise index_error(f"reshape: shape {list(new_shape)} does not hold the tensor's {count} elements.")
    return new_shape


def permutation(rank: int, order: Sequence[int], what: str) -> Ints:
    """`order` as a tuple if it is a permutation of the dimensions, else `index_error`."""
    axes = tuple(int(axis) for axis in order)
    if sorted(axes) != list(range(rank)):
        raise index_error(f"{what}: {list(axes)} is not a permutation of the {rank} dimensions.")
    return axes


def partial_permutation(rank: int, source: Sequence[int], destination: Sequence[int]) -> Ints:
    """The order in which dimension source[i] ends up at destination[i] and the others keep their order."""
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(source):
        raise index_error(
            f"dimShufflePartial: {list(source)} and {list(destination)} do not pair dimensions one to one."
        )
    for dimension in (*source, *destination):
        checked_dimension(rank, dimension, "dimShufflePartial")
    place = dict(zip(destination, source, strict=True))
    others = iter(axis for axis in range(rank) if axis not in source)
    return tuple(place[axis] if axis in place else next(others) for axis in range(rank))


def rolled(rank: int, dimension: int, new_index: int) -> Ints:
    """The order in which `dimension` has moved to `new_index` and the others keep their order."""
    checked_dimension(rank, dimension, "dimRoll")
    checked_dimension(rank, new_index, "dimRoll")
    axes = [axis for axis in range(rank) if axis != dimension]
    axes.insert(new_index, dimension)
    return tuple(axes)
