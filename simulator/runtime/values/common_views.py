"""Operands of element-wise kernels as arrays of one shape, without copies.

An element-wise kernel computes the same whatever the shape of its operands, so those that lie differently in the arena
are split into dimensions that all of them have, the last one a long run."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from simulator.arrays import AnyArray
from simulator.runtime.values.arena import Arena, Place

#: In shorter runs NumPy's loops take longer than a copy.
_LEAST_RUN = 32
#: elements of which a copy takes no time
_SMALL = 256

Loops = list[tuple[int, tuple[int, ...]]]  #: (size, step of each operand in bytes), the outermost first


def common_views(arena: Arena, places: Sequence[Place]) -> list[AnyArray] | None:
    """Views of the same shape; those of one element have shape []. None where operands have different shapes, lie
    irregularly, or have no long runs in common."""
    shape = max((place.shape for place in places), key=prod)
    large = [place for place in places if prod(place.shape) > 1]
    if prod(shape) <= _SMALL or any(place.items is not None or place.shape != shape for place in large):
        return None
    loops = _common_loops([_loops(place) for place in large])
    if loops is None:
        return None
    loops = _joined(sorted(loops, key=lambda loop: -abs(loop[1][0])))
    if loops[-1][0] < _LEAST_RUN:
        return None
    sizes = tuple(size for size, _ in loops)
    views: list[AnyArray] = []
    number = 0
    for place in places:
        if prod(place.shape) == 1:
            views.append(arena.read(place).reshape(()))
            continue
        steps = tuple(each[number] for _, each in loops)
        views.append(arena.view(place, sizes, steps))
        number += 1
    return views


def _loops(place: Place) -> list[tuple[int, int]]:
    """(size, step in bytes) of the dimensions of a place, the outermost first."""
    sizes = place.shape if place.box is None else place.box.sizes
    return [(n, step) for n, step in zip(sizes, place.strides, strict=True) if n > 1]


def _common_loops(operands: list[list[tuple[int, int]]]) -> Loops | None:
    """Loops that all operands have, as parts of their own; None where none do."""
    left = [list(reversed(one)) for one in operands]
    found: Loops = []
    while any(left):
        if not all(left):
            return None
        size = min(one[0][0] for one in left)
        if any(one[0][0] % size for one in left):
            return None
        found.insert(0, (size, tuple(one[0][1] for one in left)))
        for one in left:
            n, step = one.pop(0)
            if n > size:
                one.insert(0, (n // size, step * size))
    return found


def _joined(loops: Loops) -> Loops:
    """The loops with those joined that all operands walk through as one."""
    joined: Loops = []
    for size, steps in loops:
        if joined and joined[-1][1] == tuple(size * step for step in steps):
            joined[-1] = (joined[-1][0] * size, steps)
        else:
            joined.append((size, steps))
    return joined
