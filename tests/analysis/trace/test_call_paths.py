"""Call trees in columns against slow twins with an object per path: a walk over every event, and over every path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.bottom_up import bottom_up
from popvision.analysis.trace.calls import CallTree, call_tree, threads_tree
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.event_filter import event_matcher, parse_filter
from tests.analysis.trace.trace_case import JournalRow, Span, journal_rows, journal_trace, make_trace, nested_spans


@dataclass
class Node:
    """A path with what is inside it, by name."""

    count: int = 0
    total: int = 0
    own: int = 0
    most: int = -1
    longest: tuple[int, int, int] = (-1, -1, -1)
    matched: int = 0
    inside: dict[int, Node] = field(default_factory=dict)

    def listed(self, depth: int = 0) -> Iterator[tuple[int, int, int, int, int, tuple[int, int, int], int]]:
        """What a tree has in its rows, depth first, the largest total first."""
        for name, node in sorted(self.inside.items(), key=lambda each: (-each[1].total, each[0])):
            yield depth, name, node.count, node.total, node.own, node.longest, node.matched
            yield from node.listed(depth + 1)


def slow_tree(source: HostTrace, threads: list[int], begin: int, end: int, text: str) -> Node:
    """Every event of the window by itself, outermost first; only inside events that overlap the window."""
    root = Node()
    matcher = event_matcher(source, parse_filter(text)) if text else None
    for thread in threads:
        lanes = source.threads[thread].lanes
        above: list[Node | None] = []
        for depth, lane in enumerate(lanes):
            here: list[Node | None] = []
            for at in range(len(lane)):
                around = root if depth == 0 else above[int(lane.parent[at])]
                start, stop = int(lane.start[at]), int(lane.start[at]) + int(lane.duration[at])
                if around is None or start >= end or (stop <= begin and start < begin):
                    here.append(None)
                    continue
                node = around.inside.setdefault(int(lane.name[at]), Node())
                here.append(node)
                time = max(0, min(stop, end) - max(start, begin))
                node.count, node.total, node.own = node.count + 1, node.total + time, node.own + time
                if depth:
                    outer, parent = lanes[depth - 1], int(lane.parent[at])
                    until = min(stop, end, int(outer.start[parent]) + int(outer.duration[parent]))
                    around.own -= max(0, until - max(start, begin))
                if time > node.most:
                    node.most, node.longest = time, (thread, depth, at)
                node.matched += 1 if matcher is None else len(matcher.rows(thread, depth, at, at + 1))
            above = here
    return root


def slow_callers(tree: CallTree) -> Node:
    """Every path by itself hands its self time upwards; rows without time are left out."""
    root = Node()
    path: list[int] = []
    for leaf, depth in enumerate(tree.depth.tolist()):
        path[depth:] = [leaf]
        own, node = int(tree.self_time[leaf]), root
        for row in reversed(path) if own > 0 else ():
            node = node.inside.setdefault(int(tree.name[row]), Node())
            node.count, node.total = node.count + int(tree.count[leaf]), node.total + own
            node.own += own if row == path[0] else 0
            node.matched += int(tree.matched[row])
            if own > node.most:
                thread, lane, position = tree.longest[row].tolist()
                node.most, node.longest = own, (thread, lane, position)
    return root


def rows(tree: CallTree) -> list[tuple[int, int, int, int, int, tuple[int, int, int], int]]:
    """The rows as `Node.listed` gives them; checks that `parent` agrees with the order."""
    columns = (tree.depth, tree.name, tree.count, tree.total, tree.self_time, tree.longest, tree.matched)
    path: list[int] = []
    for row, (depth, parent) in enumerate(zip(tree.depth.tolist(), tree.parent.tolist(), strict=True)):
        path[depth:] = [row]
        assert parent == (path[depth - 1] if depth else -1)
    listed = list(zip(*(column.tolist() for column in columns), strict=True))
    return [
        (depth, name, count, total, own, tuple(event), found) for depth, name, count, total, own, event, found in listed
    ]


def agree(source: HostTrace, threads: list[int], begin: int, end: int, text: str) -> CallTree:
    """Compare a tree and its callers with their twins."""
    matcher = event_matcher(source, parse_filter(text)) if text else None
    tree = threads_tree(source, threads, begin, end, matcher)
    assert rows(tree) == list(slow_tree(source, threads, begin, end, text).listed())
    assert rows(bottom_up(tree)) == list(slow_callers(tree).listed())
    return tree


WINDOW = st.tuples(st.integers(0, 150), st.integers(1, 250))
FILTER = st.sampled_from(["", "x", "dur>2ns", "channel:b"])


@given(spans=nested_spans(), window=WINDOW, text=FILTER, without=st.integers(0, 3))
def test_nested_events(tmp_path: Path, spans: list[Span], window: tuple[int, int], text: str, without: int) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    threads = [number for number in range(len(source.threads)) if number != without]
    agree(source, threads, window[0], sum(window), text)


@given(journal=journal_rows(), window=st.tuples(st.integers(0, 60), st.integers(1, 80)), text=FILTER)
def test_events_that_outlive_what_encloses_them(
    tmp_path: Path, journal: list[JournalRow], window: tuple[int, int], text: str
) -> None:
    source = journal_trace(tmp_path / "t.pvti", journal)
    tree = agree(source, list(range(len(source.threads))), window[0], sum(window), text)
    largest = tree.largest(2)
    assert len(rows(largest)) + largest.omitted == len(tree)
    assert set(rows(largest)) <= set(rows(tree))
    assert sorted(largest.total)[-2:] == sorted(tree.total)[-2:]


@pytest.mark.parametrize("labels", [3, 700])
def test_few_labels_and_labels_that_hardly_repeat(tmp_path: Path, labels: int) -> None:
    """With 700 labels a depth has more pairs of a path and a name than a table may hold."""
    random = np.random.default_rng(labels)
    spans = []
    for at in range(0, 14_000, 20):
        outer, inner = random.integers(0, labels, 2).tolist()
        thread = at % 3
        spans += [(thread, at, at + 18, f"a/{outer}"), (thread, at + 2, at + 5 + at % 7, f"b/{inner}")]
    source = make_trace(tmp_path / "t.pvti", spans)
    whole = agree(source, [0, 1, 2], 0, 14_000, "dur>6ns")
    assert int(whole.self_time.sum()) == 18 * 700
    agree(source, [0, 2], 3_003, 9_999, "")


def test_a_window_of_a_lane_of_several_parts(tmp_path: Path) -> None:
    """More events than are added in one step, of which the window cuts the first and the last."""
    events = 300_000
    spans = [(0, 10 * at, 10 * at + 8, f"a/{at % 5}") for at in range(events)]
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = threads_tree(source, [0], 15, 10 * events - 5)
    assert sorted(tree.count.tolist()) == [events // 5 - 1] + [events // 5] * 4
    assert int(tree.total.sum()) == 8 * (events - 1) - 5 - 3
    assert {tuple(event) for event in tree.longest.tolist()} == {(0, 0, at) for at in (2, 3, 4, 5, 6)}


def test_paths_with_the_largest_totals_and_what_they_lie_in(tmp_path: Path) -> None:
    spans = [(0, 0, 10, "a/small"), (0, 0, 9, "a/inner"), (0, 10, 30, "a/large"), (0, 30, 35, "a/rest")]
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = call_tree(source, 0, 40).largest(1)
    assert [source.names.label[name] for name in tree.name.tolist()] == ["large"]
    assert tree.omitted == 3
    whole = call_tree(source, 0, 40)
    assert whole.largest(4) is whole
