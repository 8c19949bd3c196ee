"""addCodelets: the first thing that ported programs call of each library."""

from __future__ import annotations

from simulator.base.errors import poplar_error
from simulator.programming.graph import Graph


def addCodelets(graph: Graph) -> None:
    """Make a library's vertices known to a graph. Those of the simulator's libraries are known to every graph from the
    beginning, so that nothing changes and programs that do not call this run too.

    Raises poplar_error for anything but a graph."""
    if not isinstance(graph, Graph):
        raise poplar_error(f"addCodelets takes a graph, not {graph!r}.")
