"""Events that are read thousands at a time are those that are read one by one, to the last digit."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.foreign_traces.chrome_json import read_chrome_json
from popvision.formats.foreign_traces.json_stream import JsonTraceStream
from popvision.formats.foreign_traces.recording import Recording
from popvision.formats.foreign_traces.sound_pieces import SoundPieces

#: Times as producers write them, and numbers that a float does not hold.
TIMES = st.one_of(
    st.decimals(-(10**6), 2 * 10**15, places=3).map(str),
    st.decimals(0, 10**6, places=7).map(str),
    st.integers(0, 1 << 70).map(str),
    st.sampled_from(
        ["0", "-0", "1e3", "2.5E-1", "0.0005", "0.0015", "1700000000000000.0005", '"12.5"', "true", "null"]
    ),
)
VALUES = st.one_of(
    st.integers(-(1 << 66), 1 << 66).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(max_size=4).map(json.dumps),
    st.sampled_from(['{"ts": 1.5}', "[{}, {}]", "null", '"None"', "true", '"it\'s"']),
)


@st.composite
def event_texts(draw: st.DrawFn) -> str:
    """An event as text, in which numbers are digits."""
    parts = {
        "ph": json.dumps(draw(st.sampled_from("XXXXBEiCsfbe"))),
        "ts": draw(TIMES),
        "dur": draw(TIMES),
        "pid": draw(st.sampled_from(["1", "1", '"a"', "1.0"])),
        "tid": draw(st.sampled_from(["1", "2", '"t"', "true"])),
        "name": json.dumps(draw(st.sampled_from(["a", "b", "\u00e9", 'a"ts": 5']))),
        "id": draw(VALUES),
        "args": "{" + ", ".join(f'"k{at}": {draw(VALUES)}' for at in range(draw(st.integers(0, 2)))) + "}",
    }
    left_out = draw(st.sets(st.sampled_from(["ts", "dur", "tid", "id", "args"]), max_size=2))
    gap = draw(st.sampled_from([", ", ",", ",\n      "]))
    return "{" + gap.join(f'"{key}": {value}' for key, value in parts.items() if key not in left_out) + "}"


def columns_of(recording: Recording) -> dict[str, Any]:
    """All that was read."""
    tracks = {
        repr(key): {each.name: getattr(track, each.name) for each in fields(track)}
        for key, track in recording.tracks.items()
    }
    counters = {repr(key): (each.times, each.values) for key, each in recording.counters.items()}
    marks, flows = (vars(each) for each in (recording.marks, recording.flows))
    counts = (recording.events, recording.left_out, recording.repaired, recording.not_read, recording.problem)
    names = {"keys": recording.keys, "counts": counts}
    return names | {"tracks": tracks, "counters": counters, "marks": marks, "flows": flows}


@given(st.lists(event_texts(), min_size=1, max_size=8), st.sampled_from([",\n", ",", " ,  "]))
def test_events_are_those_of_a_reader_one_by_one(tmp_path: Path, texts: list[str], gap: str) -> None:
    path = tmp_path / "t.json"
    path.write_text("[" + gap.join(texts) + "]")
    together = columns_of(read_chrome_json(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoundPieces, "read", lambda self, text, begin: ([], begin))
        assert columns_of(read_chrome_json(path)) == together


def test_absolute_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    """A float of microseconds since 1970 has steps of a quarter of one."""
    event = '{{"ph": "X", "name": "a", "ts": 1700000000000{:03}.{:03}, "dur": 0.{:03}, "pid": 1, "tid": 1}}'
    (tmp_path / "t.json").write_text("[" + ",".join(event.format(at, at, at) for at in range(500)) + "]")
    (track,) = read_chrome_json(tmp_path / "t.json").tracks.values()
    assert list(track.begin) == [1_700_000_000_000_000_000 + 1001 * at for at in range(500)]
    assert [end - begin for begin, end in zip(track.begin, track.end, strict=True)] == list(range(500))


def test_nearly_all_events_of_a_sound_trace_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    value = JsonTraceStream._value
    monkeypatch.setattr(JsonTraceStream, "_value", lambda self: looked_at.append(1) or value(self))
    event = '{{"ph": "X", "name": "a", "ts": {}.5, "dur": 1, "pid": 1, "tid": 1, "args": {{"n": {{"m": 1}}}}}}'
    (tmp_path / "t.json").write_text(
        '{"traceEvents": [' + ",\n".join(event.format(at) for at in range(9000)) + '], "otherData": {}}'
    )
    assert read_chrome_json(tmp_path / "t.json").events == 9000
    assert len(looked_at) < 10
