"""Exchanges between IPUs: the published links, ways along the ladder, and laws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.links import LAUNCH_CYCLES, Links


def i8(*values):
    return np.array(values, np.int64)


def test_a_pair_moves_96_gigabytes_a_second_each_way():
    """Published: three links of 64 GB/s, both directions together, join the IPUs of a C2."""
    cycles = Links(2, 1.6e9).exchange_cycles(i8(0), i8(1), i8(960_000))
    assert cycles.tolist() == [LAUNCH_CYCLES + 16_000] * 2  # 10 microseconds at 1.6 GHz
    assert Links(2, 1.6e9).bytes_per_cycle_of_ipu == 60


def test_both_directions_at_the_same_time():
    one = Links(2, 1.33e9).exchange_cycles(i8(0), i8(1), i8(50_000))
    both = Links(2, 1.33e9).exchange_cycles(i8(0, 1), i8(1, 0), i8(50_000, 50_000))
    assert one.tolist() == both.tolist()


def test_no_faster_than_the_tile_that_sends():
    cycles = Links(2, 1.33e9).exchange_cycles(i8(0), i8(1), i8(4000), i8(1000, 900))
    assert cycles.tolist() == [LAUNCH_CYCLES + 1000] * 2


def test_ways_along_the_ladder():
    message, link = Links(6, 1.33e9).ways(i8(0, 4, 1), i8(5, 1, 0))
    found = {m: [(int(at) // 3, int(at) % 3) for at in link[message == m]] for m in range(3)}
    assert found == {0: [(0, 0), (1, 1), (3, 1)], 1: [(4, 0), (5, 2), (3, 2)], 2: [(1, 0)]}


def test_the_ring_of_a_torus_is_shorter():
    _, link = Links(8, 1.33e9, torus=True).ways(i8(0), i8(6))
    assert link.tolist() == [2]  # down from card 0 to card 3
    mesh = Links(8, 1.33e9).exchange_cycles(i8(0), i8(6), i8(1))
    torus = Links(8, 1.33e9, torus=True).exchange_cycles(i8(0), i8(6), i8(1))
    assert (torus.max(), mesh.max()) == (LAUNCH_CYCLES + 1, LAUNCH_CYCLES + 1 + 40)  # two further links, 15 ns each


messages = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 10**6)).filter(lambda m: m[0] != m[1]),
    min_size=1,
    max_size=10,
)


@given(messages, st.booleans(), st.integers(0, 9), st.integers(1, 10**5))
def test_laws_of_links(rows, torus, which, more):
    links = Links(8, 1.33e9, torus)
    src, dst, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    cycles = links.exchange_cycles(src, dst, size)
    concerned = np.zeros(8, bool)
    concerned[src] = concerned[dst] = True
    assert ((cycles > 0) == concerned).all()
    for ends in (src, dst):  # nothing exceeds the bandwidth of an IPU's links
        total = np.bincount(ends, weights=size, minlength=8)
        assert (total <= cycles * links.bytes_per_cycle_of_ipu).all()
    message, link = links.ways(src, dst)
    assert len(link) >= len(rows)
    assert (np.bincount(message, minlength=len(rows)) >= 1).all()
    size[which % len(rows)] += more
    assert (links.exchange_cycles(src, dst, size) >= cycles).all()
