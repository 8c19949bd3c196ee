"""Several traces on one clock: shifts computed by hand, and a slow twin for the chosen event."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.alignment import Marker, align_traces, marker_time
from popvision.answers.several_traces import Clock, trace_alignment_answer
from popvision.formats.errors import FormatError
from popvision.opened.trace import OpenedTrace
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans

DAY = 1_100_000_000_000_000_000  # of 2004


def test_absolute_time_leaves_the_files_of_a_run_where_they_are(tmp_path: Path) -> None:
    first = make_trace(tmp_path / "a.pvti", [(0, DAY + 100, DAY + 400, "a/x")])
    second = make_trace(tmp_path / "b.pvti", [(0, DAY + 50, DAY + 900, "a/x")])
    alignment = align_traces([first, second])
    assert (alignment.shifts, alignment.begin, alignment.end) == ((0, 0), DAY + 50, DAY + 900)
    assert (alignment.notes, alignment.fallback) == ((), frozenset())


@pytest.mark.parametrize("mode", ["absolute", "first", "event"])
def test_a_trace_without_events_moves_nothing_and_says_so(tmp_path: Path, mode: str) -> None:
    empty = make_trace(tmp_path / "empty.pvti", [])
    full = make_trace(tmp_path / "full.pvti", [(0, DAY + 50, DAY + 900, "a/x")])
    alignment = align_traces([empty, full, empty], mode, Marker("x"))
    assert (alignment.shifts, alignment.begin, alignment.end) == ((0, 0, 0), DAY + 50, DAY + 900)
    assert alignment.notes == (f"{empty.label} has no events.",) * 2
    assert alignment.fallback == frozenset()
    assert align_traces([empty], mode, Marker("x")).notes == (f"{empty.label} has no events.",)


def test_first_events_coincide(tmp_path: Path) -> None:
    first = make_trace(tmp_path / "a.pvti", [(0, DAY + 100, DAY + 400, "a/x")])
    second = make_trace(tmp_path / "b.pvti", [(0, 7, 900, "a/x")], [(1, 3, "a/y")])
    alignment = align_traces([first, second], "first")
    assert alignment.shifts == (0, DAY + 97)
    assert (alignment.begin, alignment.end) == (DAY + 100, DAY + 997)


def test_a_chosen_event_coincides_and_a_trace_without_it_says_so(tmp_path: Path) -> None:
    spans = [(0, 10, 20, "a/x"), (0, 30, 40, "a/epoch"), (1, 35, 50, "b/epoch")]
    first = make_trace(
        tmp_path / "a.pvti", [(thread, DAY + low, DAY + high, name) for thread, low, high, name in spans]
    )
    second = make_trace(tmp_path / "b.pvti", [(0, 5, 6, "a/x")], [(0, 5, "b/epoch")])
    third = make_trace(tmp_path / "c.pvti", [(0, 1000, 1001, "a/x")])
    alignment = align_traces([first, second, third], "event", Marker("epoch"))
    assert alignment.shifts == (0, DAY + 25, DAY - 990)
    assert alignment.fallback == {2}
    assert alignment.notes == ("c.pvti has no event 'epoch'; it is aligned by its first event.",)
    on_channel = align_traces([first, second], "event", Marker("epoch", "b"))
    assert on_channel.shifts == (0, DAY + 30)
    second_one = align_traces([first, second], "event", Marker("epoch", occurrence=1))
    assert second_one.fallback == {1}
    assert second_one.notes == ("b.pvti has no event 'epoch' number 2; it is aligned by its first event.",)


def test_the_clock_of_the_first_trace_with_the_event_decides(tmp_path: Path) -> None:
    without = make_trace(tmp_path / "a.pvti", [(0, 50, 60, "a/x")])
    marked = make_trace(tmp_path / "b.pvti", [(0, 10, 20, "a/x"), (0, 30, 40, "a/epoch")])
    alignment = align_traces([without, marked], "event", Marker("epoch"))
    assert (alignment.shifts, alignment.fallback, alignment.begin) == ((-40, 0), {0}, 10)


def test_a_clock_that_does_not_count_from_1970_is_aligned_by_its_first_event(tmp_path: Path) -> None:
    uptime = make_trace(tmp_path / "a.pvti", [(0, 500, 600, "a/x")])
    epoch = make_trace(tmp_path / "b.pvti", [(0, DAY, DAY + 100, "a/x")])
    alignment = align_traces([uptime, epoch])
    assert alignment.shifts == (DAY - 500, 0)
    assert alignment.notes == ("The clock of a.pvti does not count from 1970; it is aligned by its first event.",)
    (note,) = align_traces([uptime, uptime]).notes
    assert note.endswith("compare traces of one machine.")


def test_runs_of_different_days_are_pointed_out(tmp_path: Path) -> None:
    first = make_trace(tmp_path / "a.pvti", [(0, DAY, DAY + 100, "a/x")])
    later = DAY + 10_000_000_000
    second = make_trace(tmp_path / "b.pvti", [(0, later, later + 90, "a/x")])
    (note,) = align_traces([second, first]).notes
    assert note.startswith("These traces are 10.0 s apart")
    assert align_traces([second, first], "first").notes == ()


@given(spans=nested_spans(), occurrence=st.integers(0, 5), channel=st.sampled_from(["", "a", "b"]))
def test_the_time_of_a_marker_is_that_of_a_sorted_list(
    tmp_path: Path, spans: list[Span], occurrence: int, channel: str
) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    begins = sorted(low for _, low, _, name in spans if name.endswith("/x") and name.startswith(channel))
    expected = begins[occurrence] if occurrence < len(begins) else None
    assert marker_time(source, Marker("x", channel, occurrence)) == expected


def test_the_answer_counts_from_the_earliest_begin(tmp_path: Path) -> None:
    make_trace(tmp_path / "a.pvti", [(0, DAY + 3000, DAY + 9000, "a/x")])
    make_trace(tmp_path / "b.pvti", [(0, DAY, DAY + 1000, "a/y")])
    traces = [OpenedTrace(tmp_path / name) for name in ("a.pvti", "b.pvti")]
    answer = trace_alignment_answer(traces, Clock())
    assert [(row["begin_us"], row["duration_us"], row["aligned"]) for row in answer["traces"]] == [
        (3.0, 6.0, True),
        (0.0, 1.0, True),
    ]
    assert answer["begin_ns"] == DAY
    by_event = trace_alignment_answer(traces, Clock("event", "y"))
    assert [row["aligned"] for row in by_event["traces"]] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"mode": "start"}, "traces cannot be aligned by 'start'; use one of absolute, first, event."),
        ({"mode": "event"}, "traces are aligned by an event only when its label is given."),
    ],
)
def test_a_wrong_question_is_one_sentence(tmp_path: Path, arguments: dict[str, str], sentence: str) -> None:
    make_trace(tmp_path / "a.pvti", [(0, 0, 1, "a/x")])
    with pytest.raises(FormatError) as caught:
        trace_alignment_answer([OpenedTrace(tmp_path / "a.pvti")], Clock(**arguments))
    assert str(caught.value) == sentence
