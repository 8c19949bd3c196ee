"""Boxes: tensors whose elements lie at sums of a few regular steps, as products in channel groups do.

A library stores [batch, channels, field] as [channel groups, batch x field, channels of a group]. Read in its own order
such a tensor is no strided array, but one whose axes are split is: [batch, groups, channels of a group, field]. A box
holds these dimensions. A copy through it takes half the time of a copy by item numbers, and no memory for these.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array

#: A copy in shorter runs takes longer than one by item numbers.
_LEAST_RUN = 8
#: Smaller tensors are copied in no time.
_SMALL = 64
_MOST_DIMENSIONS = 16


class Box(NamedTuple):
    """The dimensions of a tensor whose axes are split. `parts`: how many of them each axis has. `order`: the axes as
    they lie in memory, that with the largest steps first."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]  #: items
    parts: tuple[int, ...]
    order: tuple[int, ...]

    def dimensions(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of the dimensions of these axes."""
        ends = np.cumsum(self.parts)
        return tuple(d for axis in axes for d in range(int(ends[axis]) - self.parts[axis], int(ends[axis])))

    def plain_strides(self) -> tuple[int, ...] | None:
        """The step of each axis, where none is split."""
        found = []
        at = 0
        for count in self.parts:
            sizes, steps = self.sizes[at : at + count], self.strides[at : at + count]
            if any(steps[i] != sizes[i + 1] * steps[i + 1] for i in range(count - 1)):
                return None
            found.append(steps[-1] if count else 0)
            at += count
        return tuple(found)

    def items(self, first: int) -> Int64Array:
        """The item numbers of all elements, in order, where that of the first is known."""
        numbers = np.array([first], np.int64)
        for size, stride in zip(self.sizes, self.strides, strict=True):
            numbers = (numbers[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
        return numbers


def box_of_runs(starts: Int64Array, length: int, shape: tuple[int, ...]) -> Box | None:
    """The box of a tensor of this shape whose flattened elements are runs of `length` items; None where they do not lie
    so regularly, or in runs so short that a copy through a box is slow."""
    loops = _regular_steps(starts) if len(starts) else None
    if loops is None:
        return None
    if loops and loops[-1][1] == length:
        length *= loops.pop()[0]
    return box_of_loops([*loops, (length, 1)], shape)


def box_of_loops(loops: list[tuple[int, int]], shape: tuple[int, ...]) -> Box | None:
    """The box of a tensor of this shape, whose flattened elements are walked through by nested loops (size, step in
    items). None as for `box_of_runs`."""
    by_axis = _cut_at_axes([loop for loop in loops if loop[0] > 1], shape)
    if by_axis is None:
        return None
    order = sorted(range(len(shape)), key=lambda axis: -_least_step(by_axis[axis]))
    flat = [loop for axis in by_axis for loop in axis]
    box = Box(tuple(n for n, _ in flat), tuple(s for _, s in flat), tuple(len(axis) for axis in by_axis), tuple(order))
    run = _run([loop for axis in order for loop in by_axis[axis]])
    return box if run >= _LEAST_RUN or prod(shape) <= _SMALL or box.plain_strides() is not None else None


def _regular_steps(numbers: Int64Array) -> list[tuple[int, int]] | None:
    """(size, step) of nested loops that give these numbers, less the first, innermost last; None where none do."""
    found: list[tuple[int, int]] = []
    while len(numbers) > 1:
        size, step = _first_loop(numbers)
        if len(numbers) % size or len(found) == _MOST_DIMENSIONS:
            return None
        rows = numbers.reshape(-1, size)
        if len(rows) > 1 and (np.diff(rows, axis=1) != step).any():
            return None
        found.insert(0, (size, step))
        numbers = rows[:, 0]
    return found


def _first_loop(numbers: Int64Array) -> tuple[int, int]:
    """(size, step) of the loop that gives the first numbers, looked for in more and more of them."""
    step = int(numbers[1] - numbers[0])
    looked_at = 64
    while True:
        ends = np.flatnonzero(np.diff(numbers[:looked_at]) != step)
        if len(ends) or looked_at >= len(numbers):
            return (int(ends[0]) + 1 if len(ends) else len(numbers)), step
        looked_at *= 8


def _cut_at_axes(dimensions: list[tuple[int, int]], shape: tuple[int, ...]) -> list[list[tuple[int, int]]] | None:
    """The dimensions of each axis; None where one crosses the border between two axes."""
    left = list(dimensions)
    by_axis: list[list[tuple[int, int]]] = []
    for size in reversed(shape):
        axis: list[tuple[int, int]] = []
        rest = size
        while rest > 1:
            n, step = left.pop()
            if n > rest and n % rest == 0:
                left.append((n // rest, step * rest))
                n = rest
            if rest % n:
                return None
            axis.insert(0, (n, step))
            rest //= n
        by_axis.insert(0, axis)
    return by_axis


def _least_step(axis: list[tuple[int, int]]) -> int:
    """The least step of an axis, repetition apart; an axis of one element changes no order."""
    return min((abs(step) for _, step in axis if step), default=0)


def _run(dimensions: list[tuple[int, int]]) -> int:
    """The elements of the innermost dimensions that are one loop."""
    run, step = dimensions[-1] if dimensions else (1, 1)
    for n, outer in reversed(dimensions[:-1]):
        if outer != run * step:
            break
        run *= n
    return run
