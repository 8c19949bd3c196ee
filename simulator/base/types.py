"""Element types and the small value types of the API (intervals, variable references, enumerations).

Sizes are the device's: BOOL, QUARTER and the char types take 1 byte, HALF 2, INT and FLOAT 4, LONGLONG 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import index
from typing import Any, NamedTuple

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import overflow_error, type_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.quarter import largest as largest_quarter
from simulator.base.wrong_arguments import checks_arguments


@dataclass(frozen=True, eq=False)
class Type:
    """An element type. Compared by identity: use the constants of this module."""

    name: str
    size: int  #: bytes of one element on the device
    dtype: np.dtype[Any]  #: the NumPy type of host values; encoded bytes for QUARTER (`simulator.base.quarter`)

    def toString(self) -> str:
        return self.name

    def requiresMetadata(self) -> bool:
        """True for QUARTER only."""
        return self is QUARTER

    def isFloatingPoint(self) -> bool:
        """True for QUARTER, HALF and FLOAT."""
        return self in (QUARTER, HALF, FLOAT)

    def hash(self) -> int:
        """A number that equal types share."""
        return hash(self)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (type_named, (self.name,))


BOOL = Type("bool", 1, np.dtype(np.bool_))
CHAR = Type("char", 1, np.dtype(np.int8))
SIGNED_CHAR = Type("signed char", 1, np.dtype(np.int8))
UNSIGNED_CHAR = Type("unsigned char", 1, np.dtype(np.uint8))
QUARTER = Type("quarter", 1, np.dtype(np.uint8))
#: what the metadata tensor of a QUARTER tensor holds: its format and scale in one byte
QUARTER_METADATA = Type("quarter_metadata", 1, np.dtype(np.uint8))
SHORT = Type("short", 2, np.dtype(np.int16))
UNSIGNED_SHORT = Type("unsigned short", 2, np.dtype(np.uint16))
HALF = Type("half", 2, np.dtype(np.float16))
INT = Type("int", 4, np.dtype(np.int32))
UNSIGNED_INT = Type("unsigned int", 4, np.dtype(np.uint32))
FLOAT = Type("float", 4, np.dtype(np.float32))
LONGLONG = Type("longlong", 8, np.dtype(np.int64))
UNSIGNED_LONGLONG = Type("unsigned longlong", 8, np.dtype(np.uint64))

ALL_TYPES = (
    BOOL,
    CHAR,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    QUARTER,
    SHORT,
    UNSIGNED_SHORT,
    HALF,
    INT,
    UNSIGNED_INT,
    FLOAT,
    LONGLONG,
    UNSIGNED_LONGLONG,
    QUARTER_METADATA,
)
_BY_NAME = {type_.name: type_ for type_ in ALL_TYPES}


def type_named(name: str) -> Type:
    """The type called `name` ("float", "unsigned int", ...); `type_error` when there is none."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise type_error(f"'{name}' is not an element type; the types are {', '.join(_BY_NAME)}.") from None


def numpy_type(type_: Type) -> np.dtype[Any]:
    """The NumPy type that holds values of `type_` on the host; of QUARTER their encoded bytes."""
    return type_.dtype


def device_array(
    type_: Type, values: Any, count: int, encode: Callable[[AnyArray], AnyArray] | None = None
) -> AnyArray:
    """`values` (a scalar or anything array-like) as `count` elements of `type_`, flattened, a private copy; through
    `encode` where the type's values are not NumPy's.

    Raises `type_error` when the number of values is neither 1 nor `count`, when they are no numbers, and for fractions
    where the type holds whole numbers; `overflow_error` for numbers that an integer type cannot hold."""
    wide = type_.size == 8 and not isinstance(values, np.ndarray)  # Python's integers, which NumPy may make floats
    try:
        flat = np.array(values, object if wide else None).reshape(-1)
    except ValueError:
        raise type_error("The values are lists of different lengths; give one value for each element.") from None
    if flat.dtype.kind == "c" or (wide and any(isinstance(value, complex) for value in flat)):
        raise type_error(f"{flat[0]!s:.40} is a complex number, which type {type_} cannot hold; give real numbers.")
    if flat.size not in (1, count):
        raise type_error(f"{flat.size} values were given for {count} elements; give one value or {count}.")
    if flat.dtype.kind not in "biufV" and any(not is_number(value) for value in flat):
        raise _no_number(np.array(values, object), type_)  # [1, "x"] is all text in `flat`
    if encode is None:
        check_range(type_, flat)
        _check_whole(type_, flat)
    _check_host_size(count * type_.size)
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            converted = numbers_of(type_, flat) if encode is None else encode(flat.astype(np.float64))
        except (TypeError, ValueError, OverflowError):
            raise _no_number(flat, type_) from None
    try:
        return np.full(count, converted[0]) if flat.size == 1 else converted
    except MemoryError:
        raise type_error(
            f"The host has too little memory for {count * type_.size} bytes of values; let the program write them, or "
            "the host send them through a stream."
        ) from None


def numbers_of(type_: Type, numbers: AnyArray) -> AnyArray:
    """Numbers that a type can hold, as NumPy's type for it, rounded to the nearest; of HALF as `halves_of` says."""
    if type_.dtype == np.float16:
        return halves_of(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(numpy_type(type_))


def halves_of(numbers: AnyArray, nan_on_overflow: bool = False) -> AnyArray:
    """The rule for every number that a program gives where a half is held: the nearest one, of two the even one.
    Numbers that round beyond the range become the largest of their sign, as they do in calculations, or NaN with
    `nan_on_overflow`; infinities and NaN stay."""
    if numbers.dtype == np.float16:
        return numbers.copy()
    try:
        given = numbers if numbers.dtype.kind in "biuf" else numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_number(numbers, HALF) from None
    with np.errstate(over="ignore", invalid="ignore"):
        halves = given.astype(np.float16)
        beyond = np.isinf(halves) & np.isfinite(given)
        if not beyond.any():
            return halves
        limits: AnyArray = np.full(given.shape, np.nan) if nan_on_overflow else np.copysign(HALF_MAX, given)
        return np.where(beyond, limits, halves).astype(np.float16)


def is_number(value: Any) -> bool:
    """Whether a value is a real number. Text is none, whatever it spells, and no date; NumPy would convert both."""
    value = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(value, str | bytes | bytearray | np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _no_number(values: AnyArray, type_: Type) -> type_error:
    """The error for the first of the values that is no number."""
    wrong = next((value for value in values.flat if not is_number(value)), values.flat[0])
    wrong = wrong[()] if isinstance(wrong, np.ndarray) else wrong
    text = f"'{wrong}'" if isinstance(wrong, str) else str(wrong)
    return type_error(f"{text:.40} is not a value of type {type_}; give numbers.")


def check_range(type_: Type, values: AnyArray, of: str = "") -> None:
    """Raise `overflow_error` for numbers that an integer type cannot hold; `of` says where they are to go."""
    limits = integer_limits(type_)
    numbers = values.dtype.kind in "iuf" or all(isinstance(value, int | float) for value in values.flat[:1])
    if limits is None or not values.size or not numbers:
        return
    least, largest = (one.item() if isinstance(one, np.generic) else one for one in (values.min(), values.max()))
    if limits[0] <= least and largest <= limits[1]:
        return
    bad = largest if limits[0] <= least else least
    raise overflow_error(f"{bad} does not fit {of or 'the type'}: {type_} holds {limits[0]} to {limits[1]}.")


def _check_whole(type_: Type, values: AnyArray) -> None:
    """Raise `type_error` for a fraction among the values of an integer type, which must not be cut in silence."""
    if integer_limits(type_) is None or values.dtype.kind not in "fO":
        return
    for value in values[values % 1 != 0] if values.dtype.kind == "f" else values:
        if isinstance(value, float | np.floating) and value % 1 != 0:
            raise type_error(f"{value} is not a value of type {type_}, which holds whole numbers; round it first.")


def _check_host_size(size: int) -> None:
    if size > HOST_BYTES:
        raise type_error(
            f"The values take {size} bytes of the host, more than {HOST_BYTES} (16 GiB); give them in smaller parts."
        )


@cache
def integer_limits(type_: Type) -> tuple[int, int] | None:
    """The least and the largest value of an integer type; None of others."""
    dtype = numpy_type(type_)
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def limits_of(type_: Type) -> tuple[float, float]:
    """The lowest and the largest value of a type."""
    if type_ is QUARTER:
        top = largest_quarter(QuarterMetadata(QuarterMetadata.Format.F152, 0))
        return -top, top
    if type_.dtype.kind == "b":
        return 0.0, 1.0
    info = np.finfo(type_.dtype) if type_.dtype.kind == "f" else np.iinfo(type_.dtype)
    return float(info.min), float(info.max)


#: Bytes of values of one tensor that the host holds at most.
HOST_BYTES = 2**34

#: Bytes of a variable or of one transfer of a stream at most: all tiles of 256 IPUs hold less.
MOST_BYTES = 2**38

#: Bytes of a remote buffer at most.
MOST_REMOTE_BYTES = 2**48

#: The largest finite half.
HALF_MAX = 65504.0

#: "No limit": the largest unsigned number, as in C++.
NO_LIMIT = 2**32 - 1


class _Bounds(NamedTuple):
    begin: int
    end: int


class Interval(_Bounds):
    """A half-open interval [begin, end). Raises `type_error` for what are no whole numbers."""

    __slots__ = ()

    def __new__(cls, begin: int, end: int) -> Interval:
        if type(begin) is not int or type(end) is not int:
            try:
                begin, end = index(begin), index(end)
            except TypeError:
                raise type_error(f"Interval: begin and end must be whole numbers, not {begin!r} and {end!r}.") from None
        return tuple.__new__(cls, (begin, end))

    def size(self) -> int:
        return self.end - self.begin


class VariableRef(NamedTuple):
    """A handle of a whole variable."""

    id: int


class VariableInterval(NamedTuple):
    """A run of elements of one variable."""

    var: VariableRef
    interval: Interval


class VariableMappingMethod(Enum):
    NONE = "none"
    LINEAR = "linear"


class UpsampleMethod(Enum):
    REPEAT = "repeat"


class ReplicatedStreamMode(Enum):
    REPLICATE = "replicate"
    BROADCAST = "broadcast"


class DataStreamType(Enum):
    HostToDeviceFIFO = "host to device FIFO"
    DeviceToHostFIFO = "device to host FIFO"
    HostToDeviceBuffer = "host to device buffer"
    DeviceToHostBuffer = "device to host buffer"


@checks_arguments
def isHostToDevice(type_: DataStreamType) -> bool:
    """Whether data go to the device."""
    return type_ in (DataStreamType.HostToDeviceFIFO, DataStreamType.HostToDeviceBuffer)


@checks_arguments
def isDeviceToHost(type_: DataStreamType) -> bool:
    """Whether data come from the device."""
    return not isHostToDevice(type_)


@checks_arguments
def isRemoteBuffer(type_: DataStreamType) -> bool:
    """Whether the stream is one end of a remote buffer."""
    return type_ in (DataStreamType.HostToDeviceBuffer, DataStreamType.DeviceToHostBuffer)


class replication_factor(int):
    """How often a graph is replicated: `Graph(target, replication_factor(4))`; a plain number does as well."""


class TensorCloneMethod(Enum):
    PRESERVE_ORDER_AND_ALIASES = "preserve order and aliases"
    CREATE_NEW_ORDER = "create new order"
    PRESERVE_ORDER_UNLESS_ALIASES = "preserve order unless aliases"
    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES = "gather and preserve tile order and aliases"


class TensorCloneDuplicationMethod(Enum):
    """How `cloneN` lays out its copies: one after another, or, tile by tile, copies of what is contiguous there."""

    DUPLICATE_BY_OUTER_DIMENSION = "duplicate by outer dimension"
    DUPLICATE_BY_TILE_CONTIGUOUS_REGION = "duplicate by tile contiguous region"


class SerializationFormat(Enum):
    """Cap'n Proto (Binary) or text (JSON)."""

    Binary = "binary"
    JSON = "json"


class FunctionBufferMappingType(Enum):
    """Where a function buffer keeps the code: in the tiles' own memory, or outside."""

    LOCAL = "local"
    REMOTE = "remote"


class SyncType(Enum):
    INTERNAL = "internal"
    EXTERNAL = "external"
    GLOBAL = "global"


class CodeletFileType(Enum):
    Auto = "auto"
    CppSource = "c++"
    CSource = "c"
    AsmSource = "assembly"
    PreprocessedAsmSource = "preprocessed assembly"
    IrSource = "ir"
    Object = "object"
