"""The times of a recording, from the zero of its file onto the clock that counts from 1970.

A base of the file (`Recording.epoch_ns`) is added to all times; one of which producers write some times with it and
some without (`Recording.base_ns`) only to those below it. Then what no column can hold, or what would stretch the
trace over decades, is left out and counted: times beyond 2116 or before 1897, and zeros among dates, which stand for
"no time". Both passes work on columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from popvision.formats.foreign_traces.recording import Recording

#: ns since 1970, exclusive. The sum of two times and their difference fit 64 bits.
LATEST_NS = 1 << 62
EARLIEST_NS = -(1 << 61)

#: 2000-01-01: a trace with later times counts from 1970.
DATES_NS = 946_684_800_000_000_000

BEYOND = "events beyond the year 2116"
BEFORE = "events before the year 1897"
ABSOLUTE = "times that count from 1970 beside a base of the file, which is not added to them"
ZERO = "events at time 0 among dates"

#: Columns that lose rows together: their owner, those of times, of which the first decides, and the others.
_Table = tuple[Any, tuple[str, ...], tuple[str, ...]]


def set_clock(recording: Recording) -> None:
    """Move all times onto the clock that counts from 1970, as far as the file says how, and leave out the impossible
    ones. To be called once, before begins and ends are paired."""
    latest = absolute = 0
    for owner, times, _ in _tables(recording):
        first = np.asarray(getattr(owner, times[0]))
        if recording.base_ns:  # before the shift, which moves what `first` is a view of
            absolute += int(np.count_nonzero(first >= recording.base_ns))
        shift = recording.epoch_ns + np.where(first < recording.base_ns, recording.base_ns, 0)
        for name in times:
            column = np.asarray(getattr(owner, name))
            column += shift
        latest = max(latest, int(first[first < LATEST_NS].max(initial=0)))
    if absolute:
        recording.repaired[ABSOLUTE] += absolute
    for owner, times, others in _tables(recording):
        _leave_out(recording, owner, times, others, has_dates=latest >= DATES_NS)


def _tables(recording: Recording) -> Iterator[_Table]:
    yield recording.marks, ("time",), ("group", "track", "site", "is_end")
    yield recording.flows, ("time",), ("track", "key", "name", "starts", "binds_next")
    for track in recording.tracks.values():
        yield track, ("begin", "end"), ("site",)
        yield track, ("instant_time",), ("instant_site",)
    for counters in recording.counters.values():
        yield counters, ("times",), ("values",)


def _leave_out(
    recording: Recording, owner: Any, times: tuple[str, ...], others: tuple[str, ...], *, has_dates: bool
) -> None:
    first, last = (np.asarray(getattr(owner, name)) for name in (times[0], times[-1]))
    is_beyond, is_before = last >= LATEST_NS, first < EARLIEST_NS
    is_zero = (first == 0) & has_dates
    keep = ~(is_beyond | is_before | is_zero)
    if keep.all():
        return
    for reason, rows in ((BEYOND, is_beyond), (BEFORE, is_before & ~is_beyond), (ZERO, is_zero & ~is_beyond)):
        if rows.any():
            recording.left_out[reason] += int(np.count_nonzero(rows))
    for name in (*times, *others):
        column = getattr(owner, name)
        setattr(owner, name, array(column.typecode, np.asarray(column)[keep].tobytes()))
