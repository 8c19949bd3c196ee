"""Columns as lists of plain Python numbers, which is what scripts index, sum and write as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def ints(values: npt.NDArray[np.integer[Any]]) -> list[int]:
    """The same numbers as Python's int."""
    found: list[int] = np.asarray(values).tolist()
    return found
