"""Traces in other viewers' formats: read back as those viewers do, and compared with the trace's own rows."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from hypothesis import given

from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.chrome import write_chrome
from popvision.export.traces.events import event_columns
from popvision.export.traces.speedscope import write_speedscope
from popvision.formats.pvti.writer import TraceWriter
from tests.analysis.trace.trace_case import JournalRow, journal_rows, journal_trace, make_trace

#: (thread, begin ns, end ns, label)
Row = tuple[int, int, int, str]


def spans_of(source: TraceSource) -> Counter[Row]:
    columns = event_columns(source)
    rows = zip(*(columns[name] for name in ("tid", "kind", "begin_ns", "duration_ns", "label")), strict=True)
    return Counter((tid, begin, begin + length, label) for tid, kind, begin, length, label in rows if kind == "span")


def written(write: Callable[[TraceSource, str, IO[str]], None], source: TraceSource) -> Any:
    stream = io.StringIO()
    write(source, "a test", stream)
    return json.loads(stream.getvalue())


def nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


@given(journal_rows())
def test_chrome_events_are_those_of_the_trace(tmp_path: Path, rows: list[JournalRow]) -> None:
    source = journal_trace(tmp_path / "j.pvti", rows)
    document = written(write_chrome, source)
    begin = int(document["otherData"]["begin_ns"])
    seen: Counter[Row] = Counter()
    begun: dict[tuple[int, int], list[tuple[int, str]]] = {}
    complete: dict[int, list[tuple[int, int]]] = {}
    for event in document["traceEvents"]:
        at = begin + nanoseconds(event.get("ts", 0))
        match event["ph"]:
            case "X":
                row = (event["tid"], at, at + nanoseconds(event["dur"]), event["name"])
                seen[row] += 1
                complete.setdefault(row[0], []).append(row[1:3])
            case "b":
                begun.setdefault((event["tid"], event["id"]), []).append((at, event["name"]))
            case "e":
                opened, name = begun[event["tid"], event["id"]].pop()
                assert name == event["name"]
                seen[event["tid"], opened, at, name] += 1
        if event["ph"] in "Xbei":
            assert event["cat"] == "work"
            assert event.get("args") == ({"batch": 3} if event["name"] == "x" else None)
    assert seen == spans_of(source)
    assert not any(begun.values())
    for spans in complete.values():
        assert all(nest(one, other) for one in spans for other in spans)


def nest(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two spans are apart or one lies inside the other."""
    (low, high), (begin, end) = one, other
    return high <= begin or end <= low or low <= begin <= end <= high or begin <= low <= high <= end


@given(journal_rows())
def test_speedscope_profiles_replay_to_the_events_of_the_trace(tmp_path: Path, rows: list[JournalRow]) -> None:
    source = journal_trace(tmp_path / "j.pvti", rows)
    document = written(write_speedscope, source)
    labels = [frame["name"] for frame in document["shared"]["frames"]]
    seen: Counter[Row] = Counter()
    for profile in document["profiles"]:
        thread = int(profile["name"].split(",")[0].removeprefix("Thread "))
        open_frames: list[tuple[int, int]] = []
        times = [event["at"] for event in profile["events"]]
        assert times == sorted(times)
        assert (times[0], times[-1]) == (profile["startValue"], profile["endValue"])
        for event in profile["events"]:
            if event["type"] == "O":
                open_frames.append((event["frame"], event["at"]))
            else:
                frame, at = open_frames.pop()
                assert frame == event["frame"]
                seen[thread, source.begin + at, source.begin + event["at"], labels[frame]] += 1
        assert not open_frames
    assert seen == spans_of(source)


def test_columns_hold_instants_and_metadata(tmp_path: Path) -> None:
    source = journal_trace(tmp_path / "j.pvti", [(0, 1, 0, "x"), (0, 2, 2, "y"), (0, 3, 1, "x")])
    columns, file = event_columns(source), str(tmp_path / "j.pvti")
    rows = list(zip(*columns.values(), strict=True))
    assert [dict(zip(columns, row, strict=True)) for row in rows] == [
        {"file": file, "pid": 7, "tid": 100, "thread": "Thread 100", "depth": 0, "kind": "span", "begin_ns": 6,
         "duration_ns": 5,
         "channel": "work", "label": "x", "metadata": '{"batch": 3}'},
        {"file": file, "pid": 7, "tid": 100, "thread": "Thread 100", "depth": -1, "kind": "instant", "begin_ns": 8,
         "duration_ns": 0,
         "channel": "work", "label": "y", "metadata": ""},
    ]  # fmt: skip


@pytest.mark.parametrize("write", [write_chrome, write_speedscope])
def test_an_empty_trace_is_a_valid_document(tmp_path: Path, write: Callable[[TraceSource, str, IO[str]], None]) -> None:
    document = written(write, make_trace(tmp_path / "e.pvti", []))
    assert not document.get("profiles")
    assert not [event for event in document.get("traceEvents", []) if event["ph"] != "M"]


def test_hostile_labels_stay_text(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "h.pvti", [(0, 0, 9, 'a/"},{')])
    (event,) = [each for each in written(write_chrome, source)["traceEvents"] if each["ph"] == "X"]
    assert event["name"] == '"},{'


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ('{"loss": NaN, "x": [1, {"y": -Infinity}]}', {"loss": "NaN", "x": [1, {"y": "-Infinity"}]}),
        ('{"loss": 1e999, "x": 0.5, "y": -1e999}', {"loss": "1e999", "x": 0.5, "y": "-1e999"}),
        ("NaN", {"metadata": "NaN"}),
        ("no JSON", {"metadata": "no JSON"}),
        ("[" * 100_000, {"metadata": "[" * 100_000}),
    ],
)
def test_chrome_arguments_are_valid_json(tmp_path: Path, metadata: str, expected: object) -> None:
    writer = TraceWriter(tmp_path / "n.pvti", {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_channel(1, "work", True)
        writer.add_string(1, "x")
        writer.add_string(2, metadata)
        writer.add_site(1, 1, 1, 2)
        writer.set_thread(1, 1, 1, "t")
        writer.add_events(1, [1 << 2, 1 << 2 | 1], [0, 9])
    writer.close()
    stream = io.StringIO()
    write_chrome(TraceSource(tmp_path / "n.pvti"), "a test", stream)
    events = json.loads(stream.getvalue(), parse_constant=refuse)["traceEvents"]
    assert [each["args"] for each in events if each["ph"] == "X"] == [expected]


def test_nan_in_another_tools_trace_comes_back_as_text(tmp_path: Path) -> None:
    place = '"pid": 1, "tid": 1, "ts"'
    texts = [f'{{"ph": "X", "name": "a", {place}: 0, "dur": 9, "args": {{"loss": NaN, "least": -Infinity}}}}']
    texts += [
        f'{{"ph": "C", "name": "loss", {place}: {at}, "args": {{"v": {v}}}}}' for at, v in enumerate(("NaN", "4"))
    ]
    (tmp_path / "t.json").write_text(f"[{','.join(texts)}]")
    source, stream = TraceSource(tmp_path / "t.json"), io.StringIO()
    assert event_columns(source)["metadata"] == ['{"loss": "NaN", "least": "-Infinity"}']
    ((_, times, values),) = source.series
    assert times.tolist() == [0, 1000]
    assert np.isnan(values[0])
    assert values[1] == 4
    write_chrome(source, "a test", stream)
    events = json.loads(stream.getvalue(), parse_constant=refuse)["traceEvents"]
    assert [each["args"] for each in events if each["ph"] in "XC"] == [
        {"loss": "NaN", "least": "-Infinity"},
        {"v": 4.0},
    ]
