"""The order of a variable's elements in the arena, where that is not the order of the variable.

Products store [conv groups, channel groups, positions, channels of a group]: tiles work on channel groups. Kernels read
them as [positions, channels], so that each would have to copy them. The arena therefore holds the positions before the
channel groups, for temporaries that library operations alone use: what these read and write are then plain arrays.
Element-wise results are held in the order of their operands."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.graph import program as host
from simulator.runtime.values.kernels import traits_of

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.tensor import Tensor


class Order(NamedTuple):
    """A variable as nested loops over its elements: their sizes, and the steps in the arena."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]  #: items

    @property
    def row(self) -> int:
        """The elements of the innermost loops that lie one after another in the arena."""
        row = 1
        for size, step in zip(reversed(self.sizes), reversed(self.steps), strict=True):
            if size > 1 and step != row:
                break
            row *= size
        return row

    def places(self, every: int = 1) -> Int64Array:
        """The item of each `every`-th element of the variable, from its first; `every` divides the row."""
        loops, row = list(zip(self.sizes, self.steps, strict=True)), 1
        while row < self.row:
            row *= loops.pop()[0]
        items = np.zeros(1, np.int64)
        for size, step in [*loops, (row // every, every)]:
            items = (items[:, None] + np.arange(size, dtype=np.int64) * step).reshape(-1)
        return items


def orders_of(store: GraphStore, groups: Iterable[host.LibraryGroup], temporaries: Container[int]) -> dict[int, Order]:
    """The orders of those temporaries that are not held in their own order."""
    orders: dict[int, Order] = {}
    for group in groups:
        if not group.outputs:
            continue
        variable, traits = _whole_variable(store, group.outputs[0]), traits_of(group.kernel)
        if variable in orders or variable not in temporaries:
            continue
        if traits.stores:
            convs, groups_of_channels, positions, side = group.outputs[0].shape()
            row = groups_of_channels * side
            steps = (positions * row, side, row, 1) if traits.stores == "matrices" else (row, side, convs * row, 1)
            orders[variable] = Order((convs, groups_of_channels, positions, side), steps)
        elif traits.elementwise:
            size = group.outputs[0].numElements()
            given = (_whole_variable(store, t) for t in group.inputs if t.numElements() == size)
            known = next((orders[v] for v in given if v in orders), None)
            if known is not None:
                orders[variable] = known
    return orders


def _whole_variable(store: GraphStore, tensor: Tensor) -> int:
    """The variable whose elements are those of the tensor in the same order; -1 where there is none."""
    if not tensor.isContiguous() or tensor.numElements() == 0:
        return -1
    variables = tensor.view.variables()
    whole = len(variables) == 1 and tensor.numElements() == store.variables.numel[variables[0]]
    return variables[0] if whole else -1
