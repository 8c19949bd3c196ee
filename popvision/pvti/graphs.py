"""Line graphs."""

# ruff: noqa: E402  (typing and pathlib cost more to import than the rest of this package)

from __future__ import annotations

import time
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

from popvision.pvti.arguments import is_number_type
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
        return Series(self, name)


class Series:
    """One line of a graph."""

    def __init__(self, graph: Graph, name: str) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"a series is a line of a Graph, not of {type(graph).__name__}.")
        self.graph, self.name = graph, str(name)
        self._id = session.declarations.next_id()
        if graph.enabled:
            session.declarations.declare("add_series", self._id, graph.id, self.name, permanent=True)

    def add(self, value: Any, time_ns: int | None = None) -> None:
        """Add a sample: anything that `float` accepts, NumPy and torch scalars included. `time_ns`, our addition: the
        `time.perf_counter_ns()` from which the value holds, not before the line's last sample; by default now."""
        if not (is_number_type(type(value)) and (time_ns is None or is_number_type(type(time_ns), whole=True))):
            self._check(value, time_ns)
        if session.recording and self.graph.enabled:
            now = time.perf_counter_ns() if time_ns is None else index(time_ns)
            session.declarations.add_sample(self._id, now + session.clock_offset_ns, float(value))
            session.write_if_late()

    def _check(self, value: Any, time_ns: Any) -> None:
        """Raises TypeError or ValueError for what is no number, and a time that is no whole one."""
        try:
            float(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise TypeError(f"a sample of series {self.name!r} must be a number, not of type {kind}.") from None
        if time_ns is not None and not is_number_type(type(time_ns), whole=True):
            kind = type(time_ns).__name__
            raise TypeError(f"time_ns of series {self.name!r} must be a whole number, not of type {kind}.")
