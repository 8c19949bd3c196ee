"""A scatter of two columns of the catalogue, at most one point per cell of a grid: a two-dimensional histogram that
keeps the first report of each cell. Cost: one pass over the rows. A screen cannot show more points than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import Float64Array, Int64Array
from popvision.catalogue.report_row import AXIS
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scatter:
    """Point i stands for `count[i]` reports of one cell, and lies where the first of them does: row `row[i]` of the
    frame. `missing` rows lack one of the figures."""

    x: Float64Array
    y: Float64Array
    row: Int64Array
    count: Int64Array
    missing: int


def scatter(frame: pd.DataFrame, x: str, y: str, columns: int = 240, rows: int = 120) -> Scatter:
    """The points of a frame over columns `x` and `y`. Raises FormatError for a column that holds no numbers."""
    values = [_numbers(frame, name) for name in (x, y)]
    there = np.flatnonzero(np.isfinite(values[0]) & np.isfinite(values[1]))
    across, up = (_cells(each[there], count) for each, count in zip(values, (columns, rows), strict=True))
    _, first, count = np.unique(across * rows + up, return_index=True, return_counts=True)
    order = np.argsort(first)
    own = there[first[order]]
    return Scatter(values[0][own], values[1][own], own, count[order].astype(np.int64), len(frame) - len(there))


def number_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that a scatter can have: those of numbers."""
    return [str(name) for name in frame.columns if frame[name].dtype.kind in "iuf"]


def series_of(frame: pd.DataFrame, rows: Int64Array) -> list[int]:
    """The series of some rows: reports that differ only in their commit have one number (as in `check_trend`)."""
    axes = [name for name in frame.columns if name.startswith(AXIS) and name != f"{AXIS}commit"]
    of_row = frame.groupby(axes, dropna=False).ngroup().to_numpy() if axes else np.zeros(len(frame), np.int64)
    return [int(number) for number in of_row[rows]]


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
