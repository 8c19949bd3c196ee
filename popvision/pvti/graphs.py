"""Line graphs and heat maps."""

# ruff: noqa: E402  (typing and pathlib cost more to import than the rest of this package)

from __future__ import annotations

import math
import time
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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

    def add(self, value: Any) -> None:
        """Add a sample at the current time: anything that `float` accepts, NumPy and torch scalars included."""
        if session.recording and self.graph.enabled:
            now = time.perf_counter_ns() + session.clock_offset_ns
            session.declarations.add_sample(self._id, now, float(value))
            session.write_if_late()


class HeatmapDouble:
    """A histogram over time: each `add` is one column.

    `edges`: ascending bin edges, n + 1 for n bins. Bins are half-open, [edge, next edge). Values below the first edge
    count as underflow, values from the last edge up as overflow, NaN not at all. With the unit "2^x" the edges are
    exponents: bin i holds the values in [2^edge i, 2^edge i+1).
    """

    def __init__(self, name: str, edges: Sequence[float], unit: str = "") -> None:
        self.name, self.unit = str(name), str(unit)
        self.edges = [float(edge) for edge in edges]
        ordered = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or not ordered or not all(map(math.isfinite, self.edges)):
            raise ValueError(f"heat map {self.name!r} needs two or more finite, ascending bin edges.")
        self._limits = [_power_of_two(edge) for edge in self.edges] if self.unit == "2^x" else self.edges
        self._id = session.declarations.next_id()
        session.declarations.declare("add_heatmap", self._id, self.name, self.unit, self.edges, permanent=True)

    def add(self, values: Iterable[Any]) -> None:
        """Add the histogram of these values (a list, or an array of any shape) at the current time."""
        if session.recording:
            now = time.perf_counter_ns() + session.clock_offset_ns
            session.declarations.declare("add_heatmap_column", self._id, now, self.quantities(values))
            session.write_if_late()

    def quantities(self, values: Iterable[Any]) -> list[int]:
        """The number of values in each bin: underflow, bins from the lowest edge up, overflow."""
        flat = values.ravel().tolist() if hasattr(values, "ravel") else values
        counts = [0] * (len(self._limits) + 1)
        for value in flat:
            number = float(value)
            if number == number:
                counts[bisect_right(self._limits, number)] += 1
        return counts


def _power_of_two(exponent: float) -> float:
    try:
        return math.pow(2.0, exponent)
    except OverflowError:
        return math.inf


def decodeHeatmapData(blob: bytes) -> list[int]:
    """The quantities in a `HEATMAP_DATA.bin_quantities` blob: underflow, bins, overflow."""
    from popvision.formats.pvti.bins import decode_bins

    return decode_bins(bytes(blob))
