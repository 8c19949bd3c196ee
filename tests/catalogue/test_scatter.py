"""The scatter of two columns: each row in one point, each point at the place of one of its rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.catalogue.scatter import fits, number_columns, scatter, series_of
from popvision.formats.errors import FormatError

FIGURES = st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6))


def test_reports_of_one_cell_are_one_point() -> None:
    """Ten cells from 0 to 100 on both axes: the rows at 0, 1 and 9.9 share one, 50 and 100 have their own."""
    frame = pd.DataFrame({"cycles": [0.0, 100.0, 1.0, 50.0, 9.9, np.nan], "peak": [0.0, 100.0, 1.0, 50.0, 9.9, 1.0]})
    found = scatter(frame, "cycles", "peak", 10, 10, most=0)
    assert (found.x.tolist(), found.y.tolist()) == ([0.0, 100.0, 50.0], [0.0, 100.0, 50.0])
    assert (found.row.tolist(), found.count.tolist(), found.missing) == ([0, 1, 3], [3, 1, 1], 1)


@given(rows=st.lists(st.tuples(FIGURES, FIGURES), max_size=60), columns=st.integers(1, 9), high=st.integers(1, 9))
def test_no_report_is_lost_or_counted_twice(rows: list[tuple[float, float]], columns: int, high: int) -> None:
    frame = pd.DataFrame(rows, columns=["x", "y"], dtype="float64")
    found = scatter(frame, "x", "y", columns, high, most=0)
    complete = [row for row in rows if row[0] == row[0] and row[1] == row[1]]
    assert int(found.count.sum()) + found.missing == len(rows)
    assert found.missing == len(rows) - len(complete)
    assert len(found.x) <= columns * high
    places = [rows[row] for row in found.row.tolist()]
    assert places == list(zip(found.x.tolist(), found.y.tolist(), strict=True))
    for each in complete:  # a twin: some point lies within a cell of every report
        widths = [max(column) - min(column) for column in zip(*complete, strict=True)]
        near = [
            abs(place[0] - each[0]) <= widths[0] / columns * 1.001
            and abs(place[1] - each[1]) <= widths[1] / high * 1.001
            for place in places
        ]
        assert any(near)


def test_only_columns_of_numbers() -> None:
    frame = pd.DataFrame({"report": ["a"], "cycles": [1.0], "runs": [2]})
    assert number_columns(frame) == ["cycles", "runs"]
    with pytest.raises(FormatError, match=r"the catalogue has no figure 'report'; figures are cycles, runs\."):
        scatter(frame, "report", "cycles")


def test_few_reports_have_a_point_each() -> None:
    frame = pd.DataFrame({"cycles": [1.0, 1.0, 2.0], "peak": [1.0, 1.0, np.nan]})
    found = scatter(frame, "cycles", "peak", 2, 2)
    assert (found.row.tolist(), found.count.tolist(), found.missing) == ([0, 1], [1, 1], 1)


def test_an_axis_of_texts_has_labels() -> None:
    frame = pd.DataFrame({"axis.target": ["ipu2", "ipu1", None, "ipu2"], "cycles": [1.0, 2.0, 3.0, 4.0]})
    found = scatter(frame, "axis.target", "cycles")
    assert (found.labels, found.x.tolist(), found.row.tolist()) == (["ipu1", "ipu2"], [1.0, 0.0, 1.0], [0, 1, 3])
    with pytest.raises(FormatError, match=r"the catalogue has no figure 'axis\.target'"):
        scatter(frame, "cycles", "axis.target")


def test_what_does_not_fit() -> None:
    frame = pd.DataFrame({"tiles_over": [0.0, 3.0, np.nan, np.nan], "state": ["complete"] * 3 + ["does not fit"]})
    assert fits(frame).tolist() == [True, False, True, False]


def test_reports_that_differ_in_one_axis_alone_are_one_series() -> None:
    frame = pd.DataFrame(
        {"axis.tiles": [4.0, 4.0, 8.0, 4.0], "axis.commit": ["a", "b", "a", "c"], "report": list("wxyz")}
    )
    every = np.arange(4)
    assert series_of(frame, every, "commit_time_s") == ([0, 0, 1, 0], ["tiles 4", "tiles 8"])
    assert series_of(frame, every, "axis.tiles") == ([0, 1, 0, 2], ["commit a", "commit b", "commit c"])
    assert series_of(frame[["report"]], np.array([1, 3]), "commit_time_s") == ([0, 0], [""])
    assert series_of(frame, every, "cycles") == ([], [])
