"""The bins of heat maps of each number type, against exact fractions; NumPy's count against the bisection."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision import pvti

FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.1, 0.5, -0.25, 1.0, 2.0, 1024.0])
EDGES = st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=9, unique=True).map(sorted)


def slow_counts(values: list[float], limits: list[Fraction]) -> list[int]:
    """One value at a time: how many limits it reaches, as an exact comparison."""
    counts = [0] * (len(limits) + 1)
    for value in values:
        if math.isnan(value):
            continue
        at = (
            sum(limit <= Fraction(value) for limit in limits)
            if math.isfinite(value)
            else (len(limits) if value > 0 else 0)
        )
        counts[at] += 1
    return counts


@given(values=st.lists(FLOATS, max_size=30), edges=EDGES)
def test_doubles(values: list[float], edges: list[float]) -> None:
    heatmap = pvti.HeatmapDouble("h", edges)
    expected = slow_counts(values, [Fraction(edge) for edge in edges])
    assert heatmap.quantities(values) == expected
    assert heatmap.quantities(np.array(values).reshape(1, -1)) == expected


@given(values=st.lists(FLOATS, max_size=30), low=st.integers(-60, 60), bins=st.integers(1, 40))
def test_powers_of_two(values: list[float], low: int, bins: int) -> None:
    heatmap = pvti.HeatmapDouble("h", list(range(low, low + bins + 1)), "2^x")
    expected = slow_counts(values, [Fraction(2) ** edge for edge in range(low, low + bins + 1)])
    assert heatmap.quantities(values) == expected
    assert heatmap.quantities(np.array(values)) == expected


@given(values=st.lists(FLOATS, max_size=30))
def test_floats_are_rounded_to_four_bytes(values: list[float]) -> None:
    edges = [-1.0, 0.1, 0.7, 3.0]
    with np.errstate(over="ignore"):
        rounded = np.array(values, np.float64).astype(np.float32).astype(float).tolist()
        limits = [Fraction(float(np.float32(edge))) for edge in edges]
    heatmap = pvti.HeatmapFloat("h", edges)
    assert heatmap.quantities(values) == slow_counts(rounded, limits)
    assert heatmap.quantities(np.array(values, np.float64)) == slow_counts(rounded, limits)
    # A double 0.1 lies below the 4-byte number 0.1; rounded it does not.
    assert heatmap.quantities([0.1, np.float32(0.1)]) == [0, 0, 2, 0, 0]


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 70), max_size=30))
def test_whole_numbers_are_compared_exactly(values: list[int]) -> None:
    edges = [-(2**53), 0, 3, 2**53]
    heatmap = pvti.HeatmapInt("h", edges)
    expected = slow_counts([Fraction(v) for v in values], [Fraction(e) for e in edges])  # type: ignore[misc]
    assert heatmap.quantities(values) == expected
    assert heatmap.quantities(np.array(values, np.int64)) == expected
    powers = pvti.HeatmapInt("h", [-2, 0, 1, 6, 80], "2^x")
    expected = slow_counts(
        [Fraction(v) for v in values],  # type: ignore[misc]
        [Fraction(2) ** e for e in (-2, 0, 1, 6, 80)],
    )
    assert powers.quantities(values) == powers.quantities(np.array(values, np.int64)) == expected


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: pvti.HeatmapInt("h", [0, 1.5]), "a HeatmapInt counts whole numbers, not 1.5; use HeatmapDouble."),  # type: ignore[list-item]
        (
            lambda: pvti.HeatmapInt("h", [0, 1]).quantities(np.array([0.5])),
            "a HeatmapInt counts whole numbers, not 0.5",
        ),
        (lambda: pvti.HeatmapInt("h", [0, 2**60]), "heat map 'h' has the bin edge 1152921504606846976; edges go up"),
        (lambda: pvti.HeatmapFloat("h", [0.1, 0.1 + 1e-12]), "heat map 'h' needs two or more finite, ascending bin"),
        (lambda: pvti.HeatmapDouble("h", [1]), "heat map 'h' needs two or more finite, ascending bin edges."),
    ],
)
def test_wrong_edges_and_values_are_one_sentence(make: object, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
