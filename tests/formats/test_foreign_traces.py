"""Traces of other tools: each event against a slow reading of the same file, odd forms, damage."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.export.traces.chrome import write_chrome
from popvision.export.traces.events import event_columns
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces import lanes
from popvision.formats.foreign_traces.chrome_json import nanoseconds
from popvision.formats.foreign_traces.importing import import_trace
from popvision.formats.foreign_traces.packed import telling
from tests.analysis.trace.trace_case import JournalRow, journal_rows, journal_trace

#: (process, thread, begin ns, end ns, channel, label, metadata)
Row = tuple[int, str, int, int, str, str, str]


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def rows_of(source: TraceSource, kind: str = "span") -> Counter[Row]:
    columns = event_columns(source)
    names = ("pid", "thread", "begin_ns", "duration_ns", "channel", "label", "metadata", "kind")
    rows = zip(*(columns[name] for name in names), strict=True)
    return Counter((p, t, b, b + d, c, label, m) for p, t, b, d, c, label, m, k in rows if k == kind)


def check_lanes(source: TraceSource) -> None:
    """No two events of a lane overlap, and each begins inside what encloses it."""
    for thread in source.threads:
        for depth, lane in enumerate(thread.lanes):
            assert (lane.end[:-1] <= lane.start[1:]).all()
            if depth:
                outer = thread.lanes[depth - 1]
                parent = lane.parent.astype(int)
                assert (outer.start[parent] <= lane.start).all()
                assert (outer.end[parent] >= lane.start).all()


#: Times and bases whose sums end near the limits of 64 bits.
HUGE = [
    0,
    1,
    -1,
    10**12,
    2 * 10**15,
    4 * 10**15,
    -(10**15),
    -(4 * 10**15),
    2**62 // 1000,
    4 * 10**18,
    2**63 - 1,
    -(2**63),
]

spans = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 1), st.integers(0, 60), st.integers(0, 30), st.sampled_from("abc")),
    max_size=25,
)


@given(spans)
def test_complete_events_keep_both_ends(tmp_path: Path, rows: list[tuple[int, int, int, int, str]]) -> None:
    events: list[dict[str, Any]] = [
        {"ph": "X", "pid": pid, "tid": tid, "ts": ts / 8, "dur": dur / 8, "name": name, "cat": "c"}
        for pid, tid, ts, dur, name in rows
    ]
    events.append({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "main"}})
    source = TraceSource(write(tmp_path / "t.json", {"traceEvents": events}))
    expected = Counter(
        (pid, f"Thread {tid}", ts * 125, (ts + dur) * 125, "c", name, "") for pid, tid, ts, dur, name in rows
    )
    assert rows_of(source) == expected
    check_lanes(source)


@given(journal_rows())
def test_our_own_export_comes_back(tmp_path: Path, rows: list[JournalRow]) -> None:
    source = journal_trace(tmp_path / "j.pvti", rows)
    with (tmp_path / "j.json").open("w") as stream:
        write_chrome(source, "a test", stream)
    back = TraceSource(tmp_path / "j.json")

    def without_thread(each: Counter[Row]) -> Counter[tuple[Any, ...]]:
        counted: Counter[tuple[Any, ...]] = Counter()
        for row, number in each.items():
            counted[row[:1] + row[2:]] += number
        return counted

    for kind in ("span", "instant"):
        assert without_thread(rows_of(back, kind)) == without_thread(rows_of(source, kind))
    check_lanes(back)


def test_begins_ends_and_asynchronous_events(tmp_path: Path) -> None:
    place = {"pid": 7, "tid": 3, "cat": "k"}
    events = [
        {"ph": "B", "ts": 1, "name": "outer", **place},
        {"ph": "B", "ts": 2, "name": "inner", **place, "args": {"n": 1}},
        {"ph": "E", "ts": 5, **place},
        {"ph": "i", "ts": 6, "name": "mark", **place},
        {"ph": "E", "ts": 9, **place},
        {"ph": "E", "ts": 10, **place},
        {"ph": "b", "ts": 3, "id": "0x1", "name": "load", **place},
        {"ph": "b", "ts": 4, "id": "0x2", "name": "load", **place},
        {"ph": "e", "ts": 7, "id": "0x1", "name": "load", **place},
        {"ph": "e", "ts": 8, "id": "0x2", "name": "load", **place},
        {"ph": "B", "ts": 11, "name": "never ended", **place},
        {"ph": "i", "ts": 12, "name": "mark", **place},
        {"ph": "s", "ts": 12, "id": 1, "name": "flow", **place},
    ]
    path = write(tmp_path / "t.json", events)
    assert import_trace(path, tmp_path / "t.pvti") == {"ends without a begin": 1}
    source = TraceSource(tmp_path / "t.pvti")
    load = "load (asynchronous)"
    assert rows_of(source) == Counter(
        [
            (7, "Thread 3", 1000, 9000, "k", "outer", ""),
            (7, "Thread 3", 2000, 5000, "k", "inner", '{"n": 1}'),
            (7, load, 3000, 7000, "k", "load", '{"id": "0x1"}'),
            (7, load, 4000, 8000, "k", "load", '{"id": "0x2"}'),
            (7, "Thread 3", 11000, 12000, "k", "never ended", ""),
        ]
    )
    assert sum(rows_of(source, "instant").values()) == 2
    thread = next(each for each in source.threads if each.row.name == "")
    assert thread.unfinished == {(0, 1)}
    assert source.meta["left_out"] == "ends without a begin: 1"


def test_names_counters_and_the_clock_of_pytorch(tmp_path: Path) -> None:
    document = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": "Spans", "args": {"name": "python"}},
            {"ph": "M", "name": "thread_name", "pid": 5, "tid": 9, "args": {"name": "worker"}},
            {"ph": "X", "pid": 5, "tid": 9, "ts": 1234567.891, "dur": 0.001, "name": "aten::mm", "cat": "cpu_op"},
            {"ph": "C", "pid": 5, "ts": 2, "name": "memory", "args": {"used": 4.5, "free": 3}},
        ],
    }
    with gzip.open(tmp_path / "t.json.gz", "wt") as stream:
        json.dump(document, stream)
    source = TraceSource(tmp_path / "t.json.gz")
    begin = 1_700_000_000_000_000_000 + 1_234_567_891
    assert rows_of(source) == Counter([(5, "worker", begin, begin + 1, "cpu_op", "aten::mm", "")])
    assert [(row.graph, row.name, values.tolist()) for row, _, values in source.series] == [
        ("memory", "used", [4.5]),
        ("memory", "free", [3.0]),
    ]
    assert source.label == "t.json.gz"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3000),
        ("1700000000000000.125", 1_700_000_000_000_000_125),
        ("1e3", 1_000_000),
        ("-0.5", -500),
        ("1e-400", 0),
        ("1e400", None),
        ("text", None),
        (True, None),
        (None, None),
        (10**30, None),
    ],
)
def test_times_are_exact_to_the_nanosecond(value: object, expected: int | None) -> None:
    assert nanoseconds(value) == expected


def test_an_array_may_lack_its_end(tmp_path: Path) -> None:
    """The format allows it, for programs that are killed; the trace may still be written."""
    for end, state in (("", "recording"), (",", "recording"), (",\n", "recording"), ("]", "finalised")):
        (tmp_path / "t.json").write_text(f"[{EVENT}{end}")
        source = TraceSource(tmp_path / "t.json")
        assert (source.events, source.files[0].state) == (1, state)
        assert "problem" not in source.meta


BASE = 1_700_000_000_000_000_000
SECOND = 1_000_000


def timed(path: Path, times: list[tuple[float, float]], **facts: Any) -> TraceSource:
    """The trace of complete events at (ts, dur), among other keys of the file; each with an instant and a sample."""
    events: list[dict[str, Any]] = []
    for ts, dur in times:
        events.append({"ph": "X", "pid": 1, "tid": 1, "ts": ts, "dur": dur, "name": "a"})
        events.append({"ph": "i", "pid": 1, "tid": 2, "ts": ts, "name": "b"})
        events.append({"ph": "C", "pid": 1, "ts": ts, "name": "c", "args": {"v": 1}})
        events.append({"ph": "B", "pid": 1, "tid": 3, "ts": ts, "name": "d"})
        events.append({"ph": "E", "pid": 1, "tid": 3, "ts": ts + dur, "name": "d"})
    return TraceSource(write(path, {**facts, "traceEvents": events}))


def begins(source: TraceSource) -> list[list[int]]:
    """Times of all spans, then of their ends, of instants and of samples."""
    lanes = [lane for thread in source.threads for lane in thread.lanes]
    spans = [[int(time) for lane in lanes for time in column(lane)] for column in (lambda x: x.start, lambda x: x.end)]
    instants = [int(time) for thread in source.threads for time in thread.instant_time]
    return [*spans, instants, [int(time) for _, times, _ in source.series for time in times]]


def test_a_base_is_added_only_to_times_below_it(tmp_path: Path) -> None:
    """Newer traces of PyTorch count from their base, older ones write it beside times since 1970; some do both."""
    absolute, relative = BASE // 1000 + 5, 7
    for times in ([(absolute, 2)], [(relative, 2)], [(absolute, 2), (relative, 2)]):
        source = timed(tmp_path / "t.json", times, baseTimeNanoseconds=BASE)
        expected = sorted(BASE + (time % (BASE // 1000)) * 1000 for time, _ in times)
        found = begins(source)
        assert [sorted(set(each)) for each in found] == [
            expected,
            [each + 2000 for each in expected],
            expected,
            expected,
        ]
        assert "left_out" not in source.meta
    source = timed(tmp_path / "t.json", [(relative, 2)], baseTimeNanoseconds=str(BASE))
    assert source.begin == BASE + 7000


@pytest.mark.parametrize(
    ("times", "base", "left_out"),
    [
        ((4 * 10**15, 4 * 10**15), 4 * 10**18, "events beyond the year 2116: 2"),
        ((3 * 10**15, 0), 4 * 10**18, "events beyond the year 2116: 5"),
        ((0, 3 * 10**15), 4 * 10**18, "events beyond the year 2116: 2"),
        ((-4 * 10**15, 1), 0, "events before the year 1897: 5"),
        ((10**17, 1), 0, "events beyond the year 2116: 5"),
        ((10**25, 1), 0, "events beyond the year 2116: 5"),
        ((10**300, 1), 0, "events beyond the year 2116: 5"),
        ((1, 10**300), 0, "events beyond the year 2116: 2"),
        ((1, -2), 0, "ends without a begin: 1; spans that end before they begin: 1"),
    ],
)
def test_sums_of_times_that_no_clock_has_are_counted(
    tmp_path: Path, times: tuple[int, int], base: int, left_out: str
) -> None:
    """Of a span, and of a begin and end: one event where only the end lies beyond, all five where the begin does."""
    source = timed(tmp_path / "t.json", [times, (0, 10)], baseTimeNanoseconds=base)
    assert source.meta["left_out"] == left_out
    assert source.begin == base
    assert source.end in (base + 10_000, base + 11_000)


@given(st.lists(st.tuples(*[st.sampled_from(HUGE)] * 2), min_size=1, max_size=3), st.sampled_from(HUGE))
def test_no_sum_of_times_overflows(tmp_path: Path, times: list[tuple[int, int]], base: int) -> None:
    try:
        source = timed(tmp_path / "t.json", times, baseTimeNanoseconds=base)
    except FormatError:
        return
    assert -(1 << 61) <= source.begin <= source.end < 1 << 62
    check_lanes(source)


def test_nanoseconds_given_as_microseconds_are_named(tmp_path: Path) -> None:
    place = {"ph": "X", "pid": 1, "tid": 1, "name": "a"}
    path = write(tmp_path / "t.json", [{**place, "ts": BASE, "dur": 10}, {**place, "ts": BASE + 50, "dur": 20}])
    with pytest.raises(FormatError, match=r"look like nanoseconds where .* `popvision trace import --unit ns "):
        TraceSource(path)
    assert import_trace(path, tmp_path / "t.pvti", "ns") == {}
    assert begins(TraceSource(tmp_path / "t.pvti"))[:2] == [[BASE, BASE + 50], [BASE + 10, BASE + 70]]
    write(path, [{**place, "ts": 2.5, "dur": 1}])
    import_trace(path, tmp_path / "ms.pvti", "ms")
    assert begins(TraceSource(tmp_path / "ms.pvti"))[:2] == [[2_500_000], [3_500_000]]


def test_zeros_among_dates_do_not_stretch_the_trace(tmp_path: Path) -> None:
    source = timed(tmp_path / "t.json", [(BASE // 1000, 1), (0.0, 0.0), (BASE // 1000 + 1, 1)])
    assert (source.begin, source.end) == (BASE, BASE + 2000)
    # The end of d at 0 goes with its begin.
    assert source.meta["left_out"] == "events at time 0 among dates: 5"
    assert timed(tmp_path / "t.json", [(0.0, 0.0), (30 * SECOND, 1)]).begin == 0


EVENT = '{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'{{"traceEvents": [{EVENT}', "it ends within the list of events"),
        (f'{{"traceEvents": [{EVENT},', "it ends within the list of events"),
        (f'[{EVENT}, {{"ph": "X", "na', "it ends within an event"),
        (f'{{"traceEvents": [{EVENT}], "x": ', "is no complete JSON trace"),
        (f"[{EVENT}] and more", "'and more' follows its end"),
        (f"[{EVENT}]", ""),
        (f"[{EVENT}, {{}}, 3, [], null]", ""),
    ],
)
def test_a_damaged_file_gives_the_events_before(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t.json").write_text(text)
    source = TraceSource(tmp_path / "t.json")
    assert source.events == 1
    assert problem in source.meta.get("problem", "")
    assert bool(problem) == bool(source.meta.get("problem"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"traceEvents": []}', "holds no trace events"),
        (b'{"traceEvents": 3}', "traceEvents is no array"),
        (b'{"ph"', "no complete JSON trace"),
        (b'["ph", "\xff"]', "holds no trace events"),
        (b"plain text", "no trace of a known format"),
        (b"", "no trace of a known format"),
        (b"[" * 100_000 + b'"ph"', "no complete JSON trace"),
        (b'[{"ph": "X", "ts": ' + b"9" * 5000 + b"}]", "holds no trace events"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(FormatError) as refused:
        import_trace(tmp_path / "t.json", tmp_path / "t.pvti")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["t.json"]


def test_spans_below_the_deepest_lane_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MAX_DEPTH", 256)
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": 1000 - 2 * at, "name": "deep"} for at in range(300)]
    left_out = import_trace(write(tmp_path / "t.json", events), tmp_path / "t.pvti")
    assert left_out == {"spans nested too deep": 44}
    assert TraceSource(tmp_path / "t.pvti").events == 256


def test_deep_recursion_keeps_its_self_times(tmp_path: Path) -> None:
    """2,000 calls inside one another, each with 1 us before and after the one inside, the innermost of 4 us."""
    deep = 2_000
    begins = [{"ph": "B", "pid": 1, "tid": 1, "ts": at, "name": f"f{at % 5}"} for at in range(deep)]
    ends = [{"ph": "E", "pid": 1, "tid": 1, "ts": deep + 3 + at} for at in range(deep)]
    assert import_trace(write(tmp_path / "t.json", begins + ends), tmp_path / "t.pvti") == {}
    rows = label_statistics(TraceSource(tmp_path / "t.pvti")).set_index("label")
    assert rows["self_us"].to_dict() == {"f0": 800.0, "f1": 800.0, "f2": 800.0, "f3": 800.0, "f4": 802.0}
    assert rows["count"].to_list() == [400] * 5


def test_long_labels_stay_apart(tmp_path: Path) -> None:
    """Of kernels whose names differ after 4,096 characters each keeps its time."""
    names = ["k" * 5000 + end for end in "ab"] + ["k" * 4096, "k" * 4097]
    place = {"pid": 1, "tid": 1, "ts": 0}
    events = [{"ph": "X", "dur": at + 1, "name": name, "cat": name, **place} for at, name in enumerate(names)]
    counters = [{"ph": "C", "name": name, "args": {"v": 1}, **place} for name in names]
    source = TraceSource(write(tmp_path / "t.json", events + counters))
    assert len(source.names) == len(set(source.names.label)) == len(set(source.names.channel_name)) == len(names)
    assert {len(label) for label in source.names.label} == {4096}
    assert len({row.graph for row, *_ in source.series}) == len(names)
    assert sorted(label_statistics(source)["total_us"]) == [1, 2, 3, 4]


@given(st.binary(max_size=80), st.integers(0, 400))
def test_mutated_traces_open_or_are_refused(tmp_path: Path, patch: bytes, at: int) -> None:
    whole = json.dumps([json.loads(EVENT)] * 4 + [{"ph": "b", "id": 1, "ts": 3, "name": "x", "cat": "y"}]).encode()
    (tmp_path / "m.json").write_bytes(whole[:at] + patch + whole[at + len(patch) :])
    (tmp_path / "m.pvti").unlink(missing_ok=True)
    refusal = ""
    try:
        import_trace(tmp_path / "m.json", tmp_path / "m.pvti")
    except FormatError as refused:
        refusal = str(refused)
    if (tmp_path / "m.pvti").exists():
        check_lanes(TraceSource(tmp_path / "m.pvti"))
        assert not refusal
    else:
        assert len(refusal.splitlines()) == 1


def test_samples_are_instants_with_their_stacks(tmp_path: Path) -> None:
    place = {"pid": 4, "tid": 1, "ts": 0}
    document = {
        "traceEvents": [
            {"ph": "X", "dur": 10, "name": "a", **place, "sf": 2, "args": {"n": 1}},
            {"ph": "P", "name": "s", **place, "stack": ["main", "leaf"]},
            {"ph": "B", "name": "b", **place, "sf": 9},
            {"ph": "E", "name": "b", **place, "sf": 3},
        ],
        "stackFrames": {
            "1": {"name": "main", "category": "c"},
            "2": {"name": "f", "parent": "1"},
            "3": {"name": "loop", "parent": 3},
        },
        "samples": [
            {"cpu": 0, "tid": 1, "ts": 1.0, "name": "x", "sf": 2, "weight": 1},
            {"tid": 8, "ts": 2, "sf": 1},
            5,
        ],
    }
    source = TraceSource(write(tmp_path / "t.json", document))
    assert source.lost == []
    columns = event_columns(source)
    rows = zip(*(columns[name] for name in ("pid", "kind", "label", "begin_ns", "metadata")), strict=True)
    assert sorted((pid, kind, label, begin, json.loads(text)) for pid, kind, label, begin, text in rows) == [
        (0, "instant", "", 2000, {"stack": ["main"]}),
        (4, "instant", "s", 0, {"stack": ["main", "leaf"]}),
        (4, "instant", "x", 1000, {"cpu": 0, "weight": 1, "stack": ["main", "f"]}),
        (4, "span", "a", 0, {"n": 1, "stack": ["main", "f"]}),
        (4, "span", "b", 0, {"stack": ["loop"]}),
    ]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_reading_tells_how_far_it_is(tmp_path: Path, is_packed: bool) -> None:
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": 1, "name": f"s{at}"} for at in range(20_000)]
    text = json.dumps(events).encode()
    (tmp_path / "t.json").write_bytes(gzip.compress(text, 1) if is_packed else text)
    shares: list[float] = []
    with telling(shares.append):
        import_trace(tmp_path / "t.json", tmp_path / "t.pvti")
    read = shares[shares.index(max(shares[:2])) :]  # behind the look at the first bytes
    assert read == sorted(read)
    assert read[-1] == 1
    assert sum(0.1 < share < 0.9 for share in read) >= 3


@pytest.mark.parametrize("base", [2**63 - 1, "yesterday", True])
def test_a_base_that_is_no_time_is_said(tmp_path: Path, base: object) -> None:
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "a"}
    source = TraceSource(write(tmp_path / "t.json", {"baseTimeNanoseconds": base, "traceEvents": [event]}))
    assert source.begin == 1000
    assert source.lost == ["Left out: bases of all times that are no times, not added: 1."]


def test_asynchronous_tracks_beside_their_thread_come_back_from_an_export(tmp_path: Path) -> None:
    """They have the number of their thread, which no two tracks share in an export."""
    thread = {"pid": 1, "tid": 1, "cat": "c"}
    events = [{"ph": "X", "name": "x", "ts": 0, "dur": 5, **thread}]
    events += [{"ph": "b", "name": "q", "id": id, "ts": id, **thread} for id in (1, 2)]
    events += [{"ph": "e", "name": "q", "id": id, "ts": 10 * id, **thread} for id in (1, 2)]
    source = TraceSource(write(tmp_path / "t.json", events))
    with (tmp_path / "back.json").open("w") as stream:
        write_chrome(source, "a test", stream)
    back = TraceSource(tmp_path / "back.json")
    assert rows_of(back) == rows_of(source)
    lengths = [[len(lane) for lane in thread.lanes] for thread in back.threads]
    assert lengths == [[len(lane) for lane in thread.lanes] for thread in source.threads] == [[1], [1], [1]]
