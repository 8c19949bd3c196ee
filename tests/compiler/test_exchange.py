"""Exchange figures: published ones, hand-computed ones, and a twin that moves element by element."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.exchange.plan import broadcast, plan_exchange
from simulator.compiler.ir.transfers import Transfer
from simulator.machine.exchange import exchange_code_bytes, exchange_cycles

ONE_IPU = np.zeros(4, np.int64)
BUSES = np.array([0, 0, 1, 1])


def transfer(rows):
    """Rows (src, dst, start, length, item_bytes)."""
    return Transfer(*(np.array([r[i] for r in rows], np.int64) for i in range(5)))


def test_published_three_tile_exchange():
    """40, 36 and 40 bytes received take 70, 69 and 70 cycles: 70 in all, active-tile balance 99.5 %."""
    cycles = exchange_cycles(np.array([10, 9, 10, 0]), np.array([8, 7, 8, 0]))
    assert cycles.tolist() == [70, 69, 70, 0]
    assert round(cycles[:3].mean() / cycles.max(), 3) == 0.995


def test_published_exchange_code():
    """Four runs received and eight sent on three tiles take 140 bytes."""
    assert exchange_code_bytes(np.array([2, 1, 1]), np.array([3, 2, 3])).sum() == 140


def test_a_multicast_is_sent_once_and_received_by_each():
    rows = [(0, 1, 100, 6, 4), (0, 2, 100, 6, 4), (0, 3, 103, 5, 4)]
    e = plan_exchange(transfer(rows), ONE_IPU, BUSES, 4.0).internal
    assert e is not None
    assert e.rx.tolist() == [0, 24, 24, 20]
    assert e.tx.tolist() == [8 * 4, 0, 0, 0]  # elements 100 to 107
    s = e.sendings  # 106 and 107 go to one tile, 100 to 102 to two, 103 to 105 to three
    assert list(zip(s.src.tolist(), s.receivers.tolist(), s.size.tolist(), strict=True)) == [
        (0, 1, 8),
        (0, 2, 12),
        (0, 3, 12),
    ]
    assert e.cycles.tolist() == [60 + 8, 60 + 6, 60 + 6, 60 + 5]  # 2 and 3 receive different runs
    assert list(zip(e.src.tolist(), e.dst.tolist(), e.size.tolist(), strict=True)) == [
        (0, 1, 24),
        (0, 2, 24),
        (0, 3, 20),
    ]


def test_an_element_wanted_twice_by_one_tile_is_sent_twice():
    rows = [(0, 1, 100, 6, 4), (0, 1, 104, 2, 4), (0, 2, 100, 6, 4)]
    e = plan_exchange(transfer(rows), ONE_IPU, BUSES, 4.0).internal
    assert e is not None
    assert e.rx.tolist() == [0, 32, 24, 0]
    assert e.tx.tolist() == [32, 0, 0, 0]


def test_runs_do_not_share_words():
    """Two runs of one half each take a word each, though they are four bytes together. The second is a fragment of its
    own, which takes three instructions."""
    e = plan_exchange(transfer([(0, 1, 10, 1, 2), (0, 1, 20, 1, 2)]), ONE_IPU, BUSES, 4.0).internal
    assert e is not None
    assert (e.rx[1], e.cycles[1], e.moving.received[1], e.moving.instructions[1]) == (4, 63, 2, 3)


def test_switch_broadcast_reaches_every_other_tile():
    e = broadcast(0, 4, ONE_IPU, BUSES, 4.0).internal
    assert e is not None
    assert (e.rx.tolist(), e.tx.tolist()) == ([0, 4, 4, 4], [4, 0, 0, 0])
    assert e.cycles.tolist() == [61] * 4


def test_what_crosses_ipus_is_a_global_exchange():
    ipus = np.array([0, 0, 1, 1])
    both = plan_exchange(transfer([(0, 1, 0, 8, 4), (0, 3, 0, 8, 4)]), ipus, BUSES, 4.0)
    assert both.internal is not None
    assert both.between_ipus is not None
    assert both.internal.rx.tolist() == [0, 32, 0, 0]
    assert both.between_ipus.rx.tolist() == [0, 0, 0, 32]
    assert both.between_ipus.tx.tolist() == [32, 0, 0, 0]
    assert (both.between_ipus.cycles > 0).tolist() == [True, False, False, True]


runs = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 30), st.integers(1, 6))


@given(st.lists(runs, min_size=1, max_size=15, unique=True))
def test_figures_equal_a_twin_that_counts_elements(rows):
    rows = [(s, d, start, n, 4) for s, d, start, n in rows if s != d]
    exchanges = plan_exchange(transfer(rows), ONE_IPU, BUSES, 4.0) if rows else None
    rx, wanted, pairs = [0] * 4, Counter(), {}
    for src, dst, start, n, size in rows:
        rx[dst] += n * size
        wanted.update((src, dst, element) for element in range(start, start + n))
        pairs[src, dst] = pairs.get((src, dst), 0) + n * size
    # An element goes to all receivers at once, and again to those that want it again.
    times = {}
    for (src, _, element), count in wanted.items():
        times[src, element] = max(times.get((src, element), 0), count)
    sent = [sum(count for (src, _), count in times.items() if src == t) for t in range(4)]
    if exchanges is None or exchanges.internal is None:
        assert not rows
        return
    e = exchanges.internal
    assert e.rx.tolist() == rx
    assert e.tx.tolist() == [4 * elements for elements in sent]
    assert {(int(s), int(d)): int(b) for s, d, b in zip(e.src, e.dst, e.size, strict=True)} == pairs
    assert e.size.sum() == e.rx.sum()
    # At its n-th sending an element goes to the tiles that want it at least n times.
    sendings = Counter()
    for (src, element), count in times.items():
        for n in range(1, count + 1):
            sendings[src, sum(wanted[src, d, element] >= n for d in range(4) if (src, d, element) in wanted)] += 4
    s = e.sendings
    assert {(int(a), int(b)): int(c) for a, b, c in zip(s.src, s.receivers, s.size, strict=True)} == dict(sendings)
    # A tile and its bus partner (0 and 1, 2 and 3) take what both receive in half the time.
    both = [sum(n for s, d, start, n, _ in rows if d == t and (s, t ^ 1, start, n, 4) in rows) for t in range(4)]
    busy = [max(rx[t] // 4 - both[t] // 2, sent[t]) for t in range(4)]
    # A send for each run of elements sent the n-th time; three instructions for each run received but the first.
    sends, fragments = [0] * 4, Counter(d for _, d, _, _, _ in rows)
    for t in range(4):
        for n in range(1, max(times.values()) + 1):
            going = {element for (src, element), count in times.items() if src == t and count >= n}
            sends[t] += sum(element - 1 not in going for element in going)
    busy = [max(words, 3 * max(fragments[t] - 1, 0) + sends[t]) for t, words in enumerate(busy)]
    assert e.cycles.tolist() == [60 + words if words else 0 for words in busy]
