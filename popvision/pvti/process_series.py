"""Line graphs that every trace has: processor time and memory of the traced process, sampled by the session's timer."""

# ruff: noqa: PTH123  (pathlib costs more to import than the rest of this package)

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popvision.pvti.declarations import Declarations

SAMPLE_NS = 250_000_000


class ProcessSeries:
    """Processor time as a share of one processor, over each window of 0.25 s or more, and resident memory at its end.

    A value of a line graph holds until the next one, so the share is recorded at the begin of its window. A trace that
    is shorter than a window has no samples. Memory is only known where there is a /proc.
    """

    def __init__(self, declarations: Declarations, clock_offset_ns: int) -> None:
        self._declarations, self._offset_ns = declarations, clock_offset_ns
        self._begin_ns = time.perf_counter_ns()
        self._cpu_s = time.process_time()
        self._series: tuple[int, int] | None = None

    def sample_if_due(self) -> None:
        """Record a window that has lasted long enough."""
        if time.perf_counter_ns() - self._begin_ns >= SAMPLE_NS:
            self._sample()

    def end(self) -> None:
        """Record the rest of a trace that has samples, up to now."""
        if self._series is not None:
            share = self._sample()
            self._declarations.add_sample(self._series[0], self._begin_ns + self._offset_ns, share)

    def _sample(self) -> float:
        """Record the window up to now and begin the next one; its share in per cent."""
        now, cpu_s = time.perf_counter_ns(), time.process_time()
        share = (cpu_s - self._cpu_s) / max(now - self._begin_ns, 1) * 1e11
        cpu, memory = self._series = self._series or self._declare()
        self._declarations.add_sample(cpu, self._begin_ns + self._offset_ns, share)
        resident = _resident_mib()
        if resident is not None:
            self._declarations.add_sample(memory, now + self._offset_ns, resident)
        self._begin_ns, self._cpu_s = now, cpu_s
        return share

    def _declare(self) -> tuple[int, int]:
        series = []
        for name, unit, line in (("Process CPU", "%", "all threads"), ("Process memory", "MiB", "resident")):
            graph, id = self._declarations.next_id(), self._declarations.next_id()
            self._declarations.declare("add_graph", graph, name, unit)
            self._declarations.declare("add_series", id, graph, line)
            series.append(id)
        return series[0], series[1]


def _resident_mib() -> float | None:
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return float(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
