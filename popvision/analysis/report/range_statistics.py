"""Average, minimum, maximum and standard deviation of a range, from the data, never from a drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Statistics:
    """Of `count` values; `std` is the population's (divided by count); `argmin`, `argmax` are the first positions."""

    count: int
    mean: float
    min: int
    max: int
    std: float
    argmin: int
    argmax: int
    total: int


def statistics(values: npt.ArrayLike) -> Statistics:
    """Statistics of integers. Raises ValueError when there are none."""
    numbers = np.asarray(values, dtype=np.int64)
    if not numbers.size:
        raise ValueError("an empty range has no statistics: choose at least one value")
    return Statistics(
        count=int(numbers.size),
        mean=float(numbers.mean()),
        min=int(numbers.min()),
        max=int(numbers.max()),
        std=float(numbers.std()),
        argmin=int(numbers.argmin()),
        argmax=int(numbers.argmax()),
        total=int(numbers.sum()),
    )
