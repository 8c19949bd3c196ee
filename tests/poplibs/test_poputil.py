"""Linear mapping: shares, grains and the least share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF
from simulator.poplibs.poputil import linear_shares, mapTensorLinearly
from tests.poplibs.programs import small_graph


@given(st.integers(1, 5000), st.integers(1, 200), st.sampled_from([1, 2, 4]), st.integers(1, 64))
def test_shares_are_even_whole_grains(elements: int, tiles: int, grain: int, least: int) -> None:
    ends = linear_shares(elements, tiles, grain, least)
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == elements
    assert len(ends) <= tiles
    assert (sizes > 0).all()
    assert (ends[:-1] % grain == 0).all()
    assert sizes.max() - sizes.min() < 2 * grain
    if len(ends) > 1:
        assert sizes.min() >= min(least, elements) - 2 * grain


def test_small_tensors_take_128_bytes_a_tile() -> None:
    graph = small_graph(1472)
    for type_, used in ((FLOAT, 10), (HALF, 5)):
        tensor = graph.addVariable(type_, [320], "t")
        mapTensorLinearly(graph, tensor)
        mapping = graph.getTileMapping(tensor)
        assert sum(1 for tile in mapping if tile) == used
        assert sum(interval.size() for tile in mapping for interval in tile) == 320


def test_large_tensors_use_every_tile() -> None:
    graph = small_graph(100)
    tensor = graph.addVariable(FLOAT, [100, 64], "t")
    mapTensorLinearly(graph, tensor)
    assert all(sum(i.size() for i in tile) == 64 for tile in graph.getTileMapping(tensor))
