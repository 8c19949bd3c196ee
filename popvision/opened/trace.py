"""OpenedTrace: a host trace (.pvti) as frames. Times are microseconds of the host's clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.trace.kernels import communication_frame, idle_frame, kernel_frame
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.arrays import Float64Array, UInt32Array
from popvision.formats.integrity import Loss, Verified, summed
from popvision.opened.cards import trace_card
from popvision.opened.frames import frame, labelled
from popvision.opened.questions import Opened
from popvision.questions import NoSuchError

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.trace.columns import TraceThread

#: Nanoseconds in a microsecond.
_US = 1_000.0

_EVENT_COLUMNS = ("thread", "depth", "begin_us", "duration_us", "channel", "label")


class OpenedTrace(Opened[TraceSource]):
    """A trace of the host. Times count from the first event in the file, at `begin_ns` since the epoch. All methods
    raise FormatError with one sentence."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        super().__init__(TraceSource(path), str(self.path), "Host trace", trace_card)

    @property
    def begin_ns(self) -> int:
        """Begin of the first event, nanoseconds since the epoch."""
        return self.source.begin

    @property
    def duration_us(self) -> float:
        """Time from the first begin to the last end."""
        return (self.source.end - self.source.begin) / _US

    @property
    def facts(self) -> dict[str, str]:
        """Facts that the file records: run_id, command, producer, state ..."""
        return dict(self.source.meta)

    @property
    def lost(self) -> list[Loss]:
        """What was left out: kind, count and the sentence about the first."""
        return summed(self.source.lost)

    @property
    def verified(self) -> Verified:
        """Whether answers come from parts that match their checksums: "yes", "partly" where something is lost, "no" for
        a file without checksums: of another tool, or written before version 1.1."""
        return self.source.verified

    def processes(self) -> pd.DataFrame:
        """A row per process: pid, parent_pid (missing when unknown), name."""
        import pandas as pd

        rows = self.source.reader.processes()
        parents = pd.array([parent for _, parent, _ in rows], dtype="Int64")
        columns = {"pid": [pid for pid, _, _ in rows], "parent_pid": parents, "name": [name for *_, name in rows]}
        return frame(columns, self.provenance)

    def threads(self) -> pd.DataFrame:
        """A row per thread: thread (its number), tid, pid, name, events (with a duration), instants, depth (of nested
        events)."""
        threads = self.source.threads
        return frame(
            {
                "thread": np.arange(len(threads)),
                "tid": [each.row.tid for each in threads],
                "pid": [each.row.pid for each in threads],
                "name": [each.row.name for each in threads],
                "events": [each.events for each in threads],
                "instants": [len(each.instant_time) for each in threads],
                "depth": [len(each.lanes) for each in threads],
            },
            self.provenance,
        )

    def channels(self) -> pd.DataFrame:
        """A row per channel: name, enabled."""
        rows = self.source.reader.channels()
        return frame({"name": [a for a, _ in rows], "enabled": [b for _, b in rows]}, self.provenance)

    def events(self, thread: int | None = None) -> pd.DataFrame:
        """A row per event with a duration, of one thread or of all, by begin: thread, depth, begin_us (since
        `begin_ns`), duration_us, channel, label."""
        import pandas as pd

        parts = [self._lanes(number, each) for number, each in self._threads(thread)]
        table = pd.concat(
            [pd.DataFrame(part) for each in parts for part in each] or [pd.DataFrame(columns=list(_EVENT_COLUMNS))]
        )
        return labelled(table.sort_values(["begin_us", "depth"], ignore_index=True), self.provenance)

    def instants(self, thread: int | None = None) -> pd.DataFrame:
        """A row per event without a duration, of one thread or of all, by time: thread, time_us, channel, label."""
        import pandas as pd

        labels, channels = self._texts()
        parts = [
            pd.DataFrame(
                {
                    "thread": number,
                    "time_us": (each.instant_time - self.source.begin) / _US,
                    "channel": channels[each.instant_name],
                    "label": labels[each.instant_name],
                }
            )
            for number, each in self._threads(thread)
        ]
        empty = pd.DataFrame({name: [] for name in ("thread", "time_us", "channel", "label")})
        table = pd.concat(parts) if parts else empty
        return labelled(table.sort_values("time_us", ignore_index=True, kind="stable"), self.provenance)

    def statistics(self, begin_us: float | None = None, end_us: float | None = None) -> pd.DataFrame:
        """A row per channel and label: label, channel, count, total_us, self_us (without nested events), mean_us,
        min_us, p50_us, p95_us, p99_us, max_us. Of the events that overlap [begin_us, end_us), counted from `begin_ns`,
        by default of all; total_us and self_us count the parts inside, the others entire durations."""
        begin, end = (None if at is None else self.begin_ns + round(at * _US) for at in (begin_us, end_us))
        if begin is not None and end is not None and end <= begin:
            raise NoSuchError(f"{self.path.name}: the window from {begin_us} to {end_us} microseconds is empty.")
        return labelled(label_statistics(self.source, begin, end), self.provenance)

    def kernels(self) -> pd.DataFrame:
        """Kernels of accelerators, of a trace of PyTorch's profiler: a row per rank, device, stream and name, with
        label, kind (compute, communication, memory), count, total_us, mean_us, min_us, max_us, share (of all kernels'
        time of the rank) and occupancy_percent (missing where the trace has none)."""
        return labelled(kernel_frame(self.source), self.provenance)

    def communication(self) -> pd.DataFrame:
        """Kernels of collective communication (names that begin with nccl or rccl): a row per rank, device and name,
        and one for all, in which time counts once: label, count, total_us, overlapped_us (while a compute kernel of
        the device runs), exposed_us, overlap (share)."""
        return labelled(communication_frame(self.source), self.provenance)

    def idle(self) -> pd.DataFrame:
        """A row per rank, device and stream: window_us (first begin to last end), busy_us, idle_us, and idle time by
        reason: host_us (the next kernel was not launched yet), communication_us (of the rest, while a communication
        kernel of another stream runs), other_us; idle_share."""
        return labelled(idle_frame(self.source), self.provenance)

    def series(self) -> pd.DataFrame:
        """A row per sample of a line graph: graph, series, unit, time_us, value."""
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "graph": row.graph,
                    "series": row.name,
                    "unit": row.unit,
                    "time_us": (times - self.source.begin) / _US,
                    "value": values,
                }
            )
            for row, times, values in self.source.series
        ]
        empty = pd.DataFrame({name: [] for name in ("graph", "series", "unit", "time_us", "value")})
        return labelled(pd.concat(parts, ignore_index=True) if parts else empty, self.provenance)

    def heatmaps(self) -> pd.DataFrame:
        """A row per heat map: heatmap (its number), name, unit, bins, columns (recorded histograms)."""
        heatmaps = self.source.heatmaps
        return frame(
            {
                "heatmap": np.arange(len(heatmaps)),
                "name": [row.name for row, *_ in heatmaps],
                "unit": [row.unit for row, *_ in heatmaps],
                "bins": [len(row.edges) - 1 for row, *_ in heatmaps],
                "columns": [len(times) for _, times, _ in heatmaps],
            },
            self.provenance,
        )

    def heatmap(self, number: int) -> tuple[Float64Array, Float64Array, UInt32Array]:
        """(time_us of each column, bin edges, quantities[column, underflow + bins + overflow])."""
        heatmaps = self.source.heatmaps
        if not 0 <= number < len(heatmaps):
            raise NoSuchError(f"{self.path.name}: heat map {number} does not exist: this trace has {len(heatmaps)}.")
        row, times, quantities = heatmaps[number]
        return (times - self.source.begin) / _US, np.asarray(row.edges, np.float64), quantities

    def _threads(self, thread: int | None) -> list[tuple[int, TraceThread]]:
        count = len(self.source.threads)
        if thread is not None and not 0 <= thread < count:
            raise NoSuchError(f"{self.path.name}: thread {thread} does not exist: this trace has {count} threads.")
        return [(number, self.source.threads[number]) for number in (range(count) if thread is None else [thread])]

    def _texts(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
        """(label, channel) of each name id."""
        names = self.source.names
        labels = np.asarray(names.label, dtype=object)
        return labels, np.asarray(names.channel_name, dtype=object)[names.channel] if len(names) else labels

    def _lanes(self, number: int, thread: TraceThread) -> list[dict[str, object]]:
        labels, channels = self._texts()
        return [
            {
                "thread": number,
                "depth": depth,
                "begin_us": (lane.start - self.source.begin) / _US,
                "duration_us": lane.duration / _US,
                "channel": channels[lane.name],
                "label": labels[lane.name],
            }
            for depth, lane in enumerate(thread.lanes)
            if len(lane)
        ]

    @property
    def provenance(self) -> str:
        """Who wrote the trace, and which clock it counts."""
        clock = f"no clock, {self.source.unit}" if self.source.unit else "host clock"
        return f"Host trace: {self.source.meta.get('producer', 'unknown producer')}; {clock}"
