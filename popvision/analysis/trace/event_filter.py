"""Filters of events, as text: a part of the label, a regular expression, channel, duration, metadata; all must hold.

    load                  the label contains this text (capitals do not matter, blanks do)
    /^poplin::(conv|mat)/ the label matches this regular expression (RE2's; capitals do not matter)
    channel:poplin        the channel contains this text
    dur>10us  dur<1.5ms   the duration; ns, us, ms and s. Instants have none and never match
    meta:batch            the metadata (JSON) contains this text

Labels, channels and metadata are compared once per distinct text, not per event: a filter costs a look at the columns.
Regular expressions come from an address, so RE2 matches them: its time grows with the label, never faster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import re2

from popvision.analysis.trace.columns import HostTrace
from popvision.arrays import BoolArray, Int64Array

_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_TERM = re.compile(
    r"(?:^|(?<=\s))(?:/(?P<pattern>[^/]+)/|channel:(?P<channel>\S+)|meta:(?P<meta>\S+)"
    r"|dur(?P<side>[<>])(?P<number>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s))(?=\s|$)"
)
#: A duration without its number or unit, up to its next words, which would otherwise be taken for a label.
_NO_LIMIT = re.compile(r"(?:^|(?<=\s))dur\s*[<>]=?\s*\S*(?:\s+(?:ns|us|µs|ms|s)(?=\s|$))?")
#: The word of a condition without its text, as of "channel: io", which would otherwise be taken for a label too.
_NO_TEXT = re.compile(r"(?:^|(?<=\s))(?:channel|meta):(?=\s|$)")


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
    """The conditions of a text. Raises ValueError with one sentence for a regular expression that RE2 does not take, a
    duration without a number and a unit, or a channel or metadata without a text."""
    terms: dict[str, str] = {}
    limits: dict[str, float] = {}
    for term in _TERM.finditer(text):
        terms |= {name: term[name] for name in ("pattern", "channel", "meta") if term[name]}
        if term["side"]:
            limits[term["side"]] = float(term["number"]) * _NS[term["unit"]]
    if "pattern" in terms:
        _compile(terms["pattern"])
    label = " ".join(_TERM.sub("", text).split(" ")).strip() if _TERM.search(text) else text
    if (wrong := _NO_LIMIT.search(label)) is not None:
        raise ValueError(
            f"{wrong[0].strip()[:40]} is no condition: dur needs < or >, a number and a unit (ns, us, ms or s) without "
            "blanks, as in dur>10us"
        )
    if (wrong := _NO_TEXT.search(label)) is not None:
        raise ValueError(f"{wrong[0]} is no condition: it needs a text, without a blank after the colon")
    return EventFilter(
        label,
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
    pattern = _compile(wanted.pattern) if wanted.pattern else None
    on_channel = np.array([channel in name.casefold() for name in source.names.channel_name], np.bool_)
    labels = np.array(
        [
            (label == wanted.label if wanted.exact else folded in label.casefold())
            and (pattern is None or pattern.search(_without_surrogates(label)) is not None)
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


def _compile(pattern: str) -> re2._Regexp:
    """Raises ValueError for what RE2 does not take, among it references and look-arounds."""
    options = re2.Options()
    options.case_sensitive, options.log_errors = False, False
    try:
        return re2.compile(_without_surrogates(pattern), options)
    except re2.error as problem:
        reason = problem.args[0].decode("utf-8", "replace")
        raise ValueError(f"/{pattern[:40]}/ is not a regular expression that this page takes: {reason}") from None


def _without_surrogates(text: str) -> str:
    """RE2 reads UTF-8, which has no halves of a pair; "?" stands for one."""
    return text.encode("utf-8", "replace").decode("utf-8")
