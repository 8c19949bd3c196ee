"""Sums of live bytes against a loop over random classes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.memory.columns import bytes_of_classes, peak_by_tile, sums_by_position
from simulator.compiler.memory.liveness import LiveClasses

INDICES, TILES = 7, 3
spans = st.lists(
    st.tuples(st.integers(0, INDICES - 1), st.integers(1, 4)), min_size=1, max_size=3
)  # of one class, overlapping or not
rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, TILES - 1), st.integers(0, 50)), max_size=20)


def joined(ranges):
    """Sorted disjoint ranges, as classes have them."""
    live = [any(s <= at < min(s + n, INDICES) for s, n in ranges) for at in range(INDICES)]
    edges = np.flatnonzero(np.diff([0, *live, 0]))
    return edges[::2], edges[1::2]


@given(rows, st.lists(spans, min_size=5, max_size=5))
def test_peaks_and_curves_equal_the_twin(given_rows, given_spans):
    parts = [joined(ranges) for ranges in given_spans]
    offsets = np.cumsum([0, *(len(starts) for starts, _ in parts)])
    none = np.empty(0, np.int64)
    live = LiveClasses(
        offsets, np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), none, none
    )
    columns = tuple(np.array([row[i] for row in given_rows], np.int64) for i in range(3))
    by_class = bytes_of_classes(*columns, 5, TILES)
    curve = np.zeros((INDICES, TILES), np.int64)
    for class_, tile, size in given_rows:
        for start, end in zip(*parts[class_], strict=True):
            curve[start:end, tile] += size
    assert np.array_equal(sums_by_position(by_class, live, INDICES), curve)
    assert peak_by_tile(by_class, live).tolist() == curve.max(axis=0).tolist()
