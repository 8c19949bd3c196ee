"""Cutting regions along the tile mapping, and unions within groups, against element-by-element twins."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.ir.element_map import element_map
from simulator.compiler.ir.grouping import in_order, union, union_in_groups


def two_variables():
    """Variable 0: elements 0-5 on tiles 0, 0, 1, 1, 1, 2 (4 bytes); variable 1: elements 6-9 on tile 1 (2 bytes)."""
    return element_map(
        np.array([0, 6]), np.array([6, 4]), np.array([4, 2]), np.array([2, 5, 6, 10]), np.array([0, 1, 2, 1])
    )


def test_a_region_is_cut_where_tile_or_variable_changes():
    pieces = two_variables().cut(np.array([1, 7]), np.array([7, 2]))
    assert pieces.region.tolist() == [0, 0, 0, 0, 1]
    assert pieces.start.tolist() == [1, 2, 5, 6, 7]
    assert pieces.length.tolist() == [1, 3, 1, 2, 2]
    assert two_variables().tile[pieces.row].tolist() == [0, 1, 2, 1, 1]
    assert two_variables().item_bytes[pieces.row].tolist() == [4, 4, 4, 2, 2]


def test_empty_regions_give_no_piece_and_keep_the_numbers_of_others():
    pieces = two_variables().cut(np.array([0, 3, 9]), np.array([0, 1, 1]))
    assert pieces.region.tolist() == [1, 2]


def test_variables_without_elements_own_no_interval():
    emap = element_map(
        np.array([0, 3, 3]), np.array([3, 0, 2]), np.array([4, 4, 4]), np.array([3, 5]), np.array([0, 1])
    )
    assert emap.variable.tolist() == [0, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=12))
def test_pieces_spell_the_same_elements_as_their_regions(given_regions):
    regions = [(s, min(n, 10 - s)) for s, n in given_regions]
    starts = np.array([s for s, _ in regions], np.int64)
    lengths = np.array([n for _, n in regions], np.int64)
    emap = two_variables()
    pieces = emap.cut(starts, lengths)
    tile_of = [0, 0, 1, 1, 1, 2, 1, 1, 1, 1]
    found: dict[int, list[int]] = {}
    for region, start, length, row in zip(pieces.region, pieces.start, pieces.length, pieces.row, strict=True):
        found.setdefault(int(region), []).extend(range(start, start + length))
        assert {tile_of[e] for e in range(start, start + length)} == {int(emap.tile[row])}
    assert found == {i: list(range(s, s + n)) for i, (s, n) in enumerate(regions) if n}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(1, 6)), max_size=20))
def test_union_equals_sets_of_elements(rows):
    group, start, length = (np.array([r[i] for r in rows], np.int64) for i in range(3))
    g, s, n = union_in_groups(group, start, length, 26)
    merged = [(int(a), int(e)) for a, b, c in zip(g, s, n, strict=True) for e in range(b, b + c)]
    assert len(merged) == len(set(merged))
    assert set(merged) == {(a, e) for a, b, c in rows for e in range(b, b + c)}
    # Maximal: no two runs of a group touch.
    runs = list(zip(g.tolist(), s.tolist(), n.tolist(), strict=True))
    assert all(x[0] != y[0] or x[1] + x[2] < y[1] for x, y in pairwise(runs))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=20))
def test_a_union_of_one_group_is_that_of_groups(rows):
    start, length = (np.array([r[i] for r in rows], np.int64) for i in range(2))
    _, *slow = union_in_groups(np.zeros(len(start), np.int64), start, length, 27)
    assert [column.tolist() for column in union(start, length)] == [column.tolist() for column in slow]


@given(st.lists(st.integers(0, 5) | st.integers(0, 2**62), max_size=30))
def test_positions_in_order_are_those_of_a_stable_sort(keys):
    order, ordered = in_order(np.array(keys, np.int64))
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)
    assert ordered.tolist() == sorted(keys)


@given(st.integers(0, 2**32), st.sampled_from([1, 3, 1000]), st.integers(300, 900))
def test_a_table_of_buckets_finds_the_rows_of_a_binary_search(seed, longest, rows):
    """Rows of equal lengths, and crowds of short ones between long ones, where look-ups step on or search."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(rows) < 0.9, 1, longest) * rng.integers(1, 5, rows)
    ends = np.cumsum(sizes)
    emap = element_map(np.array([0]), ends[-1:], np.array([4]), ends, np.zeros(rows, np.int64))
    wanted = np.concatenate([rng.integers(0, ends[-1] + 3, 300), ends[:100], ends[-100:] - 1])
    assert emap.find(wanted).tolist() == np.searchsorted(ends, wanted, side="right").tolist()
    assert emap.find(np.array([0, ends[-1]])).tolist() == [0, rows]
