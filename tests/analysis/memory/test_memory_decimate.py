import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.report.decimate import min_max_positions


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=300), st.integers(4, 60))
def test_extremes_ends_and_limit(values: list[int], limit: int) -> None:
    drawn = min_max_positions(values, limit)
    kept = [values[i] for i in drawn.positions]
    assert len(kept) <= limit or len(values) <= limit
    assert (max(kept), min(kept)) == (max(values), min(values))
    assert drawn.positions[0] == 0
    assert drawn.positions[-1] == len(values) - 1
    assert drawn.decimated == (len(kept) < len(values)) == (len(values) > limit)
    assert (np.diff(drawn.positions) > 0).all()


def test_every_bucket_keeps_its_peak() -> None:
    values = np.zeros(10_000)
    values[[1234, 5678]] = 7, -7
    drawn = min_max_positions(values, 100)
    assert drawn.decimated
    assert {1234, 5678} <= set(drawn.positions.tolist())


def test_a_short_series_is_whole() -> None:
    drawn = min_max_positions([3, 1, 2], 4)
    assert (drawn.positions.tolist(), drawn.decimated) == ([0, 1, 2], False)
    with pytest.raises(ValueError, match="at least 4 points"):
        min_max_positions([1], 3)
