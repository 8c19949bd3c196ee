"""Single events of a host trace: their facts, and finding them by name. Times in ns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.event_filter import EventFilter, EventMatcher, event_matcher, parse_filter
from popvision.analysis.trace.statistics import self_durations
from popvision.arrays import AnyArray, Int64Array


@dataclass(frozen=True)
class EventFacts:
    """One event. `depth` -1 marks an instant; times in ns; `metadata` is JSON text."""

    label: str
    channel: str
    thread: int
    depth: int
    position: int
    start: int
    duration: int
    self_time: int
    unfinished: bool
    metadata: str | None


def event_facts(source: HostTrace, thread: int, depth: int, position: int) -> EventFacts:
    """The event at a position of a lane, or with depth -1 of a thread's instants; IndexError when there is none."""
    if thread < 0 or depth < -1 or position < 0:
        raise IndexError(f"no event {thread}.{depth}.{position}")
    owner = source.threads[thread]
    if depth < 0:
        name, site = int(owner.instant_name[position]), int(owner.instant_site[position])
        start, duration, own = int(owner.instant_time[position]), 0, 0
    else:
        lane = owner.lanes[depth]
        name, site = int(lane.name[position]), int(lane.site[position])
        start, duration = int(lane.start[position]), int(lane.duration[position])
        own = int(self_durations(owner, depth, position, position + 1)[0])
    names = source.names
    return EventFacts(
        names.label[name],
        names.channel_name[names.channel[name]],
        thread,
        depth,
        position,
        start,
        duration,
        own,
        (depth, position) in owner.unfinished,
        source.metadata(thread, site),
    )


def name_of_event(source: HostTrace, thread: int, depth: int, position: int) -> int:
    """Number of an event's label and channel among `names`; IndexError when there is no such event."""
    owner = source.threads[thread]
    return int((owner.instant_name if depth < 0 else owner.lanes[depth].name)[position])


def first_of_name(source: HostTrace, name: int, time: int) -> tuple[int, int, int] | None:
    """(thread, depth, position) of the first event with a name that begins at or after `time`, else of the first of
    all; instants only where no event takes time. None when there is none."""
    best: tuple[bool, int, int, int, int] | None = None
    for thread, depth, positions in source.positions_of(source.names.label[name]):
        lane = source.threads[thread].lanes[depth]
        best = _earlier(best, thread, depth, positions[lane.name[positions] == name], lane.start, time)
    if best is None:
        for number, owner in enumerate(source.threads):
            best = _earlier(best, number, -1, np.flatnonzero(owner.instant_name == name), owner.instant_time, time)
    return None if best is None else best[2:]


def _earlier(
    best: tuple[bool, int, int, int, int] | None,
    thread: int,
    depth: int,
    rows: Int64Array,
    starts: Int64Array,
    time: int,
) -> tuple[bool, int, int, int, int] | None:
    """The better of `best` and the first of some rows: (whether before `time`, start, thread, depth, position)."""
    if not len(rows):
        return best
    at = int(np.searchsorted(starts[rows], np.int64(time), "left"))
    row = int(rows[at if at < len(rows) else 0])
    key = (at == len(rows), int(starts[row]), thread, depth, row)
    return key if best is None else min(best, key)


def metadata_rows(text: str | None) -> list[tuple[str, str]]:
    """Metadata as (key, value) rows; a JSON value that is no object is one row."""
    if text is None:
        return []
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return [("metadata", text)]
    if not isinstance(value, dict):
        return [("metadata", text)]
    return [(str(key), each if isinstance(each, str) else json.dumps(each)) for key, each in value.items()]


@dataclass(frozen=True)
class Hit:
    """An event, its rank among all matches in time order (1 is the first) and their number."""

    thread: int
    depth: int
    position: int
    start: int
    duration: int
    rank: int
    matches: int


@dataclass(frozen=True)
class Matches:
    """The first matches of a window in time order, in columns, and the number of all of them. `depth` -1 marks an
    instant; times in ns."""

    thread: Int64Array
    depth: Int64Array
    position: Int64Array
    name: Int64Array
    start: Int64Array
    duration: Int64Array
    total: int


def list_matches(source: HostTrace, text: str, begin: int, end: int, most: int) -> Matches:
    """The events that the filter `text` (event_filter.py) lets through and that overlap [begin, end) ns, at most
    `most`. One scan of the names of the window. Raises ValueError for a filter that cannot be read."""
    matcher = event_matcher(source, parse_filter(text))
    first_ones = np.zeros((6, 0), np.int64)
    parts: list[Int64Array] = []
    total = waiting = 0
    latest: int | None = None  # once there are `most`, nothing that begins later can be among them

    def merge() -> None:
        nonlocal first_ones, waiting, latest
        joined = np.concatenate([first_ones, *parts], axis=1)
        first_ones = joined[:, np.lexsort((joined[2], joined[1], joined[0], joined[4]))[:most]]
        parts.clear()
        waiting = 0
        latest = int(first_ones[4, -1]) if first_ones.shape[1] == most > 0 else None

    def add(thread: int, depth: int, rows: Int64Array, columns: tuple[AnyArray, AnyArray, AnyArray]) -> None:
        nonlocal total, waiting
        total += len(rows)
        rows = rows[:most]
        if latest is not None:
            rows = rows[: np.searchsorted(columns[1][rows], latest, "right")]
        where = np.full(len(rows), thread), np.full(len(rows), depth), rows
        parts.append(np.stack([*where, *(column[rows] for column in columns)]).astype(np.int64))
        waiting += len(rows)
        if waiting > 8 * most:
            merge()

    for index, thread in enumerate(source.threads if matcher.is_possible else ()):
        first, last = np.searchsorted(thread.instant_time, [begin, end])
        rows = matcher.rows(index, -1, int(first), int(last))
        add(index, -1, rows, (thread.instant_name, thread.instant_time, np.zeros_like(thread.instant_time)))
        for depth, lane in enumerate(thread.lanes):
            rows = matcher.rows(index, depth, *lane.between(begin, end))
            add(index, depth, rows, (lane.name, lane.start, lane.duration))
    merge()
    of, depths, positions, names, starts, durations = first_ones
    return Matches(of, depths, positions, names, starts, durations, total)


def find_event(
    source: HostTrace, text: str, after: tuple[int, int, int, int], backwards: bool = False, exact: bool = False
) -> Hit | None:
    """The next event that the filter `text` (event_filter.py) lets through or, `exact`, whose label is `text`; in time
    order from (start ns, thread, depth, position) on, that one excluded; from the last match it goes on with the first.
    None when nothing matches. Raises ValueError for a filter that cannot be read."""
    matcher = event_matcher(source, EventFilter(text, exact=True) if exact else parse_filter(text))
    if not matcher.is_possible:
        return None
    matches = before = 0
    best: dict[str, tuple[int, int, int, int]] = {}
    for thread, depth, start, rows in _matching(source, matcher):
        if not len(rows):
            continue
        times = start[rows]
        count = _count_up_to(times, rows, (thread, depth), after, inclusive=backwards is False)
        matches += len(rows)
        before += count
        # With `inclusive` the next match has index `count`; without, the one before has `count` - 1.
        keys = {"first": 0, "last": len(rows) - 1, "next": count, "previous": count - 1}
        for role, at in keys.items():
            if 0 <= at < len(rows):
                key = (int(times[at]), thread, depth, int(rows[at]))
                best[role] = _better(role, best.get(role), key)
    if not matches:
        return None
    if backwards:
        event, rank = (best["previous"], before) if "previous" in best else (best["last"], matches)
    else:
        event, rank = (best["next"], before + 1) if "next" in best else (best["first"], 1)
    start_ns, thread, depth, position = event
    duration = 0 if depth < 0 else int(source.threads[thread].lanes[depth].duration[position])
    return Hit(thread, depth, position, start_ns, duration, rank, matches)


def _matching(source: HostTrace, matcher: EventMatcher) -> Iterator[tuple[int, int, Int64Array, Int64Array]]:
    """(thread, depth, starts, matching positions) of each lane and of each thread's instants."""
    for index, thread in enumerate(source.threads):
        yield index, -1, thread.instant_time, matcher.rows(index, -1, 0, len(thread.instant_time))
        for depth, lane in enumerate(thread.lanes):
            yield index, depth, lane.start, matcher.rows(index, depth, 0, len(lane))


def _count_up_to(
    times: Int64Array, rows: Int64Array, place: tuple[int, int], after: tuple[int, int, int, int], inclusive: bool
) -> int:
    """How many matches of one lane come before `after` in (time, thread, depth, position); itself if `inclusive`."""
    low, high = np.searchsorted(times, after[0], "left"), np.searchsorted(times, after[0], "right")
    if place < after[1:3]:
        return int(high)
    if place > after[1:3]:
        return int(low)
    return int(low + np.searchsorted(rows[low:high], after[3], "right" if inclusive else "left"))


def _better(
    role: str, old: tuple[int, int, int, int] | None, new: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    if old is None:
        return new
    return min(old, new) if role in ("first", "next") else max(old, new)
