"""A scatter of two columns of the catalogue. Few rows have a point each; of many, at most one per cell of a grid: a
two-dimensional histogram that keeps the first report of each cell. Cost: one pass over the rows. A screen cannot show
more points than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import BoolArray, Float64Array, Int64Array
from popvision.catalogue.report_row import AXIS
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd


#: Points that are not merged.
MOST_POINTS = 1_500


@dataclass(frozen=True)
class Scatter:
    """Point i stands for `count[i]` reports of one cell, and lies where the first of them does: row `row[i]` of the
    frame. `missing` rows lack one of the figures. Where `x` is an axis of texts, it is a position in `labels`."""

    x: Float64Array
    y: Float64Array
    row: Int64Array
    count: Int64Array
    missing: int
    labels: list[str]


def scatter(
    frame: pd.DataFrame, x: str, y: str, columns: int = 240, rows: int = 120, most: int = MOST_POINTS
) -> Scatter:
    """The points of a frame over columns `x`, a figure or an axis, and `y`, a figure; merged in cells where they are
    more than `most`. Raises FormatError for other columns."""
    across_values, labels = positions(frame, x)
    values = [across_values, _numbers(frame, y)]
    there = np.flatnonzero(np.isfinite(values[0]) & np.isfinite(values[1]))
    if len(there) <= most:
        ones = np.ones(len(there), np.int64)
        return Scatter(values[0][there], values[1][there], there, ones, len(frame) - len(there), labels)
    across, up = (_cells(each[there], count) for each, count in zip(values, (columns, rows), strict=True))
    _, first, count = np.unique(across * rows + up, return_index=True, return_counts=True)
    order = np.argsort(first)
    own = there[first[order]]
    return Scatter(values[0][own], values[1][own], own, count[order].astype(np.int64), len(frame) - len(there), labels)


def positions(frame: pd.DataFrame, name: str) -> tuple[Float64Array, list[str]]:
    """(place of each row along a column, labels): of an axis of texts, such as targets, the rank of the text."""
    if name not in frame.columns or not name.startswith(AXIS) or frame[name].dtype.kind in "iuf":
        return _numbers(frame, name), []
    texts = frame[name].to_numpy(object)
    labels = sorted({str(each) for each in texts if each is not None and each == each})
    place = {label: rank for rank, label in enumerate(labels)}
    return np.array([place.get(str(each), np.nan) for each in texts], np.float64), labels


def fits(frame: pd.DataFrame) -> BoolArray:
    """Whether the program of each report fits into the memory of its tiles, as far as it is known."""
    over = frame["tiles_over"].to_numpy(np.float64) > 0
    return np.asarray(~(over | (frame["state"] == "does not fit").to_numpy(bool)))


def number_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that a scatter can have: those of numbers."""
    return [str(name) for name in frame.columns if frame[name].dtype.kind in "iuf"]


def series_of(frame: pd.DataFrame, rows: Int64Array, along: str) -> tuple[list[int], list[str]]:
    """(series of each row, names of the series by number). Reports that differ only in the axis `along` are of one
    series; along the time of commits those that differ only in their commit (as in `check_trend`). Of other columns
    there are none. A name has the values of the other axes that vary, such as "target ipu2, tiles 64"."""
    if along != "commit_time_s" and not along.startswith(AXIS):
        return [], []
    left_out = (f"{AXIS}commit",) if along == "commit_time_s" else (along,)
    axes = [name for name in frame.columns if name.startswith(AXIS) and name not in left_out]
    of_row = frame.groupby(axes, dropna=False).ngroup().to_numpy() if axes else np.zeros(len(frame), np.int64)
    names = [""] * (int(of_row.max(initial=-1)) + 1)
    varying = [name for name in axes if frame[name].nunique(dropna=False) > 1]
    for row in np.unique(of_row, return_index=True)[1].tolist():
        values = ((name.removeprefix(AXIS), frame[name].iloc[row]) for name in varying)
        names[int(of_row[row])] = ", ".join(f"{name} {_shown(value)}" for name, value in values)
    return [int(number) for number in of_row[rows]], names


def _shown(value: object) -> str:
    """A number that is whole without its fraction; "none" for a missing one."""
    if value is None or value != value:
        return "none"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _numbers(frame: pd.DataFrame, name: str) -> Float64Array:
    choices = number_columns(frame)
    if name not in choices:
        raise FormatError(f"the catalogue has no figure {name!r}; figures are {', '.join(choices)}.")
    return frame[name].to_numpy(np.float64)


def _cells(values: Float64Array, count: int) -> Int64Array:
    """The cell of each value, of `count` equal ones from the smallest to the largest."""
    if not len(values):
        return np.zeros(0, np.int64)
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros(len(values), np.int64)
    return np.minimum((values - low) / (high - low) * count, count - 1).astype(np.int64)
