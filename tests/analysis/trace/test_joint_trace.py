"""Several traces as one: numbers, names, times and figures against those of the files alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.activity import RUN_LABEL, ipu_activity
from popvision.analysis.trace.alignment import Marker
from popvision.analysis.trace.drawing import events_between
from popvision.analysis.trace.joint import join_traces, marker_at
from popvision.analysis.trace.search import event_facts
from popvision.analysis.trace.statistics import label_statistics
from tests.analysis.trace.trace_case import Span, journal_trace, make_trace, nested_spans


def test_names_of_all_files_are_one_list_and_threads_follow_one_another(tmp_path: Path) -> None:
    first = make_trace(tmp_path / "a.pvti", [(0, 10, 40, "a/x"), (0, 15, 20, "b/y")])
    second = make_trace(tmp_path / "b.pvti", [(0, 30, 50, "c/z"), (1, 35, 45, "a/x")], [(1, 60, "b/y")])
    joint = join_traces([first, second])
    assert joint.names.channel_name == ["a", "b", "c"]
    assert list(zip(joint.names.label, joint.names.channel.tolist(), strict=True)) == [("x", 0), ("y", 1), ("z", 2)]
    assert [(file.label, list(file.threads)) for file in joint.files] == [("a.pvti", [0]), ("b.pvti", [1, 2])]
    assert joint.threads[0] is first.threads[0]  # the first file keeps its columns
    assert (joint.begin, joint.end, joint.events) == (10, 60, 4)
    facts = event_facts(joint, 2, 0, 0)
    assert (facts.channel, facts.label, facts.start, facts.duration) == ("a", "x", 35, 10)
    assert event_facts(joint, 2, -1, 0).label == "y"
    assert (joint.place_of(0), joint.place_of(2)) == ((0, 0), (1, 1))
    with pytest.raises(IndexError):
        joint.place_of(3)


def test_metadata_is_that_of_the_own_file(tmp_path: Path) -> None:
    plain = make_trace(tmp_path / "a.pvti", [(0, 5, 40, "work/y")])
    marked = journal_trace(tmp_path / "b.pvti", [(0, 0, 0, "x"), (0, 3, 1, "x")])
    joint = join_traces([plain, marked], "first")
    assert event_facts(joint, 1, 0, 0).metadata == '{"batch": 3}'
    assert event_facts(joint, 0, 0, 0).metadata is None


@given(nested_spans(), nested_spans(), st.sampled_from(["absolute", "first"]), st.integers(0, 50))
def test_statistics_of_both_are_those_of_one_file_with_all_events(
    tmp_path: Path, one: list[Span], other: list[Span], mode: str, later: int
) -> None:
    other = [(thread, begin + later, end + later, name) for thread, begin, end, name in other]
    parts = [make_trace(tmp_path / "a.pvti", one), make_trace(tmp_path / "b.pvti", other)]
    joint = join_traces(parts, mode)
    shift = 0 if mode == "absolute" else parts[0].begin - parts[1].begin
    spans = one + [(thread + 5, begin + shift, end + shift, name) for thread, begin, end, name in other]
    lowest = min(0, *(span[1] for span in spans))
    moved = [(thread, begin - lowest, end - lowest, name) for thread, begin, end, name in spans]
    together = make_trace(tmp_path / "c.pvti", moved)
    keys = ["channel", "label"]
    for window in ((None, None), (joint.begin + 7, joint.begin + 60)):
        there = (None, None) if window[0] is None else (window[0] - lowest, window[1] - lowest)
        left = label_statistics(joint, *window).sort_values(keys).reset_index(drop=True)
        right = label_statistics(together, *there).sort_values(keys).reset_index(drop=True)
        assert left.to_dict("records") == right.to_dict("records")
    assert events_between(joint, joint.begin, joint.end + 1) == len(spans)


def test_an_event_of_the_page_marks_its_label_channel_and_number(tmp_path: Path) -> None:
    spans = [(0, 10, 20, "a/x"), (0, 30, 40, "a/epoch"), (1, 35, 50, "b/epoch"), (1, 60, 70, "a/epoch")]
    first = make_trace(tmp_path / "a.pvti", spans)
    second = make_trace(tmp_path / "b.pvti", [(0, 100, 101, "a/epoch"), (0, 200, 201, "a/epoch")])
    assert marker_at([first, second], 1, 0, 1) == Marker("epoch", "a", 1)
    assert marker_at([first, second], 2, 0, 0) == Marker("epoch", "a", 0)
    joint = join_traces([first, second], "event", Marker("epoch", "a", 1))
    assert int(joint.threads[2].lanes[0].start[1]) == 60
    for place in ((3, 0, 0), (0, 4, 0), (0, 0, 9)):
        with pytest.raises(IndexError):
            marker_at([first, second], *place)


@given(nested_spans())
def test_ipu_activity_is_the_union_of_the_runs(tmp_path: Path, spans: list[Span]) -> None:
    named = [(thread, begin, end, name.replace("a/x", f"a/{RUN_LABEL}")) for thread, begin, end, name in spans]
    runs = [(begin, end) for _, begin, end, name in named if name.endswith("run")]
    joint = join_traces([make_trace(tmp_path / "0.pvti", [(0, 0, 1, "z/z")]), make_trace(tmp_path / "a.pvti", named)])
    assert ipu_activity(joint, joint.files[0]) is None
    activity = ipu_activity(joint, joint.files[1])
    if activity is None:
        assert runs == []
        return
    assert activity.runs == len(runs)
    busy = np.zeros(300, np.bool_)
    for begin, end in runs:
        busy[begin:end] = True
    drawn = np.zeros(300, np.bool_)
    lane = activity.spans
    for begin, end in zip(lane.start.tolist(), lane.end.tolist(), strict=True):
        assert not drawn[begin:end].any()
        drawn[begin:end] = True
    assert (drawn == busy).all()
    assert (lane.start[1:] > lane.end[:-1]).all()  # spans that touch are one
