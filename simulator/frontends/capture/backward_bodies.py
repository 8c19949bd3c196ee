"""Bodies of backward passes in a graph: the operators between stand-ins of gradients and the mark that names them.

A node belongs to the first mark whose gradients need it, if it depends on a stand-in or serves nothing else. One pass
over the nodes for the dependence, one from each mark back to its first stand-in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulator.frontends.capture.own_gradients import DIFFERENTIATED, HOOKED, SLOPE


@dataclass(frozen=True)
class Mark:
    """A node that ends a body: the values it belongs to, the stand-ins of their gradients, and what comes of these."""

    node: Any
    values: tuple[Any, ...]
    slopes: tuple[Any, ...]
    gradients: tuple[Any, ...]
    body: tuple[Any, ...]

    @property
    def is_hook(self) -> bool:
        return self.node.target is HOOKED


def find_marks(nodes: Sequence[Any]) -> dict[Any, Mark]:
    """The marks of a graph by their nodes."""
    ends = [node for node in nodes if node.target in (DIFFERENTIATED, HOOKED)]
    if not ends:
        return {}
    places = {node: place for place, node in enumerate(nodes)}
    depending: set[Any] = set()
    for node in nodes:
        if node.target is SLOPE or (node not in ends and any(one in depending for one in node.all_input_nodes)):
            depending.add(node)
    taken: set[Any] = set()
    marks = {}
    for end in ends:
        values, slopes, gradients = end.args[0], end.args[-2], end.args[-1]
        first = min(places[_slope_node(one)] for one in slopes)
        needed: set[Any] = set(gradients)
        body: list[Any] = []
        for node in reversed(nodes[first : places[end]]):
            if node not in needed or node in taken or node.target is SLOPE or node.op != "call_function":
                continue
            if node in depending or set(node.users) <= {*body, end}:
                body.append(node)
                needed.update(node.all_input_nodes)
        taken.update(body)
        marks[end] = Mark(end, tuple(values), tuple(slopes), tuple(gradients), tuple(reversed(body)))
    return marks


def _slope_node(node: Any) -> Any:
    """The stand-in behind what functionalisation may have put before a mark."""
    while node.target is not SLOPE:
        node = node.all_input_nodes[0]
    return node
