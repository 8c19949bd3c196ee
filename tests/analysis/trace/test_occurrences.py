"""Occurrences of a label against a loop over every event."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.joint import join_traces
from popvision.analysis.trace.occurrences import MOST_LONGEST, is_match, label_of_event, occurrences
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans


def loop(source: HostTrace, wanted: int, begin: int, end: int) -> list[tuple[int, int, int, int, int]]:
    """Duration, thread, depth, position and start of the events of a name that begin in the window."""
    return [
        (int(lane.duration[at]), number, depth, at, int(lane.start[at]))
        for number, thread in enumerate(source.threads)
        for depth, lane in enumerate(thread.lanes)
        for at in range(len(lane))
        if lane.name[at] == wanted and begin <= lane.start[at] < end
    ]


@given(nested_spans(), st.integers(0, 30), st.integers(1, 40), st.booleans())
def test_every_event_is_counted_once_and_the_longest_are_named(
    tmp_path: Path, spans: list[Span], first: int, length: int, joint: bool
) -> None:
    source: HostTrace = make_trace(tmp_path / "a.pvti", spans)
    if joint:
        source = join_traces([make_trace(tmp_path / "a.pvti", spans), make_trace(tmp_path / "b.pvti", spans)])
    begin, end = source.begin + first, source.begin + first + length
    for wanted in range(len(source.names)):
        expected = loop(source, wanted, begin, end)
        found = occurrences(source, wanted, begin, end, columns=7, rows=3)
        if found is None:
            assert not expected
            continue
        assert found.total == len(expected) == sum(each.count for each in found.cells)
        known = {(each[1], each[2], each[3]): each for each in expected}
        for each in found.cells + found.longest:
            duration, *_, start = known[each.thread, each.depth, each.position]
            assert (each.duration, each.start) == (duration, start)
        ordered = sorted((each[0] for each in expected), reverse=True)
        assert [each.duration for each in found.longest] == ordered[:MOST_LONGEST]
        assert max(each.duration for each in found.cells) == ordered[0]
        for share, duration in found.percentiles.items():
            within = sum(each <= duration for each in ordered)
            less = sum(each < duration for each in ordered)
            assert 100 * within >= share * len(ordered) > 100 * less


def test_an_outlier_stands_for_its_cell(tmp_path: Path) -> None:
    """A thousand events of 10 ns, and one of 12 among them, in one cell of the drawing."""
    spans = [(0, 100 * at, 100 * at + (12 if at == 500 else 10), "io/read") for at in range(1000)]
    source = make_trace(tmp_path / "a.pvti", spans)
    found = occurrences(source, "read", source.begin, source.end, columns=1, rows=1)
    assert found is not None
    (cell,) = found.cells
    assert (cell.position, cell.duration, cell.count) == (500, 12, 1000)
    assert (found.longest[0].position, found.percentiles) == (500, {50: 10, 95: 10, 99: 10})


def test_a_search_counts_all_labels_that_match(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 5, "io/read a"), (0, 6, 9, "io/read b"), (0, 10, 11, "io/write")])
    found = occurrences(source, "read", source.begin, source.end)
    assert found is not None
    assert (found.total, [each.duration for each in found.longest]) == (2, [5, 3])
    assert is_match(source, "read", 0, 0, 1)
    assert not is_match(source, "read", 0, 0, 2)
    assert occurrences(source, "nothing", source.begin, source.end) is None
    with pytest.raises(ValueError, match="is not a regular expression"):
        occurrences(source, "/(/", source.begin, source.end)


def test_the_label_of_an_event(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 5, "io/read"), (0, 6, 9, "io/write")])
    assert source.names.label[label_of_event(source, 0, 0, 1)] == "write"
    for place in ((0, -1, 0), (0, 0, 2), (3, 0, 0)):
        with pytest.raises(IndexError):
            label_of_event(source, *place)
