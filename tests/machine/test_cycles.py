"""Cycle formulas against the published estimator columns and against slow, literal readings of the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.cycles import (
    broadcast,
    convolution,
    elementwise,
    movement,
    nonlinearity,
    rates,
    reduction,
    scaled,
)


def test_amp_1x1_half_equals_the_published_estimator_column() -> None:
    rows = [16, 32, 48, 64, 96, 128, 144, 192, 256, 512, 1024, 2048]
    published = [353, 425, 473, 545, 665, 809, 857, 1049, 1313, 2345, 4385, 8489]
    assert convolution.amp_1x1("half", rows, 1, 1).tolist() == published


def test_binary_add_float_equals_the_published_estimates() -> None:
    assert elementwise.binary_1d("ADD", "float", [10, 1024]).tolist() == [203, 1733]


def test_scaled_add_float_equals_the_published_estimates() -> None:
    assert scaled.scaled_add("float", [64, 128, 256, 512]).tolist() == [279, 369, 567, 945]


def _amp_float_by_hand(rows: int, in_groups: int, out_groups: int) -> int:
    """Every loop of the float vertex with 16 units written out; its workers keep no state between passes."""
    per_worker = -(-rows // 6)
    load = 16 * 8 * 4 // 16
    plain = 46 + 8 * (per_worker - 3)
    total = 50 + 13
    for group in range(in_groups):
        first = group == in_groups - 1
        total += 11 if first else 15
        for _ in range(out_groups):
            worker = plain + (2 + 8 * per_worker if first else 0)
            total += (18 + 7 if first else 19 + 6) + load + 6 * worker
    return total


@given(st.integers(13, 400), st.integers(1, 12), st.integers(1, 6))
def test_amp_1x1_float_equals_its_loops_written_out(rows: int, in_groups: int, out_groups: int) -> None:
    assert int(convolution.amp_1x1("float", rows, in_groups, out_groups)) == _amp_float_by_hand(
        rows, in_groups, out_groups
    )


def test_amp_never_beats_its_peak_rate() -> None:
    rows = np.arange(1, 500)
    cycles = convolution.amp_1x1("float", rows, 9, 1)
    assert (convolution.amp_macs("float", rows, 9, 16) / cycles <= 16).all()


@pytest.mark.parametrize("op", sorted(rates.BINARY))
def test_every_binary_rate_gives_cycles_that_grow_with_the_work(op: str) -> None:
    for dtype in rates.BINARY[op]:
        cycles = elementwise.binary_1d(op, dtype, np.arange(1, 300))
        assert cycles[0] > 0
        assert (np.diff(cycles) >= 0).all()
        assert cycles[-1] > cycles[0]


@pytest.mark.parametrize("op", sorted(rates.UNARY))
def test_every_unary_rate_gives_cycles_that_grow_with_the_work(op: str) -> None:
    for dtype in rates.UNARY[op]:
        cycles = elementwise.unary_1d(op, dtype, np.arange(1, 300))
        assert (np.diff(cycles) >= 0).all()
        assert cycles[-1] > cycles[0]


def test_an_operator_without_a_vertex_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="ATAN2 on int"):
        elementwise.binary_1d("ATAN2", "int", 8)


def test_unary_forms() -> None:
    # 100 floats: 17 a worker, 9 vectors of TANH at 12 cycles; in place 10 and the longer prologue
    assert int(elementwise.unary_1d("TANH", "float", 100)) == 6 * (17 + 9 * 12) + 20
    assert int(elementwise.unary_1d("TANH", "float", 100, in_place=True)) == 6 * (55 + 9 * 10) + 20
    assert int(elementwise.unary_1d("EXPONENT", "float", 12)) == 6 * (33 + 6) + 20


def test_broadcasts() -> None:
    assert int(broadcast.scalar_1d("MULTIPLY", "float", 100)) == 6 * (20 + 9 * 2) + 11
    assert int(broadcast.scalar_1d("ADD", "int", 12)) == 6 * (20 + 2 * 6) + 11
    assert int(broadcast.outer("ADD", "float", 12, 8, by_row=True)) == 6 * (15 + 2 * (7 + 4 * 2)) + 11
    assert int(broadcast.outer("ADD", "float", 12, 7, by_row=True)) == 6 * (15 + 2 * (25 + 4 * 2)) + 11
    worker = 17 + 7 + 8 * (8 + 2 * 2)
    assert int(broadcast.inner_1d("ADD", "float", 8, 12)) == 13 + 6 * worker + 24


def test_movement() -> None:
    assert movement.fill("float", [8, 9]).tolist() == [27, 28]
    assert movement.fill("half", [1, 2, 8]).tolist() == [15, 21, 28]
    assert int(movement.transpose_2d(4, 8, 8, 7)) == 7 + 6 * (2 * 16 * 3)


def test_reduction_stages_follow_the_published_thresholds() -> None:
    assert [reduction.stages(n) for n in (1, 15, 16, 124, 125, 5000)] == [1, 1, 2, 2, 3, 3]


def test_reduction_forms() -> None:
    assert int(reduction.single_output("ADD", "float", 42)) == 17 + 2 * 10 + 2
    assert int(reduction.single_output("MAX", "float", 42)) == 17 + 21
    assert int(reduction.strided("ADD", "float", 40, 7)) == 16 + 10 * (3 + 5 + 3 + 2 * 6)
    assert int(reduction.continuous("ADD", "float", 3, 16)) == 17 + 3 * (2 * 4 + 12) + 2


def test_nonlinearity_forms() -> None:
    # 24 floats: 12 vectors, two a worker
    assert int(nonlinearity.forward_1d("RELU", "float", 24)) == 9 + 6 * (20 + 2 + 1 + 1 + 1 + 1 + 3)
    assert int(nonlinearity.gradient_1d("TANH", "float", 24)) == 9 + 6 * (20 + 2 + 3 + 3 + 1 + 3 + 3)
    assert int(nonlinearity.loss_transform("float", 10)) == 110
