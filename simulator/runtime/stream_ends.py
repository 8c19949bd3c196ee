"""The host's end of one stream: a buffer of the program's, or a callback."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.poplar.stream_callback import StreamCallbackHandle
from simulator.runtime.callback_threads import CallbackThreads

Array = npt.NDArray[Any]


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

    def invalidate(self) -> None:
        """Nothing is prefetched from a buffer."""

    def _transfer(self, count: int, move: Callable[[Array, int], None]) -> None:
        done = 0
        while done < count:
            part = self._memory[self._position : self._position + count - done]
            move(part, done)
            done += len(part)
            self._position = (self._position + len(part)) % len(self._memory)


class CallbackEnd:
    """A callback that fetches each transfer, or has prefetched up to `depth` of them: `depth` 0 = never.

    With `threads`, its functions run there: prefetches while the device goes on, all of one callback in order."""

    def __init__(self, callback: StreamCallbackHandle, depth: int, threads: CallbackThreads) -> None:
        self._callback = callback
        self._depth = depth
        self._threads = threads
        self._ready: deque[Array] = deque()  #: filled ahead of time, oldest first
        self._under_way: Future[None] | None = None

    def read(self, into: Array) -> None:
        self._wait()
        if self._ready:
            into[...] = self._ready.popleft()
            self._threads.call(self._callback.complete)
        else:
            self._threads.call(lambda: self._fetched(into))
        if self._depth:
            self._under_way = self._threads.start(lambda: self._prefetch(into))

    def write(self, values: Array) -> None:
        memory = values.copy()
        self._threads.call(lambda: self._fetched(memory))

    def invalidate(self) -> None:
        """Drop what was prefetched, and tell the callback so."""
        self._wait()
        if self._ready:
            self._ready.clear()
            self._threads.call(self._callback.invalidate)

    def _fetched(self, memory: Array) -> None:
        self._callback.fetch(memory)
        self._callback.complete()

    def _prefetch(self, like: Array) -> None:
        while len(self._ready) < self._depth:
            memory = np.zeros_like(like)
            if not self._callback.prefetch(memory):
                return
            self._ready.append(memory)

    def _wait(self) -> None:
        """Until the last prefetch is done; what it raised is raised here."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()
