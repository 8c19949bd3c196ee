"""Patterns of a broadcast operand along runs, against a slow scan of one element after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.pieces import Runs, aligned_runs
from simulator.poplibs.popops.broadcast.choice import Choice, choices
from simulator.poplibs.popops.broadcast.patterns import patterns_of, segments_of
from simulator.poplibs.popops.broadcast.shortcuts import surely_general
from tests.poplibs.programs import linear, small_graph


def _scan(elements: list[int]) -> list[tuple[list[int], int, int]]:
    """[(elements of the region, inner, outer)] of one run, by PopLibs' rules in words."""
    encoded: list[list[int]] = []
    for element in elements:
        if encoded and encoded[-1][1] == element:
            encoded[-1][0] += 1
        else:
            encoded.append([1, element])
    found = []
    while encoded:
        inner = encoded[0][0]
        even = next((i for i, (n, _) in enumerate(encoded) if n != inner), len(encoded))
        values = [value for _, value in encoded[:even]]
        size = next((i for i in range(1, even) if values[i] in values[:i]), even)
        outer = 1
        while values[outer * size : (outer + 1) * size] == values[:size]:
            outer += 1
        found.append((values[:size], inner, outer))
        encoded = encoded[size * outer :]
    return found


RUN = st.one_of(
    st.lists(st.integers(0, 4), min_size=1, max_size=24),
    st.builds(
        lambda region, inner, outer, skip, more: (np.repeat(region * outer, inner).tolist() + more)[skip:] or [0],
        st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
        st.integers(1, 3),
        st.integers(1, 4),
        st.integers(0, 3),
        st.lists(st.integers(0, 9), max_size=4),
    ),
)


@given(st.lists(RUN, min_size=1, max_size=5))
def test_the_same_patterns_as_a_slow_scan(runs: list[list[int]]) -> None:
    lengths = np.array([len(run) for run in runs])
    elements = np.concatenate([np.array(run, np.int64) for run in runs])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    number = np.arange(len(runs))
    table = Runs(number, offsets[:-1], lengths, number, [(elements, np.ones_like(elements))], [offsets])
    segments = segments_of(table, 0)
    patterns = patterns_of(segments, len(runs))
    assert patterns.complete.all()
    ours = [
        (int(run), segments.element[first : first + size].tolist(), int(inner), int(outer))
        for run, first, size, inner, outer in zip(
            patterns.run, patterns.first, patterns.size, patterns.inner, patterns.outer, strict=True
        )
    ]
    expected = [(i, *pattern) for i, run in enumerate(runs) for pattern in _scan(run)]
    assert ours == expected
    assert np.bincount(patterns.run, patterns.elements).tolist() == lengths.tolist()


@given(
    st.integers(3, 40), st.integers(1, 60), st.integers(1, 4), st.sampled_from(["ADD", "DIVIDE", "MAXIMUM"]), st.data()
)
def test_shortcuts_never_disagree_with_the_patterns(
    columns: int, rows: int, tiles: int, op: str, data: st.DataObject
) -> None:
    """Where regions say that a tile takes the general vertex, reading all elements gives the same answer."""
    graph = small_graph(tiles)
    type_ = data.draw(st.sampled_from([FLOAT, HALF]))
    out, vector = linear(graph, type_, [rows, columns], "out"), linear(graph, type_, [columns], "vector")
    cut = data.draw(st.integers(0, rows * columns))
    graph.setTileMapping(out.flatten()[:cut], 0)
    runs = aligned_runs(graph.store, out, [broadcast_to(vector, (rows, columns))], out.numElements())
    dtype = "half" if type_ is HALF else "float"
    general = surely_general(op, dtype, runs, 0)
    segments = segments_of(runs, 0)
    tile = np.unique(runs.tiles, return_inverse=True)[1]
    chosen = choices(op, dtype, False, segments, patterns_of(segments, len(runs.tiles)), tile)
    assert (chosen[tile][general] == Choice.GENERAL).all()
