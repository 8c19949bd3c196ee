"""What waits to be written besides events: names, texts, samples, histograms."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from popvision.formats.pvti.writer import TraceWriter

_MOST_STRINGS = 1 << 16


class Declarations:
    """Calls of `TraceWriter` methods in the order they were asked for, and the numbers that they use."""

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.lock = threading.RLock()
        self._samples: dict[int, list[tuple[int, float]]] = {}
        self._pending: list[tuple[str, tuple[Any, ...]]] = []
        self._permanent: list[tuple[str, tuple[Any, ...]]] = []
        self._strings: dict[str, int] = {}
        self._last_id = 0

    def next_id(self) -> int:
        """A number unused in this process so far; strings, sites, threads, graphs and the like are numbered so."""
        with self.lock:
            self._last_id += 1
            return self._last_id

    def declare(self, method: str, *arguments: Any, permanent: bool = False) -> None:
        """Queue a call of a `TraceWriter` method; it is written before any event recorded after this call.

        A permanent declaration is repeated in the files of forked children.
        """
        if self.recording:
            self._pending.append((method, arguments))
            if permanent:
                self._permanent.append((method, arguments))

    def string_id(self, text: str) -> int:
        """The id of a text in the file; declared at its first use."""
        with self.lock:
            id = self._strings.get(text)
            if id is None:
                if len(self._strings) >= _MOST_STRINGS:
                    self._strings.clear()
                id = self._strings[text] = self.next_id()
                self.declare("add_string", id, text)
            return id

    def sample(self, series: int, time_ns: int, value: float) -> None:
        """A sample of a line graph."""
        with self.lock:
            self._samples.setdefault(series, []).append((time_ns, value))

    @property
    def is_waiting(self) -> bool:
        """True when something is not in the file yet."""
        return bool(self._pending or self._samples)

    def count(self) -> tuple[int, dict[int, int]]:
        """How much there is now: what `write` writes and `wrote` then drops."""
        return len(self._pending), {series: len(rows) for series, rows in self._samples.items()}

    def write(self, writer: TraceWriter, counted: tuple[int, dict[int, int]]) -> None:
        """Write what was counted; it stays here until `wrote`, so that an interruption loses nothing."""
        for method, arguments in self._pending[: counted[0]]:
            getattr(writer, method)(*arguments)
        for series, rows in counted[1].items():
            taken = self._samples[series][:rows]
            writer.add_samples(series, [time for time, _ in taken], [value for _, value in taken])

    def wrote(self, counted: tuple[int, dict[int, int]]) -> None:
        """Drop what is in the file."""
        del self._pending[: counted[0]]
        for series, rows in counted[1].items():
            del self._samples[series][:rows]
            if not self._samples[series]:
                del self._samples[series]

    def start_again(self) -> None:
        """For a new file: nothing but the permanent declarations is known to it."""
        self.lock = threading.RLock()
        self._samples = {}
        self._strings.clear()
        self._pending = list(self._permanent)
