"""The write queue of names, texts, samples and histograms: everything but events."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from popvision.formats.pvti.writer import TraceWriter

_MOST_STRINGS = 1 << 16


class Declarations:
    """Calls of `TraceWriter` methods in the order in which they were queued, and the ids that they use."""

    def __init__(self, recording: bool) -> None:
        self.lock = threading.RLock()
        self._recording = recording
        self._samples: dict[int, list[tuple[int, float]]] = {}
        self._pending: list[tuple[str, tuple[Any, ...]]] = []
        self._permanent: list[tuple[str, tuple[Any, ...]]] = []
        self._strings: dict[str, int] = {}
        self._last_id = 0

    def next_id(self) -> int:
        """An unused id of this process, for a string, a site, a thread, a graph ..."""
        with self.lock:
            self._last_id += 1
            return self._last_id

    def declare(self, method: str, *arguments: Any, permanent: bool = False) -> None:
        """Queue a call of a `TraceWriter` method; it is written before any event recorded after this call.

        A permanent declaration is repeated in the files of forked children.
        """
        if self._recording:
            self._pending.append((method, arguments))
            if permanent:
                self._permanent.append((method, arguments))

    def declare_first(self, method: str, *arguments: Any) -> None:
        """Queue a call in front of all others."""
        self._pending.insert(0, (method, arguments))

    def string_id(self, text: str) -> int:
        """The id of a text in the file; declares the text at its first use."""
        with self.lock:
            id = self._strings.get(text)
            if id is None:
                if len(self._strings) >= _MOST_STRINGS:
                    self._strings.clear()
                id = self._strings[text] = self.next_id()
                self.declare("add_string", id, text)
            return id

    def add_sample(self, series: int, time_ns: int, value: float) -> None:
        """Queue a sample of a line graph."""
        with self.lock:
            self._samples.setdefault(series, []).append((time_ns, value))

    @property
    def is_waiting(self) -> bool:
        """True while an entry is not in the file yet."""
        return bool(self._pending or self._samples)

    @property
    def is_measured(self) -> bool:
        """True while a sample or histogram waits, not only names."""
        return bool(self._samples) or any(method == "add_heatmap_column" for method, _ in self._pending)

    def count(self) -> tuple[int, dict[int, int]]:
        """Numbers of queued calls and of samples by series, for `write` and `drop`."""
        return len(self._pending), {series: len(rows) for series, rows in self._samples.items()}

    def write(self, writer: TraceWriter, counts: tuple[int, dict[int, int]]) -> None:
        """Write that many entries; they stay queued until `drop`, so that an interruption loses nothing."""
        for method, arguments in self._pending[: counts[0]]:
            getattr(writer, method)(*arguments)
        for series, rows in counts[1].items():
            samples = self._samples[series][:rows]
            writer.add_samples(series, [time for time, _ in samples], [value for _, value in samples])

    def drop(self, counts: tuple[int, dict[int, int]]) -> None:
        """Drop that many entries, which are in the file now."""
        del self._pending[: counts[0]]
        for series, rows in counts[1].items():
            del self._samples[series][:rows]
            if not self._samples[series]:
                del self._samples[series]

    def start_new_file(self) -> None:
        """Queue only the permanent declarations, for the file of a forked child."""
        self.lock = threading.RLock()
        self._samples = {}
        self._strings.clear()
        self._pending = list(self._permanent)

    def close(self) -> None:
        """Ignore all further declarations."""
        self._recording = False
