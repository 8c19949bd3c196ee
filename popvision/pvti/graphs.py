"""Line graphs."""

# ruff: noqa: E402  (typing and pathlib cost more to import than the rest of this package)

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

from popvision.pvti.session import session


class Graph:
    """A line graph of the trace: a name, a unit ("" for none) and any number of series."""

    def __init__(self, name: str, unit: str = "", enable: bool = True) -> None:
        self.name, self.unit, self.enabled = str(name), str(unit), bool(enable)
        self.id = session.declarations.next_id()
        if self.enabled:
            session.declarations.declare("add_graph", self.id, self.name, self.unit, permanent=True)

    def addSeries(self, name: str) -> Series:
        """Add a line to this graph."""
        return Series(self, str(name))


class Series:
    """One line of a graph."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name
        self._id = session.declarations.next_id()
        if graph.enabled:
            session.declarations.declare("add_series", self._id, graph.id, name, permanent=True)

    def add(self, value: Any, time_ns: int | None = None) -> None:
        """Add a sample: anything that `float` accepts, NumPy and torch scalars included. `time_ns`, our addition: the
        `time.perf_counter_ns()` from which the value holds, not before the line's last sample; by default now."""
        if session.recording and self.graph.enabled:
            now = time.perf_counter_ns() if time_ns is None else time_ns
            session.declarations.add_sample(self._id, now + session.clock_offset_ns, float(value))
            session.write_if_late()
