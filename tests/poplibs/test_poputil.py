"""Linear mapping: shares, grains and the least share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, Graph, IPUModel
from simulator.poplibs.poputil import linear_shares, map_from_hashed_tile, mapTensorLinearly
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


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=6), st.integers(2, 64))
def test_tensors_of_one_size_start_at_one_hashed_tile(sizes: list[int], tiles: int) -> None:
    graph = small_graph(tiles)
    for size in sizes:
        first, second, plain = (graph.addVariable(FLOAT, [size], name) for name in "abc")
        map_from_hashed_tile(graph, first)
        map_from_hashed_tile(graph, second)
        mapTensorLinearly(graph, plain)
        mapping, linear = graph.getTileMapping(first), graph.getTileMapping(plain)
        assert mapping == graph.getTileMapping(second)
        used = sum(bool(intervals) for intervals in linear)
        start = next(tile for tile, intervals in enumerate(mapping) if any(i.begin == 0 for i in intervals))
        assert start == 0 or used < tiles
        assert [mapping[(start + i) % tiles] for i in range(tiles)] == linear


def test_small_tensors_of_several_sizes_start_apart_on_the_first_ipu() -> None:
    model = IPUModel()
    model.tilesPerIPU, model.numIPUs = 1472, 2
    graph = Graph(model.createDevice())
    starts = []
    for size in (1, 10, 64, 128, 256, 512, 1000):
        tensor = graph.addVariable(FLOAT, [size], "t")
        map_from_hashed_tile(graph, tensor)
        tiles = graph.getTileMappingIntervals(tensor)[2]
        assert tiles.max() < 1472
        starts.append(int(tiles[0]))
    assert len(set(starts)) == len(starts)
