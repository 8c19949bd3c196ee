"""Layouts of the vectors of vertices: those that codelets declare (`VectorLayout`), and as performance estimators see
them (`layout`)."""

from __future__ import annotations

from enum import Enum


class VectorLayout(Enum):
    """Layouts of `Vector` in codelets."""

    SPAN = "span"
    SHORT_SPAN = "short_span"
    ONE_PTR = "one_ptr"
    SCALED_PTR32 = "scaled_ptr32"
    SCALED_PTR64 = "scaled_ptr64"
    SCALED_PTR128 = "scaled_ptr128"


class VectorListLayout(Enum):
    """Layouts of `VectorList` in codelets."""

    ONE_PTR = "one_ptr"
    SCALED_PTR32 = "scaled_ptr32"
    SCALED_PTR64 = "scaled_ptr64"
    SCALED_PTR128 = "scaled_ptr128"
    DELTAN = "deltan"
    DELTANELEMENTS = "deltanelements"


class layout:
    """The layouts that `FieldData` returns."""

    class Vector(Enum):
        NotAVector = ""
        Span = "span"
        ShortSpan = "short_span"
        OnePtr = "one_ptr"
        ScaledPtr32 = "scaled_ptr32"
        ScaledPtr64 = "scaled_ptr64"
        ScaledPtr128 = "scaled_ptr128"

    class VectorList(Enum):
        NotAVector = ""
        OnePtr = "one_ptr"
        ScaledPtr32 = "scaled_ptr32"
        ScaledPtr64 = "scaled_ptr64"
        ScaledPtr128 = "scaled_ptr128"
        DeltaN = "deltan"
        DeltaNElements = "deltanelements"

    @staticmethod
    def to_string(a: Enum) -> str:
        """The name of a layout."""
        return a.name


#: The largest count that a vertex's state can hold; layouts that are not listed have no count of known width.
#: Widths: span = two 32-bit words, short_span = 12 bits of count beside a 20-bit pointer (poplar-model: layouts).
LARGEST_COUNT = {"span": 0xFFFFFFFF, "short_span": 0xFFF}
