"""Line graphs of the host trace that follow the runs of all engines of the process: simulated cycles per second of
host time, for each IPU, and bytes streamed.

A value holds until the next one. A rate is that of the time from its sample on, so it is recorded, with that earlier
time, when the runs are over: a window of runs closer together than 0.1 s becomes one value, a longer pause a zero.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import cache

from popvision import pvti

_WINDOW_NS = 100_000_000


class RunSeries:
    """The graphs, and what was added since their last samples. Several engines may run at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._speed_graph = pvti.Graph("Simulated cycles per second of host time", "cycles/s")
        self._speed: list[pvti.Series] = []
        bytes_graph = pvti.Graph("Bytes streamed since the start", "B")
        self._bytes_series = (bytes_graph.addSeries("to device"), bytes_graph.addSeries("from device"))
        self._bytes = [0, 0]
        self._recorded_bytes = [0, 0]
        self._cycles: list[int] = []
        self._begin_ns = self._end_ns = 0
        self._pauses = True

    def add_bytes(self, count: int, to_device: bool) -> None:
        """Count one stream copy."""
        with self._lock:
            self._bytes[0 if to_device else 1] += count

    def add_run(self, begin_ns: int, cycles: Sequence[int]) -> None:
        """Count a run that ends now; `cycles` of each IPU, `begin_ns` by `time.perf_counter_ns()`."""
        now = time.perf_counter_ns()
        with self._lock:
            if begin_ns - self._end_ns > _WINDOW_NS:
                self._close_window()
            if not self._cycles:
                self._begin_ns = max(begin_ns, self._end_ns)
            self._cycles += [0] * (len(cycles) - len(self._cycles))
            for ipu, count in enumerate(cycles):
                self._cycles[ipu] += count
            self._end_ns = max(now, self._end_ns)
            if self._end_ns - self._begin_ns >= _WINDOW_NS:
                self._record()

    def end(self) -> None:
        """Record what is left, and that nothing runs: an engine ends."""
        with self._lock:
            self._close_window()

    def _close_window(self) -> None:
        """Record the rest and a zero after it; once, however many engines end."""
        if self._cycles:
            self._record()
        if not self._pauses:
            for series in self._speed:
                series.add(0, self._end_ns)
        self._pauses = True

    def _record(self) -> None:
        seconds = max(self._end_ns - self._begin_ns, 1) / 1e9
        while len(self._speed) < len(self._cycles):
            self._speed.append(self._speed_graph.addSeries(f"IPU {len(self._speed)}"))
        for series, cycles in zip(self._speed, self._cycles, strict=False):
            series.add(cycles / seconds, self._begin_ns)
        for number, series in enumerate(self._bytes_series):
            if self._bytes[number] != self._recorded_bytes[number]:
                series.add(self._bytes[number], self._end_ns)
                self._recorded_bytes[number] = self._bytes[number]
        self._cycles = []
        self._pauses = False


@cache
def run_series() -> RunSeries:
    """The graphs of this process, made at the first run with tracing on."""
    return RunSeries()
