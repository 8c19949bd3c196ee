"""Large reductions to few elements, whatever the order of the values in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplibs.popops.reductions.params import reduce_array


@given(
    st.sampled_from([(16, 8, 16, 16), (8, 3, 40, 25), (5, 64, 64, 2), (128, 300, 2, 1), (4, 1, 97, 97)]),
    st.permutations(range(4)),
    st.sets(st.integers(0, 3), min_size=1),
    st.sampled_from(["ADD", "MAX", "MIN", "SQUARE_ADD", "LOGICAL_OR"]),
)
def test_any_order_in_memory(shape: tuple[int, ...], order: list[int], axes: set[int], op: str) -> None:
    rng = np.random.default_rng(1)
    stored = rng.normal(size=[shape[a] for a in order]).astype(np.float32)
    values: Any = stored.transpose(np.argsort(order))
    if op == "LOGICAL_OR":
        values = values > 2.5
    exact = {
        "ADD": lambda v: v.astype(np.float64).sum(tuple(axes)),
        "MAX": lambda v: v.max(tuple(axes)),
        "MIN": lambda v: v.min(tuple(axes)),
        "SQUARE_ADD": lambda v: (v.astype(np.float64) ** 2).sum(tuple(axes)),
        "LOGICAL_OR": lambda v: v.any(tuple(axes)),
    }[op](values)
    found = reduce_array(op, values, tuple(axes))
    assert found.dtype == values.dtype
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4 * np.sqrt(values.size))


@pytest.mark.parametrize("channels", [1, 8, 32])
def test_sums_per_channel_count_every_element_once(channels: int) -> None:
    """Sums of whole numbers below 2^24 are exact in any order."""
    values = np.arange(64 * 26 * 26 * channels, dtype=np.float32).reshape(64, 26, 26, channels) % 7
    found = reduce_array("ADD", values, (0, 1, 2))
    np.testing.assert_array_equal(found, values.astype(np.int64).sum((0, 1, 2)))
