"""Threads for stream callbacks, as the runtime options streamCallbacks.* say.

singleThread: the thread that runs the program does everything. dedicated: worker threads do. collaborative: worker
threads prefetch, and the program's thread fetches the data that it waits for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

_NODES = Path("/sys/devices/system/node")


class CallbackThreads:
    """Runs functions and waits (`call`), or in parallel with the program (`start`). Without threads both run at
    once."""

    def __init__(self, mode: str = "singleThread", workers: int | None = 0, numa_aware: bool = False) -> None:
        """`mode` as above; `workers` threads, None = one per processor; `numa_aware`: a pool per memory node."""
        self.workers = 0 if mode == "singleThread" else (os.cpu_count() or 1) if workers is None else workers
        self._dedicated = mode == "dedicated"
        nodes = _numa_nodes() if numa_aware else 1
        self.pools = [
            ThreadPoolExecutor(max(1, self.workers // nodes), f"stream-callback-{node}")
            for node in range(nodes if self.workers else 0)
        ]
        self._next = 0

    def call(self, function: Callable[[], None]) -> None:
        """Run a function and wait for it."""
        if self._dedicated and self.pools:
            self._pool().submit(function).result()
        else:
            function()

    def start(self, function: Callable[[], None]) -> Future[None]:
        """Run a function; with threads, in parallel with the program."""
        if self.pools:
            return self._pool().submit(function)
        done: Future[None] = Future()
        function()
        done.set_result(None)
        return done

    def close(self) -> None:
        """Shut the threads down."""
        for pool in self.pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def _pool(self) -> ThreadPoolExecutor:
        """The next pool, round robin over the nodes."""
        self._next = (self._next + 1) % len(self.pools)
        return self.pools[self._next]


def _numa_nodes() -> int:
    """Memory nodes of this machine."""
    return max(1, len(list(_NODES.glob("node[0-9]*"))))
