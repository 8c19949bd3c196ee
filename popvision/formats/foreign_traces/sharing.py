"""Tracks that share rows: asynchronous operations of one name have a track each in the file, thousands of them, of
which few are under way at once.

The spans of a track that follow one another without a gap between them and what they lie in are a stretch; each stretch
goes to the first row that is free when it begins, so that what was nested stays nested, and rows are as many as
operations at once. O(n log n) in stretches."""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from popvision.formats.foreign_traces.recording import Recording, Track

Ints = NDArray[np.int64]


@dataclass
class _Stretches:
    """Of one track: begin and end of each stretch, in order, and the stretch of each span and instant."""

    begin: Ints
    end: Ints
    of_span: Ints
    of_instant: Ints
    row: Ints  #: which shared row each went to


def share_rows(recording: Recording) -> None:
    """Move the events of tracks that share rows (`Track.shares`) onto as many of these tracks as are needed at once.
    To be called once begins and ends are paired."""
    sharing: defaultdict[object, list[Track]] = defaultdict(list)
    for track in recording.tracks.values():
        if track.shares is not None and (len(track.begin) or len(track.instant_time)):
            sharing[track.shares].append(track)
    moved: dict[int, tuple[_Stretches, list[Track]]] = {}
    for tracks in sharing.values():
        if len(tracks) > 1:
            stretches = [_stretches(track) for track in tracks]
            _choose_rows(stretches)
            moved |= {track.number: (each, tracks) for track, each in zip(tracks, stretches, strict=True)}
            _move(tracks, stretches)
    points = recording.flows
    if not moved:
        return
    for at, (number, time) in enumerate(zip(points.track, points.time, strict=True)):
        if number in moved:
            stretch, tracks = moved[number]
            place = max(0, int(np.searchsorted(stretch.begin, time, "right")) - 1)
            points.track[at] = tracks[int(stretch.row[place])].number


def _stretches(track: Track) -> _Stretches:
    begin, end, instant = (np.asarray(column) for column in (track.begin, track.end, track.instant_time))
    # An instant is a stretch of no length, unless it lies in another.
    begins, ends = np.concatenate([begin, instant]), np.concatenate([end, instant])
    order = np.lexsort((-ends, begins))
    reach = np.maximum.accumulate(ends[order])
    starts = np.ones(len(order), bool)
    starts[1:] = begins[order][1:] >= reach[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(order)) - 1
    return _Stretches(
        begins[order][first], reach[last], number[: len(begin)], number[len(begin) :], np.zeros(len(first), np.int64)
    )


def _choose_rows(tracks: list[_Stretches]) -> None:
    """The lowest row that is free, for each stretch in the order of their begins."""
    owner = np.repeat(np.arange(len(tracks)), [len(track.begin) for track in tracks])
    place = np.concatenate([np.arange(len(track.begin)) for track in tracks])
    begin, end = (np.concatenate([getattr(track, name) for track in tracks]) for name in ("begin", "end"))
    order = np.lexsort((owner, begin))
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    rows = 0
    columns = (column[order].tolist() for column in (owner, place, begin, end))
    for number, at, first, last in zip(*columns, strict=True):
        while busy and busy[0][0] <= first:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, rows = rows, rows + 1
        tracks[number].row[at] = row
        heapq.heappush(busy, (max(last, first + 1), row))


def _move(tracks: list[Track], stretches: list[_Stretches]) -> None:
    """Give the first tracks, one for each row, the events of all."""
    row = np.concatenate([each.row[each.of_span] for each in stretches])
    instant_row = np.concatenate([each.row[each.of_instant] for each in stretches])
    is_unfinished = np.concatenate(
        [np.isin(np.arange(len(track.begin)), np.asarray(track.unfinished)) for track in tracks]
    )
    columns = {name: _joined(tracks, name) for name in ("begin", "end", "site")}
    instants = {name: _joined(tracks, name) for name in ("instant_time", "instant_site")}
    for number, track in enumerate(tracks):
        track.name = tracks[0].name
        here, there = row == number, instant_row == number
        for name, values in columns.items():
            setattr(track, name, array("q", values[here].tobytes()))
        for name, values in instants.items():
            setattr(track, name, array("q", values[there].tobytes()))
        track.unfinished = array("q", np.flatnonzero(is_unfinished[here]).astype(np.int64).tobytes())


def _joined(tracks: list[Track], name: str) -> Ints:
    return np.concatenate([np.asarray(getattr(track, name)) for track in tracks])
