"""The host's end of one stream: a buffer of the user's, or a callback. Reads and writes return the seconds that the
host took for the transfer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.quarter import QuarterMetadata
from simulator.runtime.host import host_times
from simulator.runtime.host.callback_threads import CallbackThreads
from simulator.runtime.host.resumable_callback import (
    CallbackDroppedError,
    ResumableStreamCallback,
    drop_resumable,
    start_resumable,
)
from simulator.runtime.host.stream_callback import StreamCallbackHandle
from simulator.runtime.values.host_side import RunStoppedError


class CircularBuffer:
    """A circular buffer of the user's. Each transfer continues after the last one and wraps at the end; a buffer of
    exactly one transfer is a fixed location."""

    def __init__(self, memory: AnyArray) -> None:
        self._memory = memory
        self._position = 0

    def read(self, into: AnyArray) -> float:
        return self._transfer(len(into), lambda part, at: np.copyto(into[at : at + len(part)], part))

    def write(self, values: AnyArray) -> float:
        return self._transfer(len(values), lambda part, at: np.copyto(part, values[at : at + len(part)]))

    def prefetches(self) -> bool:
        """The host can put the next transfer in place while the program runs."""
        return True

    def has_prefetched(self) -> bool:
        """The buffer may have changed before a run."""
        return False

    def drop(self) -> None:
        """A buffer is never suspended."""

    def invalidate(self) -> None:
        """Nothing is prefetched from a buffer."""

    def _transfer(self, count: int, move: Callable[[AnyArray, int], None]) -> float:
        began, done = host_times.now(), 0
        while done < count:
            part = self._memory[self._position : self._position + count - done]
            move(part, done)
            done += len(part)
            self._position = (self._position + len(part)) % len(self._memory)
        return host_times.now() - began


class CallbackEnd:
    """A callback that fetches each transfer, and prefetches up to `depth` of them. `metadata` is that of the last
    transfer, None for types without.

    Its functions run on `threads`: prefetches in parallel with the device, those of one callback in order. A resumable
    callback has its own thread."""

    def __init__(
        self,
        callback: StreamCallbackHandle,
        depth: int,
        threads: CallbackThreads,
        metadata: QuarterMetadata | None = None,
    ) -> None:
        self._callback = callback
        self._depth = depth
        self._threads = threads
        self._metadata = metadata
        self._resumable = callback.callback if isinstance(callback.callback, ResumableStreamCallback) else None
        #: prefetched, oldest first, with the seconds that each took
        self._ready: deque[tuple[AnyArray, QuarterMetadata | None, float]] = deque()
        self._under_way: Future[None] | None = None
        self._asked = self._refused = False

    def read(self, into: AnyArray) -> float:
        self._wait()
        if self._ready:
            into[...], metadata, seconds = self._ready.popleft()
            if self._metadata is not None and metadata is not None:
                self._metadata.set(metadata)
            seconds += self._call(self._callback.complete)
        else:
            seconds = self._call(lambda: self._fetched(into))
        if self._depth:
            self._asked = True
            prefetch = lambda: self._prefetch(into)  # noqa: E731  # the same for both kinds of thread
            own = self._resumable
            self._under_way = self._threads.start(prefetch) if own is None else start_resumable(own, prefetch)
        return seconds

    def prefetches(self) -> bool:
        """The callback has not refused to prefetch."""
        return self._depth > 0 and not self._refused and self._callback.can_prefetch

    def has_prefetched(self) -> bool:
        """The callback was asked for the next transfer."""
        return self._asked

    def write(self, values: AnyArray) -> float:
        memory = values.copy()
        return self._call(lambda: self._fetched(memory))

    def drop(self) -> None:
        """End a suspended callback."""
        if self._resumable is not None:
            drop_resumable(self._resumable)

    def invalidate(self) -> None:
        """Drop prefetched data and notify the callback."""
        self._asked = False
        self.drop()
        with suppress(RunStoppedError):
            self._wait()
        if self._ready:
            self._ready.clear()
            self._call(self._callback.invalidate)

    def _call(self, function: Callable[[], None]) -> float:
        """The seconds of a function that the device waits for."""
        began = host_times.now()
        if self._resumable is None:
            self._threads.call(function)
        else:
            _result(start_resumable(self._resumable, function))
        return host_times.now() - began

    def _fetched(self, memory: AnyArray) -> None:
        self._callback.fetch(memory, self._metadata)
        self._callback.complete()

    def _prefetch(self, like: AnyArray) -> None:
        while len(self._ready) < self._depth:
            memory = np.zeros_like(like)
            metadata = None if self._metadata is None else QuarterMetadata()
            began = host_times.now()
            if not self._callback.prefetch(memory, metadata):
                self._refused = True
                return
            self._ready.append((memory, metadata, host_times.now() - began))

    def _wait(self) -> None:
        """Wait for the last prefetch; raises its exception."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            _result(under_way)


def _result(running: Future[None]) -> None:
    try:
        running.result()
    except CallbackDroppedError:
        raise RunStoppedError from None
