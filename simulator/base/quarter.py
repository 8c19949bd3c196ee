"""QUARTER: 8-bit floating-point numbers and the metadata that says how to read them.

A byte holds a sign, an exponent and a fraction: 4 and 3 bits in format F143, 5 and 2 in F152, with exponent biases 8
and 16. There are no infinities and no negative zero: byte 0x80 is the only NaN. A value is the number that its byte
stands for times 2 ** scale. Source of the formats: Noune et al., "8-bit Numerical Formats for Deep Neural Networks",
arXiv:2206.02915 (2022). The metadata byte holds the format in bit 7 (set = F143) and the scale in bits 0 to 5.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from simulator.arrays import Float64Array, UInt8Array
from simulator.base.errors import tensor_metadata_error
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments

NAN_BYTE = 0x80
MIN_SCALE, MAX_SCALE = -32, 31
_FORMAT_BIT, _SCALE_BITS = 0x80, 0x3F


@methods_refuse_wrong_arguments()
class QuarterMetadata:
    """How the bytes of a QUARTER tensor are read: a format and a scale (a power of two, -32 to 31).

    `QuarterMetadata()` is F143 with scale 0; `QuarterMetadata(format, scale)`; `QuarterMetadata(byte)` unpacks the byte
    that a metadata tensor holds. Raises `tensor_metadata_error` for scales out of range."""

    class Format(Enum):
        F143 = 0
        F152 = 1

    __slots__ = ("_format", "_scale")

    @overload
    def __init__(self, binary: int = ..., /) -> None: ...
    @overload
    def __init__(self, format: Format, scale: int) -> None: ...
    def __init__(self, format: Any = _FORMAT_BIT, scale: int | None = None) -> None:
        if scale is None and isinstance(format, int | np.integer):
            low = int(format) & _SCALE_BITS
            scale = low - 64 if low > MAX_SCALE else low
            format = self.Format.F143 if int(format) & _FORMAT_BIT else self.Format.F152
        if not isinstance(format, self.Format):
            raise tensor_metadata_error(
                f"{format!r} is not a format of QUARTER; use QuarterMetadata.Format.F143 or F152."
            )
        if not isinstance(scale, int | np.integer) or not MIN_SCALE <= scale <= MAX_SCALE:
            raise tensor_metadata_error(f"The scale of QUARTER metadata is {MIN_SCALE} to {MAX_SCALE}, not {scale}.")
        self._format = format
        self._scale = int(scale)

    def getFormat(self) -> QuarterMetadata.Format:
        return self._format

    def getScale(self) -> int:
        return self._scale

    def getBinary(self) -> int:
        """The byte that a metadata tensor holds."""
        return (_FORMAT_BIT if self._format is self.Format.F143 else 0) | (self._scale & _SCALE_BITS)

    def set(self, other: QuarterMetadata) -> None:
        """Become equal to `other`, where C++ writes through a reference."""
        self._format, self._scale = other._format, other._scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuarterMetadata) and self.getBinary() == other.getBinary()

    def __hash__(self) -> int:
        return hash(self.getBinary())

    def __repr__(self) -> str:
        return f"QuarterMetadata({self._format.name}, {self._scale})"


@cache
def _table(format_: QuarterMetadata.Format) -> Float64Array:
    """The number that each byte stands for at scale 0."""
    fraction_bits, bias = (3, 8) if format_ is QuarterMetadata.Format.F143 else (2, 16)
    code = np.arange(128)
    exponent, fraction = code >> fraction_bits, (code & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    positive = np.where(exponent > 0, np.ldexp(1 + fraction, exponent - bias), np.ldexp(fraction, 1 - bias))
    table = np.concatenate([positive, -positive])
    table[NAN_BYTE] = np.nan
    return table


def decoded(values: npt.ArrayLike, metadata: QuarterMetadata) -> Float64Array:
    """The numbers that encoded bytes stand for."""
    return np.ldexp(_table(metadata.getFormat())[np.asarray(values, np.uint8)], metadata.getScale())


def encoded(values: npt.ArrayLike, metadata: QuarterMetadata, nan_on_overflow: bool = False) -> UInt8Array:
    """Numbers as bytes: rounded to the nearest, ties to the even byte; beyond the range the largest, or NaN."""
    numbers = np.ldexp(np.asarray(values, np.float64), -metadata.getScale())
    positive = _table(metadata.getFormat())[:128]
    # Between byte i and i + 1 lies bounds[i]; above the last one rounding would leave the range.
    bounds = np.append((positive[1:] + positive[:-1]) / 2, positive[-1] + (positive[-1] - positive[-2]) / 2)
    size = np.abs(numbers)
    code = np.searchsorted(bounds, size, side="left")
    tie = bounds[np.minimum(code, 127)] == size
    code = code + (tie & (code % 2 == 1))
    overflow = code > 127
    code = np.where(overflow, 127, code)
    code = np.where(np.isnan(numbers) | (overflow & nan_on_overflow), NAN_BYTE, code | np.where(numbers < 0, 0x80, 0))
    # A negative number that rounds to zero becomes zero: there is no negative zero.
    code = np.where((code == NAN_BYTE) & ~np.isnan(numbers) & ~(overflow & nan_on_overflow), 0, code)
    return np.asarray(code, np.uint8)


def largest(metadata: QuarterMetadata) -> float:
    """The largest number of a format and scale."""
    return float(decoded(127, metadata))
