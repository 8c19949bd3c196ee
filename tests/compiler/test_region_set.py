"""The interval set beside a plain set of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base import region_set
from simulator.base.region_set import RegionSet

RUNS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), max_size=24)


def regions(runs):
    return np.array([start for start, _ in runs], np.int64), np.array([length for _, length in runs], np.int64)


def elements(runs):
    return {one for start, length in runs for one in range(start, start + length)}


@pytest.mark.parametrize("most_new", [0, 3, 512])
@given(steps=st.lists(st.tuples(RUNS, RUNS), max_size=8))
def test_it_has_what_was_added(most_new, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_set, "_MOST_NEW", most_new)
        made, expected = RegionSet(), set()
        for added, asked in steps:
            assert made.meets(regions(asked)) == bool(expected & elements(asked))
            made.add(regions(added))
            expected |= elements(added)
            assert made.meets(regions(asked)) == bool(expected & elements(asked))


def test_an_empty_set_meets_nothing():
    assert not RegionSet().meets(regions([(0, 5)]))
    assert not RegionSet().meets(regions([]))
