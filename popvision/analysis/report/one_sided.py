"""Rows that one of two reports has: what the other one counts of them.

A report that recorded a figure and lacks a row has 0 of what adds up over rows (bytes, counts, cycles, FLOPs), so that
the difference counts in full. A figure that the report did not record is missing (NaN) in every row of that side, and
so are means, shares and rates of a row that is not there: nothing is divided by nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.figure import Unit, Values
from popvision.arrays import BoolArray, Float64Array

#: Units whose figures add up over the rows of a table.
ADDS_UP: frozenset[Unit] = frozenset(
    ("bytes", "count", "mean_count", "cycles", "mean_cycles", "thread_cycles", "flops")
)


def in_full(
    values: npt.ArrayLike | Values, absent: BoolArray, other: npt.ArrayLike | Values, unit: Unit, recorded: bool = True
) -> Float64Array:
    """The values of one side as numbers, NaN for unknown, with 0 in the rows that it lacks (`absent`) where `other`,
    the values of the side that has the row, says how many there are; NaN stays where the unit does not add up, and
    where no row of this side has a value, or `recorded` is false: the report did not record the figure."""
    numbers, others = numbers_of(values), numbers_of(other)
    present = numbers[~absent]
    recorded = recorded and (not len(present) or not np.isnan(present).all())
    if unit not in ADDS_UP or not recorded:
        return np.where(absent, np.nan, numbers)
    return np.where(absent, np.where(np.isnan(others), np.nan, 0.0), numbers)


def both_in_full(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    absent: tuple[BoolArray, BoolArray],
    unit: Unit,
    recorded: tuple[bool, bool] = (True, True),
) -> tuple[Float64Array, Float64Array]:
    """Source and target of `in_full`; `absent` are the rows that the source lacks and those that the target lacks."""
    return (
        in_full(before, absent[0], after, unit, recorded[0]),
        in_full(after, absent[1], before, unit, recorded[1]),
    )


def numbers_of(values: npt.ArrayLike | Values) -> Float64Array:
    """Values as float, missing ones (None, NA) as NaN."""
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy(np.float64, na_value=np.nan), np.float64)
    return np.asarray(values, np.float64)
