"""Words that an exchange sends, computed by one sort, equal those of a twin that splits every overlap."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.exchange import multicast
from simulator.compiler.exchange.multicast import whole_runs
from simulator.compiler.ir.grouping import sums_by_key
from simulator.compiler.ir.transfers import Transfer, separate_arrivals

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(3, 6), st.integers(0, 9), st.integers(1, 3)), min_size=1, max_size=12
)


@given(ROWS)
def test_one_sort_says_the_same(rows: list[tuple[int, int, int, int]]) -> None:
    src, dst, place, length = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    item = np.where(place < 5, 4, 2)
    transfer = Transfer(src, dst, 4 * place, length * np.where(place % 3 == 0, 1, 2), item)
    elements: dict[tuple[int, int, int], int] = {}
    for s, d, at, n in zip(src, dst, transfer.start, transfer.length, strict=True):
        for element in range(at, at + n):
            elements[s, d, element] = elements.get((s, d, element), 0) + 1
    sender, size, words, sendings = multicast.sent_runs(transfer, separate_arrivals(transfer).words)
    assert (words * 4 >= size).all()
    apart = multicast.stretches_of(transfer)
    assert sorted(zip(*multicast.sent_once(apart), strict=True)) == sorted(zip(sender, size, strict=True))
    slow = multicast.bytes_by_receivers(apart)
    for name in ("src", "receivers", "size"):
        assert np.array_equal(getattr(slow, name), getattr(sendings, name))
    if max(elements.values()) > 1:
        assert whole_runs(transfer, words) is None


def test_a_multicast_is_one_run_with_its_receivers() -> None:
    columns = ([0, 0, 0, 1], [1, 2, 3, 2], [0, 0, 8, 0], [8, 8, 4, 8], [4, 4, 4, 4])
    runs = whole_runs(Transfer(*(np.array(column, np.int64) for column in columns)), np.array([8, 9, 4, 8]))
    assert runs is not None
    assert runs.receivers.tolist() == [2, 1, 1]
    assert [column.tolist() for column in runs.joined()] == [[0, 1], [48, 32], [12, 8]]


@given(st.lists(st.tuples(st.sampled_from([0, 3, 5, 1 << 40]), st.integers(0, 9)), max_size=9))
def test_sums_by_key(pairs: list[tuple[int, int]]) -> None:
    key, value = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    wanted: dict[int, int] = {}
    for k, v in pairs:
        wanted[k] = wanted.get(k, 0) + v
    found = sums_by_key(key, value)
    assert dict(zip(found[0].tolist(), found[1].tolist(), strict=True)) == wanted
    assert found[0].tolist() == sorted(wanted)
