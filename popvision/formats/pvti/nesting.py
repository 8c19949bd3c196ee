"""Begins and ends of one thread -> lanes of nested events.

The rule, an event at a time, with a stack of open events: A begin takes the slot above the topmost occupied
one; its enclosing event is the one in the slot below. An end closes the topmost open event of the same channel and
label and frees its slot, and is ignored when there is none. So scopes that overlap without nesting (a begins, b
begins, a ends, b ends) keep their true durations, b in the deeper lane. An event that would be one more than MAX_DEPTH
open ones closes them all as unfinished first. Times that run backwards are raised to the latest one before.

`Nester` sorts a stretch of the journal that is well nested, as those of programs that use `with` always are, in
O(n log n) without a Python step per event, and follows the rule event by event elsewhere; the results are equal. An
event is written when it ends and its position in its lane is fixed when it begins, so memory is bounded by the stretch
and not by the trace.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from popvision.formats.pvti.columns import Instants, Slices
from popvision.formats.pvti.schema import BEGIN, END, INSTANT, KIND_BITS, MAX_DEPTH

Ints = NDArray[np.int64]


@dataclass
class Open:
    """An event that has begun; `position` is its place in its lane, `parent` its encloser's in the lane above."""

    site: int
    start: int
    slot: int
    position: int
    parent: int
    is_open: bool = True  #: while marks are taken one by one: what has ended leaves the stack when it is on top


@dataclass
class Nested:
    """What one stretch of the journal completed: events per lane, instants, unfinished (depth, position)."""

    lanes: dict[int, Slices] = field(default_factory=dict)
    instants: Instants | None = None
    unfinished: list[tuple[int, int]] = field(default_factory=list)


class Nester:
    """Feeds on stretches of one thread's journal in order.

    `name_of_site` maps a site id to the number of its (channel, label): a begin with metadata ends with a plain end.
    Ids outside the map match only themselves and are dropped.
    """

    def __init__(self, name_of_site: Ints) -> None:
        self._names = name_of_site
        self._stack: list[Open] = []
        self._begun: list[int] = []
        self._latest = np.iinfo(np.int64).min

    def feed(self, codes: Ints, times: Ints) -> Nested:
        """Nest one stretch: codes as in the journal, times in ns."""
        sites, kinds = codes >> KIND_BITS, codes & (1 << KIND_BITS) - 1
        known = (sites >= 0) & (sites < len(self._names)) & (kinds <= INSTANT)
        known[known] = self._names[sites[known]] >= 0
        if not known.all():
            sites, kinds, times = sites[known], kinds[known], times[known]
        if not len(times):
            return Nested()
        times = np.maximum.accumulate(np.maximum(times, self._latest))
        self._latest = int(times[-1])
        return self._sorted(sites, kinds, times) or self._one_by_one(sites, kinds, times)

    def learn(self, name_of_site: Ints) -> None:
        """Sites that were declared meanwhile; names keep their numbers."""
        self._names = name_of_site

    def open_now(self) -> Nested:
        """What `finish` would say; the journal may go on."""
        stack = self._stack
        nested = self.finish()
        self._stack = stack
        return nested

    def finish(self) -> Nested:
        """Close what is still open at the last event seen, as unfinished."""
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        unfinished = self._close_all(rows, self._latest)
        return Nested(_lanes(rows), None, unfinished)

    # -- well nested: by sorting

    def _sorted(self, sites: Ints, kinds: Ints, times: Ints) -> Nested | None:
        carried = len(self._stack)
        if any(entry.slot != slot for slot, entry in enumerate(self._stack)):
            return None
        scoped = kinds != INSTANT
        step = np.where(kinds[scoped] == BEGIN, 1, -1)
        level = carried + np.cumsum(step)
        if len(level) and (level.min() < 0 or level.max() > MAX_DEPTH):
            return None
        # Open events come first, as begins of their own lanes.
        begins = np.concatenate([np.ones(carried, bool), step > 0])
        lane = np.concatenate([np.arange(carried), np.where(step > 0, level - 1, level)])
        site = np.concatenate([np.array([entry.site for entry in self._stack], np.int64), sites[scoped]])
        time = np.concatenate([np.array([entry.start for entry in self._stack], np.int64), times[scoped]])
        depths = int(lane.max(initial=-1)) + 1
        order = np.argsort(lane.astype(np.uint16), kind="stable")
        bounds = np.searchsorted(lane[order], np.arange(depths + 1))
        members = [order[bounds[depth] : bounds[depth + 1]] for depth in range(depths)]
        if not self._ends_match(members, begins, site):
            return None
        return self._take(members, begins, site, time, self._place(kinds, scoped, carried, sites, times))

    def _ends_match(self, members: list[Ints], begins: NDArray[np.bool_], site: Ints) -> bool:
        names = self._names[site]
        for member in members:
            first, last = member[begins[member]], member[~begins[member]]
            if (names[first[: len(last)]] != names[last]).any():
                return False
        return True

    def _place(
        self, kinds: Ints, scoped: NDArray[np.bool_], carried: int, sites: Ints, times: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """Of each instant: its place among the begins and ends, its site, its time."""
        before = np.cumsum(scoped)[~scoped] + carried
        return before, sites[~scoped], times[~scoped]

    def _take(
        self,
        members: list[Ints],
        begins: NDArray[np.bool_],
        site: Ints,
        time: Ints,
        instants: tuple[Ints, Ints, Ints],
    ) -> Nested:
        carried = len(self._stack)
        while len(self._begun) < len(members):
            self._begun.append(0)
        # Positions in a lane count on from the events begun before this stretch; carried ones are among those.
        base = [self._begun[depth] - (depth < carried) for depth in range(len(members))]
        starts = [member[begins[member]] for member in members]
        nested, stack = Nested(), []
        for depth, member in enumerate(members):
            begin, end = starts[depth], member[~begins[member]]
            parent = np.zeros(len(begin), np.int64)
            if depth:
                parent = base[depth - 1] + np.searchsorted(starts[depth - 1], begin) - 1
            if depth < carried:
                parent[0] = self._stack[depth].parent
            done = len(end)
            if done:
                start = time[begin[:done]]
                nested.lanes[depth] = Slices(
                    start, (time[end] - start).view(np.uint64), _unsigned(site[begin[:done]]), _unsigned(parent[:done])
                )
            if len(begin) > done:
                last = int(begin[-1])
                position = base[depth] + len(begin) - 1
                stack.append(Open(int(site[last]), int(time[last]), depth, position, int(parent[-1])))
            self._begun[depth] = base[depth] + len(begin)
        nested.instants = self._instants(members, begins, starts, base, instants)
        self._stack = stack
        return nested

    def _instants(
        self,
        members: list[Ints],
        begins: NDArray[np.bool_],
        starts: list[Ints],
        base: list[int],
        instants: tuple[Ints, Ints, Ints],
    ) -> Instants | None:
        before, site, time = instants
        if not len(time):
            return None
        level = np.concatenate([[0], np.cumsum(np.where(begins, 1, -1))])
        depth = level[before]
        parent = np.zeros(len(time), np.int64)
        for lane in range(len(members)):
            inside = depth == lane + 1
            parent[inside] = base[lane] + np.searchsorted(starts[lane], before[inside]) - 1
        return Instants(time, _unsigned(site), _unsigned(depth), _unsigned(parent))

    # -- anything else: one by one

    def _one_by_one(self, sites: Ints, kinds: Ints, times: Ints) -> Nested:
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        instants: list[tuple[int, int, int, int]] = []
        unfinished: list[tuple[int, int]] = []
        names, by_name = self._names, defaultdict[int, list[Open]](list)
        for entry in self._stack:
            by_name[names[entry.site]].append(entry)
        for site, kind, time in zip(sites.tolist(), kinds.tolist(), times.tolist(), strict=True):
            if kind == BEGIN:
                if self._top() + 1 >= MAX_DEPTH:
                    unfinished += self._close_all(rows, time)
                    by_name.clear()
                by_name[names[site]].append(self._begin(site, time))
            elif kind == END:
                if by_name[names[site]]:
                    ended = by_name[names[site]].pop()
                    rows.setdefault(ended.slot, []).append((ended.start, time - ended.start, ended.site, ended.parent))
                    ended.is_open = False
                    while self._stack and not self._stack[-1].is_open:
                        self._stack.pop()
            else:
                position = self._stack[-1].position if self._stack else 0
                instants.append((time, site, self._top() + 1, position))
        self._stack = [entry for entry in self._stack if entry.is_open]
        return Nested(_lanes(rows), _instants(instants), unfinished)

    def _begin(self, site: int, time: int) -> Open:
        slot = self._top() + 1
        while len(self._begun) <= slot:
            self._begun.append(0)
        parent = self._stack[-1].position if self._stack else 0
        begun = Open(site, time, slot, self._begun[slot], parent)
        self._stack.append(begun)
        self._begun[slot] += 1
        return begun

    def _top(self) -> int:
        return self._stack[-1].slot if self._stack else -1

    def _close_all(self, rows: dict[int, list[tuple[int, int, int, int]]], time: int) -> list[tuple[int, int]]:
        still_open = [entry for entry in self._stack if entry.is_open]
        closed = [(entry.slot, entry.position) for entry in still_open]
        for entry in still_open:
            rows.setdefault(entry.slot, []).append((entry.start, time - entry.start, entry.site, entry.parent))
        self._stack = []
        return closed


def _unsigned(numbers: Ints) -> NDArray[Any]:
    return numbers.view(np.uint64)


def _table(rows: list[tuple[int, int, int, int]]) -> tuple[Ints, NDArray[Any], NDArray[Any], NDArray[Any]]:
    table = np.array(rows, np.int64)
    first, second, third, fourth = (np.ascontiguousarray(table[:, column]) for column in range(4))
    return first, _unsigned(second), _unsigned(third), _unsigned(fourth)


def _lanes(rows: dict[int, list[tuple[int, int, int, int]]]) -> dict[int, Slices]:
    return {slot: Slices(*_table(lane)) for slot, lane in sorted(rows.items())}


def _instants(rows: list[tuple[int, int, int, int]]) -> Instants | None:
    return Instants(*_table(rows)) if rows else None
