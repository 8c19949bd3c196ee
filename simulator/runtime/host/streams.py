"""The streams of an engine: their host ends, and the transfers of running programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from popvision import pvti
from simulator.arrays import AnyArray
from simulator.base.errors import stream_connection_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import Type
from simulator.runtime.host.callback_threads import CallbackThreads
from simulator.runtime.host.host_buffers import fixed_memory, memory_between, memory_of
from simulator.runtime.host.host_times import HostSeconds, note
from simulator.runtime.host.run_series import run_series
from simulator.runtime.host.stream_callback import StreamCallbackHandle
from simulator.runtime.host.stream_ends import CallbackEnd, CircularBuffer

_channel = pvti.channel("Poplar Runtime")


@dataclass(frozen=True)
class StreamInfo:
    elements: int
    type: Type
    to_device: bool
    broadcast: bool  #: one transfer goes to all replicas
    depth: int = 1  #: transfers that may be prefetched


class Streams:
    """The streams of an engine by handle and replica. `host_seconds` collects what each transfer took unless it is
    None. `prefetch` = call callbacks ahead of time; `own_buffers` = no two streams share memory of the host."""

    def __init__(
        self, streams: Mapping[str, StreamInfo], replicas: int = 1, prefetch: bool = False, own_buffers: bool = False
    ) -> None:
        self._infos = dict(streams)
        self._replicas = replicas
        self._prefetch = prefetch
        self._own_buffers = own_buffers
        self._threads = CallbackThreads()
        self._callbacks: dict[tuple[str, int], tuple[StreamCallbackHandle, QuarterMetadata | None]] = {}
        self._ends: dict[tuple[str, int], CircularBuffer | CallbackEnd] = {}
        self.host_seconds: HostSeconds | None = None

    def use_threads(self, threads: CallbackThreads) -> None:
        """Run callbacks on these threads from now on; prefetched data is dropped."""
        self._threads.close()
        self._threads = threads
        for key, (callback, metadata) in self._callbacks.items():
            self._ends[key].invalidate()
            self._ends[key] = self._end_of(key[0], callback, metadata)

    def connect(self, handle: str, begin: Any, end: Any = None) -> None:
        """Connect a buffer: any object with memory (ndarray, bytearray, array), a ctypes pointer to one transfer, or
        begin and end as two pointers or views. All replicas share it: at each copy replica 0 takes the next transfer,
        then replica 1, and so on. Raises stream_connection_error for an unknown handle, memory of another type, or
        less than one transfer of all replicas."""
        info = self.info(handle)
        what = f"Stream '{handle}'"
        ends = 1 if info.broadcast else self._replicas
        if end is None:
            begin = fixed_memory(begin, info.type, info.elements * ends, what)
        else:
            begin = memory_between(begin, end, what)
        memory = memory_of(begin, info.type, what, writable=not info.to_device)
        if len(memory) < info.elements * ends:
            each = "" if ends == 1 else f" in each of {ends} replicas"
            raise stream_connection_error(
                f"{what} moves {info.elements} elements at a time{each}, but the buffer holds {len(memory)}."
            )
        circular = CircularBuffer(memory)
        for key in self._all_of(handle):
            self._replace(key, circular)

    def connect_callback(
        self, handle: str, callback: Any, replica: int | None = None, metadata: Sequence[QuarterMetadata] = ()
    ) -> None:
        """Connect a callback to one replica's stream, or to those of all of them. `metadata`: the
        objects that hold the metadata of each replica's QUARTER transfers."""
        info = self.info(handle)
        if replica is not None and not 0 <= replica < (1 if info.broadcast else self._replicas):
            last = 0 if info.broadcast else self._replicas - 1
            kind = "is shared by all replicas, so its index is 0" if info.broadcast else f"has replicas 0 to {last}"
            raise stream_connection_error(f"Stream '{handle}' has no replica {replica}; it {kind}.")
        known = StreamCallbackHandle(callback, f"Stream '{handle}'")
        for key in self._all_of(handle) if replica is None else [(handle, replica)]:
            own = metadata[key[1]] if metadata else None
            self._replace(key, self._end_of(handle, known, own))
            self._callbacks[key] = known, own

    def info(self, handle: str) -> StreamInfo:
        """Raises stream_connection_error for an unknown handle."""
        if handle not in self._infos:
            names = ", ".join(self._infos) or "none"
            raise stream_connection_error(f"There is no stream '{handle}'; the streams of this engine are: {names}.")
        return self._infos[handle]

    def read_stream(self, handle: str, replica: int, into: AnyArray) -> None:
        """A replica reads one transfer."""
        self._timed(handle, replica, lambda end: end.read(into))
        if pvti.isRecording():
            run_series().add_bytes(into.nbytes, to_device=True)

    def write_stream(self, handle: str, replica: int, values: AnyArray) -> None:
        """A replica writes one transfer."""
        self._timed(handle, replica, lambda end: end.write(values))
        if pvti.isRecording():
            run_series().add_bytes(values.nbytes, to_device=False)

    def buffering(self) -> tuple[dict[str, int], frozenset[str]]:
        """(the places of streams that need not wait for the host where one is ready: streams to the device whose host
        ends prefetch, and streams to the host with buffers of their own; those of the former that have prefetched
        nothing yet)."""
        ends: dict[str, list[CircularBuffer | CallbackEnd]] = {}
        for (handle, _), end in self._ends.items():
            if self._prefetch and self._infos[handle].to_device:
                ends.setdefault(handle, []).append(end)
        streams = {handle for handle, of in ends.items() if all(end.prefetches() for end in of)}
        cold = {handle for handle in streams if not all(end.has_prefetched() for end in ends[handle])}
        places = {handle: self._infos[handle].depth for handle in streams}
        if self._own_buffers:  # as many places as the deepest input, see simulator/machine/host_exchange.py
            deepest = max((info.depth for info in self._infos.values() if info.to_device), default=1)
            places |= {handle: deepest for handle, info in self._infos.items() if not info.to_device}
        return places, frozenset(cold)

    def drop(self) -> None:
        """End suspended callbacks."""
        for end in list(self._ends.values()):
            end.drop()

    def invalidate(self) -> None:
        """Drop prefetched data, because the program starts again."""
        for end in self._ends.values():
            end.invalidate()

    def close(self) -> None:
        """End suspended callbacks and shut the threads down."""
        self.drop()
        self._threads.close()

    def _replace(self, key: tuple[str, int], end: CircularBuffer | CallbackEnd) -> None:
        before = self._ends.get(key)
        if before is not None:
            before.invalidate()
        self._callbacks.pop(key, None)
        self._ends[key] = end

    def _end_of(self, handle: str, callback: StreamCallbackHandle, metadata: QuarterMetadata | None) -> CallbackEnd:
        info = self._infos[handle]
        return CallbackEnd(callback, info.depth if self._prefetch and info.to_device else 0, self._threads, metadata)

    def _all_of(self, handle: str) -> list[tuple[str, int]]:
        return [(handle, replica) for replica in range(self._replicas)]

    def _timed(self, handle: str, replica: int, transfer: Callable[[CircularBuffer | CallbackEnd], float]) -> None:
        end = self._ends.get((handle, replica))
        if end is None:
            which = f" in replica {replica}" if self._replicas > 1 else ""
            raise stream_connection_error(
                f"Stream '{handle}' is used by the program but not connected{which}; call connectStream or "
                "connectStreamToCallback before run."
            )
        with pvti.Tracepoint(_channel, f"StreamCopy {handle}"):
            seconds = transfer(end)
        note(self.host_seconds, handle, replica, seconds)
