"""Begins and ends paired by time and name: cases counted by hand, and any against a slow reading of the rule."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.events import event_columns
from popvision.formats.foreign_traces.importing import import_trace
from popvision.formats.foreign_traces.recording import Recording

PLACE = {"pid": 1, "tid": 1}

#: (begin us, end us, name), the end None for a span that is unfinished.
Span = tuple[float, float | None, str]


def spans_of(path: Path, left_out: int = 0) -> list[Span]:
    """The spans of a trace by begin, after a look at how many ends were left out."""
    path.with_suffix(".pvti").unlink(missing_ok=True)
    found = import_trace(path, path.with_suffix(".pvti"))
    assert found == ({"ends without a begin": left_out} if left_out else {})
    source = TraceSource(path.with_suffix(".pvti"))
    rows: list[Span] = []
    for thread in source.threads:
        for depth, lane in enumerate(thread.lanes):
            for at in range(len(lane)):
                end = None if (depth, at) in thread.unfinished else int(lane.end[at]) / 1000
                rows.append((int(lane.start[at]) / 1000, end, source.names.label[int(lane.name[at])]))
    return sorted(rows, key=lambda row: (row[0], row[2], row[1] is None, row[1]))


def read(folder: Path, marks: str, left_out: int = 0) -> list[Span]:
    """The spans of a thread's marks in the order of the file: "B0 a" begins a at 0, "E2 a" ends it, "E2" any."""
    events = []
    for mark in marks.split(", "):
        time, *names = mark[1:].split()
        events.append({"ph": mark[0], "ts": int(time), **PLACE} | ({"name": names[0]} if names else {}))
    (folder / "t.json").write_text(json.dumps(events))
    return spans_of(folder / "t.json", left_out)


@pytest.mark.parametrize(
    ("marks", "expected", "left_out"),
    [
        ("B0 A, B10 B, B20 lost, E30 B, E40 A", [(0, 40, "A"), (10, 30, "B"), (20, None, "lost")], 0),
        ("E40 A, E30 B, B10 B, B0 A", [(0, 40, "A"), (10, 30, "B")], 0),
        ("B0 A, E2 Z, E10 A", [(0, 10, "A")], 1),
        ("B0 A, B1 B, E2 A, E3 B", [(0, 2, "A"), (1, 3, "B")], 0),
        ("B0 f, B1 f, E2 f, E3 f", [(0, 3, "f"), (1, 2, "f")], 0),
        ("B0 A, B1 B, E2, E3", [(0, 3, "A"), (1, 2, "B")], 0),
        ("B0 A, B1 B, E2 A, E3", [(0, 2, "A"), (1, 3, "B")], 0),
        ("B10 a, E5 a", [(10, None, "a")], 1),
        ("E10 a, B10 a", [(10, 10, "a")], 0),
        ("E10, B10 a", [(10, 10, "a")], 0),
        ("E10 b, B10 a, B10 b", [(10, None, "a"), (10, 10, "b")], 0),
        ("E10 a, B10 a, E10 a", [(10, 10, "a")], 1),
        ("B5 a, E10 a, B10 a, E20 a", [(5, 10, "a"), (10, 20, "a")], 0),
        ("B10 a, E10 a, B10 a, E20 a", [(10, 10, "a"), (10, 20, "a")], 0),
        ("E10 a, B11 a", [(11, None, "a")], 1),
        ("B0 A, B1 x, E2 A, B3 A, B4 x, E5 A", [(0, 2, "A"), (1, None, "x"), (3, 5, "A"), (4, None, "x")], 0),
    ],
)
def test_an_end_closes_the_nearest_open_begin_of_its_name(
    tmp_path: Path, marks: str, expected: list[Span], left_out: int
) -> None:
    assert read(tmp_path, marks, left_out) == expected


def test_unfinished_spans_end_with_what_encloses_them(tmp_path: Path) -> None:
    """300 calls that each leave a span open: no lane holds more than two deep, and totals stay those of the calls."""
    rounds = [f"B{10 * at} call, B{10 * at + 2} lost, E{10 * at + 5} call" for at in range(300)]
    assert len(read(tmp_path, ", ".join(rounds))) == 600
    (thread,) = TraceSource(tmp_path / "t.pvti").threads
    assert len(thread.lanes) == 2
    assert int(thread.lanes[1].duration.sum()) == 300 * 3000


def test_categories_count_where_both_ends_have_one(tmp_path: Path) -> None:
    def mark(phase: str, time: int, **more: str) -> dict[str, Any]:
        return {"ph": phase, "ts": time, **PLACE, **more}

    events = [
        mark("B", 0, name="a", cat="x"),
        mark("B", 1, name="a", cat="y"),
        mark("E", 2, name="a", cat="x"),
        mark("E", 3, name="a", cat="y"),
        mark("B", 10, name="a", cat="x"),
        mark("E", 11, name="a"),
        mark("B", 20, name="a"),
        mark("E", 21, name="a", cat="x"),
        mark("B", 30, name="a", cat="x"),
        mark("B", 31, name="b", cat="y"),
        mark("E", 32, cat="x"),
        mark("E", 33, cat="y"),
    ]
    (tmp_path / "t.json").write_text(json.dumps(events))
    expected = [(0, 2, "a"), (1, 3, "a"), (10, 11, "a"), (20, 21, "a"), (30, 32, "a"), (31, 33, "b")]
    assert spans_of(tmp_path / "t.json") == expected


def asynchronous(phase: str, time: int, name: str, pid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "ts": time, "name": name, "pid": pid, "tid": 1, "cat": "c", **more}


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ({"id": 1}, {"id": 1}, True),
        ({"id": 1}, {"id": "1"}, True),
        ({"id": 1}, {"id": 2}, False),
        ({"id": 1, "pid": 2}, {"id": 1}, True),
        ({"id2": {"global": "0x9"}, "pid": 2}, {"id2": {"global": "0x9"}}, True),
        ({"id2": {"local": "0x9"}, "pid": 2}, {"id2": {"local": "0x9"}}, False),
        ({"id2": {"local": "0x9"}, "tid": 2}, {"id2": {"local": "0x9"}}, True),
        ({"id": 1, "cat": "d"}, {"id": 1}, False),
        ({"id": 1, "scope": "s"}, {"id": 1}, False),
        ({"id": 1, "scope": "s"}, {"id": 1, "scope": "s"}, True),
    ],
)
def test_asynchronous_marks_meet_by_category_id_and_scope(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], meet: bool
) -> None:
    events = [asynchronous("b", 0, "load", **first), asynchronous("e", 50, "load", **second)]
    (tmp_path / "t.json").write_text(json.dumps(events))
    assert spans_of(tmp_path / "t.json", not meet) == [(0, 50 if meet else None, "load")]
    assert TraceSource(tmp_path / "t.json").threads[0].row.pid == first.get("pid", 1)


def test_asynchronous_spans_of_one_id_overlap(tmp_path: Path) -> None:
    rows = [("b", 0, "parent"), ("b", 0, "t0"), ("e", 3, "t0"), ("b", 1, "t1"), ("e", 4, "t1"), ("e", 5, "parent")]
    (tmp_path / "t.json").write_text(json.dumps([asynchronous(*row, id="1") for row in rows]))
    assert spans_of(tmp_path / "t.json") == [(0, 5, "parent"), (0, 3, "t0"), (1, 4, "t1")]


def test_arguments_of_ends_join_those_of_begins(tmp_path: Path) -> None:
    events = [
        {"ph": "B", "ts": 0, "name": "a", **PLACE, "args": {"x": 1, "y": 1}},
        {"ph": "E", "ts": 10, "name": "a", **PLACE, "args": {"rows": 99, "y": 2}},
        {"ph": "B", "ts": 20, "name": "b", **PLACE},
        {"ph": "E", "ts": 30, **PLACE, "args": {"rows": 7}},
    ]
    (tmp_path / "t.json").write_text(json.dumps(events))
    source = TraceSource(tmp_path / "t.json")
    columns = event_columns(source)
    metadata = [json.loads(text) for text in columns["metadata"]]
    assert metadata == [{"x": 1, "y": 2, "rows": 99}, {"rows": 7}]
    assert source.names.channel_name == ["events"]
    assert source.names.label == ["a", "b"]


# -- a slow reading of the rule

#: (group, is an end, time, name, category)
Mark = tuple[int, bool, int, str, str]

marks_of_groups = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.booleans(),
        st.integers(0, 9),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["", "x", "y"]),
    ),
    max_size=14,
)


def slowly_paired(marks: list[Mark]) -> tuple[Counter[tuple[int, int, int | None, str, str]], int]:
    """(group, begin, end, name, category) of the spans, and the number of ends that close nothing."""
    spans: Counter[tuple[int, int, int | None, str, str]] = Counter()
    left_out = 0
    for group in sorted({mark[0] for mark in marks}):
        waiting = sorted((mark for mark in marks if mark[0] == group), key=lambda mark: mark[2])
        stack: list[Mark] = []
        while waiting:
            mark = waiting.pop(0)
            if not mark[1]:
                stack.append(mark)
                continue
            fitting = [at for at, begin in enumerate(stack) if fits(mark, begin)]
            later = [at for at, each in enumerate(waiting) if not each[1] and each[2] == mark[2] and fits(mark, each)]
            if fitting:
                begin = stack.pop(fitting[-1])
            elif later:
                begin = waiting.pop(later[0])
            else:
                left_out += 1
                continue
            spans[group, begin[2], mark[2], begin[3], begin[4]] += 1
        for _, _, time, name, category in stack:
            spans[group, time, None, name, category] += 1
    return spans, left_out


def fits(end: Mark, begin: Mark) -> bool:
    return end[3] in ("", begin[3]) and (not end[4] or not begin[4] or end[4] == begin[4])


@given(marks_of_groups)
def test_pairs_are_those_of_a_slow_reading(marks: list[Mark]) -> None:
    expected, ends_left_out = slowly_paired(marks)
    for is_asynchronous in (False, True):
        recording = Recording("a test")
        for group, is_end, time, name, category in marks:
            track = recording.track((group,), group, 0)
            number = recording.group((group,)) if is_asynchronous else track.number
            site = recording.site(category, name)
            if is_end:
                recording.marks.add_end(number, time, site)
            else:
                recording.marks.add_begin(number, time, site, track.number)
        recording.finish_spans()
        keys = list(recording.sites)
        found: Counter[tuple[int, int, int | None, str, str]] = Counter()
        for track in recording.tracks.values():
            for at, (begin, end, site) in enumerate(zip(track.begin, track.end, track.site, strict=True)):
                category, name, _ = keys[site]
                found[track.process, begin, None if at in track.unfinished else end, name, category] += 1
                assert end >= begin
        assert found == expected
        assert recording.left_out["ends without a begin"] == ends_left_out


@pytest.mark.parametrize("names", ["nested", "apart", "never ended"])
def test_long_tracks_take_time_in_proportion_to_their_marks(names: str) -> None:
    """40,000 marks on a stack 20,000 deep: well below a second, as a step for each pair of them would not be."""
    recording, depth = Recording("a test"), 20_000
    track = recording.track(("t",), 1, 1)
    sites = [recording.site("", f"f{at}") for at in range(depth + 1)]
    for at in range(depth):
        recording.marks.add_begin(track.number, at, sites[at], track.number)
    for at in range(depth):
        name = {"nested": depth - 1 - at, "apart": at, "never ended": depth}[names]
        recording.marks.add_end(track.number, depth + at, sites[name])
    begin = process_time()
    recording.finish_spans()
    assert process_time() - begin < 1
    assert len(track.unfinished) == (depth if names == "never ended" else 0)
    if names == "apart":
        assert {end - begin for begin, end in zip(track.begin, track.end, strict=True)} == {depth}
