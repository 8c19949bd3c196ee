"""From begins and ends to lanes: the sorted algorithm against a slow one, for any chunks of the journal."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.pvti import nesting
from popvision.formats.pvti.nesting import Nested, Nester

BEGIN, END, INSTANT = 0, 1, 2
LIMIT = 256


@dataclass
class Twin:
    """The rule of the nesting module, word for word, over plain lists."""

    names: list[int]
    open: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # slot, site, start, position, parent
    begun: dict[int, int] = field(default_factory=dict)
    slices: dict[tuple[int, int], tuple[int, int, int, int]] = field(default_factory=dict)
    instants: list[tuple[int, int, int, int]] = field(default_factory=list)
    unfinished: set[tuple[int, int]] = field(default_factory=set)
    now: int = -(2**63)

    def event(self, kind: int, site: int, time: int) -> None:
        if not 0 <= site < len(self.names) or self.names[site] < 0:
            return
        self.now = max(self.now, time)
        self.open.sort()
        if kind == BEGIN:
            if self.open and self.open[-1][0] + 1 >= LIMIT:
                self.close_all()
            slot = self.open[-1][0] + 1 if self.open else 0
            parent = self.open[-1][3] if self.open else 0
            position = self.begun.get(slot, 0)
            self.begun[slot] = position + 1
            self.open.append((slot, site, self.now, position, parent))
        elif kind == END:
            same = [entry for entry in self.open if self.names[entry[1]] == self.names[site]]
            if same:
                self.close(same[-1])
        else:
            slot, parent = (self.open[-1][0] + 1, self.open[-1][3]) if self.open else (0, 0)
            self.instants.append((self.now, site, slot, parent))

    def close(self, entry: tuple[int, int, int, int, int]) -> None:
        slot, site, start, position, parent = entry
        self.slices[slot, position] = (start, self.now - start, site, parent)
        self.open.remove(entry)

    def close_all(self) -> None:
        for entry in list(self.open):
            self.unfinished.add((entry[0], entry[3]))
            self.close(entry)


def collected(
    parts: list[Nested],
) -> tuple[dict[tuple[int, int], tuple[int, ...]], list[tuple[int, ...]], set[tuple[int, int]]]:
    slices: dict[tuple[int, int], tuple[int, ...]] = {}
    position: dict[int, int] = {}
    instants: list[tuple[int, ...]] = []
    for part in parts:
        for depth, lane in part.lanes.items():
            for row in zip(lane.start, lane.duration, lane.site, lane.parent, strict=True):
                slices[depth, position.get(depth, 0)] = tuple(int(each) for each in row)
                position[depth] = position.get(depth, 0) + 1
        if part.instants is not None:
            columns = (part.instants.time, part.instants.site, part.instants.depth, part.instants.parent)
            instants += [tuple(int(each) for each in row) for row in zip(*columns, strict=True)]
    return slices, instants, {each for part in parts for each in part.unfinished}


def compare(names: list[int], events: list[tuple[int, int, int]], cuts: list[int]) -> None:
    twin = Twin(names)
    for kind, site, time in events:
        twin.event(kind, site, time)
    twin.close_all()
    nester = Nester(np.array(names, np.int64))
    bounds = [0, *sorted(cut % (len(events) + 1) for cut in cuts), len(events)]
    parts = []
    for low, high in itertools.pairwise(bounds):
        chosen = events[low:high]
        codes = np.array([site << 2 | kind for kind, site, _ in chosen], np.int64)
        parts.append(nester.feed(codes, np.array([time for _, _, time in chosen], np.int64)))
    parts.append(nester.finish())
    slices, instants, unfinished = collected(parts)
    assert slices == twin.slices
    assert instants == twin.instants
    assert unfinished == twin.unfinished


ANY_EVENTS = st.lists(
    st.tuples(st.sampled_from([BEGIN, BEGIN, END, END, INSTANT]), st.integers(0, 5), st.integers(0, 40)), max_size=60
)


@given(ANY_EVENTS, st.lists(st.integers(0, 60), max_size=3))
def test_any_journal_nests_as_the_rule_says(events: list[tuple[int, int, int]], cuts: list[int]) -> None:
    # Sites 2 and 3 are one label (3 carries metadata), 5 is in no table.
    compare([0, 1, 2, 2, 3, -1], events, cuts)


@st.composite
def well_nested(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """The journal of a program that uses `with`, with a few scopes open at the end."""
    events: list[tuple[int, int, int]] = []
    stack: list[int] = []
    for step in draw(st.lists(st.sampled_from("((())i"), max_size=80)):
        time = len(events) * draw(st.integers(1, 3))
        if step == "(":
            stack.append(draw(st.integers(0, 3)))
            events.append((BEGIN, stack[-1], time))
        elif step == ")" and stack:
            events.append((END, stack.pop(), time))
        elif step == "i":
            events.append((INSTANT, draw(st.integers(0, 3)), time))
    return events


@given(well_nested(), st.lists(st.integers(0, 80), max_size=4))
def test_nested_scopes_cut_anywhere(events: list[tuple[int, int, int]], cuts: list[int]) -> None:
    compare([0, 1, 2, 3], events, cuts)


def test_overlapping_scopes_keep_their_durations() -> None:
    """a 0-10, b 5-15: b lies below a and outlives it; c begins below b while b is open."""
    events = [(BEGIN, 0, 0), (BEGIN, 1, 5), (END, 0, 10), (BEGIN, 2, 12), (END, 2, 13), (END, 1, 15)]
    slices, _, unfinished = collected(nest([0, 1, 2], events))
    assert slices == {(0, 0): (0, 10, 0, 0), (1, 0): (5, 10, 1, 0), (2, 0): (12, 1, 2, 0)}
    assert unfinished == set()


def test_forgotten_ends_do_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "MAX_DEPTH", LIMIT)
    events = [(BEGIN, 0, time) for time in range(1000)]
    slices, _, unfinished = collected(nest([0], events))
    assert len(slices) == 1000
    assert max(depth for depth, _ in slices) == LIMIT - 1
    assert unfinished == set(slices)
    compare([0], events, [300, 700])


@pytest.mark.parametrize("is_nested", [True, False])
def test_deep_recursion_keeps_its_times(is_nested: bool) -> None:
    """5,000 calls inside one another, each 1 ns longer than the next at either end; or ended from the outermost."""
    deep = 5_000
    order = range(deep - 1, -1, -1) if is_nested else range(deep)
    events = [(BEGIN, site, site) for site in range(deep)]
    events += [(END, site, deep + at) for at, site in enumerate(order)]
    slices, _, unfinished = collected(nest(list(range(deep)), events))
    assert unfinished == set()
    ends = {site: deep + at for at, site in enumerate(order)}
    assert slices == {(site, 0): (site, ends[site] - site, site, 0) for site in range(deep)}


def nest(names: list[int], events: list[tuple[int, int, int]]) -> list[Nested]:
    nester = Nester(np.array(names, np.int64))
    codes = np.array([site << 2 | kind for kind, site, _ in events], np.int64)
    return [nester.feed(codes, np.array([time for _, _, time in events], np.int64)), nester.finish()]
