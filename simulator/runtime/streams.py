"""Host ends of streams: circular buffers and callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popvision import pvti
from simulator.poplar.errors import stream_connection_error
from simulator.poplar.types import Type, numpy_type

Array = npt.NDArray[Any]
_channel = pvti.channel("Poplar Runtime")


class CircularBuffer:
    """A buffer of the program's. Each transfer goes on where the last one ended and wraps at the end, so a buffer of
    exactly one transfer is a fixed location."""

    def __init__(self, memory: Array) -> None:
        self._memory = memory
        self._position = 0

    def read(self, into: Array) -> None:
        self._transfer(len(into), lambda part, at: np.copyto(into[at : at + len(part)], part))

    def write(self, values: Array) -> None:
        self._transfer(len(values), lambda part, at: np.copyto(part, values[at : at + len(part)]))

    def _transfer(self, count: int, move: Callable[[Array, int], None]) -> None:
        done = 0
        while done < count:
            part = self._memory[self._position : self._position + count - done]
            move(part, done)
            done += len(part)
            self._position = (self._position + len(part)) % len(self._memory)


class Callback:
    """A function called with the transfer's memory, or an object with `fetch(memory)` and, if it has one,
    `complete()`. The memory is valid during the call only."""

    def __init__(self, function: Any) -> None:
        self._fetch: Callable[[Array], Any] = getattr(function, "fetch", function)
        self._complete: Callable[[], Any] | None = getattr(function, "complete", None)

    def read(self, into: Array) -> None:
        self._call(into)

    def write(self, values: Array) -> None:
        self._call(values.copy())

    def _call(self, memory: Array) -> None:
        self._fetch(memory)
        if self._complete is not None:
            self._complete()


@dataclass(frozen=True)
class StreamInfo:
    elements: int
    type: Type
    to_device: bool


class Streams:
    """The streams of an engine by handle. `host_seconds` collects the time of each transfer while it is a list."""

    def __init__(self, streams: Mapping[str, tuple[int, Type, bool]]) -> None:
        self._known = {handle: StreamInfo(*facts) for handle, facts in streams.items()}
        self._ends: dict[str, CircularBuffer | Callback] = {}
        self.host_seconds: list[float] | None = None

    def connect(self, handle: str, buffer: Any) -> None:
        """Connect a buffer: any object with writable memory (ndarray, bytearray, array). Raises
        stream_connection_error for an unknown handle, memory of another type, or less than one transfer."""
        info = self._info(handle)
        memory = memory_of(buffer, info.type, f"Stream '{handle}'", writable=not info.to_device)
        if len(memory) < info.elements:
            raise stream_connection_error(
                f"Stream '{handle}' moves {info.elements} elements at a time, but the buffer holds {len(memory)}."
            )
        self._ends[handle] = CircularBuffer(memory)

    def connect_callback(self, handle: str, function: Any) -> None:
        """Connect a callback."""
        self._info(handle)
        if not callable(getattr(function, "fetch", function)):
            raise stream_connection_error(
                f"Stream '{handle}': {function!r} is neither callable nor an object with fetch(memory)."
            )
        self._ends[handle] = Callback(function)

    def read_stream(self, handle: str, into: Array) -> None:
        """The device reads one transfer."""
        self._timed(handle, lambda end: end.read(into))

    def write_stream(self, handle: str, values: Array) -> None:
        """The device writes one transfer."""
        self._timed(handle, lambda end: end.write(values))

    def _timed(self, handle: str, transfer: Callable[[CircularBuffer | Callback], None]) -> None:
        end = self._ends.get(handle)
        if end is None:
            raise stream_connection_error(
                f"Stream '{handle}' is used by the program but not connected; call connectStream or "
                "connectStreamToCallback before run."
            )
        begin = time.perf_counter()
        with pvti.Tracepoint(_channel, f"StreamCopy {handle}"):
            transfer(end)
        if self.host_seconds is not None:
            self.host_seconds.append(time.perf_counter() - begin)

    def _info(self, handle: str) -> StreamInfo:
        if handle not in self._known:
            names = ", ".join(self._known) or "none"
            raise stream_connection_error(f"There is no stream '{handle}'; the streams of this engine are: {names}.")
        return self._known[handle]


def memory_of(buffer: Any, type_: Type, what: str, *, writable: bool) -> Array:
    """A flat view of a buffer's memory as elements of `type_`, nothing copied.

    Accepts the type itself, another type of plain bytes (uint8), and uint16 for HALF. Raises stream_connection_error
    for anything else, memory that is not contiguous, or read-only memory that would be written."""
    dtype = numpy_type(type_)
    try:
        array = np.asarray(memoryview(buffer))
    except TypeError:
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
        raise stream_connection_error(f"{what}: {array.nbytes} bytes are no whole number of {type_} elements.")
    return array.reshape(-1).view(dtype)
