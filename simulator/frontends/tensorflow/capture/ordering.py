"""The order in which operators of a graph run: a topological sort (Kahn's algorithm on a heap of places), which keeps
the order of creation where nothing else decides. O(n log n) for n operators and inputs.

A list of tensors is written in place unless its old version is read later; so readers of a version go before the
operator that writes it, where no data forbids it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

#: operators that make a new version of a list
_WRITERS = frozenset({"TensorListSetItem", "TensorListPushBack"})
_SAME = frozenset({"Identity", "StopGradient"})


def in_order(graph: Any) -> list[Any]:
    """All operators of a graph, each after those that it needs."""
    operators = graph.get_operations()
    needs = {
        op.name: {*(one.op.name for one in op.inputs), *(one.name for one in op.control_inputs)} for op in operators
    }
    readers = _readers_first(operators)
    with_readers = {name: own | readers.get(name, set()) for name, own in needs.items()}
    order = sorted_by_needs(operators, with_readers)
    return order if len(order) == len(operators) else sorted_by_needs(operators, needs)


def _readers_first(operators: Sequence[Any]) -> dict[str, set[str]]:
    """For each writer of a list the operators that read the version which it replaces."""
    uses: dict[str, list[Any]] = {}
    for op in operators:
        if op.type in _SAME:
            continue
        for tensor in op.inputs:
            if tensor.dtype.name == "variant":
                uses.setdefault(_origin(tensor), []).append(op)
    return {
        writer.name: {one.name for one in users if one is not writer}
        for users in uses.values()
        for writer in users
        if writer.type in _WRITERS
    }


def _origin(tensor: Any) -> str:
    """The tensor that others only pass on."""
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return str(tensor.name)


def sorted_by_needs(operators: Sequence[Any], needs: Mapping[str, set[str]]) -> list[Any]:
    """Operators in order; those on a cycle are missing. What other operators they need is theirs before."""
    place = {op.name: number for number, op in enumerate(operators)}
    waiting = dict.fromkeys(place, 0)
    after: dict[str, list[str]] = {name: [] for name in place}
    for name, own in needs.items():
        for one in own & place.keys():
            after[one].append(name)
            waiting[name] += 1
    ready = [place[name] for name, count in waiting.items() if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        op = operators[heapq.heappop(ready)]
        order.append(op)
        for name in after[op.name]:
            waiting[name] -= 1
            if not waiting[name]:
                heapq.heappush(ready, place[name])
    return order
