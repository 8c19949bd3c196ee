"""Partial vertices of convolutions against literal readings of published-numbers 7.5."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.cycles import convolution, multiply
from simulator.machine.cycles.worklist import deal


def _lists(rows: int, width: int) -> list[list[int]]:
    """The work items of six workers, one position at a time."""
    parts = 1
    while rows * parts % 6:
        parts += 1
    share = rows * parts // 6
    workers: list[list[int]] = []
    for w in range(6):
        items: dict[int, int] = {}
        for part in range(w * share, (w + 1) * share):
            row, place = divmod(part, parts)
            items[row] = items.get(row, 0) + (place + 1) * width // parts - place * width // parts
        workers.append([n for n in items.values() if n])
    return workers


@given(st.integers(1, 40), st.integers(1, 60))
def test_dealing_gives_each_worker_its_parts_in_order(rows: int, width: int) -> None:
    work = deal(rows, width)
    for worker, items in enumerate(_lists(rows, width)):
        ends = [int(work.first[worker])] + int(work.between[worker]) * [width] + [int(work.last[worker])]
        assert [n for n in ends if n] == items


@given(st.integers(1, 400))
def test_amp_half_of_full_workers_is_281_plus_4_rows(sixths: int) -> None:
    rows = 6 * (sixths + 2)
    assert int(convolution.amp_1x1("half", rows, 1, 1)) == 281 + 4 * rows
    assert int(convolution.amp_1x1("half", rows, 1, 1) + convolution.amp_launch(rows)) == 332 + 4 * rows


def test_amp_on_hardware_is_within_16_cycles_of_every_published_figure() -> None:
    rows = [16, 32, 48, 64, 96, 128, 144, 192, 256, 512, 1024, 2048]
    measured = [402, 461.35, 524, 584, 716, 845.3, 908, 1100, 1352, 2381.3, 4424, 8525.3]
    ours = convolution.amp_1x1("half", rows, 1, 1) + convolution.amp_launch(rows)
    assert np.abs(ours - measured).max() <= 16
    assert np.abs(ours - measured)[1:].max() <= 2.5


def test_amp_of_half_partials_on_8_units_takes_the_other_path() -> None:
    # 4 rows a worker; two input groups, three output groups, one pass: 8 units of 16 halves = 16 loads
    plain, zeroing = 41 + 4 * 1, 41 + 4 * 1 + 2 + 2 * 4
    later = 16 + 3 * (19 + 6 + 16 + 6 * plain)
    last = 11 + 3 * (19 + 7 + 16 + 6 * zeroing)
    ours = convolution.amp_1x1("half", 24, 2, 3, units=8, partials="half")
    assert int(ours) == 50 + 12 + later + last


def test_amp_float_on_8_units_zeroes_at_four_cycles_a_row() -> None:
    # 5 rows a worker; one group each; 8 units of 8 floats from memory that is not interleaved = 32 loads
    worker = 46 + 8 * 2 + 2 + 4 * 5
    ours = convolution.amp_1x1("float", 30, 1, 1, units=8, interleaved_weights=False)
    assert int(ours) == 50 + 13 + 11 + 18 + 7 + 32 + 6 * worker


def test_amp_passes_and_convolution_groups_multiply_their_loops() -> None:
    # half, 16 units, 10 rows a worker, 2 groups of convolutions, 3 in, 2 out, 4 passes
    plain, zeroing = 38 + 4 * 7 - 7, 37 + 4 * 7 - 7
    group = 13 + 2 * (15 + 2 * (19 + 4 * (6 + 32 + 6 * plain))) + 11 + 2 * (18 + 4 * (7 + 32 + 6 * zeroing))
    ours = convolution.amp_1x1("half", 60, 3, 2, passes=4, groups=2)
    assert int(ours) == 50 + 6 * (7 + 3 * (3 * 2 - 1)) + 2 * group


@pytest.mark.parametrize("dtype", ["half", "float"])
@given(width=st.integers(1, 50), inner=st.integers(1, 4), inp=st.integers(1, 5))
def test_nx1_loops_written_out(dtype: str, width: int, inner: int, inp: int) -> None:
    rows, outer, out, cg = 8, 3, 2, 2
    few = {0: 17, 1: 29 if dtype == "half" else 33, 2: 33 if dtype == "half" else 44}
    base, step = (34, 4) if dtype == "half" else (45, 8)
    spent = []
    for items in _lists(rows, width):
        spent.append(17 + sum(3 + few.get(n, base + step * (n - 3)) - 9 for n in items))
    load = 16 * (16 * 2 if dtype == "half" else 8 * 4) // 16
    position = 12 + load + 15 + 3 + max(6 * max(spent), 6 * min(spent) + 9)
    total = 109 + 54 + 54 + 2 * (17 * 2 + 6 * 1 + 1) + 6 * 1 + 1
    total += cg * (16 + inp * (14 + out * (14 + outer * (14 + inner * position))))
    ours = convolution.amp_nx1(
        dtype, deal(rows, width, outer * inner), inp, out, kernel_outer=outer, kernel_inner=inner, groups=cg
    )
    assert int(ours) == total


def test_nx1_of_filter_height_4_loads_8_bytes_a_cycle() -> None:
    one, four = (
        int(convolution.amp_nx1("half", deal(6, 9), 1, 1, filter_height=height, partials="half")) for height in (1, 4)
    )
    assert four - one == (64 - 32) + (60 - 15)


def test_dot_product() -> None:
    # float: 3 + 4 + 8/2; odd lengths one element of 32 bits at a time: + 1, two cycles each
    assert multiply.dot_product("float", "float", [8, 7]).tolist() == [3 + 4 + 4, 3 + 4 + 1 + 14]
    # half, half partials: two output channels: 6 + 1 + 4 + 16/4 - 1; length 6: w = 2, + 2, 3 steps of 2
    assert multiply.dot_product("half", "half", [16, 6]).tolist() == [6 + 1 + 4 + 4 - 1, 6 + 1 + 4 + 2 + 6 - 1]


def test_hmac() -> None:
    # float 3x3 kernel on 12 rows of 10: two items of 10 a worker; 5 in and 3 out channels; dot 3 + 4 + 1 + 10
    worker = 16 + 9 * (16 + 2 * (19 + 10 * (7 + 3 * 18)))
    total = 58 + 6 * 9 + 23 + 2 * (15 + 10 + 6 * worker)
    ours = multiply.hmac("float", deal(12, 10, 9), 2, 1, in_channels=5, out_channels=3)
    assert int(ours) == total
    # half 1x1, half partials, 30 positions: 5 a worker; 4 in channels; 8 out channels are 4 pairs
    worker = 16 + 1 * (16 - 15 + 13 + 5 * (7 + 4 * 11))
    total = 65 - 10 + 6 * 10 + 6 * 15 + 23 + 15 + 10 + 6 * worker
    ours = multiply.hmac("half", deal(1, 30), 1, 1, in_channels=4, out_channels=8, partials="half", one_by_one=True)
    assert int(ours) == total


def test_vmac() -> None:
    # 4 groups, half partials, 12 positions: 2 a worker, 9 terms each; 48 outputs
    worker = 18 + 2 * (7 + 3 + 3 + 2 * 8)
    total = 61 + 14 + 25 + 4 + 12 + 32 + 24 + 6 * worker + 10 + 12 * 8 // 4
    assert int(multiply.vmac(12, 2 * 9, 1, partials="half")) == total
    # 16 groups, half partials, three input groups
    worker = 25 + (7 + 15 + 3 + 3 * 8) * 2
    total = 61 + 14 + 25 + 4 + 12 + 32 + 3 * (24 + 6 * worker) + 10 + 12 * 8 // 16
    assert int(multiply.vmac(3, 9, 3, conv_groups=16, partials="half")) == total
    # float partials
    worker = 19 + 2 * (7 + 5 + 3 + 2 * 8)
    total = 61 + 14 + 26 + 4 + 24 + 32 + 24 + 6 * worker + 9 + 19 * 8 // 4
    assert int(multiply.vmac(12, 2 * 9, 1)) == total


def test_outer_product() -> None:
    assert int(multiply.outer_product("float", 5, 32, 16)) == 25 + 2 * (11 + 5 * (6 + 5))
    assert int(multiply.outer_product("float", 5, 5, 5)) == 25 + 11 + 5 * (10 + 10)
    assert int(multiply.outer_product("half", 5, 32, 16)) == 25 + 2 * (10 + 5 * (6 + 1))
    assert int(multiply.outer_product("half", 5, 6, 6)) == 25 + 10 + 5 * (10 + 15)


@given(st.integers(3, 200), st.integers(1, 6))
def test_more_rows_never_take_less(width: int, inp: int) -> None:
    widths = np.arange(width, width + 40) * 6
    for dtype in ("float", "half"):
        assert (np.diff(convolution.amp_1x1(dtype, widths, inp, 2)) > 0).all()
        assert (np.diff(convolution.amp_nx1(dtype, deal(1, widths), inp, 2)) > 0).all()
        assert (np.diff(multiply.hmac(dtype, deal(1, widths), inp, 1, in_channels=4, out_channels=4)) > 0).all()
