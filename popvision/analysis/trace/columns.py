"""`HostTrace`: a host trace as columns, one lane of never-overlapping events per thread and depth.

`TraceSource` is the trace of one file, `JointTrace` that of several files on one clock. What counts, draws or searches
works on columns and does not tell them apart; what concerns a file asks `files`.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popvision.analysis.trace.mipmap import FEW, Mipmap, build_mipmap
from popvision.arrays import BoolArray, Float64Array, Int64Array, UInt32Array, UnsignedArray
from popvision.formats.integrity import LostPart, Verified, verified
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow, ThreadRow
from popvision.kept import Kept

#: Events of a lane from which on a second thread helps to prepare lanes. Four million events, timed on two processors:
#: two threads took 1.4 times as long as one with lanes of 16,384 events, 1.2 with 65,536, 0.8 with 131,072, 0.6 with
#: 262,144.
_LONG = 1 << 18


class Lane:
    """Events of one thread at one depth in time order. Times are ns since the epoch.

    `name[i]` numbers a (channel, label) of the source's names; `parent[i]` is a position in the lane above.
    """

    def __init__(
        self,
        start: Int64Array,
        duration: UnsignedArray,
        site: UnsignedArray,
        name: UnsignedArray,
        parent: UnsignedArray,
        mipmap: Mipmap | None = None,
    ) -> None:
        self.start, self.duration, self.site, self.name, self.parent = start, duration, site, name, parent
        self.positions: Int64Array | None = None
        """Of a lane that `only` has thinned out: positions of its events in the complete lane."""
        self._lock = threading.Lock()
        self._mipmap = mipmap

    def only(self, keep: BoolArray) -> Lane:
        """A lane of some of the events, for drawing."""
        rows = np.flatnonzero(keep)
        lane = Lane(self.start[rows], self.duration[rows], self.site[rows], self.name[rows], self.parent[rows])
        lane.positions = rows
        return lane

    def part(self, first: int, last: int) -> Lane:
        """Events [first, last) as a lane; positions of enclosing events stay."""
        rows = slice(first, last)
        return Lane(self.start[rows], self.duration[rows], self.site[rows], self.name[rows], self.parent[rows])

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64Array:
        """Exclusive end of each event."""
        return np.asarray(self.start + self.duration.astype(np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        columns = (self.start, self.duration, self.site, self.name, self.parent, self.positions)
        return sum(column.nbytes for column in columns if column is not None)

    @property
    def mipmap(self) -> Mipmap:
        """Events merged by time at several widths, for drawing; built once, by the first request."""
        with self._lock:
            if self._mipmap is None:
                self._mipmap = build_mipmap(self.start, self.duration, self.name)
            return self._mipmap

    def between(self, begin: int, end: int) -> tuple[int, int]:
        """Positions of the events that overlap [begin, end); an event of no length belongs where it begins."""
        first = int(np.searchsorted(self.start, np.int64(begin), "left"))
        if first and int(self.start[first - 1]) + int(self.duration[first - 1]) > begin:
            first -= 1
        return first, max(first, int(np.searchsorted(self.start, np.int64(end), "left")))


@dataclass(frozen=True)
class TraceThread:
    """A thread with its lanes and instants (times ns since the epoch; `instant_name` numbers a name)."""

    row: ThreadRow
    lanes: list[Lane]
    instant_time: Int64Array
    instant_name: UnsignedArray
    instant_site: UnsignedArray
    unfinished: frozenset[tuple[int, int]]

    @property
    def events(self) -> int:
        """Events with a duration."""
        return sum(len(lane) for lane in self.lanes)


@dataclass(frozen=True)
class TraceFile:
    """One file of a trace: which threads, lines of graphs and heat maps of the trace are its own.

    `shift` is what the trace adds to the times of the file, in ns; `processes` are (pid, parent pid, name)."""

    label: str
    path: Path
    meta: Mapping[str, str]
    state: str
    processes: tuple[tuple[int, int | None, str], ...]
    threads: range
    series: range
    heatmaps: range
    shift: int = 0


class HostTrace(ABC):
    """Columns of a host trace; times are ns since the epoch."""

    label: str
    lost: list[LostPart]  #: a sentence for each part that was left out
    is_damaged: bool = False  #: some of it because it is damaged, not because this version has no form for it
    names: Names
    threads: list[TraceThread]
    begin: int
    end: int
    kept: Kept
    is_growing: bool = False  #: one of many readings of a file that its program still writes
    moved: int = 0  #: spans of earlier readings of a file that grows whose end came late and lies elsewhere
    _preparing: Sequence[Future[Mipmap]] = ()  #: what `prepare` began: the mipmaps of all lanes that have one

    @property
    @abstractmethod
    def has_checksums(self) -> bool:
        """Whether all of the files is under checksums."""

    @property
    def verified(self) -> Verified:
        """Whether what is shown was compared with checksums."""
        return verified(self.lost, self.has_checksums)

    @property
    def loss_state(self) -> str:
        """What is to be said of a trace that has `lost` something: the verb of the sentence."""
        return "is damaged" if self.is_damaged else "is read in part"

    @property
    def shown_part(self) -> str:
        """The sentence that says what is shown of a trace that has `lost` something."""
        is_foreign = any("imported_from" in file.meta for file in self.files)
        return "What could be read is shown." if is_foreign else "Only data with correct checksums is shown."

    @property
    def samples(self) -> int:
        """Samples of call stacks that spans come from; 0 where spans are events of the program. Of sampled spans times
        are estimates, and their number is no number of calls."""
        counts = [file.meta.get("samples", "") for file in self.files]
        return sum(int(count) for count in counts if count.isdecimal() and len(count) < 18)

    @property
    def unit(self) -> str:
        """What a microsecond stands for one of, where the file counts no time: "weight" or "bytes"; else ""."""
        return "; ".join(sorted({file.meta["unit"] for file in self.files if file.meta.get("unit")}))

    @property
    def figure_unit(self) -> str:
        """The unit of a thousandth of the clock's steps, in which figures are given."""
        return self.unit or "µs"

    @property
    def clock(self) -> str:
        """What the clock counts."""
        return f"{self.unit}, no time" if self.unit else "host time"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that must stand beside the figures of this trace."""
        samples = f"{self.samples:,} sample{'s' * (self.samples != 1)}"
        sampled = f"Sampled: times are estimates from {samples}, and calls are not counted."
        weighed = f"The file counts no time: figures are {self.unit}, and a microsecond of the clock stands for one."
        return tuple([sampled] * bool(self.samples) + [weighed] * bool(self.unit))

    @property
    @abstractmethod
    def files(self) -> tuple[TraceFile, ...]:
        """The files, at least one; their threads, lines and heat maps follow one another."""

    @property
    @abstractmethod
    def series(self) -> list[tuple[SeriesRow, Int64Array, Float64Array]]:
        """Each line of a line graph with its times (ns since the epoch) and values."""

    @property
    @abstractmethod
    def heatmaps(self) -> list[tuple[HeatmapRow, Int64Array, UInt32Array]]:
        """Each heat map with the times of its columns and their quantities (column, bin)."""

    @abstractmethod
    def metadata(self, thread: int, site: int) -> str | None:
        """Metadata of the events of a site of a thread, as JSON text."""

    @abstractmethod
    def metadata_texts(self, thread: int) -> Mapping[int, str]:
        """Site -> JSON text, of all sites with metadata of the file of a thread."""

    def flow_points(self) -> Int64Array:
        """Points of flows (flows.py), a row each: flow, number of the thread, time in ns since the epoch."""
        return np.zeros((0, 3), np.int64)

    def flow_names(self, flows: list[int]) -> dict[int, str]:
        """Names of some flows."""
        return {}

    def prepare(self) -> None:
        """Begin to make what drawing needs, in the background."""
        self._preparing = self.kept.once("preparing", self._begin_preparing)

    def finish_preparing(self) -> None:
        """Wait for what `prepare` began: a thread that makes some of it itself would only slow it down."""
        for mipmap in self._preparing:
            mipmap.result()

    def _begin_preparing(self) -> list[Future[Mipmap]]:
        lanes = sorted((lane for thread in self.threads for lane in thread.lanes), key=len, reverse=True)
        # NumPy leaves the interpreter lock while it works, but on a short lane it has to ask for it again too soon.
        long_lanes = sum(len(lane) >= _LONG for lane in lanes)
        pool = ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1, long_lanes)), thread_name_prefix="trace")
        mipmaps = [pool.submit(Lane.mipmap.__get__, lane) for lane in lanes if len(lane) >= FEW]
        pool.shutdown(wait=False)
        return mipmaps

    def lanes_without(self, thread: int, channels: frozenset[int]) -> list[Lane]:
        """A thread's lanes without the events of some channels (numbers of `names.channel_name`)."""
        lanes = self.threads[thread].lanes
        if not channels:
            return lanes

        def thin_out() -> list[Lane]:
            shown = ~np.isin(self.names.channel, list(channels))
            return [lane.only(shown[lane.name]) for lane in lanes]

        return self.kept.recent(("lanes without", thread, channels), thin_out)

    def lanes_with(self, thread: int, key: Hashable, mask: Callable[[int], BoolArray]) -> list[Lane]:
        """A thread's lanes with only the events of `mask(depth)`; recent ones are kept under `key`."""

        def thin_out() -> list[Lane]:
            return [lane.only(mask(depth)) for depth, lane in enumerate(self.threads[thread].lanes)]

        return self.kept.recent(("lanes with", thread, key), thin_out)

    @property
    def events(self) -> int:
        """Events with a duration, all threads."""
        return sum(thread.events for thread in self.threads)

    def events_of_names(self) -> Int64Array:
        """Number of events of each name, instants too."""
        return self.kept.once("events of names", self._count_names)

    def _count_names(self) -> Int64Array:
        counts = np.zeros(len(self.names), np.int64)
        for thread in self.threads:
            for names in [lane.name for lane in thread.lanes] + [thread.instant_name]:
                counts += np.bincount(names, minlength=len(self.names))
        return counts

    def positions_of(self, label: str) -> list[tuple[int, int, Int64Array]]:
        """(thread, depth, positions) of the events with a label, lane by lane, where there are some."""
        return self.kept.once(("positions of", label), lambda: self._find_positions(label))

    def _find_positions(self, label: str) -> list[tuple[int, int, Int64Array]]:
        names = [number for number, each in enumerate(self.names.label) if each == label]
        found = [
            (number, depth, np.flatnonzero(np.isin(lane.name, names)))
            for number, thread in enumerate(self.threads if names else ())
            for depth, lane in enumerate(thread.lanes)
        ]
        return [each for each in found if len(each[2])]
