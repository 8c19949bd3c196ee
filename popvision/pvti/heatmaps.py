"""Heat maps: a histogram per `add`, over fixed bins. NumPy counts when the program has loaded it, else a bisection."""

# ruff: noqa: E402  (typing and pathlib cost more to import than the rest of this package)

from __future__ import annotations

import math
import sys
import time
from array import array
from bisect import bisect_right
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

from popvision.pvti.arguments import is_number_type
from popvision.pvti.session import session

_MOST_EXACT = 1 << 53
"""Whole numbers up to here are exact in the file, which holds edges as 8-byte floats."""


def _shown(value: object) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float) else f"a value of type {type(value).__name__}"


class HeatmapDouble:
    """A histogram over time: each `add` is one column.

    `edges`: ascending bin edges, n + 1 for n bins. Bins are half-open, [edge, next edge). Values below the first edge
    count as underflow, values from the last edge up as overflow, NaN not at all. With the unit "2^x" the edges are
    exponents: bin i holds the values in [2^edge i, 2^edge i+1).
    """

    _type_name = "float64"
    _kinds, _is_whole = "iufb", False

    def __init__(self, name: str, edges: Sequence[float], unit: str = "") -> None:
        self.name, self.unit = str(name), str(unit)
        self.edges: Sequence[float] = self._numbers(edges)
        ordered = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or not ordered or not all(map(math.isfinite, self.edges)):
            raise ValueError(f"heat map {self.name!r} needs two or more finite, ascending bin edges.")
        self._limits = [self._power_of_two(edge) for edge in self.edges] if self.unit == "2^x" else self.edges
        self._id = session.declarations.next_id()
        session.declarations.declare("add_heatmap", self._id, self.name, self.unit, self.edges, permanent=True)

    def add(self, values: Iterable[Any]) -> None:
        """Add the histogram of these values (a list, or an array or tensor of any shape) at the current time."""
        self._check(values)
        if session.recording:
            now = time.perf_counter_ns() + session.clock_offset_ns
            session.declarations.declare("add_heatmap_column", self._id, now, self.quantities(values))
            session.write_if_late()

    def quantities(self, values: Iterable[Any]) -> list[int]:
        """The number of values in each bin: underflow, bins from the lowest edge up, overflow."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(values, numpy.ndarray) and self._is_countable(values.dtype):
            return self._count_array(numpy, values)
        flat = values.ravel().tolist() if hasattr(values, "ravel") else values
        counts = [0] * (len(self._limits) + 1)
        for number in self._numbers(flat):
            if number == number:
                counts[bisect_right(self._limits, number)] += 1
        return counts

    def _check(self, values: Iterable[Any]) -> None:
        """Raises TypeError for values that are no numbers, at the cost of a look at their types."""
        if hasattr(values, "ravel"):
            dtype = getattr(values, "dtype", None)
            if getattr(dtype, "kind", "f") not in self._kinds:
                self.quantities(values)
        elif not isinstance(values, list | tuple) or not all(
            is_number_type(kind, whole=self._is_whole) for kind in set(map(type, values))
        ):
            if hasattr(values, "__next__"):
                return  # an iterator can be read once
            self.quantities(values)

    def _numbers(self, values: Iterable[Any]) -> list[Any]:
        """Values or edges as this heat map's type holds them. Raises TypeError."""
        if not hasattr(values, "__iter__"):
            raise TypeError(f"heat map {self.name!r} counts several numbers, not {_shown(values)}.")
        numbers = []
        for value in values:
            try:
                numbers.append(self._number(value))
            except (TypeError, ValueError):
                raise TypeError(self._refusal(value)) from None
        return numbers

    def _refusal(self, value: object) -> str:
        return f"heat map {self.name!r} counts numbers, not {_shown(value)}."

    def _number(self, value: Any) -> float:
        """A value or edge as this heat map's type holds it."""
        return float(value)

    def _power_of_two(self, exponent: float) -> float:
        try:
            return math.pow(2.0, exponent)
        except OverflowError:
            return math.inf

    def _is_countable(self, dtype: Any) -> bool:
        """Whether NumPy compares values of this type with the edges as Python does."""
        return dtype.kind in "iufb" and dtype.itemsize <= 8

    def _count_array(self, numpy: Any, values: Any) -> list[int]:
        flat = values.ravel().astype(self._type_name)
        bins = numpy.searchsorted(numpy.array(self._limits, self._type_name), flat[flat == flat], "right")
        counts: list[int] = numpy.bincount(bins, minlength=len(self._limits) + 1).tolist()
        return counts


class HeatmapFloat(HeatmapDouble):
    """A heat map of 4-byte floats: values and edges are rounded to that type, so that 0.1 is not below the edge 0.1."""

    _type_name = "float32"

    def _number(self, value: Any) -> float:
        return array("f", (float(value),))[0]

    def _power_of_two(self, exponent: float) -> float:
        return self._number(super()._power_of_two(exponent))

    def _count_array(self, numpy: Any, values: Any) -> list[int]:
        with numpy.errstate(over="ignore"):
            return super()._count_array(numpy, values)


class HeatmapInt(HeatmapDouble):
    """A heat map of whole numbers, compared exactly. Raises TypeError for a value or edge that is no integer, and
    ValueError for an edge beyond 2^53."""

    _type_name = "int64"
    _kinds, _is_whole = "iub", True

    def __init__(self, name: str, edges: Sequence[int], unit: str = "") -> None:
        self.name = str(name)
        for edge in self._numbers(edges):
            if abs(edge) > _MOST_EXACT:
                raise ValueError(f"heat map {str(name)!r} has the bin edge {edge}; edges go up to 2^53.")
        super().__init__(name, edges, unit)

    def _number(self, value: Any) -> int:
        return index(value)

    def _refusal(self, value: object) -> str:
        return f"a HeatmapInt counts whole numbers, not {_shown(value)}; use HeatmapDouble."

    def _power_of_two(self, exponent: float) -> int:
        """The lowest whole number in a bin that begins at this exponent."""
        return 1 << min(int(exponent), 64) if exponent >= 0 else 1

    def _is_countable(self, dtype: Any) -> bool:
        fits = all(abs(limit) < 1 << 63 for limit in self._limits)
        return fits and (dtype.kind in "ib" or (dtype.kind == "u" and dtype.itemsize < 8))


def decodeHeatmapData(blob: bytes) -> list[int]:
    """The quantities in a `HEATMAP_DATA.bin_quantities` blob: underflow, bins, overflow."""
    from popvision.formats.pvti.bins import decode_bins

    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(f"quantities of a heat map must be bytes, not of type {type(blob).__name__}.")
    return decode_bins(bytes(blob))
