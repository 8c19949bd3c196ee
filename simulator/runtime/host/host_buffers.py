"""Views of the user's buffers as flat arrays of elements, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import stream_connection_error
from simulator.base.pointers import address_of, bytes_at
from simulator.base.types import Type, numpy_type


def memory_of(buffer: Any, type_: Type, what: str, *, writable: bool) -> AnyArray:
    """A flat view of a buffer's memory as elements of `type_`.

    Accepts the type itself, another type of plain bytes (uint8), and uint16 for HALF. Raises stream_connection_error
    for anything else, memory that is not contiguous, or read-only memory that would be written."""
    dtype = numpy_type(type_)
    try:
        array = np.asarray(memoryview(buffer))
    except (TypeError, ValueError):
        raise stream_connection_error(
            f"{what}: a {type(buffer).__name__} has no memory to share; give an ndarray, for example np.zeros(n)."
        ) from None
    if not array.flags.c_contiguous:
        raise stream_connection_error(f"{what}: the buffer is not contiguous; copy it with np.ascontiguousarray first.")
    if writable and not array.flags.writeable:
        raise stream_connection_error(f"{what}: the buffer is read-only, but the device writes it.")
    raw = array.dtype == np.uint8 or (dtype == np.float16 and array.dtype == np.uint16)
    if array.dtype != dtype and not raw:
        raise stream_connection_error(f"{what} holds {type_}, but the buffer holds {array.dtype}; use {dtype}.")
    if array.nbytes % dtype.itemsize:
        raise stream_connection_error(f"{what}: {array.nbytes} bytes are not a whole number of {type_} elements.")
    return array.reshape(-1).view(dtype)


def fixed_memory(pointer: Any, type_: Type, count: int, what: str) -> Any:
    """The bytes of the `count` elements that a ctypes pointer points at; other objects unchanged. Raises
    stream_connection_error for a null pointer."""
    address = address_of(pointer)
    return pointer if address is None else _bytes_at(address, count * numpy_type(type_).itemsize, what)


def memory_between(begin: Any, end: Any, what: str) -> Any:
    """The bytes from `begin` up to `end`: two ctypes pointers, or an array and a view of its end (`a, a[n:]`). An empty
    view means the end of the array `begin`, because NumPy does not keep its address."""
    if address_of(begin) is None and isinstance(end, np.ndarray) and end.size == 0:
        return begin
    first, last = (address_of(p) if address_of(p) is not None else _start_of(p, what) for p in (begin, end))
    assert first is not None
    assert last is not None
    if last < first:
        raise stream_connection_error(f"{what}: the buffer ends before it begins; give its begin and its end.")
    if address_of(begin) is not None:
        return _bytes_at(first, last - first, what)
    whole = np.asarray(memoryview(begin)).reshape(-1)
    size, rest = divmod(last - first, whole.itemsize)
    if rest or size > len(whole):
        raise stream_connection_error(f"{what}: the end given is not within the buffer; give a view such as a[n:].")
    return whole[:size]


def _bytes_at(address: int, size: int, what: str) -> AnyArray:
    if address == 0:
        raise stream_connection_error(f"{what}: the pointer is null.")
    return bytes_at(address, size)


def _start_of(buffer: Any, what: str) -> int:
    try:
        return int(np.asarray(memoryview(buffer)).__array_interface__["data"][0])
    except (TypeError, ValueError):
        raise stream_connection_error(
            f"{what}: {type(buffer).__name__} is neither a pointer nor memory; give an ndarray and a view of its end."
        ) from None
