"""Callbacks of streams and host functions, under Poplar's names.

What an engine takes for a stream: a function called with the transfer's memory, a `StreamCallback`, or any object with
its methods. The memory is an ndarray of the stream's element type, valid during the call.

    device asks for a transfer      fetch(memory), then complete()
    the last one has ended          prefetch(memory) for the next, where the engine prefetches: Result.Success = it was
                                    filled (then complete() is all that follows when the device asks), or
                                    Result.NotAvailable (then fetch and complete follow)
    what was prefetched is dropped  invalidatePrefetched(): the transfers since the last complete() come again
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, final

import numpy.typing as npt

from simulator.poplar.errors import stream_connection_error

Array = npt.NDArray[Any]


class StreamCallback(ABC):
    """Makes or takes the data of one stream."""

    class Result(Enum):
        """What became of a prefetch."""

        Success = 0
        NotAvailable = 1

    @abstractmethod
    def prefetch(self, p: Array) -> StreamCallback.Result:
        """Fill the memory ahead of time (host to device only). It may be called though no further transfer comes."""

    @abstractmethod
    def fetch(self, p: Array) -> None:
        """Fill the memory, or take what it holds (device to host)."""

    @abstractmethod
    def complete(self) -> None:
        """The transfer of what was fetched or prefetched last has taken place."""

    def invalidatePrefetched(self) -> None:  # noqa: B027  # most callbacks have nothing to take back
        """All that was prefetched since the last complete() is dropped; give it again."""


class LegacyStreamCallback(StreamCallback):
    """A callback that only fetches."""

    @final
    def prefetch(self, p: Array) -> StreamCallback.Result:
        return StreamCallback.Result.NotAvailable

    @final
    def complete(self) -> None:
        """Nothing to do."""

    @final
    def invalidatePrefetched(self) -> None:
        """Nothing is ever prefetched."""


class StreamCallbackHandle:
    """A stream's callback of whatever form. Raises stream_connection_error for what cannot be called."""

    def __init__(self, callback: Any, what: str = "Stream") -> None:
        if isinstance(callback, StreamCallbackHandle):
            self.__dict__.update(vars(callback))
            return
        if not callable(getattr(callback, "fetch", callback)):
            raise stream_connection_error(f"{what}: {callback!r} is neither callable nor an object with fetch(memory).")
        self.fetch: Callable[[Array], Any] = getattr(callback, "fetch", callback)
        self._complete: Callable[[], Any] | None = getattr(callback, "complete", None)
        self._prefetch: Callable[[Array], Any] | None = getattr(callback, "prefetch", None)
        self._invalidate: Callable[[], Any] | None = getattr(callback, "invalidatePrefetched", None)

    def complete(self) -> None:
        if self._complete is not None:
            self._complete()

    def prefetch(self, memory: Array) -> bool:
        """Whether the memory was filled."""
        return self._prefetch is not None and self._prefetch(memory) is StreamCallback.Result.Success

    def invalidate(self) -> None:
        if self._invalidate is not None:
            self._invalidate()


class HostCallback(ABC):
    """The code of a host function as an object."""

    @abstractmethod
    def __call__(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill `outputs` from `inputs`: flat arrays, one per argument, valid during the call."""


class HostCallbackHandle:
    """The code of a host function of whatever form. Raises stream_connection_error for what cannot be called."""

    def __init__(self, callback: Any, what: str = "Host function") -> None:
        if not callable(callback):
            raise stream_connection_error(f"{what}: {callback!r} cannot be called; give a function (inputs, outputs).")
        self._callback: Callable[[Sequence[Array], Sequence[Array]], Any] = callback

    def __call__(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._callback(inputs, outputs)
