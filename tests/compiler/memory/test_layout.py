"""Addresses: nothing that is live at the same time overlaps, code stays below the border, bytes add up."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Allocations
from simulator.compiler.memory.layout import ALIGNMENT, LayoutConstraints, lay_out
from simulator.compiler.memory.liveness import LiveClasses
from simulator.compiler.memory.overlap import coverage

BORDER, CAPACITY = 128, 256


def allocations(rows):
    """Rows (tile, bytes, category name, class, interleaved)."""
    n = len(rows)
    column = [np.array([r[i] for r in rows]) for i in (0, 1, 3, 4)]
    category = np.array([CATEGORY_NUMBER[r[2]] for r in rows], np.int64)
    return Allocations(
        column[0].astype(np.int64),
        column[1].astype(np.int64),
        category,
        np.arange(n),
        column[2].astype(np.int64),
        np.arange(n),
        column[3].astype(np.bool_),
    )


def classes(ranges):
    none = np.empty(0, np.int64)
    return LiveClasses(
        np.arange(len(ranges) + 1), np.array([r[0] for r in ranges]), np.array([r[1] for r in ranges]), none, none
    )


def test_code_lies_lowest_and_interleaved_above_the_border():
    a = allocations([(0, 12, "variable", -1, False), (0, 20, "vertexCode", -1, False), (0, 8, "variable", -1, True)])
    assert lay_out(a, classes([]), 1, BORDER).tolist() == [24, 0, BORDER]


def test_what_does_not_fit_below_the_border_follows_above_it():
    a = allocations([(0, 120, "variable", -1, False), (0, 16, "variable", -1, False), (0, 8, "variable", -1, True)])
    assert lay_out(a, classes([]), 1, BORDER).tolist() == [0, BORDER + 8, BORDER]


def test_a_gap_left_by_the_dead_is_used_again():
    """Class 0 dies before class 2 begins, so 2 takes its place below 1."""
    a = allocations([(0, 16, "variable", 0, False), (0, 8, "variable", 1, False), (0, 16, "variable", 2, False)])
    assert lay_out(a, classes([(0, 4), (1, 9), (5, 9)]), 1, BORDER).tolist() == [0, 16, 0]


def test_overlapped_bytes_count_once_for_the_lowest_allocation():
    cover = coverage(np.array([0, 0, 0]), np.array([0, 8, 8]), np.array([16, 16, 4]), BORDER, CAPACITY)
    assert (cover.alone + cover.overlapped)[0].tolist() == [16, 8, 0]
    assert cover.overlapped[0].tolist() == [8, 0, 0]


def test_regions_split_at_border_and_capacity():
    cover = coverage(np.array([0]), np.array([100]), np.array([200]), BORDER, CAPACITY)
    assert cover.alone[:, 0].tolist() == [28, 128, 44]


rows = st.tuples(
    st.integers(0, 2),
    st.integers(1, 40),
    st.sampled_from(["variable", "vertexCode", "message"]),
    st.integers(-1, 4),
    st.booleans(),
)
spans = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=5, max_size=5)


@given(st.lists(rows, min_size=1, max_size=25), spans)
def test_laws_of_a_layout(given_rows, given_spans):
    a = allocations(given_rows)
    ranges = [(s, s + n) for s, n in given_spans]
    address = lay_out(a, classes(ranges), 3, BORDER)
    assert (address % ALIGNMENT == 0).all()
    assert (address[a.interleaved] >= BORDER).all()
    for i in range(len(a)):
        for j in range(i):
            if a.tile[i] == a.tile[j] and _together(a.live_class[i], a.live_class[j], ranges):
                assert address[i] + a.bytes[i] <= address[j] or address[j] + a.bytes[j] <= address[i]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300), st.integers(1, 60)), max_size=15))
def test_coverage_equals_a_map_of_every_byte(items):
    tile, address, size = (np.array([x[i] for x in items], np.int64) for i in range(3))
    cover = coverage(tile, address, size, BORDER, CAPACITY)
    users: dict[tuple[int, int], list[int]] = {}
    for i in sorted(range(len(items)), key=lambda i: (items[i][1], i)):
        for byte in range(items[i][1], items[i][1] + items[i][2]):
            users.setdefault((items[i][0], byte), []).append(i)
    alone, overlapped = np.zeros((3, len(items)), int), np.zeros((3, len(items)), int)
    for (_, byte), who in users.items():
        region = 0 if byte < BORDER else 1 if byte < CAPACITY else 2
        (overlapped if len(who) > 1 else alone)[region, who[0]] += 1
    assert np.array_equal(cover.alone, alone)
    assert np.array_equal(cover.overlapped, overlapped)


def _together(a, b, ranges):
    if a < 0 or b < 0:
        return True
    return ranges[a][0] < ranges[b][1] and ranges[b][0] < ranges[a][1]


def needs(groups, wide=()):
    return LayoutConstraints(np.array(groups, np.int64), np.isin(np.arange(len(groups)), list(wide)))


def test_stacks_begin_at_an_element_without_code():
    rows = [(0, 20, "vertexCode", -1, False), (0, 16, "stack", -1, False), (0, 4, "variable", -1, False)]
    assert lay_out(allocations(rows), classes([]), 1, BORDER, element=32).tolist() == [0, 32, 48]
    # A tile whose gap would not leave room for 60 bytes more has none.
    assert lay_out(allocations(rows), classes([]), 1, BORDER, peak=np.array([60]), element=32).tolist() == [0, 24, 40]


def test_a_tile_without_code_has_no_gap():
    a = allocations([(0, 16, "stack", -1, False), (0, 4, "variable", -1, False)])
    assert lay_out(a, classes([]), 1, BORDER, element=32).tolist() == [0, 16]


def test_wide_rows_begin_at_multiples_of_sixteen():
    a = allocations([(0, 4, "stack", -1, False), (0, 8, "variable", -1, False), (0, 8, "variable", -1, False)])
    assert lay_out(a, classes([]), 1, BORDER, needs([0, 0, 0], [2])).tolist() == [0, 32, 16]


def test_groups_share_no_element_while_both_are_live():
    a = allocations([(0, 16, "variable", 0, False), (0, 16, "variable", 1, False), (0, 16, "variable", 2, False)])
    spans = classes([(0, 4), (3, 9), (5, 9)])
    assert lay_out(a, spans, 1, BORDER, element=32).tolist() == [0, 16, 0]
    # 0 and 1 meet; 2 comes when 0 is dead, but may not lie in the element of 1
    assert lay_out(a, spans, 1, BORDER, needs([1, 2, 1]), element=32).tolist() == [0, 32, 0]


def test_a_full_tile_gives_up_elements_before_it_spills():
    a = allocations([(0, 80, "variable", 0, False), (0, 40, "variable", 1, False)])
    assert lay_out(a, classes([(0, 4), (0, 4)]), 1, BORDER, needs([1, 2]), element=64).tolist() == [0, 80]


@given(st.lists(rows, min_size=1, max_size=20), spans, st.lists(st.integers(0, 3), min_size=20, max_size=20))
def test_laws_of_a_layout_with_groups(given_rows, given_spans, groups):
    a = allocations(given_rows)
    ranges = [(s, s + n) for s, n in given_spans]
    border, element = 1 << 12, 64  # room enough for every group
    address = lay_out(a, classes(ranges), 3, border, needs(groups[: len(a)]), element=element)
    for i in range(len(a)):
        for j in range(i):
            if a.tile[i] != a.tile[j] or not _together(a.live_class[i], a.live_class[j], ranges):
                continue
            assert address[i] + a.bytes[i] <= address[j] or address[j] + a.bytes[j] <= address[i]
            if groups[i] and groups[j] and groups[i] != groups[j]:
                first, last = sorted((i, j), key=lambda row: address[row])
                assert (address[first] + a.bytes[first] - 1) // element < address[last] // element


def test_blocks_keep_away_from_what_has_an_address():
    """Variable 0 was placed at 32 on tile 0 by someone else; on tile 1 it has no place yet."""
    rows = [(0, 16, "variable", -1, False), (0, 24, "variable", 0, False), (0, 40, "variable", 0, False)]
    a = allocations([*rows, (1, 16, "variable", -1, False), (1, 24, "variable", 0, False)])
    a.variable[:] = [0, 1, 2, 0, 1]
    fixed = LayoutConstraints(np.zeros(3, np.int64), np.zeros(3, np.bool_), {(0, 0): 32})
    address = lay_out(a, classes([(0, 4)]), 2, BORDER, fixed)
    assert address[0] == 32
    mine = sorted((int(address[i]), int(address[i] + a.bytes[i])) for i in range(3))
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(mine))
    assert address[3:].tolist() == [0, 16]


def test_a_block_lies_across_the_border_where_the_tile_would_be_full_otherwise():
    a = allocations([(0, 24, "variable", -1, False), (0, 112, "variable", 0, False), (0, 40, "variable", 1, True)])
    spans = classes([(0, 4), (0, 4)])
    assert lay_out(a, spans, 1, BORDER).tolist() == [0, BORDER, BORDER + 112]
    assert lay_out(a, spans, 1, BORDER, capacity=300).tolist() == [0, BORDER, BORDER + 112]
    assert lay_out(a, spans, 1, BORDER, capacity=CAPACITY).tolist() == [0, 32, 144]
