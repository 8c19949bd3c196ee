"""Callbacks of streams and host functions, under Poplar's names.

An engine accepts for a stream: a function of the transfer's memory, a `StreamCallback`, or any object with its methods.
The memory is an ndarray of the stream's element type, valid during the call.

    device requests a transfer      fetch(memory), then complete()
    after a transfer                prefetch(memory) for the next, where the engine prefetches: Result.Success = filled
                                    (the next request calls only complete()), or Result.NotAvailable (fetch and complete
                                    follow)
    prefetched data is dropped      invalidatePrefetched(): the transfers since the last complete() come again

Callbacks of QUARTER streams are `StreamCallbackWithMetadata`, or functions of (metadata, memory).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, final

from simulator.arrays import AnyArray
from simulator.base.errors import stream_connection_error
from simulator.base.quarter import QuarterMetadata


class StreamCallback(ABC):
    """Provides or consumes the data of one stream."""

    class Result(Enum):
        """The result of a prefetch."""

        Success = 0
        NotAvailable = 1

    @abstractmethod
    def prefetch(self, p: AnyArray) -> StreamCallback.Result:
        """Fill the memory ahead of time (host to device only). It may be called without a further transfer."""

    @abstractmethod
    def fetch(self, p: AnyArray) -> None:
        """Fill the memory (host to device), or read it (device to host)."""

    @abstractmethod
    def complete(self) -> None:
        """Called after the transfer of the last fetched or prefetched data."""

    def invalidatePrefetched(self) -> None:  # noqa: B027  # most callbacks have nothing to undo
        """Data prefetched since the last complete() was dropped; provide it again."""


class LegacyStreamCallback(StreamCallback):
    """A callback that only fetches."""

    @final
    def prefetch(self, p: AnyArray) -> StreamCallback.Result:
        return StreamCallback.Result.NotAvailable

    @final
    def complete(self) -> None:
        """Nothing to do."""

    @final
    def invalidatePrefetched(self) -> None:
        """Nothing is ever prefetched."""


class StreamCallbackWithMetadata(StreamCallback):
    """Provides or consumes the data of a stream whose type has metadata: QUARTER. The metadata is the first argument,
    as in the Engine's functions (the order in C++ is not public). A callback sets the metadata of the data that it
    provides (`metadata.set(...)`) and reads that of the data that it consumes."""

    @abstractmethod
    def prefetch(self, metadata: QuarterMetadata, p: AnyArray) -> StreamCallback.Result:  # type: ignore[override]
        """As `StreamCallback.prefetch`, for both."""

    @abstractmethod
    def fetch(self, metadata: QuarterMetadata, p: AnyArray) -> None:  # type: ignore[override]
        """As `StreamCallback.fetch`, for both."""


class StreamCallbackHandle:
    """A stream's callback in any accepted form. Raises stream_connection_error for others."""

    def __init__(self, callback: Any, what: str = "Stream") -> None:
        if isinstance(callback, StreamCallbackHandle):
            self.__dict__.update(vars(callback))
            return
        if not callable(getattr(callback, "fetch", callback)):
            raise stream_connection_error(f"{what}: {callback!r} is neither callable nor an object with fetch(memory).")
        self.callback = callback  #: as it was given
        self._fetch: Callable[..., Any] = getattr(callback, "fetch", callback)
        self._complete: Callable[[], Any] | None = getattr(callback, "complete", None)
        self._prefetch: Callable[..., Any] | None = getattr(callback, "prefetch", None)
        self._invalidate: Callable[[], Any] | None = getattr(callback, "invalidatePrefetched", None)

    @property
    def can_prefetch(self) -> bool:
        return self._prefetch is not None

    def fetch(self, memory: AnyArray, metadata: QuarterMetadata | None = None) -> None:
        """One transfer; `metadata` of a stream that has some."""
        self._fetch(memory) if metadata is None else self._fetch(metadata, memory)

    def complete(self) -> None:
        if self._complete is not None:
            self._complete()

    def prefetch(self, memory: AnyArray, metadata: QuarterMetadata | None = None) -> bool:
        """True where the memory was filled."""
        if self._prefetch is None:
            return False
        done = self._prefetch(memory) if metadata is None else self._prefetch(metadata, memory)
        return done is StreamCallback.Result.Success

    def invalidate(self) -> None:
        if self._invalidate is not None:
            self._invalidate()


class HostCallback(ABC):
    """The code of a host function as an object."""

    @abstractmethod
    def __call__(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> None:
        """Fill `outputs` from `inputs`: flat arrays, one per argument, valid during the call."""


class HostCallbackHandle:
    """The code of a host function in any accepted form. Raises stream_connection_error for others."""

    def __init__(self, callback: Any, what: str = "Host function") -> None:
        if not callable(callback):
            raise stream_connection_error(f"{what}: {callback!r} cannot be called; give a function (inputs, outputs).")
        self._callback: Callable[[Sequence[AnyArray], Sequence[AnyArray]], Any] = callback

    def __call__(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> None:
        self._callback(inputs, outputs)
