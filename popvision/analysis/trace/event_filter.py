"""Filters of events, as text: a part of the label, a regular expression, channel, duration, metadata; all must hold.

    load                  the label contains this text (capitals do not matter, blanks do)
    /^poplin::(conv|mat)/ the label matches this regular expression (Python's; capitals do not matter)
    channel:poplin        the channel contains this text
    dur>10us  dur<1.5ms   the duration; ns, us, ms and s. Instants have none and never match
    meta:batch            the metadata (JSON) contains this text

Labels, channels and metadata are compared once per distinct text, not per event: a filter costs a look at the columns.
Regular expressions come from an address, so those that could take exponential time are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace
from popvision.arrays import BoolArray, Int64Array

_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_TERM = re.compile(
    r"(?:^|(?<=\s))(?:/(?P<pattern>[^/]+)/|channel:(?P<channel>\S+)|meta:(?P<meta>\S+)"
    r"|dur(?P<side>[<>])(?P<number>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s))(?=\s|$)"
)
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\d*\}")

#: Letters of a regular expression, repetitions in it, and letters of a label that it is compared with.
_LONGEST_PATTERN, _MOST_REPETITIONS, _LONGEST_LABEL = 200, 3, 300


@dataclass(frozen=True)
class EventFilter:
    """Conditions on an event; "" and None leave one out. `longer` and `shorter` are exclusive limits in ns."""

    label: str = ""
    pattern: str = ""
    channel: str = ""
    metadata: str = ""
    longer: float | None = None
    shorter: float | None = None
    exact: bool = False

    def __bool__(self) -> bool:
        limits = self.longer is not None or self.shorter is not None
        return limits or bool(self.label or self.pattern or self.channel or self.metadata)


def parse_filter(text: str) -> EventFilter:
    """The conditions of a text. Raises ValueError with one sentence for a regular expression that is not one or that
    could take exponential time."""
    terms: dict[str, str] = {}
    limits: dict[str, float] = {}
    for term in _TERM.finditer(text):
        terms |= {name: term[name] for name in ("pattern", "channel", "meta") if term[name]}
        if term["side"]:
            limits[term["side"]] = float(term["number"]) * _NS[term["unit"]]
    if "pattern" in terms:
        _check_pattern(terms["pattern"])
    return EventFilter(
        " ".join(_TERM.sub("", text).split(" ")).strip() if _TERM.search(text) else text,
        terms.get("pattern", ""),
        terms.get("channel", ""),
        terms.get("meta", ""),
        limits.get(">"),
        limits.get("<"),
    )


class EventMatcher:
    """A filter on the events of a trace."""

    def __init__(self, source: HostTrace, wanted: EventFilter) -> None:
        self.source, self.wanted = source, wanted
        self.names = _matching_names(source, wanted)
        self._sites: dict[int, BoolArray] = {}

    @property
    def is_possible(self) -> bool:
        """Whether any event can match."""
        return bool(self.wanted) and bool(self.names.any())

    def rows(self, thread: int, depth: int, first: int, last: int) -> Int64Array:
        """Positions among [first, last) of a lane, or with depth -1 of the instants of a thread, that match."""
        owner, wanted = self.source.threads[thread], self.wanted
        name, site = (
            (owner.instant_name, owner.instant_site)
            if depth < 0
            else (owner.lanes[depth].name, owner.lanes[depth].site)
        )
        keep = self.names[name[first:last]]
        if wanted.longer is not None or wanted.shorter is not None:
            if depth < 0:
                return np.zeros(0, np.int64)
            duration = owner.lanes[depth].duration[first:last]
            keep = keep if wanted.longer is None else keep & (duration > wanted.longer)
            keep = keep if wanted.shorter is None else keep & (duration < wanted.shorter)
        if wanted.metadata:
            keep = keep & self._sites_of(thread)[site[first:last]]
        return np.asarray(first + np.flatnonzero(keep))

    def mask(self, thread: int, depth: int) -> BoolArray:
        """Which events of a lane match, or with depth -1 which instants."""
        owner = self.source.threads[thread]
        events = len(owner.instant_time) if depth < 0 else len(owner.lanes[depth])
        mask = np.zeros(events, np.bool_)
        mask[self.rows(thread, depth, 0, events)] = True
        return mask

    def _sites_of(self, thread: int) -> BoolArray:
        """Whether the metadata of each site of the file of a thread contains the text."""
        texts = self.source.metadata_texts(thread)
        if id(texts) not in self._sites:
            self._sites[id(texts)] = _matching_sites(texts, self.wanted.metadata, _sites(self.source))
        return self._sites[id(texts)]


def event_matcher(source: HostTrace, wanted: EventFilter) -> EventMatcher:
    """The filter on this trace; recent ones are kept with it."""
    return source.kept.recent(("events that match", wanted), lambda: EventMatcher(source, wanted))


def _matching_names(source: HostTrace, wanted: EventFilter) -> BoolArray:
    folded, channel = wanted.label.casefold(), wanted.channel.casefold()
    pattern = re.compile(wanted.pattern, re.IGNORECASE) if wanted.pattern else None
    on_channel = np.array([channel in name.casefold() for name in source.names.channel_name], np.bool_)
    labels = np.array(
        [
            (label == wanted.label if wanted.exact else folded in label.casefold())
            and (pattern is None or pattern.search(label[:_LONGEST_LABEL]) is not None)
            for label in source.names.label
        ],
        np.bool_,
    )
    return labels & on_channel[source.names.channel] if len(labels) else labels


def _matching_sites(texts: Mapping[int, str], text: str, sites: int) -> BoolArray:
    folded = text.casefold()
    mask = np.zeros(sites, np.bool_)
    mask[[site for site, metadata in texts.items() if folded in metadata.casefold() and site < sites]] = True
    return mask


def _sites(source: HostTrace) -> int:
    """One more than the largest number of a site."""
    columns = [lane.site for thread in source.threads for lane in thread.lanes]
    columns += [thread.instant_site for thread in source.threads]
    return 1 + max((int(column.max()) for column in columns if len(column)), default=0)


def _check_pattern(pattern: str) -> None:
    """A repetition around a group that itself repeats or chooses, a reference back, or many repetitions let Python's
    matcher try exponentially many ways."""
    plain = re.sub(r"\\[^\d]", "_", pattern)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "_", plain)
    risky = len(pattern) > _LONGEST_PATTERN or re.search(r"\\\d|\(\?P?[=<!]|\(\?\(", plain)
    repeated_group = re.search(r"\)[*+{]", plain)
    if risky or repeated_group or len(_UNBOUNDED.findall(plain)) > _MOST_REPETITIONS:
        raise ValueError(
            f"the regular expression /{pattern[:40]}/ could take too long: use at most "
            f"{_MOST_REPETITIONS} repetitions, none of them after a group, and no references or look-arounds"
        )
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as problem:
        raise ValueError(f"/{pattern[:40]}/ is not a regular expression: {problem}") from None
