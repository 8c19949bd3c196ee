"""Traces with pieces that are no JSON: each costs itself, is counted, and all other events are read."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.events import event_columns
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import import_trace, read_recording
from popvision.formats.foreign_traces.json_stream import JsonTraceStream
from popvision.formats.foreign_traces.recognition import is_foreign_trace


def event(at: int) -> str:
    return json.dumps(
        {"ph": "X", "name": f"a{at}", "ts": 10 * at, "dur": 8, "pid": 1, "tid": 1, "args": {"n": {"m": 1}}}
    )


#: Texts of an event that are no JSON.
BROKEN = [
    '{"ph": "X", "name": "bad\tna\nme", "ts": 100, "dur": 5, "pid": 1, "tid": 1}',
    '{"ph": "X", "name": "x = Library("_t", "IMPL")", "ts": 100, "dur": 5, "pid": 1, "tid": 1}',
    '{"ph": "X", "name": "C:\\users\\x", "ts": 100, "dur": 5, "pid": 1, "tid": 1}',
    '{"ph": "X", "name": "a", "ts": 100, "dur": 5, "pid": 1, "tid": 1, "args": {"x": [1, 2}}',
    '{"ph": "X", "name": "a", "ts": 100, "dur": , "pid": 1, "tid": 1}',
    '{"ph": "X", "name": "a", "ts": 1e, "args": [{"x": 1}, {"y": 2}]}',
    "}",
    "{'ph': 'X'}",
    '{"ph": "X", "ts": ' + "9" * 5000 + "}",
    "\x00\x00",
]

SHAPES: dict[str, Callable[[list[str]], str]] = {
    "array": lambda texts: "[" + ",\n".join(texts) + "]",
    "object": lambda texts: '{"traceEvents": [' + ", ".join(texts) + '], "otherData": {"begin_ns": "0"}}',
    "object alone": lambda texts: '{"traceEvents": [' + ", ".join(texts) + "]\n}\n",
    "lines": lambda texts: "\n".join(texts) + "\n",
}


def names_of(path: Path) -> tuple[list[str], JsonTraceStream]:
    stream = JsonTraceStream(path)
    return [str(each["name"]) for each in chain.from_iterable(stream) if "name" in each], stream


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_event_costs_itself(tmp_path: Path, shape: str, broken: str) -> None:
    path = tmp_path / "t.json"
    for place in (0, 1, 5):
        texts = [event(at) for at in range(5)]
        if shape == "lines" and (place == 5 or broken[0] != "{"):
            continue  # below
        texts.insert(place, broken)
        path.write_text(SHAPES[shape](texts))
        names, stream = names_of(path)
        assert names == [f"a{at}" for at in range(5)]
        assert (stream.broken, stream.problem) == (1, "")
        assert (stream.facts.get("otherData") is not None) == (shape == "object")
    if shape != "lines":
        assert is_foreign_trace(path)
        assert TraceSource(path).lost == ["Left out: pieces that are no JSON: 1."]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_last_line_is_said(tmp_path: Path, broken: str) -> None:
    """It may be cut, or no JSON at all."""
    (tmp_path / "t.json").write_text("\n".join([event(0), event(1), broken]))
    names, stream = names_of(tmp_path / "t.json")
    assert names == ["a0", "a1"]
    assert stream.broken + bool(stream.problem) == 1


@given(st.lists(st.sampled_from([None, None, *BROKEN]), max_size=30), st.sampled_from(list(SHAPES)))
def test_any_number_of_broken_events(tmp_path: Path, pieces: list[str | None], shape: str) -> None:
    texts = [event(-1), *(event(at) if text is None else text for at, text in enumerate(pieces)), event(-2)]
    (tmp_path / "t.json").write_text(SHAPES[shape](texts))
    names, stream = names_of(tmp_path / "t.json")
    assert names == ["a-1", *(f"a{at}" for at, text in enumerate(pieces) if text is None), "a-2"]
    assert bool(stream.broken) == any(pieces)
    assert stream.problem == ""


def test_numbers_of_c_are_kept_as_text(tmp_path: Path) -> None:
    words = ["nan", "-nan", "inf", "-inf", "Infinity", "-infinity", "nan(ind)", "NaN", "INF"]
    texts = [
        f'{{"ph": "X", "name": "a", "ts": 0, "dur": 1, "args": {{"v": {word}, "w": [{word}, 1]}}}}' for word in words
    ]
    (tmp_path / "t.json").write_text("[" + ",".join(texts) + "]")
    stream = JsonTraceStream(tmp_path / "t.json")
    values = [each["args"] for each in chain.from_iterable(stream)]
    expected = ["NaN", "NaN", "∞", "-∞", "Infinity", "-∞", "NaN", "NaN", "∞"]
    assert values == [{"v": value, "w": [value, 1]} for value in expected]
    assert stream.broken == 0


def test_numbers_of_arguments_stay_numbers(tmp_path: Path) -> None:
    arguments = '{"a": 0.5, "b": 1e3, "c": 1e999, "d": 12345678901234567890, "e": "0.5", "f": [1.25]}'
    (tmp_path / "t.json").write_text(f'[{{"ph": "X", "name": "a", "ts": 0.001, "dur": 1.002, "args": {arguments}}}]')
    source = TraceSource(tmp_path / "t.json")
    expected = {"a": 0.5, "b": 1000.0, "c": "1e999", "d": 12345678901234567890, "e": "0.5", "f": [1.25]}
    assert json.loads(event_columns(source)["metadata"][0]) == expected
    assert (source.begin, source.end) == (1, 1003)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "[" + event(0).replace("a0", "naïve \ufffd") + "]"
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    (tmp_path / "t.json").write_bytes((mark + text).encode(encoding))
    source = TraceSource(tmp_path / "t.json")
    assert source.names.label == ["naïve \ufffd"]
    assert source.lost == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("shape", SHAPES)
def test_wide_characters_without_a_mark(tmp_path: Path, encoding: str, shape: str) -> None:
    texts = [event(at).replace("a1", "naïve") for at in range(3)]
    (tmp_path / "t.json").write_bytes(SHAPES[shape](texts).encode(encoding))
    source = TraceSource(tmp_path / "t.json")
    assert source.names.label == ["a0", "naïve", "a2"]
    assert source.lost == []


def test_characters_of_another_encoding_are_counted(tmp_path: Path) -> None:
    texts = [event(0), event(1).replace("a1", "café"), event(2)]
    (tmp_path / "t.json").write_bytes(("[" + ",".join(texts) + "]").encode("latin-1"))
    source = TraceSource(tmp_path / "t.json")
    assert source.names.label == ["a0", "caf\ufffd", "a2"]
    assert source.lost == ["Left out: characters of another encoding: 1."]


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_gz_gives_what_stands_before(tmp_path: Path, kept: float) -> None:
    random.seed(1)
    texts = [event(at).replace("a", f"{random.random()}", 1) for at in range(20_000)]
    packed = gzip.compress(("[" + ",".join(texts) + "]").encode())
    (tmp_path / "t.json.gz").write_bytes(packed[: int(kept * len(packed))])
    assert is_foreign_trace(tmp_path / "t.json.gz")
    stream = JsonTraceStream(tmp_path / "t.json.gz")
    events = sum(map(len, stream))
    assert kept * 20_000 - 600 < events <= 20_000
    assert "the packed file is cut off" in stream.problem


def test_several_members_and_documents(tmp_path: Path) -> None:
    parts = ["[" + event(0) + "," + event(1) + "]", json.dumps({"traceEvents": [json.loads(event(2))], "x": 1})]
    (tmp_path / "t.json").write_text("\n".join(parts))
    assert names_of(tmp_path / "t.json")[0] == ["a0", "a1", "a2"]
    (tmp_path / "t.json.gz").write_bytes(b"".join(gzip.compress(part.encode()) for part in parts) + b"\0" * 50)
    names, stream = names_of(tmp_path / "t.json.gz")
    assert (names, stream.problem) == (["a0", "a1", "a2"], "")


@pytest.mark.parametrize(
    "broken", ['{"ph": "X", "name": "a", "args": [1, 2, ', BROKEN[1], event(7).replace("8", "nan")]
)
def test_a_tenth_of_broken_events_costs_little(tmp_path: Path, broken: str) -> None:
    """A file of which every tenth event is broken takes at most five times as long as a sound one."""
    times = []
    for tenth in (event(7), broken):
        texts = [tenth if at % 10 == 7 else event(at) for at in range(30_000)]
        (tmp_path / "t.json").write_text("[" + ",\n".join(texts) + "]")
        begin = process_time()
        recording = read_recording(tmp_path / "t.json")
        times.append(process_time() - begin)
        assert recording.events >= 26_999
    assert times[1] < 5 * times[0]


@given(st.data())
def test_no_mutated_trace_is_quietly_wrong(tmp_path: Path, data: st.DataObject) -> None:
    """Of 40 sound events all but those that a change has touched are read; where one is missing, something is said."""
    texts = [event(at) for at in range(40)]
    whole = SHAPES[data.draw(st.sampled_from(list(SHAPES)))](texts)
    at = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.sampled_from(["", '"', "\\", "\n", "{", "}", "[", "]", ",", "\x00", "nan", "é"]))
    (tmp_path / "m.json").write_text(whole[:at] + change + whole[at + data.draw(st.integers(0, 3)) :])
    (tmp_path / "m.pvti").unlink(missing_ok=True)
    try:
        import_trace(tmp_path / "m.json", tmp_path / "m.pvti")
    except FormatError:
        assert at < 40  # nothing says where events begin
        return
    source = TraceSource(tmp_path / "m.pvti")
    sound = {f"a{number}" for number in range(40)} & set(source.names.label)
    assert len(sound) >= 38 or source.lost
    assert len(sound) >= 37 or "problem" in source.meta
