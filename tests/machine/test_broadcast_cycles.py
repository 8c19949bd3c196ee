"""Element-wise and broadcast vertices against literal readings of published-numbers 7.1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.cycles import broadcast, elementwise


def test_binary_variants() -> None:
    # 26 halves: 5 a worker, two vectors; half prologue 26; in place 58, one cycle less in interleaved memory
    assert int(elementwise.binary_1d("ADD", "half", 26)) == 6 * (26 + 2 * 3) + 11
    assert int(elementwise.binary_1d("ADD", "half", 26, in_place=True)) == 6 * (58 + 2 * 3) + 11
    assert int(elementwise.binary_1d("ADD", "half", 26, in_place=True, interleaved=True)) == 6 * (58 + 2 * 2) + 11
    assert int(elementwise.binary_1d("ADD", "half", 26, interleaved=True)) == 6 * (26 + 2 * 3) + 11
    assert int(elementwise.binary_1d("MULTIPLY", "int", 13)) == 6 * (26 + 3 * 7) + 11
    assert int(elementwise.binary_1d("DIVIDE", "half", 26)) == 6 * (26 + 2 * 21) + 11
    assert int(elementwise.binary_1d("EQUAL", "bool", 25)) == 6 * (26 + 2 * 6) + 11
    assert int(elementwise.binary_1d("SUBTRACT", "longlong", 7)) == 6 * (26 + 2 * 11) + 11


def test_unary_per_vector_loops_round_the_product_down() -> None:
    # (cpl + 4) * (n + w - 1) / w: FLOOR 2, float, 4 elements a worker: 6 * 5 / 2
    assert int(elementwise.unary_1d("FLOOR", "float", 24)) == 6 * (17 + 15) + 20
    assert int(elementwise.unary_1d("FLOOR", "half", 24)) == 6 * (17 + 10) + 20  # 6 * 7 / 4 = 10.5
    assert int(elementwise.unary_1d("ABSOLUTE", "float", 24)) == 6 * (17 + 4 * 5) + 20
    assert int(elementwise.unary_1d("SIGMOID", "half", 100, in_place=True)) == 6 * (55 + 5 * 4) + 20


def test_select_clamp_and_hadamard_rows() -> None:
    assert elementwise.select_row([3, 10]).tolist() == [21, 56]
    assert elementwise.broadcast_select_row([3]).tolist() == [20]
    assert elementwise.clamp_row("float", [4]).tolist() == [6 + 5]
    assert elementwise.clamp_row("int", [4]).tolist() == [34]
    assert elementwise.hadamard_row("half", [9]).tolist() == [6 + 2 * 3]


def test_scalar_broadcasts() -> None:
    assert int(broadcast.scalar_1d("ADD", "half", 100)) == 6 * (20 + 5 * 2) + 11
    assert int(broadcast.scalar_1d("ADD", "half", 100, in_place=True, interleaved=True)) == 6 * (20 + 5 * 1) + 11
    assert int(broadcast.scalar_1d("DIVIDE", "half", 100)) == 6 * (20 + 9 * 8) + 11
    assert int(broadcast.scalar_1d("MAXIMUM", "float", 100)) == 6 * (20 + 9 * 3) + 11
    assert int(broadcast.scalar_1d("POWER", "float", 12)) == 6 * (20 + 2 * 312) + 11
    assert int(broadcast.scalar_1d("VARIANCE_TO_INV_STD_DEV", "half", 24)) == 6 * (20 + 24) + 11
    assert int(broadcast.scalar_2d_row("ADD", "float", 9)) == 28 + 5 * 2


def test_outer_broadcasts() -> None:
    # by column every worker takes a sixth of each row
    assert int(broadcast.outer("ADD", "float", 5, 48, by_row=False)) == 6 * (15 + 5 * (7 + 4 * 2)) + 11
    assert int(broadcast.outer("ADD", "half", 13, 18, by_row=True)) == 6 * (15 + 3 * (25 + 5 * 2)) + 11


def test_inner_broadcasts() -> None:
    def worker(core: int) -> int:
        return 6 * (19 + core)

    # half, 16 elements, 12 rows: 2 a worker: 5 + 2 + 5 + 2 (15 + 2)
    assert int(broadcast.inner_1d("ADD", "half", 16, 12)) == 13 + worker(5 + 2 + 5 + 2 * 17) + 24
    assert int(broadcast.inner_1d("ADD", "half", 16, 12, in_place=True)) == 13 + worker(46) + 12
    assert int(broadcast.inner_1d("ADD", "half", 16, 6)) == 13 + worker(5 + 2 + 4 + 14) + 24
    # 12 elements: the path of 4, 3 rows a worker
    assert int(broadcast.inner_1d("SUBTRACT", "half", 12, 18)) == 13 + worker(5 + 4 + 6 + 3 * (13 + 0 + 1)) + 24
    # half MULTIPLY: pipelined; in place not
    assert int(broadcast.inner_1d("MULTIPLY", "half", 16, 12)) == 13 + 6 * 24 + worker(13 + 4 * 11) + 12
    assert int(broadcast.inner_1d("MULTIPLY", "half", 16, 12, in_place=True)) == 13 + 144 + worker(9 + 4 * 11) + 24
    assert int(broadcast.inner_1d("DIVIDE", "float", 8, 12)) == 13 + 6 * 19 + 6 * (10 + 4 * (11 + 6)) + 5
    assert int(broadcast.inner_1d("MULTIPLY", "float", 8, 12)) == 13 + 6 * 17 + 6 * (17 + 7 + 8 * 12) + 12
    assert broadcast.inner_2d_base("ADD") + int(broadcast.inner_2d_row("ADD", "float", 8, 3)) == 7 + 9 + 7 + 8 * 14


@given(st.sampled_from(["ADD", "MULTIPLY", "DIVIDE", "MAXIMUM", "POWER"]), st.sampled_from(["float", "half"]))
def test_loops_grow_with_their_elements(op: str, dtype: str) -> None:
    n = np.arange(1, 600)
    for in_place in (False, True):
        for cycles in (elementwise.binary_1d(op, dtype, n, in_place), broadcast.scalar_1d(op, dtype, n)):
            assert (np.diff(cycles) >= 0).all()
            assert cycles[-1] > cycles[0]


@pytest.mark.parametrize("dtype", ["float", "half"])
@given(length=st.integers(1, 60))
def test_inner_broadcasts_grow_with_rows(dtype: str, length: int) -> None:
    rows = np.arange(13, 400)
    for op in ("ADD", "MULTIPLY", "DIVIDE"):
        cycles = broadcast.inner_1d(op, dtype, length, rows)
        even = cycles[np.isin(-(-rows // 6) % 2, 0)]
        assert (np.diff(even) >= 0).all()
