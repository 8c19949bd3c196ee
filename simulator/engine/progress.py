"""Progress of compilation and runs: callbacks, called from one thread of their own, and a file for who waits outside.

With POPVISION_PROGRESS_FILE the file of that name holds one line: what the program is doing, such as "compiling, 2 of 6
phases done". `popvision run` reads it while it waits on a terminal.

A callback that is slow or blocks delays further calls, not the compilation, which at its end waits a quarter of a
second in all for those that are left; they come while the program goes on."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.base.errors import poplar_error

ProgressFunc = Callable[[int, int], None]

#: The variable that names the file of progress.
PROGRESS_FILE = "POPVISION_PROGRESS_FILE"

#: Seconds between two writings of that file; what is said in between is left out, unless it must be seen.
_LEAST_PAUSE = 0.2

_last_said = float("-inf")


def say(text: str, *, always: bool = False) -> None:
    """Write what the program is doing to the file of progress, if there is one. Where it cannot be written, the program
    goes on."""
    global _last_said
    path = os.environ.get(PROGRESS_FILE)
    now = time.monotonic()
    if not path or (now - _last_said < _LEAST_PAUSE and not always):
        return
    _last_said = now
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError:
        pass


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
