"""Statistics, call trees and search of host traces against loops over plain rows."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.calls import call_tree
from popvision.analysis.trace.search import (
    event_facts,
    find_event,
    first_of_name,
    list_matches,
    metadata_rows,
    name_of_event,
)
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import PERCENTILES, SPREAD_STEPS, label_statistics, window_statistics
from popvision.formats.pvti.generate import generate_trace
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans

WINDOW = st.tuples(st.integers(0, 220), st.integers(1, 220))


def self_time(spans: list[Span], index: int, window: tuple[int, int] = (0, 1 << 62)) -> int:
    """Nanoseconds of a span inside a window in which it is the innermost of its thread, counted one by one; inner ones
    stand later."""
    thread, begin, end, _ = spans[index]
    mine = 0
    for ns in range(max(begin, window[0]), min(end, window[1])):
        mine += index == max(at for at, each in enumerate(spans) if each[0] == thread and each[1] <= ns < each[2])
    return mine


@given(spans=nested_spans(), window=WINDOW)
def test_statistics_per_label(tmp_path: Path, spans: list[Span], window: tuple[int, int]) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    begin, end = window[0], window[0] + window[1]
    frame = label_statistics(source, begin, end)
    groups: dict[tuple[str, str], list[int]] = {}
    for index, span in enumerate(spans):
        if span[1] < end and span[2] > begin:
            channel, label = span[3].split("/")
            groups.setdefault((label, channel), []).append(index)
    assert {(row.label, row.channel) for row in frame.itertuples()} == set(groups)
    for row in frame.itertuples():
        group = groups[row.label, row.channel]
        durations = sorted(spans[index][2] - spans[index][1] for index in group)
        assert row.count == len(group)
        inside = sum(min(spans[index][2], end) - max(spans[index][1], begin) for index in group)
        assert row.total_us == inside / 1e3
        assert row.mean_us == pytest.approx(sum(durations) / len(group) / 1e3)
        assert (row.min_us, row.max_us) == (durations[0] / 1e3, durations[-1] / 1e3)
        for share, shown in ((50, row.p50_us), (95, row.p95_us), (99, row.p99_us)):
            assert shown == durations[math.ceil(len(group) * share / 100) - 1] / 1e3
        assert row.self_us == sum(self_time(spans, index, (begin, end)) for index in group) / 1e3


@pytest.mark.parametrize("outer", [255, 256, 257, 65_537])
def test_more_events_than_the_column_of_parents_can_count(tmp_path: Path, outer: int) -> None:
    """Parents are stored as narrowly as their largest allows: here only the first ten events have one inside."""
    spans = [(0, 10 * at, 10 * at + 8, "a/outer") for at in range(outer)]
    spans += [(0, 10 * at + 1, 10 * at + 4, "a/inner") for at in range(10)]
    source = make_trace(tmp_path / "t.pvti", sorted(spans))
    for begin, outers, inners in ((0, outer, 10), (40, outer - 4, 6), (2_540, outer - 254, 0)):
        frame = label_statistics(source, begin, 10 * outer).set_index("label")
        assert frame.loc["outer", "count"] == outers
        assert frame.loc["outer", "self_us"] == (8 * outers - 3 * inners) / 1e3
        assert ("inner" in frame.index) == bool(inners)
        assert call_tree(source, begin, 10 * outer).count.tolist() == [outers, inners][: 1 + bool(inners)]


@given(spans=nested_spans(), window=WINDOW)
def test_call_tree_of_a_window_has_the_sums_of_the_statistics(
    tmp_path: Path, spans: list[Span], window: tuple[int, int]
) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    begin, end = window[0], window[0] + window[1]
    tree: dict[str, list[float]] = {}
    for path, row in paths(source, call_tree(source, begin, end)).items():
        sums = tree.setdefault(path[-1], [0, 0, 0])
        tree[path[-1]] = [one + other for one, other in zip(sums, row, strict=True)]
    frame = label_statistics(source, begin, end)
    assert {name: (row[0], row[1] / 1e3, row[2] / 1e3) for name, row in tree.items()} == {
        f"{row.channel}/{row.label}": (row.count, row.total_us, row.self_us) for row in frame.itertuples()
    }


def test_statistics_count_the_part_inside_the_window(tmp_path: Path) -> None:
    spans = [(0, 0, 100_000, "a/outer"), (0, 10_000, 30_000, "a/inner"), (0, 40_000, 70_000, "a/inner")]
    frame = label_statistics(make_trace(tmp_path / "t.pvti", spans), 20_000, 50_000).set_index("label")
    assert frame.loc["outer", ["count", "total_us", "self_us", "mean_us", "max_us"]].tolist() == [1, 30, 10, 100, 100]
    assert frame.loc["inner", ["count", "total_us", "self_us", "mean_us", "min_us"]].tolist() == [2, 20, 20, 25, 20]


def test_search_for_an_entire_label(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", [(0, 0, 10, "a/step10"), (0, 20, 30, "a/step1"), (0, 40, 50, "a/Step1")])
    hit = find_event(source, "step1", (0, -1, -2, -1), exact=True)
    assert hit is not None
    assert (hit.position, hit.matches) == (1, 1)


def test_windows_of_many_events_agree_with_one_sort(tmp_path: Path) -> None:
    generate_trace(tmp_path / "t.pvti", 5000, threads=3, labels=12, seed=5)
    source = TraceSource(tmp_path / "t.pvti")
    span = source.end - source.begin
    for begin, end in ((0.0, 1.0), (0.3, 0.31), (0.1, 0.9)):
        window = source.begin + int(begin * span), source.begin + int(end * span)
        durations: dict[int, list[int]] = {}
        for thread in source.threads:
            for lane in thread.lanes:
                for start, duration, name in zip(lane.start.tolist(), lane.duration.tolist(), lane.name, strict=True):
                    if start < window[1] and start + duration > window[0]:
                        durations.setdefault(int(name), []).append(duration)
        statistics = window_statistics(source, *window)
        assert statistics.name.tolist() == sorted(durations)
        for row, name in enumerate(statistics.name.tolist()):
            expected = sorted(durations[name])
            assert statistics.count[row] == len(expected)
            assert (statistics.shortest[row], statistics.longest[row]) == (expected[0], expected[-1])
            nearest = [expected[-(-len(expected) * share // 100) - 1] for share in PERCENTILES]
            assert statistics.percentiles[row].tolist() == nearest
            (spread,) = statistics.spreads(np.array([row])).tolist()
            assert (len(spread), sum(spread)) == (SPREAD_STEPS, len(expected))
            assert spread[0] > 0 or expected[0] == expected[-1]
            middle = expected[len(expected) // 2]
            assert statistics.rank(row, middle) == sum(each < middle for each in expected) / len(expected)


def test_self_times_of_all_labels_add_up_to_the_busy_time(tmp_path: Path) -> None:
    spans = [
        (0, 0, 100, "a/outer"),
        (0, 10, 30, "a/inner"),
        (0, 30, 60, "b/inner"),
        (0, 35, 40, "b/leaf"),
        (1, 5, 9, "a/outer"),
    ]
    frame = label_statistics(make_trace(tmp_path / "t.pvti", spans)).set_index(["channel", "label"])
    assert frame.self_us.sum() == pytest.approx(0.104)
    assert frame.loc[("a", "outer"), "self_us"] == pytest.approx((50 + 4) / 1e3)
    assert frame.loc[("b", "inner"), "self_us"] == pytest.approx(25 / 1e3)


@given(spans=nested_spans())
def test_call_tree_of_everything(tmp_path: Path, spans: list[Span]) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = call_tree(source, source.begin, source.end + 1)
    expected: dict[tuple[str, ...], list[int]] = {}
    for index, span in enumerate(spans):
        before = spans[: index + 1]
        outside = [each for each in before if each[0] == span[0] and each[1] <= span[1] and each[2] >= span[2]]
        row = expected.setdefault(tuple(each[3] for each in outside), [0, 0, 0])
        row[0] += 1
        row[1] += span[2] - span[1]
        row[2] += self_time(spans, index)
    assert paths(source, tree) == expected
    assert tree.omitted == 0


def paths(source: TraceSource, tree: object) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    path: list[str] = []
    columns = (tree.depth, tree.name, tree.count, tree.total, tree.self_time)  # type: ignore[attr-defined]
    for depth, name, count, total, own in zip(*columns, strict=True):
        names = source.names
        path[depth:] = [f"{names.channel_name[names.channel[name]]}/{names.label[name]}"]
        found[tuple(path)] = [count, total, own]
    return found


def test_call_tree_of_one_event(tmp_path: Path) -> None:
    spans = [
        (0, 0, 100, "a/o"),
        (0, 10, 30, "a/i"),
        (0, 15, 20, "a/leaf"),
        (0, 40, 60, "a/i"),
        (0, 120, 150, "a/o"),
        (0, 121, 122, "a/i"),
    ]
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = call_tree(source, 0, 200, (0, 0, 0))
    assert paths(source, tree) == {
        ("a/o",): [1, 100, 60],
        ("a/o", "a/i"): [2, 40, 35],
        ("a/o", "a/i", "a/leaf"): [1, 5, 5],
    }


@given(spans=nested_spans(), text=st.sampled_from(["x", "Y", "z", "none"]), backwards=st.booleans())
def test_search_goes_through_all_matches_in_time_order(
    tmp_path: Path, spans: list[Span], text: str, backwards: bool
) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    expected = sorted(span[1] for span in spans if text.lower() in span[3].split("/")[1])
    if backwards:
        expected.reverse()
    after = (1 << 40, 0, 0, 0) if backwards else (-1, 0, 0, 0)
    found, ranks, places = [], [], []
    for _ in expected:
        hit = find_event(source, text, after, backwards)
        assert hit is not None
        assert hit.matches == len(expected)
        found.append(hit.start)
        ranks.append(hit.rank)
        after = (hit.start, hit.thread, hit.depth, hit.position)
        places.append(after)
        assert event_facts(source, hit.thread, hit.depth, hit.position).start == hit.start
    assert found == expected
    assert len(set(places)) == len(places)
    assert sorted(ranks) == list(range(1, len(expected) + 1))
    again = find_event(source, text, after, backwards)
    if expected:
        assert again is not None
        assert again.start == expected[0]
    else:
        assert again is None


@given(spans=nested_spans(), window=WINDOW, most=st.integers(1, 6), text=st.sampled_from(["x", "Y", "z", ""]))
def test_the_list_of_matches_is_that_of_the_window(
    tmp_path: Path, spans: list[Span], window: tuple[int, int], most: int, text: str
) -> None:
    instants = [(thread, begin, name) for thread, begin, _, name in spans[::3]]
    source = make_trace(tmp_path / "t.pvti", spans, instants)
    begin, end = window[0], window[0] + window[1]
    expected = [
        (span[1], span[2] - span[1], span[3].split("/")[1])
        for span in spans
        if text and text.casefold() in span[3].split("/")[1].casefold() and span[1] < end and span[2] > begin
    ]
    expected += [
        (at, 0, name.split("/")[1])
        for _, at, name in instants
        if text and text.casefold() in name.split("/")[1].casefold() and begin <= at < end
    ]
    found = list_matches(source, text, begin, end, most)
    assert found.total == len(expected)
    listed = [
        (start, duration, source.names.label[name])
        for start, duration, name in zip(
            found.start.tolist(), found.duration.tolist(), found.name.tolist(), strict=True
        )
    ]
    assert len(listed) == min(most, len(expected))
    assert not Counter(listed) - Counter(expected)
    assert [start for start, _, _ in listed] == sorted(start for start, _, _ in expected)[:most]
    for thread, depth, position, start in zip(found.thread, found.depth, found.position, found.start, strict=True):
        assert event_facts(source, int(thread), int(depth), int(position)).start == start


def test_facts_of_events(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", [(0, 5, 100, "a/outer"), (0, 10, 30, "b/inner")], [(0, 50, "b/flag")])
    outer = event_facts(source, 0, 0, 0)
    assert (outer.label, outer.channel, outer.start, outer.duration, outer.self_time) == ("outer", "a", 5, 95, 75)
    flag = event_facts(source, 0, -1, 0)
    assert (flag.label, flag.channel, flag.start, flag.duration) == ("flag", "b", 50, 0)
    for wrong in ((0, 0, 1), (0, 2, 0), (1, 0, 0), (0, -2, 0), (0, 0, -1)):
        with pytest.raises(IndexError):
            event_facts(source, *wrong)


def test_metadata_as_rows() -> None:
    assert metadata_rows('{"name": "conv", "size": [1, 2]}') == [("name", "conv"), ("size", "[1, 2]")]
    assert metadata_rows("[1]") == [("metadata", "[1]")]
    assert metadata_rows("no json") == [("metadata", "no json")]
    assert metadata_rows(None) == []


def test_the_first_matches_are_those_of_one_sort(tmp_path: Path) -> None:
    """More events match than are sorted at once; those of later lanes that begin too late are never looked at."""
    generate_trace(tmp_path / "t.pvti", 5000, threads=5, labels=12, seed=5)
    source = TraceSource(tmp_path / "t.pvti")
    all_events = list_matches(source, "operation", source.begin, source.end + 1, 100_000)
    assert len(all_events.start) == all_events.total > 5000
    for most in (0, 1, 7, 300):
        found = list_matches(source, "operation", source.begin, source.end + 1, most)
        assert found.total == all_events.total
        for column in ("thread", "depth", "position", "name", "start", "duration"):
            assert (getattr(found, column) == getattr(all_events, column)[:most]).all()
            assert len(getattr(found, column)) == most


@given(nested_spans(), st.integers(0, 210))
def test_the_first_event_of_a_name_from_a_time_on(tmp_path: Path, spans: list[Span], time: int) -> None:
    source = make_trace(tmp_path / "t.pvti", spans, [(0, 7, "a/mark")])
    for name, label in enumerate(source.names.label):
        found = first_of_name(source, name, time)
        assert found is not None
        facts = event_facts(source, *found)
        assert name_of_event(source, *found) == name
        starts = [begin for _, begin, _, each in spans if each == f"{facts.channel}/{label}"] or [7]
        assert facts.start == min((each for each in starts if each >= time), default=min(starts))
