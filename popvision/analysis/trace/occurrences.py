"""Durations of the events of one label, or of a search, over time: a grid of cells, each with its events counted.

Time is cut into equal columns, duration into rows of equal ratio. A cell keeps its number of events and one of them to
lead to; the longest events of all are listed, and stand for their cells, so that no outlier hides behind others.
Cost: two passes over the lanes of the window, one lane at a time, and a partial sort of the durations. Times in ns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane
from popvision.analysis.trace.event_filter import event_matcher, parse_filter
from popvision.arrays import AnyArray, Float64Array, Int64Array

#: Shares in per cent: the smallest duration that so many of the events do not exceed.
PERCENTILES = (50, 95, 99)

#: Longest events that are listed.
MOST_LONGEST = 50


@dataclass(frozen=True)
class Occurrence:
    """An event, and how many its cell holds."""

    thread: int
    depth: int
    position: int
    start: int
    duration: int
    count: int = 1


@dataclass(frozen=True)
class Occurrences:
    """`cells`: an event of each occupied cell; `longest`: the longest events, longest first; `total`: all of them;
    `percentiles`: duration by share."""

    cells: list[Occurrence]
    longest: list[Occurrence]
    total: int
    percentiles: dict[int, int]


_Part = tuple[int, int, Lane, Int64Array]  # thread, depth, lane, positions


def label_of_event(source: HostTrace, thread: int, depth: int, position: int) -> int:
    """The name (label and channel) of an event that takes time. Raises IndexError where there is none."""
    if min(thread, depth, position) < 0:
        raise IndexError(f"no event {thread}.{depth}.{position} that takes time")
    return int(source.threads[thread].lanes[depth].name[position])


def is_match(source: HostTrace, text: str, thread: int, depth: int, position: int) -> bool:
    """Whether a filter lets an event through. Raises ValueError for a filter that cannot be read."""
    matcher = event_matcher(source, parse_filter(text))
    return matcher.is_possible and bool(len(matcher.rows(thread, depth, position, position + 1)))


def occurrences(
    source: HostTrace, wanted: int | str, begin: int, end: int, columns: int = 120, rows: int = 40
) -> Occurrences | None:
    """The events of a name, or those that a filter (event_filter.py) lets through, which begin in [begin, end); None
    without any. Instants take no time and are left out. Raises ValueError for a filter that cannot be read."""
    parts = [part for part in _parts(source, wanted, begin, end) if len(part[3])]
    if not parts:
        return None
    durations = np.concatenate([lane.duration[at] for _, _, lane, at in parts])
    span = min(int(lane.start[at[0]]) for *_, lane, at in parts), max(int(lane.start[at[-1]]) for *_, lane, at in parts)
    ratio = float(np.log(max(1, int(durations.min())))), float(np.log(max(1, int(durations.max()))))
    count = np.zeros(columns * rows, np.int64)
    holder = np.zeros((2, columns * rows), np.int64)  # part and position of the event that stands for the cell
    cells: list[Int64Array] = []
    for number, (_, _, lane, at) in enumerate(parts):
        across = _places((lane.start[at] - span[0]).astype(np.float64), 0.0, float(span[1] - span[0]), columns)
        cell = across * rows + _places(np.log(np.maximum(lane.duration[at], 1)), *ratio, rows)
        count += np.bincount(cell, minlength=columns * rows)
        holder[0, cell], holder[1, cell] = number, at
        cells.append(cell)
    longest = _longest(parts)
    for number, row in reversed(longest):
        holder[:, cells[number][row]] = number, parts[number][3][row]
    used = np.flatnonzero(count)
    return Occurrences(
        cells=[
            _event(parts[number], position, held)
            for number, position, held in zip(*holder[:, used].tolist(), count[used].tolist(), strict=True)
        ],
        longest=[_event(parts[number], int(parts[number][3][row])) for number, row in longest],
        total=len(durations),
        percentiles=_percentiles(durations),
    )


def _parts(source: HostTrace, wanted: int | str, begin: int, end: int) -> Iterator[_Part]:
    """The events of each lane that begin in the window."""
    matcher = event_matcher(source, parse_filter(wanted)) if isinstance(wanted, str) else None
    for number, thread in enumerate(source.threads if matcher is None or matcher.is_possible else ()):
        for depth, lane in enumerate(thread.lanes):
            first, last = np.searchsorted(lane.start, [begin, end]).tolist()
            if matcher is None:
                yield number, depth, lane, first + np.flatnonzero(lane.name[first:last] == wanted)
            else:
                yield number, depth, lane, matcher.rows(number, depth, first, last)


def _longest(parts: list[_Part]) -> list[tuple[int, int]]:
    """Part and row in it of the longest events, longest first; of equal ones the first."""
    found: list[tuple[int, int, int]] = []
    for number, (_, _, lane, at) in enumerate(parts):
        duration = lane.duration[at].astype(np.int64)
        most = min(MOST_LONGEST, len(at))
        least = np.partition(duration, len(at) - most)[len(at) - most]
        rows = np.flatnonzero(duration >= least)
        rows = rows[np.argsort(-duration[rows], kind="stable")][:most]
        found += [(-int(duration[row]), number, row) for row in rows.tolist()]
    return [(number, row) for _, number, row in sorted(found)[:MOST_LONGEST]]


def _percentiles(durations: AnyArray) -> dict[int, int]:
    ranks = {share: -(-len(durations) * share // 100) - 1 for share in PERCENTILES}
    ordered = np.partition(durations, sorted(set(ranks.values())))
    return {share: int(ordered[rank]) for share, rank in ranks.items()}


def _event(part: _Part, position: int, count: int = 1) -> Occurrence:
    thread, depth, lane, _ = part
    return Occurrence(thread, depth, position, int(lane.start[position]), int(lane.duration[position]), count)


def _places(values: Float64Array, low: float, high: float, cells: int) -> Int64Array:
    """The cell of each value between the least and the most."""
    if high <= low:
        return np.zeros(len(values), np.int64)
    return np.minimum(((values - low) * (cells / (high - low))).astype(np.int64), cells - 1)
