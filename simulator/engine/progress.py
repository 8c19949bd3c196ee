"""Progress callbacks of compilation, called from one thread of their own.

A callback that is slow or blocks delays further calls, not the compilation, which at its end waits a quarter of a
second in all for those that are left; they come while the program goes on."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simulator.base.errors import poplar_error

ProgressFunc = Callable[[int, int], None]

#: Seconds that the end of compilation waits for all calls to return.
_MOST_WAIT = 0.25


@contextmanager
def progress_thread(callback: ProgressFunc | None) -> Iterator[ProgressFunc | None]:
    """A function that hands (current, maximum) on to `callback` without waiting for it; None for None."""
    if callback is None:
        yield None
        return
    if not callable(callback):
        raise poplar_error(f"The progress callback {callback!r} cannot be called; give a function (done, maximum).")
    pending: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
    thread = threading.Thread(target=_deliver, args=(pending, callback), name="poplar-progress", daemon=True)
    thread.start()
    try:
        yield lambda current, maximum: pending.put((current, maximum))
    finally:
        pending.put(None)
        thread.join(_MOST_WAIT)


def _deliver(pending: queue.SimpleQueue[tuple[int, int] | None], callback: ProgressFunc) -> None:
    while (item := pending.get()) is not None:
        try:
            callback(*item)
        except Exception as error:
            print(f"The progress callback raised {error!r} and is not called again.", file=sys.stderr)
            return
