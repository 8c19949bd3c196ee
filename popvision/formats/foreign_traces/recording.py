"""`Recording`: what a foreign trace holds, as columns, until `write_recording` turns it into a .pvti.

Times are ns since the trace's own zero; events of a track are in no order. Bounded by MOST_EVENTS events of 40 bytes
and MOST_METADATA texts, since the files come from anywhere."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

MOST_EVENTS = 200_000_000

#: Different metadata texts; those of further events are left out.
MOST_METADATA = 1_000_000

#: Characters of a label; the rest is left out.
MOST_CHARACTERS = 4096


@dataclass
class Track:
    """Spans and instants of a thread, or of one asynchronous track of a process."""

    process: int
    tid: int
    name: str = ""
    order: float = 0.0  #: tracks of a process are shown in this order
    begin: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    site: array[int] = field(default_factory=lambda: array("q"))
    instant_time: array[int] = field(default_factory=lambda: array("q"))
    instant_site: array[int] = field(default_factory=lambda: array("q"))
    open_spans: list[int] = field(default_factory=list)  #: positions of spans without an end so far, innermost last

    def add_span(self, begin: int, end: int, site: int) -> None:
        """A span with both ends known."""
        self.begin.append(begin)
        self.end.append(end)
        self.site.append(site)

    def add_begin(self, time: int, site: int) -> None:
        """A span that `add_end` ends."""
        self.open_spans.append(len(self.begin))
        self.add_span(time, time, site)

    def add_end(self, time: int) -> bool:
        """End the innermost open span. False when none is open."""
        if not self.open_spans:
            return False
        position = self.open_spans.pop()
        self.end[position] = max(time, self.begin[position])
        return True

    def add_instant(self, time: int, site: int) -> None:
        """An event without duration."""
        self.instant_time.append(time)
        self.instant_site.append(site)


@dataclass
class FlowPoints:
    """Moments at which flows pass events. A flow is known by its key while the file is read; a first point with a key
    that is in use begins another flow."""

    track: list[Track] = field(default_factory=list)
    time: array[int] = field(default_factory=lambda: array("q"))
    flow: array[int] = field(default_factory=lambda: array("q"))
    binds_next: array[int] = field(default_factory=lambda: array("b"))  #: 1 = to the next span, not the one around it
    names: list[str] = field(default_factory=list)
    _current: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(
        self, key: tuple[object, ...], name: str, track: Track, time: int, *, first: bool, binds_next: bool
    ) -> None:
        """A point of the flow with that key."""
        if first or key not in self._current:
            self._current[key] = len(self.names) + 1
            self.names.append(name[:MOST_CHARACTERS])
        self.track.append(track)
        self.time.append(time)
        self.flow.append(self._current[key])
        self.binds_next.append(binds_next)


@dataclass
class Counters:
    """Samples of one line of a line graph."""

    graph: str
    name: str
    times: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


class Recording:
    """Tracks, names and counters of one foreign trace."""

    def __init__(self, producer: str) -> None:
        self.producer = producer
        self.epoch_ns = 0  #: ns since the Unix epoch at the trace's zero; 0 when the file does not say
        self.processes: dict[int, str] = {}
        self.tracks: dict[tuple[object, ...], Track] = {}
        self.flows = FlowPoints()
        self.counters: dict[tuple[object, ...], Counters] = {}
        self.sites: dict[tuple[str, str, str | None], int] = {}
        self.metadata_texts = 0
        self.events = 0
        self.problem = ""  #: why the rest of the file could not be read
        self.left_out: Counter[str] = Counter()  #: what the file holds and a .pvti cannot, with its number

    def site(self, channel: str, label: str, metadata: str | None = None) -> int:
        """The number of a (channel, label, metadata); 0 is the first."""
        if metadata is not None and self.metadata_texts >= MOST_METADATA:
            self.left_out["metadata of events"] += 1
            metadata = None
        key = (channel[:MOST_CHARACTERS], label[:MOST_CHARACTERS], metadata)
        number = self.sites.get(key)
        if number is None:
            number = self.sites[key] = len(self.sites)
            self.metadata_texts += metadata is not None
        return number

    def track(self, key: tuple[object, ...], process: int, tid: int) -> Track:
        """The track of that key; its first use makes it."""
        track = self.tracks.get(key)
        if track is None:
            track = self.tracks[key] = Track(process, tid)
        return track

    def sample(self, key: tuple[object, ...], graph: str, name: str, time: int, value: float) -> None:
        """A sample of a counter."""
        counters = self.counters.get(key)
        if counters is None:
            counters = self.counters[key] = Counters(graph[:MOST_CHARACTERS], name[:MOST_CHARACTERS])
        counters.times.append(time)
        counters.values.append(value)
