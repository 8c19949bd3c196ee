"""Host threads that run parts of one compute set in parallel (debug.cpuMultiThreadExecution).

Vertices of a compute set do not read what others of it write, so their order does not matter. NumPy releases the GIL in
its loops; codelets in pure Python gain nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from simulator.codelets.float_state import FloatState, running

Action = Callable[[], None]


class VertexThreads:
    """Runs actions in order, or, with `several`, in parallel, all with the floating-point settings of `state`."""

    def __init__(self, state: FloatState, several: bool) -> None:
        self._state = state
        self.count = (os.cpu_count() or 1) if several else 1
        self._pool: ThreadPoolExecutor | None = None

    def together(self, actions: Sequence[Action]) -> None:
        """Run all actions. The first exception is raised when all have ended."""
        if self.count == 1 or len(actions) < 2:
            for action in actions:
                action()
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count, "vertices")
        for done in [self._pool.submit(self._run, action) for action in actions]:
            done.result()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _run(self, action: Action) -> None:
        with running(self._state):
            action()
