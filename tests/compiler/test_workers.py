"""Schedule of vertices on six worker contexts: the first idle context takes the next vertex."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.cost.workers import schedule


def slow(cycles, contexts):
    load, chosen = [0] * contexts, []
    for cost in cycles:
        context = load.index(min(load))
        chosen.append(context)
        load[context] += cost
    return chosen, max(load)


def test_seven_equal_vertices_take_two_rounds():
    worker, longest = schedule(np.full(7, 10), np.array([0, 7]), 6)
    assert worker.tolist() == [0, 1, 2, 3, 4, 5, 0]
    assert longest.tolist() == [20]


def test_a_tile_without_vertices_is_idle():
    _, longest = schedule(np.array([5, 9]), np.array([0, 0, 2, 2]), 6)
    assert longest.tolist() == [0, 9, 0]


@given(st.lists(st.lists(st.integers(0, 30), max_size=25), min_size=1, max_size=14), st.sampled_from([1, 2, 6]))
def test_equal_to_the_slow_way(tiles, contexts):
    cycles = np.array([c for tile in tiles for c in tile], np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(t) for t in tiles])]).astype(np.int64)
    worker, longest = schedule(cycles, offsets, contexts)
    for number, tile in enumerate(tiles):
        chosen, most = slow(tile, contexts) if tile else ([], 0)
        mine = worker[offsets[number] : offsets[number + 1]].tolist()
        assert longest[number] == most
        if len(set(tile)) > 1 or 0 not in tile:  # equal costs go round robin; with cost 0 any context is free
            assert mine == chosen
