"""The planner: the published plans, a slow twin of its search in plain loops, laws, methods, options."""

from __future__ import annotations

from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.product_planner import Constraints, plan_matmul

MK2 = Machine(1472, 638_976)
AMP = Constraints(method="AMP")


def test_the_published_plans_are_found() -> None:
    """1,400 tiles for m4 and 1,350 for m5: their worklists take 49.2 and 47.5 kB, 36 B a tile (published)."""
    m4, m5 = plan_matmul("float", 800, 500, 400, MK2), plan_matmul("float", 800, 400, 200, MK2)
    assert (m4.swapped, m4.field_split, m4.in_split, m4.out_split, m4.tiles) == (True, 4, 7, 50, 1400)
    assert (m5.swapped, m5.field_split, m5.in_split, m5.out_split, m5.tiles) == (True, 3, 9, 50, 1350)
    assert (m4.method.name, m4.method.units, m4.method.in_group) == ("AMP", 16, 8)
    # 500 channels are padded to 504: of 100 positions x 9 groups a tile holds 18 positions, runs of 32 B, four of whose
    # eight channels may be zeros; five workers copy and one writes 72 zeros.
    assert m4.term("transform_copy") == _copied(18 * 32, 18, 18 * 16)
    assert m4.term("transform_exchange") == 0
    # Results in groups of 16 are regrouped for the next product, which reads 8, at 8 bytes a cycle, 5/4 of that.
    assert m4.term("output_copy") == 6 * 60 + ceil(ceil(800 * 400 * 4 / 1400) * 5 / 32)
    # 100 rows x 72 channels, 1 / 50 of which is on the tile already and 1 / 50 on the other tile of its bus; 8 bytes a
    # cycle for the rest because the out split is even.
    assert m4.term("input_exchange") == (7200 - 144 - 144) * 4 / 8 + 144
    # It holds 18 positions of a group of channels; the missing channels of 16 outputs cut their weights in two.
    assert m4.term("input_copy") == _copied(18 * 32 + 16 * 32, 2 + 32, 0)
    # Nine blocks of 8 x 16 weights for four tiles: each holds two at least.
    assert m4.term("weights_exchange") == 1152 - 2 * 128
    # A tile of seven receives the six other rows of its 15 positions of 16 channels; it sends fewer.
    assert m4.term("reduce_exchange") == 6 * ceil(100 / 7) * 16
    # Two exchanges, each after a sync of 100 cycles, a launch of 60, 36 across the chip and 23 rows of islands.
    assert m4.term("exchange_starts") == 2 * (100 + 60 + 36 + 23)
    assert m4.total == sum(cycles for _, cycles in m4.terms)


def _amp(rows: int, inp: int, out: int, units: int) -> int:
    """ConvPartial1x1Out<float,float> as published (7.5), weights at 8 bytes a cycle."""

    def worker(n: int, zeroing: bool) -> int:
        few = {0: 24, 1: 47, 2: 46}.get(n, 46 + 8 * (n - 3))
        return few + ((2 + (8 if units == 16 else 4) * n) if zeroing and n else 0)

    def one_pass(zeroing: bool) -> int:
        return max(6 * worker(ceil(rows / 6), zeroing), worker(rows // 6, zeroing) + 14)

    load = units * 8 * 4 // 8
    inner = (inp - 1) * (15 + out * (19 + 6 + load + one_pass(False)))
    return 50 + 13 + inner + 11 + out * (18 + 7 + load + one_pass(True))


def _added(outputs: int, depth: int) -> int:
    """poplin::ReduceAdd of floats, its public estimator."""
    loops = outputs // 4 + sum((outputs % 4 >> bit) & 1 for bit in range(2))
    share, left = divmod(loops, 6)
    cycles = 32
    if left:
        if outputs % 4:
            cycles += 2 * depth + 13
        else:
            share += 1
    return 6 * (cycles + (3 * depth + 7) * share)


def _copied(moved: int, runs: int, filled: int) -> int:
    """On-tile copies (`simulator/machine/local_copy.py`), with a worker for zeros."""
    if not runs:
        return 0
    workers = 5 if filled else 6
    worker = 60 + 12 * (ceil(runs / workers) - 1) + ceil(max(ceil(moved / 8), runs) / workers)
    return 6 * max(72, worker, 28 + ceil(filled / 4) if filled else 0)


def _slow_total(
    m: int, k: int, n: int, swapped: bool, units: int, split: tuple[int, int, int], machine_tiles: int
) -> int:
    """The total of one split, partial sums less than 16 deep, term by term."""
    field, out = (n, m) if swapped else (m, n)
    f, i, o = split
    tiles = f * i * o
    in_width, out_width = ceil(k / 8) * 8, ceil(out / units) * units
    rows, ig, og = ceil(field / f), ceil(ceil(k / 8) / i), ceil(ceil(out / units) / o)
    inputs, weights, outputs = rows * ig * 8, ig * 8 * og * units, rows * og * units
    received = inputs - inputs // o
    at_full_rate = inputs // o if o % 2 == 0 else received
    total = ceil((received + at_full_rate) * 4 / 8)
    wanted, sent, none = weights, 0, og * units - out
    if none > 0:  # zeros, which one tile sends
        real = ig * 8 * out
        wanted = real + min(ig * 8, 64)
        sent = none * min(k, 64) + (ceil(real / f) if f > 1 else 0) if tiles > 1 else 0
    blocks = ig * og
    block = ceil(wanted / blocks)
    if o == 1 and f % 2 == 0:  # both tiles of a bus receive the same, but what one of them holds
        passing = wanted + (block if blocks % 2 and blocks < f else 0)
    else:
        passing = 2 * (wanted - blocks // f * block)
    total += max(ceil(passing * 4 / 8), sent)
    total += _amp(rows, ig, og, units)
    if i > 1:
        own = ceil(rows * og / i) * units
        total += max(outputs - own, (i - 1) * own) + _added(own, i)
    total += ((o > 1 or f > 1) + (i > 1)) * (100 + 60 + 36 + machine_tiles // 64)

    held, missing = ceil(rows * ig / o), in_width - k
    moved, runs = (min(held, 2 * rows) * 32, 2) if o > 1 and rows > 1 and ig % o else (0, 0)
    if missing:
        moved, runs = moved + og * units * 32, runs + 2 * og * units
    elif out_width != out:
        none, local = out_width - out, ceil(ig / f)
        moved, runs = moved + (ig * none + local * (units - none)) * 32, runs + ig * none + local
    total += _copied(moved, runs, 0)

    def transformed(elements: int, per_cycle: int, whole: bool) -> tuple[int, int]:
        size = ceil(elements * 4 / tiles)
        return 360 + ceil(size * 5 / (per_cycle * (4 if whole else 3))), ceil(size / 4)

    even = k * out % 2 == 0
    padding = _copied(held * 32, min(held, rows), min(held, rows) * missing * 4) if missing else 0
    total += padding
    if not swapped:
        total += sum(transformed(field * in_width, 4, even)) + sum(transformed(in_width * out_width, 4, even))
    if not swapped or out_width != out:
        total += sum(transformed(field * out_width, 4, out % 2 == 0))
    elif units != 8:
        total += transformed(field * out_width, 8, out % 2 == 0)[0]
    return total


def _shares_of_one_size(parts: int, split: int) -> bool:
    return split <= parts and ceil(parts / ceil(parts / split)) == split


@given(st.integers(1, 60), st.integers(1, 90), st.integers(1, 60), st.integers(1, 40))
def test_no_split_tried_one_by_one_is_cheaper(m: int, k: int, n: int, tiles: int) -> None:
    plan = plan_matmul("float", m, k, n, Machine(tiles, 638_976), constraints=AMP)
    totals = {}
    for swapped, units in product((True, False), (16, 8)):
        field, out = (n, m) if swapped else (m, n)
        parts = field, ceil(k / 8), ceil(out / units)
        for split in product(*(range(1, min(tiles, part) + 1) for part in parts)):
            f, i, o = split
            if f * i * o <= tiles and all(map(_shares_of_one_size, parts, split)):
                totals[swapped, units, split] = _slow_total(m, k, n, swapped, units, split, tiles)
    assert plan.tiles <= tiles
    chosen = (plan.swapped, plan.method.units, (plan.field_split, plan.in_split, plan.out_split))
    assert plan.total == totals[chosen] == min(totals.values())


SIZES = st.tuples(st.integers(1, 90), st.integers(1, 120), st.integers(1, 90))


@given(SIZES, st.sampled_from(["float", "half"]), st.integers(1, 4), st.sampled_from([1, 4, 60, 300]))
def test_a_plan_covers_everything_and_counts_what_it_uses(
    size: tuple[int, int, int], dtype: str, groups: int, tiles: int
) -> None:
    plan = plan_matmul(dtype, *size, Machine(tiles, 638_976), groups)  # type: ignore[arg-type]
    params, method = plan.params, plan.method
    assert 1 <= plan.tiles <= tiles
    assert plan.conv_groups * method.conv_group >= groups
    assert plan.in_groups * method.in_group * plan.in_passes >= params.in_channels
    assert plan.out_groups * method.out_group * plan.out_passes >= params.out_channels
    for parts, split in (
        (plan.conv_groups, plan.group_split),
        (plan.field, plan.field_split),
        (plan.in_groups, plan.in_split),
        (plan.out_groups, plan.out_split),
    ):
        assert split <= parts
        assert (split - 1) * ceil(parts / split) < parts  # no share is empty
    assert plan.total > 0
    assert all(cycles >= 0 for _, cycles in plan.terms)


@given(SIZES, st.sampled_from([4, 64]), st.lists(st.floats(0.0005, 0.05), min_size=2, max_size=4))
def test_more_memory_is_never_slower(size: tuple[int, int, int], tiles: int, proportions: list[float]) -> None:
    plans = [plan_matmul("float", *size, Machine(tiles, 638_976, memory_proportion=p)) for p in sorted(proportions)]
    for p, plan in zip(sorted(proportions), plans, strict=True):
        assert plan.fits == (plan.temporary_bytes <= int(p * 638_976))
    totals = [plan.total for plan in plans if plan.fits]
    assert totals == sorted(totals, reverse=True)


def test_what_does_not_fit_is_done_in_passes() -> None:
    free, tight = (plan_matmul("float", 300, 400, 350, Machine(16, 638_976, memory_proportion=p)) for p in (1.0, 0.15))
    assert (free.passes, free.fits, tight.fits) == (1, True, True)
    assert tight.passes > 1
    assert tight.temporary_bytes <= 0.15 * 638_976 < free.temporary_bytes
    assert tight.term("dynamic_slice") > 0
    assert tight.total > free.total
    nothing = plan_matmul("float", 300, 400, 350, Machine(16, 638_976, memory_proportion=0.0001))
    assert not nothing.fits
    assert "more than the allowed proportion" in nothing.describe()


@pytest.mark.parametrize(
    ("dtype", "size", "groups", "tiles", "method"),
    [
        ("half", (1, 4096, 4096), 1, 1472, "HMAC"),  # HMAC needs no padding to 8 columns as AMP does
        ("float", (17, 1, 17), 1, 16, "OUTER_PRODUCT"),
        ("half", (17, 7, 1), 8, 16, "VMAC"),  # many groups with one output channel each
        ("half", (512, 1024, 4096), 1, 1472, "AMP"),
        ("float", (128, 64, 128), 96, 1472, "AMP"),
    ],
)
def test_each_method_is_chosen_for_its_shapes(
    dtype: str, size: tuple[int, int, int], groups: int, tiles: int, method: str
) -> None:
    plan = plan_matmul(dtype, *size, Machine(tiles, 638_976), groups)  # type: ignore[arg-type]
    assert plan.method.name == method
    assert plan.fits


def test_a_large_outer_product_of_floats_is_left_to_amp() -> None:
    """PopLibs' planner offers OuterProduct groups of one vector, two floats, on which its vertex takes the slow path:
    10 + 2 x 2 cycles a position. AMP multiplies eight channels, seven of them zero, and still takes a quarter."""
    free = plan_matmul("float", 4096, 1, 4096, MK2)
    outer = plan_matmul("float", 4096, 1, 4096, MK2, constraints=Constraints(method="OUTER_PRODUCT"))
    positions, groups = ceil(4096 / outer.field_split), ceil(4096 / 2 / outer.out_split)
    assert outer.term("partials") == 6 * (25 + groups * (11 + ceil(positions / 6) * 14))
    assert free.method.name == "AMP"
    assert 3 * free.term("partials") < outer.term("partials")


def test_amp_needs_units_of_the_chip() -> None:
    mk1 = Machine(1216, 262_144, units_half=8, units_float=8)
    assert plan_matmul("half", 512, 512, 512, mk1).method.units == 8
    # Units for floats produce no half partial sums.
    assert plan_matmul("float", 512, 512, 512, MK2, partials="half").method.partials == "float"
    assert plan_matmul("half", 512, 512, 512, MK2, partials="half").method.partials == "half"


def test_attention_spreads_its_groups_over_tiles() -> None:
    for n in (64, 512):
        plan = plan_matmul("half", 128, 64, n, MK2, 96)
        assert plan.group_split == 96
        assert plan.tiles >= 96 * 8


def test_wide_weight_loads_and_fast_reduction_are_cheaper() -> None:
    plain = plan_matmul("half", 512, 4096, 1024, MK2)
    wide = plan_matmul("half", 512, 4096, 1024, MK2._replace(wide_weight_load=True))
    assert wide.total < plain.total
    fast = plan_matmul("float", 800, 500, 400, MK2._replace(fast_reduce=True))
    # 240 outputs of 7 rows, 6 of them in one block: 33 + 6 (20 + 10 (1 * 6 + 8)) in interleaved memory.
    same = Constraints(swapped=True, field_split=4, in_split=7, out_split=50)
    forced = plan_matmul("float", 800, 500, 400, MK2._replace(fast_reduce=True), constraints=same)
    assert forced.term("reduce") == 33 + 6 * (20 + 10 * 14)
    assert fast.total <= forced.total


def test_large_products_use_the_units_well() -> None:
    """Published: 334.94 of 348.6 TFLOP/s of AMP alone; a whole product reaches more than half of the peak. GC2's float
    products reach 18.9 of 31.1 TFLOP/s, close to the plan's estimate."""
    half = plan_matmul("half", 4096, 4096, 4096, MK2, partials="half")
    assert 0.5 <= 4096**3 / (64 * 1472 * half.total) <= 1
    into_float = plan_matmul("half", 4096, 4096, 4096, MK2)
    assert into_float.method.units == 8  # half the units write float sums
    assert 0.5 <= 4096**3 / (32 * 1472 * into_float.total) <= 1
    gc2 = Machine(1216, 262_144, units_half=8, units_float=8)
    single = plan_matmul("float", 2048, 2048, 2048, gc2)
    assert 0.5 <= 2048**3 / (8 * 1216 * single.total) <= 0.9
