"""The fast path: one generator per traced thread, which receives the codes of its events.

Sending to a generator costs less than calling a function, its locals are the thread's state, and `range` counts the
events of a chunk at no cost. The traced thread writes its own chunks: the interpreter lock would starve a writer thread
under load.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left
from operator import not_ as _is_free
from time import perf_counter_ns

from popvision.formats.pvti.schema import CHUNK_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

LATE_NS = 100_000_000
"""The longest time until an event is in the file, if its thread records another one."""

_FREE = [0] * CHUNK_EVENTS

local = threading.local()
"""`local.send(code)` records an event of this thread; missing until the thread's first event."""


class ThreadBuffer:
    """Events of one thread that are not in the file yet.

    Event i has `codes[i]` and the monotonic time `times[i]`. A time of 0 marks a free place; the code is stored before
    the time, so that other threads see complete events only. `overflow` holds, as (time, code), the rare events that
    have no place there. The first `written` places are in the file already.
    """

    __slots__ = ("_last_name", "codes", "declared_name", "id", "overflow", "thread", "tid", "times", "written")

    def __init__(self, id: int) -> None:
        self.id = id
        self.tid = threading.get_native_id()
        self.thread = weakref.ref(threading.current_thread())
        self._last_name = threading.current_thread().name
        self.declared_name: str | None = None
        self.codes = list(_FREE)
        self.times = list(_FREE)
        self.written = 0
        self.overflow: list[tuple[int, int]] = []

    @property
    def name(self) -> str:
        """The thread's current name; of an ended thread its last one."""
        thread = self.thread()
        if thread is not None:
            self._last_name = thread.name
        return self._last_name

    @property
    def filled(self) -> int:
        """Places in use, written ones included."""
        return bisect_left(self.times, True, self.written, key=_is_free)  # places are filled in order

    def waiting_since(self) -> int:
        """Time of the last event that is not in the file; 0 when all are."""
        filled = self.filled
        last = self.times[filled - 1] if filled > self.written else 0
        return max(last, self.overflow[-1][0] if self.overflow else 0)

    def reset(self) -> None:
        """Free all places; unwritten events move to the overflow. Call it on the thread itself, under the lock."""
        filled = self.filled
        self.overflow += zip(self.times[self.written : filled], self.codes[self.written : filled], strict=True)
        self.times[:] = _FREE
        self.written = 0

    def clear(self) -> None:
        """Forget everything."""
        self.times[:] = _FREE
        self.written = 0
        self.overflow.clear()

    def is_over(self) -> bool:
        """True when the thread has ended and nothing is left to write."""
        thread = self.thread()
        return not self.waiting_since() and (thread is None or not thread.is_alive())


def recorder(buffer: ThreadBuffer, flush: Callable[[ThreadBuffer], None]) -> Generator[None, int, None]:
    """Receive codes forever; flush after a full chunk, or when the last flush was longer ago than LATE_NS."""
    codes, times = buffer.codes, buffer.times
    clock = perf_counter_ns
    deadline = clock() + LATE_NS
    while True:
        for place in range(CHUNK_EVENTS):
            codes[place] = yield
            times[place] = now = clock()
            if now > deadline:
                break
        flush(buffer)
        deadline = clock() + LATE_NS
