"""Several traces on one clock: by absolute time, by their first events or by a chosen event. Times in ns.

The clock is that of the first trace; a trace's times move by one whole number of nanoseconds, so that durations and
the order within a trace stay as recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from popvision.analysis.trace.columns import HostTrace

Mode = Literal["absolute", "first", "event"]
MODES: tuple[Mode, ...] = get_args(Mode)

#: The earliest begin of a clock that counts from 1970: September 2001. Clocks since the start of a machine are below.
_FIRST_EPOCH_NS = 10**18


@dataclass(frozen=True)
class Marker:
    """The event that all traces share: of those with this label (and channel, if not "") the one with this number by
    begin, over all threads, instant events included."""

    label: str
    channel: str = ""
    occurrence: int = 0


@dataclass(frozen=True)
class Alignment:
    """Where traces lie on the common clock: time of trace i + `shifts[i]`, from `begin` to `end`.

    `fallback` holds the numbers of traces that the mode could not place; they begin where the common clock's first
    trace begins. A trace without events has the shift 0. `notes` are sentences for the user. `pause` is the time
    without any event between traces that lie as far apart by absolute time as other runs do, in ns, 0 elsewhere.
    """

    mode: str
    shifts: tuple[int, ...]
    begin: int
    end: int
    notes: tuple[str, ...]
    fallback: frozenset[int]
    pause: int = 0

    @classmethod
    def of_nothing(cls, mode: str) -> Alignment:
        """No trace has an event: an extent of nothing."""
        return cls(mode, (), 0, 0, (), frozenset())


def align_traces(sources: Sequence[HostTrace], mode: str = "absolute", marker: Marker | None = None) -> Alignment:
    """Place traces on the clock of the first one. Raises ValueError without a trace, for an unknown mode, and for the
    mode "event" without a marker."""
    if not sources:
        raise ValueError("there is no trace to align.")
    if mode not in MODES:
        raise ValueError(f"traces cannot be aligned by {mode!r}; use one of {', '.join(MODES)}.")
    if mode == "event" and marker is None:
        raise ValueError("traces are aligned by an event only when one is named.")
    placed = [number for number, source in enumerate(sources) if not is_empty(source)]
    aligned = _align([sources[number] for number in placed], mode, marker) if placed else Alignment.of_nothing(mode)
    shifts = dict(zip(placed, aligned.shifts, strict=True))
    silent = [f"{source.label} has no events." for number, source in enumerate(sources) if number not in shifts]
    return Alignment(
        mode,
        tuple(shifts.get(number, 0) for number in range(len(sources))),
        aligned.begin,
        aligned.end,
        (*aligned.notes, *silent),
        frozenset(placed[number] for number in aligned.fallback),
        aligned.pause,
    )


def is_empty(source: HostTrace) -> bool:
    """Whether a trace holds no event and no sample; its extent is (0, 0) then, which says nothing of its clock."""
    return source.begin == source.end == 0


def _align(sources: Sequence[HostTrace], mode: str, marker: Marker | None) -> Alignment:
    """`align_traces` of traces that all have events."""
    if mode == "event" and marker is not None:
        anchors, notes = _marked(sources, marker)
    elif mode == "absolute":
        anchors, notes = _absolute(sources)
    else:
        anchors, notes = [source.begin for source in sources], []
    shifts, fallback = _shifts(sources, anchors)
    begin = min(source.begin + shift for source, shift in zip(sources, shifts, strict=True))
    end = max(source.end + shift for source, shift in zip(sources, shifts, strict=True))
    pause = _pause(sources, shifts) if mode == "absolute" else 0
    if pause:
        notes.append(f"{pause_text(pause)}; align different runs by first event.")
    return Alignment(mode, tuple(shifts), begin, end, tuple(notes), fallback, pause)


def pause_text(pause: int) -> str:
    """What `Alignment.pause` says, without its end."""
    return f"These traces are {pause / 1e9:,.1f} s apart"


def marker_time(source: HostTrace, marker: Marker) -> int | None:
    """Begin of the marked event on the trace's own clock; None when the trace has fewer such events."""
    names = source.names
    wanted = np.array([label == marker.label for label in names.label], np.bool_)
    if marker.channel:
        wanted &= np.array([names.channel_name[channel] == marker.channel for channel in names.channel], np.bool_)
    if marker.occurrence < 0 or not wanted.any():
        return None
    begins = [thread.instant_time[wanted[thread.instant_name]] for thread in source.threads]
    for number, depth, positions in source.positions_of(marker.label):
        lane = source.threads[number].lanes[depth]
        begins.append(lane.start[positions[wanted[lane.name[positions]]]])
    times = np.concatenate(begins) if begins else np.zeros(0, np.int64)
    if marker.occurrence >= len(times):
        return None
    return int(np.partition(times, marker.occurrence)[marker.occurrence])


def _marked(sources: Sequence[HostTrace], marker: Marker) -> tuple[list[int | None], list[str]]:
    anchors = [marker_time(source, marker) for source in sources]
    number = f" number {marker.occurrence + 1}" if marker.occurrence else ""
    where = f" on the channel {marker.channel!r}" if marker.channel else ""
    notes = [
        f"{source.label} has no event {marker.label!r}{number}{where}; it is aligned by its first event."
        for source, anchor in zip(sources, anchors, strict=True)
        if anchor is None
    ]
    return anchors, notes


def _absolute(sources: Sequence[HostTrace]) -> tuple[list[int | None], list[str]]:
    """The anchor 0, the epoch itself, of each trace whose clock counts from it; of all when none does."""
    is_epoch = [source.begin >= _FIRST_EPOCH_NS for source in sources]
    if len(sources) == 1 or all(is_epoch):
        return [0] * len(sources), []
    if not any(is_epoch):
        return [0] * len(sources), ["The clocks of these traces do not count from 1970; compare traces of one machine."]
    notes = [
        f"The clock of {source.label} does not count from 1970; it is aligned by its first event."
        for source, known in zip(sources, is_epoch, strict=True)
        if not known
    ]
    return [0 if known else None for known in is_epoch], notes


def _shifts(sources: Sequence[HostTrace], anchors: Sequence[int | None]) -> tuple[list[int], frozenset[int]]:
    """What brings all anchors onto the first one; a trace without an anchor begins with the first that has one."""
    reference = next((number for number, anchor in enumerate(anchors) if anchor is not None), None)
    if reference is None:
        return [sources[0].begin - source.begin for source in sources], frozenset(range(len(sources)))
    target, start = anchors[reference], sources[reference].begin
    assert target is not None
    shifts = [
        start - source.begin if anchor is None else target - anchor
        for source, anchor in zip(sources, anchors, strict=True)
    ]
    return shifts, frozenset(number for number, anchor in enumerate(anchors) if anchor is None)


def _pause(sources: Sequence[HostTrace], shifts: Sequence[int]) -> int:
    """The first pause longer than the longest trace, which separates traces of other runs; 0 without one."""
    extents = sorted((source.begin + shift, source.end + shift) for source, shift in zip(sources, shifts, strict=True))
    longest = max(end - begin for begin, end in extents)
    reached = extents[0][1]
    for begin, end in extents[1:]:
        if begin - reached > longest:
            return begin - reached
        reached = max(reached, end)
    return 0
