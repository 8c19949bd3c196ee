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
    broadcast: bool  #: all replicas get the same transfer: one end serves them all


class Streams:
    """The streams of an engine by handle and replica. `host_seconds` collects (replica, time) of each transfer while it
    is a list."""

    def __init__(self, streams: Mapping[str, tuple[int, Type, bool, bool]], replicas: int = 1) -> None:
        self._known = {handle: StreamInfo(*facts) for handle, facts in streams.items()}
        self._replicas = replicas
        self._ends: dict[tuple[str, int], CircularBuffer | Callback] = {}
        self.host_seconds: list[tuple[int, float]] | None = None

    def connect(self, handle: str, buffer: Any) -> None:
        """Connect a buffer: any object with writable memory (ndarray, bytearray, array). All replicas share it: at
        each copy replica 0 takes the next transfer, then replica 1, and so on. Raises stream_connection_error for an
        unknown handle, memory of another type, or less than one transfer of all replicas."""
        info = self._info(handle)
        memory = memory_of(buffer, info.type, f"Stream '{handle}'", writable=not info.to_device)
        ends = 1 if info.broadcast else self._replicas
        if len(memory) < info.elements * ends:
            each = "" if ends == 1 else f" in each of {ends} replicas"
            raise stream_connection_error(
                f"Stream '{handle}' moves {info.elements} elements at a time{each}, but the buffer holds {len(memory)}."
            )
        self._ends.update(dict.fromkeys(self._all_of(handle), CircularBuffer(memory)))

    def connect_callback(self, handle: str, function: Any, replica: int | None = None) -> None:
        """Connect a callback to one replica's stream, or to those of all of them."""
        info = self._info(handle)
        if replica is not None and not 0 <= replica < (1 if info.broadcast else self._replicas):
            last = 0 if info.broadcast else self._replicas - 1
            kind = "is one for all replicas, so its index is 0" if info.broadcast else f"has replicas 0 to {last}"
            raise stream_connection_error(f"Stream '{handle}' has no replica {replica}; it {kind}.")
        if not callable(getattr(function, "fetch", function)):
            raise stream_connection_error(
                f"Stream '{handle}': {function!r} is neither callable nor an object with fetch(memory)."
            )
        keys = self._all_of(handle) if replica is None else [(handle, replica)]
        self._ends.update(dict.fromkeys(keys, Callback(function)))

    def read_stream(self, handle: str, replica: int, into: Array) -> None:
        """A replica reads one transfer."""
        self._timed(handle, replica, lambda end: end.read(into))

    def write_stream(self, handle: str, replica: int, values: Array) -> None:
        """A replica writes one transfer."""
        self._timed(handle, replica, lambda end: end.write(values))

    def _all_of(self, handle: str) -> list[tuple[str, int]]:
        return [(handle, replica) for replica in range(self._replicas)]

    def _timed(self, handle: str, replica: int, transfer: Callable[[CircularBuffer | Callback], None]) -> None:
        end = self._ends.get((handle, replica))
        if end is None:
            which = f" in replica {replica}" if self._replicas > 1 else ""
            raise stream_connection_error(
                f"Stream '{handle}' is used by the program but not connected{which}; call connectStream or "
                "connectStreamToCallback before run."
            )
        begin = time.perf_counter()
        with pvti.Tracepoint(_channel, f"StreamCopy {handle}"):
            transfer(end)
        if self.host_seconds is not None:
            self.host_seconds.append((replica, time.perf_counter() - begin))

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
