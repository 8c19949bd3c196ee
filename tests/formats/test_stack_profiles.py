"""Speedscope's profiles and .cpuprofile files: spans are what samples in a row share, calls where it has calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces import profiles
from popvision.formats.foreign_traces.importing import read_recording

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(*profile: dict[str, Any], frames: str = "abc") -> dict[str, Any]:
    return {"$schema": SCHEMA, "shared": {"frames": [{"name": name} for name in frames]}, "profiles": list(profile)}


def sampled(samples: Any, weights: Any, unit: str = "microseconds", **more: Any) -> dict[str, Any]:
    return {"type": "sampled", "name": "p", "unit": unit, "samples": samples, "weights": weights, **more}


def opened(folder: Path, document: Any, name: str = "t.json") -> TraceSource:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return TraceSource(path)


def spans(source: TraceSource) -> list[tuple[str, float, float]]:
    """Label, begin and end of each span in us of the file."""
    return sorted(
        (source.names.label[name], start / 1000, (start + duration) / 1000)
        for thread in source.threads
        for lane in thread.lanes
        for name, start, duration in zip(lane.name.tolist(), lane.start.tolist(), lane.duration.tolist(), strict=True)
    )


def totals(source: TraceSource) -> dict[str, tuple[float, float]]:
    """Label -> total and self time in us."""
    frame = label_statistics(source)
    return {label: (total, own) for label, total, own in zip(frame.label, frame.total_us, frame.self_us, strict=True)}


def test_samples_hold_for_their_weights_and_share_spans(tmp_path: Path) -> None:
    source = opened(tmp_path, speedscope(sampled([[0], [0, 1], [0, 1], [0, 2], [], [1]], [1, 2, 3, 4, 5, 6])))
    assert spans(source) == [("a", 0, 10), ("b", 1, 6), ("b", 15, 21), ("c", 6, 10)]
    assert source.meta["samples"] == "6"
    assert source.lost == []


def test_times_that_no_column_holds_are_counted(tmp_path: Path) -> None:
    nodes = [{"id": 1, "callFrame": {"functionName": "a"}}]
    document = {"nodes": nodes, "startTime": 0, "endTime": 9, "samples": [1, 1], "timeDeltas": [1, 10**25]}
    source = opened(tmp_path, document, "t.cpuprofile")
    assert source.lost == ["Left out: times that are no numbers of 64 bits, taken as 0: 1."]
    assert spans(source) == [("a", 1, 9)]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([{"id": 1, "children": [1]}], "samples without a stack or a length: 2"),
        ([{"id": 1, "children": [9]}], "nodes that are above or below another and not there: 1"),
        ([{"id": 1, "parent": 9}], "nodes that are above or below another and not there: 1"),
        ([{"id": 1}, {"id": 1}], "nodes without an id of their own: 1"),
        ([{"id": 1}, {"children": []}], "nodes without an id of their own: 1"),
    ],
)
def test_a_tree_with_flaws_is_said(tmp_path: Path, nodes: list[dict[str, Any]], said: str) -> None:
    named = [{"callFrame": {"functionName": "(root)"}, **node} for node in nodes]
    named += [{"id": 2, "callFrame": {"functionName": "f"}}]
    document = {"nodes": named, "startTime": 0, "endTime": 9, "samples": [1, 1, 2], "timeDeltas": [1, 2, 3]}
    assert opened(tmp_path, document, "t.cpuprofile").lost == [f"Left out: {said}."]


def test_evented_profiles_are_calls_and_need_no_order(tmp_path: Path) -> None:
    events = [("O", 0, 0), ("O", 2, 1), ("C", 10, 0), ("C", 5, 1), ("O", 20, 2)]
    profile = {"type": "evented", "name": "main", "unit": "milliseconds", "startValue": 0, "endValue": 30}
    profile["events"] = [{"type": kind, "at": at, "frame": frame} for kind, at, frame in events]
    source = opened(tmp_path, speedscope(profile))
    assert spans(source) == [("a", 0, 10_000), ("b", 2000, 5000), ("c", 20_000, 20_000)]
    assert "samples" not in source.meta
    assert [thread.row.name for thread in source.threads] == ["main"]


@pytest.mark.parametrize(
    ("unit", "microseconds", "called"),
    [
        ("nanoseconds", 0.001, ""),
        ("microseconds", 1, ""),
        ("milliseconds", 1000, ""),
        ("seconds", 1_000_000, ""),
        ("none", 1, "weight"),
        ("bytes", 1, "bytes"),
    ],
)
def test_units(tmp_path: Path, unit: str, microseconds: float, called: str) -> None:
    source = opened(tmp_path, speedscope(sampled([[0], [1]], [3, 4], unit)))
    assert totals(source) == {"a": (3 * microseconds,) * 2, "b": (4 * microseconds,) * 2}
    assert source.meta.get("unit", "") == called


def test_one_clock_has_one_unit(tmp_path: Path) -> None:
    """Profiles of time win; others are named, not drawn beside them."""
    profile = [sampled([[0]], [3], unit) for unit in ("bytes", "seconds", "none", "furlongs")]
    source = opened(tmp_path, speedscope(*profile))
    assert totals(source) == {"a": (3_000_000, 3_000_000)}
    assert source.lost == ["Not read: profiles in bytes: 1; profiles in furlongs: 1; profiles in none: 1."]


def node(id: Any, name: str, *children: Any, **place: Any) -> dict[str, Any]:
    return {"id": id, "callFrame": {"functionName": name, **place}, "children": list(children)}


TREE = [
    node(1, "(root)", 2, 5),
    node(2, "main", 3, 4, url="m.js", lineNumber=9),
    node(3, "f"),
    node(4, "g"),
    node(5, ""),
]


def test_a_cpuprofile_holds_each_sample_until_the_next(tmp_path: Path) -> None:
    document = {
        "nodes": TREE,
        "startTime": 100,
        "endTime": 200,
        "samples": [2, 3, 4, 5],
        "timeDeltas": [10, 20, 30, 20],
    }
    source = opened(tmp_path, document, "t.cpuprofile")
    assert spans(source) == [("(anonymous)", 180, 200), ("f", 130, 160), ("g", 160, 180), ("main", 110, 180)]
    main = source.names.label.index("main")
    site = next(lane for thread in source.threads for lane in thread.lanes if main in lane.name.tolist())
    text = source.metadata(0, int(site.site[site.name.tolist().index(main)]))
    assert json.loads(text or "") == {"file": "m.js", "line": 10}


def test_samples_that_come_late_take_their_place(tmp_path: Path) -> None:
    """A negative delta: the sample was taken before the one that stands before it."""
    document = {"nodes": TREE, "startTime": 0, "endTime": 40, "samples": [3, 4, 2], "timeDeltas": [0, 30, -20]}
    assert spans(opened(tmp_path, document)) == [("f", 0, 10), ("g", 30, 40), ("main", 0, 40)]


def test_the_last_sample_lasts_as_long_as_others(tmp_path: Path) -> None:
    document = {"nodes": TREE, "samples": [3, 4], "timeDeltas": [10, 20]}
    assert spans(opened(tmp_path, document)) == [("f", 10, 30), ("g", 30, 45), ("main", 10, 45)]


def test_the_tree_of_older_versions(tmp_path: Path) -> None:
    head = {"functionName": "(root)", "id": 1, "children": [{"functionName": "f", "id": 2, "children": []}]}
    document = {"head": head, "startTime": 1.5, "endTime": 2.5, "samples": [2, 1, 2], "timestamps": [1000, 1600, 1700]}
    assert spans(opened(tmp_path, document)) == [("f", 1000, 1600), ("f", 1700, 1933)]


@pytest.mark.parametrize(
    ("document", "lost"),
    [
        (sampled([[0], [9], "x", [1]], [1, 2, 3, 4]), "samples without a stack or a length: 2"),
        (sampled([[0], [1], [1]], [1, -2, None]), "samples without a stack or a length: 2"),
        (sampled([[0], [1], [1]], [1]), "samples without a weight: 2"),
        (sampled([[0], [1]], [1, 1e300]), "samples without a stack or a length: 1"),
        (sampled([[0], [1]], [1, 5e15]), "events beyond the year 2116: 1"),
    ],
)
def test_what_cannot_be_placed_is_counted(tmp_path: Path, document: dict[str, Any], lost: str) -> None:
    source = opened(tmp_path, speedscope(document))
    assert source.lost == [f"Left out: {lost}."]
    assert source.is_damaged
    assert totals(source)["a"][0] == 1


def test_loops_and_depth_of_a_tree_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = [node(1, "a", 2), node(2, "b", 1), node(3, "c")]
    source = opened(tmp_path, {"nodes": loop, "samples": [3, 1], "timeDeltas": [1, 1]})
    assert source.lost == ["Left out: samples without a stack or a length: 1."]
    deep = [*(node(at, "f", at + 1) for at in range(1, 20_000)), node(20_000, "f")]
    source = opened(tmp_path, {"nodes": deep, "samples": [9, 19_000], "timeDeltas": [1, 1]})
    assert source.lost == ["Left out: samples without a stack or a length: 1."]
    monkeypatch.setattr(profiles, "MOST_EVENTS", 1000)
    with pytest.raises(FormatError, match="more than 1,000"):
        opened(tmp_path, {"nodes": deep, "samples": [9] * 500, "timeDeltas": [1] * 500})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (json.dumps({"$schema": SCHEMA}), "holds no sample and no call that can be read."),
        (
            json.dumps(speedscope(sampled([[9]], [1]))),
            "no call that can be read; samples without a",
        ),
        (json.dumps(speedscope(sampled([[0]], [1])))[:-9], "is no complete JSON: "),
        (f'["{SCHEMA}"]', "is no profile: it holds no JSON object."),
        ('{"nodes": {"callFrame": 3}, "samples": 3}', "holds no sample and no call that can be read."),
        ('{"nodes": [{"id": [], "callFrame": {}}], "samples": [[]], "timeDeltas": [1]}', "holds no sample"),
    ],
)
def test_others_are_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(FormatError) as refused:
        opened(tmp_path, text)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_numbers_of_c_and_latin_names_are_read(tmp_path: Path) -> None:
    text = json.dumps(speedscope(sampled([[0], [1]], [1, 2]), frames="äb"), ensure_ascii=False)
    path = tmp_path / "t.json"
    path.write_bytes(text.replace("[1, 2]", "[1, NaN]").encode("latin-1"))
    source = TraceSource(path)
    assert source.lost == ["Left out: characters of another encoding: 1; samples without a stack or a length: 1."]
    assert totals(source) == {"\ufffd": (1, 1)}


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=4), st.integers(0, 50)), max_size=12))
def test_self_times_are_the_weights_of_the_innermost_frames(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[list[int], int]]
) -> None:
    """The slow twin: each sample gives its weight to its last frame, and once to each label in it."""
    own = dict.fromkeys("abc", 0)
    for stack, weight in samples:
        if stack:
            own["abc"[stack[-1]]] += weight
    document = speedscope(sampled([stack for stack, _ in samples], [weight for _, weight in samples]))
    path = tmp_path_factory.mktemp("profile") / "t.json"
    path.write_text(json.dumps(document))
    if not samples:
        with pytest.raises(FormatError):
            read_recording(path)
        return
    source = TraceSource(path)
    assert {label: self_time for label, (_, self_time) in totals(source).items()} == {
        label: time for label, time in own.items() if any("abc".index(label) in stack for stack, _ in samples)
    }
