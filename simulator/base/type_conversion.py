"""Host numbers to and from the bytes of the device's types, and TypeTraits, the type of raw host data.

Where C++ writes through a pointer, `dst` is a buffer of enough bytes; without one the result is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import tensor_metadata_error, type_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.quarter import QuarterMetadata, decoded, encoded
from simulator.base.target import Target
from simulator.base.types import Type, device_array, halves_of, numpy_type
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments, refuses_wrong_arguments

_METADATA = Parameter("metadata", instance_of(QuarterMetadata))
_SRC = Parameter("src", other_than(QuarterMetadata))
_DST = Parameter("dst", None, None)
_OVERFLOW = Parameter("nanOnOverflow", None, False)
_TO = Overloads(
    "convertToDeviceType",
    type_error,
    ((Parameter("dstType"), _SRC, _DST, _OVERFLOW), (Parameter("dstType"), _METADATA, _SRC, _DST, _OVERFLOW)),
)
_FROM = Overloads(
    "convertFromDeviceType",
    type_error,
    ((Parameter("srcType"), _SRC, _DST), (Parameter("srcType"), _METADATA, _SRC, _DST)),
)


@methods_refuse_wrong_arguments()
@dataclass(frozen=True)
class TypeTraits:
    """The type of host values that are handed over as bytes; made by `TypeTraits.make`."""

    dtype: np.dtype[Any]

    @staticmethod
    def make(T: Any) -> TypeTraits:
        """The traits of a NumPy type, a Python number type, or an element type."""
        try:
            return TypeTraits(T.dtype if isinstance(T, Type) else np.dtype(T))
        except TypeError:
            raise type_error(f"{T!r} is not a type of host values; give a NumPy type or an element type.") from None

    @property
    def size(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        """Alignment in bytes."""
        return self.dtype.alignment

    @property
    def isFloat(self) -> bool:
        return bool(np.issubdtype(self.dtype, np.floating))

    @property
    def isSigned(self) -> bool:
        return self.isFloat or bool(np.issubdtype(self.dtype, np.signedinteger))

    def isSimpleType(self) -> bool:
        """True for numbers and truth values, which tensors can hold."""
        return self.dtype.kind in "biuf"

    def values(self, raw: Any) -> AnyArray:
        """The values that bytes (any buffer) hold; `type_error` where they are no whole number of them."""
        try:
            data = memoryview(raw).cast("B")
        except TypeError:
            raise type_error(f"{raw!r:.60} is no buffer of values ({self.dtype}); give bytes or an array.") from None
        if len(data) % self.size:
            raise type_error(f"{len(data)} bytes are no whole number of values of {self.size} bytes ({self.dtype}).")
        return np.frombuffer(data, self.dtype)


# ---- conversions -----------------------------------------------------------------------------------------------------


@refuses_wrong_arguments
def convertToDeviceType(*arguments: Any, **names: Any) -> AnyArray:
    """(dstType, [metadata,] src, dst=None, nanOnOverflow=False): numbers as the device's bytes (uint8).

    HALF and QUARTER numbers beyond the range become the largest, or NaN with `nanOnOverflow`. Raises
    `tensor_metadata_error` for QUARTER without metadata, `type_error` for a `dst` that is too small and for fractions
    in whole numbers, `overflow_error` for numbers that an integer type cannot hold."""
    _, given = _TO.choose(arguments, names)
    type_ = _of_type(given["dstType"], given.get("metadata"))
    numbers = np.asarray(given["src"])
    if type_.requiresMetadata():
        raw: AnyArray = encoded(numbers, given["metadata"], bool(given["nanOnOverflow"]))
    elif type_.dtype == np.float16:
        raw = halves_of(numbers, bool(given["nanOnOverflow"]))
    else:
        raw = device_array(type_, numbers, numbers.size)
    return _written(np.ascontiguousarray(raw).reshape(-1).view(np.uint8), given["dst"])


@refuses_wrong_arguments
def convertFromDeviceType(*arguments: Any, **names: Any) -> AnyArray:
    """(srcType, [metadata,] src, dst=None): the device's bytes as numbers, float32 of QUARTER, else the type's own;
    with `dst`, an array, as numbers of its type. Raises as `convertToDeviceType`."""
    _, given = _FROM.choose(arguments, names)
    type_ = _of_type(given["srcType"], given.get("metadata"))
    raw = np.frombuffer(memoryview(given["src"]).cast("B"), numpy_type(type_))
    numbers = decoded(raw, given["metadata"]).astype(np.float32) if type_.requiresMetadata() else raw.copy()
    dst = given["dst"]
    if dst is None:
        return numbers
    if np.size(dst) < len(numbers):
        raise type_error(f"convertFromDeviceType: dst has {np.size(dst)} elements for {len(numbers)} numbers.")
    dst.reshape(-1)[: len(numbers)] = numbers
    return np.asarray(dst)


def _of_type(type_: Any, metadata: QuarterMetadata | None) -> Type:
    if not isinstance(type_, Type):
        raise type_error(f"{type_!r} is not an element type; use FLOAT, HALF, QUARTER, ...")
    if type_.requiresMetadata() != (metadata is not None):
        raise tensor_metadata_error(
            f"Type {type_} needs QuarterMetadata to be read." if metadata is None else f"Type {type_} has no metadata."
        )
    return type_


def _written(raw: AnyArray, dst: Any) -> AnyArray:
    if dst is None:
        return raw
    target = np.frombuffer(memoryview(dst).cast("B"), np.uint8)
    if not target.flags.writeable or len(target) < len(raw):
        raise type_error(f"dst takes {len(target)} bytes, but {len(raw)} are written.")
    target[: len(raw)] = raw
    return target


@refuses_wrong_arguments
def copyFloatToDeviceHalf(target: Target, src: Any, dst: Any = None, numElements: int | None = None) -> AnyArray:
    """Numbers as raw 16-bit words of type half (uint16)."""
    words = halves_of(np.asarray(src).reshape(-1)[:numElements]).view(np.uint16)
    return words if dst is None else _written(words.view(np.uint8), dst)


@refuses_wrong_arguments
def copyDoubleToDeviceHalf(target: Target, src: Any, dst: Any = None, numElements: int | None = None) -> AnyArray:
    """As `copyFloatToDeviceHalf`, from doubles."""
    return copyFloatToDeviceHalf(target, src, dst, numElements)


@refuses_wrong_arguments
def copyDeviceHalfToFloat(target: Target, src: Any, dst: Any = None, numElements: int | None = None) -> AnyArray:
    """Raw 16-bit words (or bytes) of type half as float32."""
    return _from_half(src, dst, numElements, np.dtype(np.float32))


@refuses_wrong_arguments
def copyDeviceHalfToDouble(target: Target, src: Any, dst: Any = None, numElements: int | None = None) -> AnyArray:
    """Raw 16-bit words (or bytes) of type half as float64."""
    return _from_half(src, dst, numElements, np.dtype(np.float64))


def _from_half(src: Any, dst: Any, count: int | None, dtype: np.dtype[Any]) -> AnyArray:
    numbers = np.frombuffer(memoryview(src).cast("B"), np.float16)[:count].astype(dtype)
    if dst is not None:
        dst.reshape(-1)[: len(numbers)] = numbers
    return numbers
