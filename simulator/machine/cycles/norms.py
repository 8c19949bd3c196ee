"""poplin's vertex of the inverse standard deviation.

Source: PopLibs' public cycle estimator of InverseStdDeviation."""

from __future__ import annotations

import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import ceil_div, vector_width, whole

#: thread cycles beside the rows
INVERSE_STD_DEVIATION_BASE = 6


def inverse_std_deviation_row(n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of InverseStdDeviation on n channels: 4 + 5 for each pair, in float whatever the type
    (three vector operations and two roots); 6 for the vertex."""
    width = vector_width("float")
    return whole(4 + (3 + width) * ceil_div(whole(n), width))
