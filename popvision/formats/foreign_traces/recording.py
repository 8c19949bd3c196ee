"""`Recording`: what a foreign trace holds, as columns, until `write_recording` turns it into a .pvti.

Times are ns since the trace's own zero until `set_clock` (clock.py); events of a track are in no order. Begins and
ends wait as marks until `finish_spans` pairs them. Bounded by MOST_EVENTS events of some 40 bytes and MOST_METADATA
texts, since the files come from anywhere."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from popvision.formats.foreign_traces.pairing import OPEN, Marks, pair

Ints = NDArray[np.int64]

MOST_EVENTS = 200_000_000

#: Different metadata texts; those of further events are left out.
MOST_METADATA = 1_000_000

#: Characters of a label. The end of a longer one is its hash, so that labels that begin alike stay apart.
MOST_CHARACTERS = 4096

#: What a recording counts in `left_out` and `repaired`.
ENDS_ALONE = "ends without a begin"
NO_JSON = "pieces that are no JSON"
OTHER_ENCODING = "characters of another encoding"
NO_PHASE = "objects without a phase"
NO_TIME = "events without a time"
NO_DURATION = "spans without a duration"
NEGATIVE = "spans that end before they begin"
TOO_DEEP = "spans nested too deep"
METADATA = "metadata of events"
ENDS_FIRST = "ends that stand before their begins, paired by time"
UNFINISHED = "spans without an end, cut where what is around them ends"
LONG_LABELS = f"labels of more than {MOST_CHARACTERS:,} characters, cut and ended by a hash"


def short(text: str) -> str:
    """A text of at most MOST_CHARACTERS, different for different texts."""
    if len(text) <= MOST_CHARACTERS:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[: MOST_CHARACTERS - len(digest) - 4]}... {digest}"


@dataclass
class Track:
    """Spans and instants of a thread, or of one asynchronous track of a process."""

    process: int
    tid: int
    number: int  #: in `Recording.tracks`, from 0
    name: str = ""
    shares: object = None  #: of a track that may share its row with others: what these have in common
    order: float = 0.0  #: tracks of a process are shown in this order
    begin: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    site: array[int] = field(default_factory=lambda: array("q"))
    instant_time: array[int] = field(default_factory=lambda: array("q"))
    instant_site: array[int] = field(default_factory=lambda: array("q"))
    unfinished: array[int] = field(default_factory=lambda: array("q"))  #: positions of spans that nothing ends

    def add_span(self, begin: int, end: int, site: int) -> None:
        """A span with both ends known."""
        self.begin.append(begin)
        self.end.append(end)
        self.site.append(site)

    def add_spans(self, begin: Ints, end: Ints, site: Ints, unfinished: Ints) -> None:
        """Spans in the order of the file, `unfinished` of them by position. An end of OPEN is the last event of the
        track."""
        times = [begin, end[end < OPEN], *(np.asarray(each) for each in (self.begin, self.end, self.instant_time))]
        last = max(int(column.max(initial=np.iinfo(np.int64).min)) for column in times)
        del times  # an array with a view cannot grow
        self.unfinished.extend((unfinished + len(self.begin)).tolist())
        for column, values in ((self.begin, begin), (self.end, np.where(end < OPEN, end, last)), (self.site, site)):
            column.frombytes(values.tobytes())

    def clear(self) -> None:
        """Drop all events."""
        self.begin, self.end, self.site = array("q"), array("q"), array("q")
        self.instant_time, self.instant_site, self.unfinished = array("q"), array("q"), array("q")

    def add_instant(self, time: int, site: int) -> None:
        """An event without duration."""
        self.instant_time.append(time)
        self.instant_site.append(site)


@dataclass
class FlowPoints:
    """Moments at which flows pass events, in any order. The points of a key are one flow, or several: a point that
    starts one begins another."""

    track: array[int] = field(default_factory=lambda: array("q"))  #: its number
    time: array[int] = field(default_factory=lambda: array("q"))
    key: array[int] = field(default_factory=lambda: array("q"))  #: 64 bits of a hash: keys are as many as flows
    name: array[int] = field(default_factory=lambda: array("q"))  #: its number
    starts: array[int] = field(default_factory=lambda: array("b"))
    binds_next: array[int] = field(default_factory=lambda: array("b"))  #: 1 = to the next span, not the one around it
    names: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        key: tuple[str | None, ...],
        name: str,
        track: Track,
        time: int,
        *,
        starts: bool = False,
        binds_next: bool = False,
    ) -> None:
        """A point of a flow with that key."""
        number = self.names.get(name)
        if number is None:
            number = self.names[name] = len(self.names)
        self.track.append(track.number)
        self.time.append(time)
        self.key.append(hash(key))
        self.name.append(number)
        self.starts.append(starts)
        self.binds_next.append(binds_next)

    def flows(self) -> tuple[Ints, list[str]]:
        """The flow of each point, from 0, and the name of each flow, that of the first point of its key. Flows stand in
        the order in which their keys come."""
        _, first, number = np.unique(np.asarray(self.key), return_index=True, return_inverse=True)
        key, starts = first[number], np.asarray(self.starts).astype(bool)
        order = np.lexsort((~starts, np.asarray(self.time), key))
        is_new = starts[order] | (np.diff(key[order], prepend=-1) != 0)
        flow = np.zeros(len(key), np.int64)
        flow[order] = np.cumsum(is_new) - 1
        names = [short(name) for name in self.names]
        return flow, [names[number] for number in np.asarray(self.name)[key[order][is_new]].tolist()]


def metadata_text(facts: Mapping[str, object]) -> str:
    """Facts of an event as `json.dumps` writes them. Python's own text of them is the same but for quotes, where it has
    none of these signs and words, and comes four times as fast."""
    text = repr(facts)
    has_words = "None" in text or "True" in text or "False" in text or "nan" in text or "inf" in text
    if has_words or '"' in text or "\\" in text or not text.isascii():
        return json.dumps(facts, default=str)
    return text.replace("'", '"')


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
        self.epoch_ns = 0  #: ns since the Unix epoch at the zero of all times; 0 when the file does not say
        self.base_ns = 0  #: the same for the times below it, while others count from the epoch
        self.processes: dict[int, str] = {}
        self.tracks: dict[tuple[object, ...], Track] = {}
        self.marks = Marks()
        self._groups: dict[tuple[object, ...], int] = {}  #: of asynchronous marks; those of a track have its number
        self.flows = FlowPoints()
        self.counters: dict[tuple[object, ...], Counters] = {}
        self.sites: dict[tuple[str, str, str | None], int] = {}
        self.keys: list[tuple[str, str, str | None]] = []  #: channel, label and metadata of each site
        self.metadata_texts = 0
        self.events = 0
        self.samples = 0  #: stacks that hold for a time, where spans are no calls but what such stacks share
        self.rank: tuple[int, int] | None = None  #: of the process among those of one run, and how many there are
        self.unit = ""  #: of what a microsecond stands for one, in a file that counts no time
        self.problem = ""  #: why the rest of the file could not be read
        self.is_open = False  #: the file lacks its end: its program still writes it, or was killed
        self.left_out: Counter[str] = Counter()  #: what is wrong in the file, with its number
        self.repaired: Counter[str] = Counter()  #: what is wrong in the file and costs nothing, with its number
        self.not_read: Counter[str] = Counter()  #: what this version has no form for, with its number

    def site(self, channel: str, label: str, metadata: str | None = None) -> int:
        """The number of a (channel, label, metadata); 0 is the first."""
        key = (channel, label, metadata)
        number = self.sites.get(key)
        if number is not None:
            return number
        if metadata is not None and self.metadata_texts >= MOST_METADATA:
            self.left_out[METADATA] += 1
            return self.site(channel, label)
        if len(channel) > MOST_CHARACTERS or len(label) > MOST_CHARACTERS:
            key = (short(channel), short(label), metadata)
            if key in self.sites:
                return self.sites[key]
            self.repaired[LONG_LABELS] += len(label) > MOST_CHARACTERS
        number = self.sites[key] = len(self.keys)
        self.keys.append(key)
        self.metadata_texts += metadata is not None
        return number

    def track(self, key: tuple[object, ...], process: int, tid: int) -> Track:
        """The track of that key; its first use makes it."""
        track = self.tracks.get(key)
        if track is None:
            track = self.tracks[key] = Track(process, tid, len(self.tracks))
        return track

    def group(self, key: tuple[object, ...]) -> int:
        """The number of the asynchronous begins and ends of that key, which may stand on several tracks."""
        return self._groups.setdefault(key, -1 - len(self._groups))

    def add_facts(self, facts: Mapping[int, Mapping[str, object]]) -> None:
        """Add facts to the metadata of all events on some tracks, given by their numbers."""
        if not facts:
            return
        new_sites: dict[tuple[int, int], int] = {}

        def site_with_facts(track: int, site: int) -> int:
            if (track, site) not in new_sites:
                channel, label, metadata = self.keys[site]
                text = metadata_text({**facts[track], **json.loads(metadata or "{}")})
                new_sites[track, site] = self.site(channel, label, text)
            return new_sites[track, site]

        for track in self.tracks.values():
            if track.number in facts:
                for sites in (track.site, track.instant_site):
                    for row, site in enumerate(sites):
                        sites[row] = site_with_facts(track.number, site)
        marks = self.marks
        for row, number in enumerate(marks.track):
            if number in facts and not marks.is_end[row]:
                marks.site[row] = site_with_facts(number, marks.site[row])

    def finish_spans(self) -> None:
        """Pair begins and ends, after all times are on one clock. Ends that close nothing are counted as left out;
        metadata of an end joins that of its begin, and wins where both have a key."""
        if not len(self.marks.time):
            return
        pairs = pair(self.marks, *self._name_numbers())
        self.marks = Marks()
        if pairs.ends_left_out:
            self.left_out[ENDS_ALONE] += pairs.ends_left_out
        if pairs.ends_first:
            self.repaired[ENDS_FIRST] += pairs.ends_first
        site = self._joined_sites(pairs.site, pairs.end_site)
        order = np.argsort(pairs.track, kind="stable")
        bounds = np.searchsorted(pairs.track[order], np.arange(len(self.tracks) + 1))
        for track in self.tracks.values():
            rows = order[bounds[track.number] : bounds[track.number + 1]]
            if len(rows):
                unfinished = np.flatnonzero(pairs.end_site[rows] < 0)
                if len(unfinished):
                    self.repaired[UNFINISHED] += len(unfinished)
                track.add_spans(pairs.begin[rows], pairs.end[rows], site[rows], unfinished)

    def _name_numbers(self) -> tuple[Ints, Ints]:
        """Of each site the numbers of its label and its channel; 0 is the empty text."""
        texts: dict[str, int] = {"": 0}
        numbers = [
            (texts.setdefault(label, len(texts)), texts.setdefault(channel, len(texts)))
            for channel, label, _ in self.keys
        ]
        table = np.array(numbers, np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _joined_sites(self, begin: Ints, end: Ints) -> Ints:
        """The sites of spans: those of their begins, with the metadata of their ends."""
        has_more = np.array(
            [metadata is not None for *_, metadata in self.keys] + [False]
        )  # the last one is -1, no end
        rows = np.flatnonzero(has_more[end])
        joined = begin.copy()
        both, place = np.unique(np.stack([begin[rows], end[rows]]), axis=1, return_inverse=True)
        numbers = []
        for first, last in both.T.tolist():
            channel, label, metadata = self.keys[first]
            facts = json.loads(metadata or "{}") | json.loads(self.keys[last][2] or "{}")
            is_full = self.metadata_texts >= MOST_METADATA
            numbers.append(first if is_full else self.site(channel, label, metadata_text(facts)))
        if numbers:
            joined[rows] = np.array(numbers, np.int64)[place.reshape(-1)]
        return joined

    def sample(self, key: tuple[object, ...], graph: str, name: str, time: int, value: float) -> None:
        """A sample of a counter."""
        counters = self.counters.get(key)
        if counters is None:
            counters = self.counters[key] = Counters(short(graph), short(name))
        counters.times.append(time)
        counters.values.append(value)
