"""The fast path: one generator per traced thread, which receives the codes of its events.

Sending to a generator costs less than calling a function, its locals are the thread's state, and a list's iterator
counts the places of a chunk at no cost. The traced thread writes its own chunks: the interpreter lock would starve a
writer thread under load. Whether one is late is asked by the session's timer, which exhausts the iterator: to ask at
each event would take a tenth of the time of a span.
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

LATE_NS = 75_000_000
"""How long after its last write a thread is asked to write at its next event; the timer looks every TICK_S."""

_FREE = [0] * CHUNK_EVENTS
_PLACES = list(range(CHUNK_EVENTS))

local = threading.local()
"""`local.send(code)` records an event of this thread; missing until the thread's first event."""


class ThreadBuffer:
    """Events of one thread that are not in the file yet.

    Event i has `codes[i]` and the monotonic time `times[i]`. A time of 0 marks a free place; the code is stored before
    the time, so that other threads see complete events only. `overflow` holds, as (time, code), the rare events that
    have no place there. The first `written` places are in the file already. `places` gives the places that are left
    until the thread writes again, as it did at `written_ns`.
    """

    __slots__ = (
        "_last_name",
        "codes",
        "declared_name",
        "id",
        "overflow",
        "places",
        "thread",
        "tid",
        "times",
        "written",
        "written_ns",
    )

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
        self.written_ns = 0
        self.begin_chunk()

    def begin_chunk(self) -> None:
        """Begin with the first place again."""
        self.places = iter(_PLACES)
        self.written_ns = perf_counter_ns()

    def write_if_late(self, now: int) -> None:
        """Make the thread write at its next event where its last write was LATE_NS ago. Any thread may call it: it
        exhausts an iterator, in one step of the interpreter."""
        if now - self.written_ns >= LATE_NS:
            self.places.__setstate__(CHUNK_EVENTS)  # type: ignore[attr-defined]  # a list's iterator has it

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
    """Receive codes forever; flush after a full chunk, or where `write_if_late` asks for it."""
    codes, times = buffer.codes, buffer.times
    clock = perf_counter_ns
    while True:
        buffer.begin_chunk()
        for place in buffer.places:
            codes[place] = yield
            times[place] = clock()
        flush(buffer)
