"""Telling a program how far compilation is, from one thread of its own.

A callback that blocks holds up further notifications, not the compilation."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ProgressFunc = Callable[[int, int], None]

#: Seconds that the end of compilation waits for notifications still under way.
_PATIENCE = 5.0


@contextmanager
def progress_thread(callback: ProgressFunc | None) -> Iterator[ProgressFunc | None]:
    """A function that hands (current, maximum) on to `callback` without waiting for it; None for None."""
    if callback is None:
        yield None
        return
    pending: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
    thread = threading.Thread(target=_deliver, args=(pending, callback), name="poplar-progress", daemon=True)
    thread.start()
    try:
        yield lambda current, maximum: pending.put((current, maximum))
    finally:
        pending.put(None)
        thread.join(_PATIENCE)


def _deliver(pending: queue.SimpleQueue[tuple[int, int] | None], callback: ProgressFunc) -> None:
    while (item := pending.get()) is not None:
        try:
            callback(*item)
        except Exception as error:
            print(f"The progress callback raised {error!r} and is not called again.", file=sys.stderr)
            return
