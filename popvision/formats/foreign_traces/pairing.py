"""Begins and ends of spans, which come in any order of the file -> which end closes which begin.

The rule, for each group of marks (a thread, or the asynchronous events of one id): marks count in the order of their
times, those of one time in the order of the file. An end closes the nearest open begin of its name and category; an
end without a name closes the nearest one of any name, and a category counts where both have one. What lies above stays
open until its own end; where none comes it is unfinished, cut where the first begin below it was closed. An end that
finds nothing open closes the next begin of its name at the same time, and else closes nothing.

Groups in which each end meets its begin on top, as programs that nest their spans write them, are paired by two sorts
without a Python step per mark; others mark by mark, each in constant time however deep the stack is."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: In `Pairs.end`: the span is open where the trace ends.
OPEN = int(np.iinfo(np.int64).max)

#: In place of a name or a category: any.
_ANY = -1


@dataclass
class Marks:
    """Begins and ends in the order of the file, 33 bytes each."""

    time: array[int] = field(default_factory=lambda: array("q"))
    group: array[int] = field(default_factory=lambda: array("q"))
    track: array[int] = field(default_factory=lambda: array("q"))  #: of a begin: where its span stands
    site: array[int] = field(default_factory=lambda: array("q"))
    is_end: array[int] = field(default_factory=lambda: array("b"))

    def add_begin(self, group: int, time: int, site: int, track: int) -> None:
        """A span begins on a track."""
        self._add(group, time, site, track, False)

    def add_end(self, group: int, time: int, site: int) -> None:
        """A span of the group ends; the site has its name and category, as far as the file gives them."""
        self._add(group, time, site, 0, True)

    def _add(self, group: int, time: int, site: int, track: int, is_end: bool) -> None:
        self.time.append(time)
        self.group.append(group)
        self.track.append(track)
        self.site.append(site)
        self.is_end.append(is_end)


@dataclass(frozen=True)
class Pairs:
    """The spans of begins, in the order of the file. `end` is OPEN where nothing says it; `end_site` is -1 where no
    end closed the begin, which makes the span unfinished."""

    track: Ints
    begin: Ints
    end: Ints
    site: Ints
    end_site: Ints
    ends_left_out: int
    ends_first: int  #: spans whose end stands before their begin in the file


def pair(marks: Marks, name: Ints, category: Ints) -> Pairs:
    """Pair all marks. `name` and `category` number those of each site, 0 where it has none."""
    time, group, track, site = map(np.asarray, (marks.time, marks.group, marks.track, marks.site))
    is_end = np.asarray(marks.is_end).astype(bool)
    name, category = name[site], category[site]
    order = np.lexsort((time, group))
    closing = np.full(len(time), -1, np.int64)  # of each begin: the end that closes it
    cut = np.full(len(time), OPEN, np.int64)
    for rows in _pair_nested(order, group, is_end, name, category, closing):
        columns = (time[rows].tolist(), is_end[rows].tolist(), name[rows].tolist(), category[rows].tolist())
        for begin, end, moment in _Stack(rows.tolist()).take(*columns):
            closing[begin], cut[begin] = end, moment
    begins = np.flatnonzero(~is_end)
    closed_by = closing[begins]
    is_closed = closed_by >= 0
    return Pairs(
        track[begins],
        time[begins],
        np.where(is_closed, time[closed_by], cut[begins]),
        site[begins],
        np.where(is_closed, site[closed_by], -1),
        int(np.count_nonzero(is_end) - np.count_nonzero(is_closed)),
        int(np.count_nonzero(is_closed & (closed_by < begins))),
    )


def _pair_nested(order: Ints, group: Ints, is_end: Bools, name: Ints, category: Ints, closing: Ints) -> list[Ints]:
    """Fill in what closes the begins of groups that nest; the marks of each other group, in the order of their
    times."""
    if not len(order):
        return []
    groups, ends = group[order], is_end[order]
    first = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    sizes = np.diff(first, append=len(order))
    number = np.repeat(np.arange(len(first)), sizes)
    level = np.cumsum(np.where(ends, -1, 1))
    level -= (level[first] - np.where(ends[first], -1, 1))[number]
    depth = np.where(ends, level, level - 1)  # of the span that begins or ends
    does_nest = np.ones(len(first), bool)
    does_nest[number[depth < 0]] = False
    by_depth = np.lexsort((depth, number))
    at = np.flatnonzero(ends[by_depth] & does_nest[number[by_depth]])
    end, begin = order[by_depth[at]], order[by_depth[at - 1]]
    matches = (name[end] == 0) | (name[end] == name[begin])
    matches &= (category[end] == 0) | (category[begin] == 0) | (category[end] == category[begin])
    does_nest[number[by_depth[at[~matches]]]] = False
    fits = does_nest[number[by_depth[at]]]
    closing[begin[fits]] = end[fits]
    return [order[first[at] : first[at] + sizes[at]] for at in np.flatnonzero(~does_nest).tolist()]


class _Stack:
    """The open begins of one group. Each stands in a list per name and category and in lists of its name, of its
    category and of all; those that were closed leave a list when its end is looked at."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        self.closed = bytearray(len(rows))
        self.found: list[tuple[int, int, int]] = []
        self.open: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self.uncut: list[int] = []  #: open begins under which none was closed yet
        self.cut: dict[int, int] = {}
        self.waiting: defaultdict[tuple[int, int], deque[int]] = defaultdict(deque)  #: ends of this time

    def take(
        self, times: list[int], is_end: list[bool], names: list[int], categories: list[int]
    ) -> Iterator[tuple[int, int, int]]:
        """(begin, the end that closes it or -1, where it is cut) of begins that one closes or that are cut."""
        now = None
        for at, (time, ends, name, category) in enumerate(zip(times, is_end, names, categories, strict=True)):
            if time != now:
                now = time
                self.waiting.clear()
            if not ends:
                end = self._waiting_end(name, category)
                if end is None:
                    self._begin(at, name, category)
                else:
                    yield self.rows[at], self.rows[end], time
                continue
            begin = self._nearest(name, category)
            if begin is None:
                self._wait(at, name, category)
                continue
            self.closed[begin] = True
            yield self.rows[begin], self.rows[at], time
            self._cut_above(begin, time)
        for begin, time in self.cut.items():
            if not self.closed[begin]:
                yield self.rows[begin], -1, time

    def _begin(self, at: int, name: int, category: int) -> None:
        for key in ((name, category), (name, _ANY), (_ANY, category), (_ANY, _ANY)):
            self.open[key].append(at)
        self.uncut.append(at)

    def _nearest(self, name: int, category: int) -> int | None:
        """The latest open begin that an end of this name and category may close."""
        tops = []
        for key in _keys(name or _ANY, category):
            begins = self.open.get(key)
            while begins and self.closed[begins[-1]]:
                begins.pop()
            if begins:
                tops.append(begins[-1])
        return max(tops, default=None)

    def _cut_above(self, begin: int, time: int) -> None:
        while self.uncut and self.uncut[-1] >= begin:
            self.cut[self.uncut.pop()] = time

    def _wait(self, at: int, name: int, category: int) -> None:
        for key in ((name or _ANY, category), (name or _ANY, _ANY)):
            self.waiting[key].append(at)

    def _waiting_end(self, name: int, category: int) -> int | None:
        """The first end of this time that found nothing open and may close a begin of this name and category."""
        if not self.waiting:
            return None
        fronts = []
        for key in (*_keys(name, category), *_keys(_ANY, category)):
            ends = self.waiting.get(key)
            while ends and self.closed[ends[0]]:
                ends.popleft()
            if ends:
                fronts.append(ends[0])
        end = min(fronts, default=None)
        if end is not None:
            self.closed[end] = True
        return end


def _keys(name: int, category: int) -> tuple[tuple[int, int], ...]:
    """Where the marks stand that go with a category: those of it and those of none, or of any where it is none."""
    return ((name, category), (name, 0)) if category else ((name, _ANY),)
