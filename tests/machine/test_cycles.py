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
    pooling,
    rates,
    reduction,
    scaled,
    slices,
)
from simulator.machine.cycles.partial_reduction import stage_depths


def test_amp_1x1_half_equals_the_published_estimator_column() -> None:
    rows = [16, 32, 48, 64, 96, 128, 144, 192, 256, 512, 1024, 2048]
    published = [353, 425, 473, 545, 665, 809, 857, 1049, 1313, 2345, 4385, 8489]
    assert convolution.amp_1x1("half", rows, 1, 1).tolist() == published


def test_binary_add_float_equals_the_published_estimates() -> None:
    assert elementwise.binary_1d("ADD", "float", [10, 1024]).tolist() == [203, 1733]


def test_scaled_add_float_equals_the_published_estimates() -> None:
    assert scaled.scaled_add(("float", "float"), [64, 128, 256, 512]).tolist() == [279, 369, 567, 945]


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
    assert movement.fill("uchar", [63, 64]).tolist() == [28 + 15, 39 + 8]
    assert movement.fill_2d_base("half") + int(movement.fill_2d("half", 8)) == 5 + 26
    assert int(movement.zero("half", 9, 2)) == 6 * 2 * (3 + 5)
    assert int(movement.encode_one_hot("uint", "half", 5)) == 11 + 370
    assert int(movement.encode_one_hot("uint", "float", 5)) == 500
    assert int(movement.transpose_2d(4, 8, 8, 7)) == 7 + 6 * (2 * 16 * 3)


def test_reduction_stages_follow_the_published_thresholds() -> None:
    assert [1 + len(stage_depths(n)) for n in (1, 15, 16, 124, 125, 5000)] == [1, 1, 2, 2, 3, 3]


def test_reduction_forms() -> None:
    assert int(reduction.single_output("ADD", "float", 42)) == 17 + 2 * 42 // 4 + 2
    assert int(reduction.single_output("ADD", "float", 42, "half", interleaved=True)) == 17 + 42 // 4 + 2 + 5
    assert int(reduction.single_output("MAX", "float", 42)) == 17 + 21
    assert int(reduction.strided("ADD", "float", 40, 7)) == 16 + 20 * (3 + 5 + 3 + 6)
    assert int(reduction.strided("ADD", "float", 40, 7, interleaved=True)) == 16 + 10 * (3 + 5 + 3 + 6)
    assert int(reduction.strided("ADD", "half", 40, 7, out_dtype="half")) == 16 + 10 * (3 + 8 + 3 + 6)
    assert int(reduction.strided("ADD", "half", 40, 7)) == 16 + 10 * (3 + 7 + 3 + 6)
    assert int(reduction.strided("ADD", "float", 40, 7, outer=3)) == 16 + 20 * (3 + 5 + 3 * (3 + 6))
    assert int(reduction.strided("ADD", "half", 40, 7, stride=10)) == 16 + 20 * (3 + 7 + 3 + 6)
    assert int(reduction.strided("LOG_ADD", "float", 4, 7)) == 16 + 2 * (3 + 4 + 3 + 23 * 6)
    assert int(reduction.continuous("ADD", "float", 3, 16)) == 17 + 3 * (8 + 12)
    assert int(reduction.continuous("ADD", "half", 3, 17)) == 17 + 3 * (4 + 12) + 2


def test_generic_reductions() -> None:
    # 11 floats from 5 regions of 55 elements each: two vectors of four, remainders of 2 and 1 (store 2 r + 1)
    vector = 6 + 2 * 2 + 1 + 10 * 5 + 25 * (7 + 2)
    two = 4 + (2 * 2 + 1) + 10 * 5 + 25 * (5 + 1)
    one = 4 + (2 * 1 + 1) + 10 * 5 + 25 * (5 + 1)
    assert int(reduction.generic("ADD", "float", 11, 5, 25)) == 24 + 4 + 2 * vector + two + one
    assert int(reduction.generic("LOGICAL_OR", "bool", 3, 2, 4)) == 8 + 44 + 25 * 12


def test_nonlinearity_forms() -> None:
    # 24 floats: 12 vectors, two a worker
    assert int(nonlinearity.forward_1d("RELU", "float", 24)) == 9 + 6 * (20 + 2 + 1 + 1 + 1 + 1 + 3)
    # 27 halves: six vectors, one a worker, a pair and a single element left
    assert int(nonlinearity.forward_1d("TANH", "half", 27)) == 9 + 6 * (20 + 2 + 1 + 1 + 1 + 4 + 2 + 1 + 3 + 1)
    assert int(nonlinearity.forward_1d("RELU", "float", 1)) == 9 + 6 * (20 + 3 + 2 + 1)
    assert int(nonlinearity.gradient_1d("TANH", "float", 25)) == 9 + 6 * (20 + 4 + 3 + 1 + 4 + 1 + 3)
    assert int(nonlinearity.gradient_1d("SWISH", "half", 96)) == 9 + 6 * (20 + 4 + 3 * 9 + 1 + 6)
    assert int(nonlinearity.loss_transform("float", 10)) == 110
    assert int(nonlinearity.loss_transform("half", 11)) == 21 + 9 * 5 + 2 + 11
    assert int(nonlinearity.loss_transform("float", 10, softmax=False)) == 19 + 40


def test_pooling() -> None:
    # 3 rows of 2 items of 9 positions, one group of 4 vectors of channels, nothing to clear
    def worker(inner: int, busy: int) -> int:
        item = 20 + 2 + 4 * (2 + inner + 1) + 3
        return 17 + 2 + 4 + 5 + 1 + 2 + busy + 3 * (13 + 2 * item + 2) + 1

    shape = {"rows": [3], "items": [6], "elements": [6 * 9], "channel_vectors": 4}
    assert int(pooling.pooling("max", **shape)) == 7 + 6 * worker(4 + 27, 2 + 1 + 3 + 6 + 1) + 6
    assert int(pooling.pooling("avg", **shape)) == 7 + 6 * worker(5 + 27, 2 + 2 + 3 + 6 + 1) + 6
    assert int(pooling.pooling("max backward", **shape)) == 7 + 6 * worker(7 + 45, 3 + 10 + 3 + 6 + 1) + 6


def test_scaled_arithmetic() -> None:
    pair = ("float", "float")
    assert int(scaled.scaled_add(pair, 63)) == 63 + 6 * (15 + 6 + 3 * 4 + 2 + 1 + 8 + 1)
    assert int(scaled.scaled_add(pair, 64, subtract=True, scaled_pointers=True)) == 279 + 6 + 7
    assert int(scaled.scaled_add(pair, 64, constrained=True)) == 57 + 6 * (25 + 2 * 4)
    assert int(scaled.scaled_add(pair, 192, constrained=True)) == 57 + 6 * (25 + 15)
    assert int(scaled.scaled_add(pair, 64, interleaved=True)) == 57 + 6 * (25 + 2 * 4)
    assert int(scaled.scaled_add(("float", "half"), 64)) == 57 + 6 * (25 + 4 * 4)
    assert int(scaled.scaled_add(("half", "half"), 51)) == 63 + 6 * (25 + 3 + 5 + 7 + 6)
    # 52 halves += floats: 13 vectors, three of the longest worker
    assert int(scaled.scaled_add(("half", "float"), 52)) == 57 + 6 * (16 + 8 + 10 + 3)
    assert int(scaled.scaled_add(("int", "int"), 8)) == 53 + 26 * 2 + 6 + 26 * 2 + 14
    assert scaled.scaled_2d_base("float") + int(scaled.scaled_2d_row("float", 9)) == 10 + 15 + 5 + 3 * 4 + 7
    assert int(scaled.scaled_2d_row("half", 11, constrained=True)) == 15 + 5 + 2 * 2 + 4 + 6 + 7


def test_casts() -> None:
    # 66 floats: 11 a worker: two vectors of four, three left (two bits)
    assert int(movement.cast_1d("float", "half", 66)) == 12 + 6 * (19 + 2 * 2 + 2 + 4 + 18)
    assert int(movement.cast_1d("half", "float", 66)) == 12 + 6 * (19 + 5 + 1 + 2 + 18)
    assert int(movement.cast_1d("float", "int", 66)) == 12 + 6 * (19 + 22 + 18)
    assert int(movement.cast_1d("uchar", "half", 48)) == 12 + 6 * (4 + 14 + 9 + 2 + 18)
    assert int(movement.cast_1d("half", "schar", 50)) == 12 + 6 * (4 + 4 + 19 + 16 + 14 + 18)
    assert int(movement.cast_core("int", "longlong", 7)) == 3 + 35


def test_slices() -> None:
    assert int(slices.dynamic_slice_1d("float", 100, 3)) == 25 + 6 * (39 + (24 + 2 * 8) * 3)
    assert int(slices.dynamic_slice_1d("uchar", 100, 3)) == 25 + 6 * (76 + (72 + 2 * 4) * 3)
    assert slices.dynamic_slice_2d_region("half", [9], 2).tolist() == [(31 + 6) * 2 + 13]
    assert int(slices.multi_slice("float", 17, 4, 2)) == 6 * (30 + 4 * (19 + 2 * 9) + 2 * 8)
    assert int(slices.multi_update("half", 16, 4)) == 6 * (29 + 4 * (19 + 16))
    assert int(slices.multi_update_add("float", 16, 4, 1)) == 6 * (3 + 29 + 6 + 4 * (11 + 7 * 3) + 5)
    assert int(slices.multi_update_add("half", 16, 4, scaled=False)) == 6 * (3 + 30 + 4 * (12 + 3 * 3))
    assert int(slices.sequence_slice(4, 100, 7)) == 60 + 420 + 6 * 2 * 29


def test_transposes_in_grains() -> None:
    assert int(movement.transpose_1d(4, 2, 2, 6)) == 7 + 6 * 29
    assert int(movement.transpose_1d(2, 4, 4, 30)) == 7 + 6 * (37 + 3 * 4)
    assert int(movement.transpose_1d(4, 8, 2, 7)) == 7 + 6 * (27 + 2 * (35 + 3 * 2))
    assert int(movement.transpose_1d(4, 8, 8, 7)) == 7 + 6 * (29 + 2 * (18 + 4 * (12 + 3 * 2)))
