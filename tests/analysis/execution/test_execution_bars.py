"""Levels of names, and what a window draws of them: bars and merged cells against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.bars import bars_in_window, strip
from popvision.analysis.execution.flame import GROUP, STREAM_COPY, Flame, make_flame, make_flat, run_level, split_name
from popvision.analysis.execution.raster import CLASSES, GRAIN, Grid
from popvision.analysis.execution.timeline import PIXEL_CLASS, RunBars
from popvision.formats.profile.model import PROGRAM_TYPES
from tests.analysis.execution.execution_case import Machine


def shown(flame: Flame) -> list[list[tuple[str, int, int]]]:
    """Per level: (name, first step, last step), a group's name in brackets."""
    return [
        [
            (f"[{flame.names[name]}]" if kind in (GROUP, STREAM_COPY) else flame.names[name], first, last)
            for name, kind, first, last in zip(
                level.name.tolist(), level.kind.tolist(), level.first.tolist(), level.last.tolist(), strict=True
            )
        ]
        for level in flame.levels
    ]


def machine_of(*programs: tuple[str, int], run: int = 0) -> Machine:
    machine = Machine(1)
    for kind, program in programs:
        machine.step(kind, [10], program, run)
    return machine


def test_neighbours_share_their_prefix_and_leaves_stay_apart() -> None:
    labels = ["m4/Conv_1/Transpose", "m4/Conv_1/Convolve", "m5/Conv_1/Convolve", "copy"]
    run = "OnTileExecute"
    machine = machine_of(("DoExchange", 3), (run, 0), (run, 1), (run, 1), (run, 2))
    assert shown(make_flame(machine.timeline(), labels)) == [
        [("copy", 0, 0), ("[m4/Conv_1]", 1, 3), ("[m5/Conv_1]", 4, 4)],
        [("Transpose", 1, 1), ("Convolve", 2, 2), ("Convolve", 3, 3), ("Convolve", 4, 4)],
    ]


def test_each_stream_copy_has_its_own_bar_over_begin_mid_and_end() -> None:
    copy = [("StreamCopyBegin", 0), ("StreamCopyMid", 1), ("StreamCopyEnd", 2)]
    flame = make_flame(machine_of(*copy, *copy).timeline(), ["in/StreamCopy", "in/StreamCopy", "in/StreamCopy"])
    assert shown(flame) == [
        [("[in]", 0, 5)],
        [("[StreamCopy]", 0, 2), ("[StreamCopy]", 3, 5)],
        [("Begin", 0, 0), ("Mid", 1, 1), ("End", 2, 2), ("Begin", 3, 3), ("Mid", 4, 4), ("End", 5, 5)],
    ]
    assert set(flame.levels[1].kind.tolist()) == {STREAM_COPY}


def test_a_barrier_belongs_to_the_groups_of_the_step_after_it() -> None:
    labels = ["a/x", "a/y", "b/z", "Internal"]
    run = "OnTileExecute"
    machine = machine_of(("Sync", 3), (run, 0), ("Sync", 3), (run, 1), ("Sync", 3), (run, 2))
    assert shown(make_flame(machine.timeline(), labels)) == [
        [("[a]", 0, 3), ("[b]", 4, 5)],
        [("Internal", 0, 0), ("x", 1, 1), ("Internal", 2, 2), ("y", 3, 3), ("Internal", 4, 4), ("z", 5, 5)],
    ]


def test_the_exchange_of_a_compute_set_lies_in_its_group() -> None:
    machine = machine_of(("DoExchange", 0), ("OnTileExecute", 1))
    assert shown(make_flame(machine.timeline(), ["cs3_m4/Convolve/ExchangePre", "m4/Convolve"])) == [
        [("[m4/Convolve]", 0, 1)],
        [("ExchangePre", 0, 0), ("OnTileExecute", 1, 1)],
    ]


def test_groups_end_with_their_run() -> None:
    machine = Machine(1)
    for run in (0, 0, 1):
        machine.step("OnTileExecute", [5], 0, run)
    assert shown(make_flame(machine.timeline(), ["a/x"]))[0] == [("[a]", 0, 1), ("[a]", 2, 2)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Copy_{a/b,c/d}_to_e", ["Copy_{a/b,c/d}_to_e"]),
        ("m/Copy_{a/b,c}_to_{d/e}/ExchangePre", ["m", "Copy_{a/b,c}_to_{d/e}", "ExchangePre"]),
        ("{a/{b/c}/d}/e", ["{a/{b/c}/d}", "e"]),
        ("cut{a/b", ["cut{a", "b"]),
        ("a}/b{/{c/d}/e", ["a}", "b{", "{c/d}", "e"]),
        ("/a//b/", ["", "a", "", "b", ""]),
    ],
)
def test_slashes_within_braces_belong_to_variables(name: str, parts: list[str]) -> None:
    assert split_name(name) == parts


def test_a_merged_copy_is_one_level() -> None:
    machine = machine_of(("DoExchange", 0), ("OnTileExecute", 1))
    copy = "copy5_Copy_{w,stage1/out}_to_{a/b,c}"
    levels = shown(make_flame(machine.timeline(), [f"{copy}/ExchangePre", f"{copy}/OnTileCopy-0"]))
    assert levels == [[("[Copy to a/b, c]", 0, 1)], [("ExchangePre", 0, 0), ("OnTileCopy-0", 1, 1)]]


def test_a_copy_and_its_barrier_lie_in_the_operation_that_they_serve() -> None:
    """The two products of matmul_chain in short: one bar per product, as its debug path says."""
    labels = [
        "copy1_Copy_{m2,pad/zero}_to_m4/Conv_1/preRegroup/ExchangePre",
        "m4/Conv_1/Transpose",
        "cs3_m4/Conv_1/Convolve/ExchangePre",
        "m4/Conv_1/Convolve",
        "copy6_Copy_m5/Conv_1/p_to_{m5/Conv_1/acts,m5/Conv_1/weights}/OnTileCopy-0",
        "m5/Conv_1/Reduce",
        "Internal",
    ]
    run, move, wait = "OnTileExecute", "DoExchange", ("Sync", 6)
    machine = machine_of(wait, (move, 0), (run, 1), wait, (move, 2), (run, 3), wait, (run, 4), (run, 5), wait)
    assert shown(make_flame(machine.timeline(), labels)) == [
        [("[m4/Conv_1]", 0, 5), ("[m5/Conv_1]", 6, 8), ("Internal", 9, 9)],
        [
            ("[Copy to preRegroup]", 0, 1),
            ("Transpose", 2, 2),
            ("[Convolve]", 3, 5),
            ("[Copy to acts, weights]", 6, 7),
            ("Reduce", 8, 8),
        ],
        [
            ("Internal", 0, 0),
            ("ExchangePre", 1, 1),
            ("Internal", 3, 3),
            ("ExchangePre", 4, 4),
            ("OnTileExecute", 5, 5),
            ("Internal", 6, 6),
            ("OnTileCopy-0", 7, 7),
        ],
    ]


def test_a_copy_with_an_ambiguous_name_keeps_it() -> None:
    label = "copy1_Copy_a_to_b_to_c/d/ExchangePre"
    assert shown(make_flame(machine_of(("DoExchange", 0)).timeline(), [label]))[0] == [
        ("[copy1_Copy_a_to_b_to_c/d]", 0, 0)
    ]


def test_very_deep_names_share_the_last_level() -> None:
    label = "/".join(str(part) for part in range(40))
    levels = shown(make_flame(machine_of(("OnTileExecute", 0)).timeline(), [label]))
    assert levels == [
        [("[" + "/".join(str(part) for part in range(23)) + "]", 0, 0)],
        [("/".join(str(part) for part in range(23, 40)), 0, 0)],
    ]


def test_nothing_recorded_gives_no_bars() -> None:
    flat = make_flat(Machine(1).timeline(), [])
    bars, cells = bars_in_window(flat.levels, Grid(GRAIN, 0, 10))
    assert len(bars.begin) == len(cells.column) == 0


def test_run_bars_are_a_level() -> None:
    runs = RunBars(["Engine::run #0"], np.array([0]), np.array([40]), np.array([0]), np.array([3]))
    bars, _ = bars_in_window([run_level(runs)], Grid(GRAIN, 0, 50))
    assert (bars.begin[0], bars.end[0], bars.first[0], bars.last[0]) == (0, 40, 0, 3)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    machine = Machine(2)
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["OnTileExecute", "DoExchange", "Sync", "StreamCopyMid", "WriteUndef"]))
        machine.step(kind, draw(st.lists(st.integers(0, 12), min_size=2, max_size=2)))
    return machine


def overlap(begin: int, end: int, column: int, grid: Grid) -> int:
    left = (grid.first + column) * grid.pitch
    return max(0, min(end * GRAIN, left + grid.pitch) - max(begin * GRAIN, left))


@given(machines(), st.integers(300, 20 * GRAIN), st.integers(0, 6), st.integers(1, 12))
def test_every_bar_is_drawn_or_counted_once_and_cells_tell_shares(
    machine: Machine, pitch: int, first: int, columns: int
) -> None:
    grid, steps = Grid(pitch, first, columns), machine.timeline()
    bars, cells = bars_in_window(make_flat(steps, ["p"]).levels, grid)
    left, right = first * pitch, (first + columns) * pitch
    spans = list(zip(steps.begin.tolist(), steps.end.tolist(), strict=True))
    inside = [
        step
        for step, (b, e) in enumerate(spans)
        if b * GRAIN < right and (e * GRAIN > left or (b == e and b * GRAIN >= left))
    ]
    large = [step for step in inside if (spans[step][1] - spans[step][0]) * GRAIN >= pitch]
    assert bars.first.tolist() == large
    assert cells.count.sum() == len(inside) - len(large)
    small = set(inside) - set(large)
    for column, packed, step in zip(cells.column.tolist(), cells.shares.tolist(), cells.first.tolist(), strict=True):
        touching = [s for s in small if overlap(*spans[s], column, grid) or spans[s][0] == spans[s][1]]
        assert step in touching or any(overlap(*spans[s], column, grid) for s in small)
        for index in range(len(CLASSES)):
            own = [s for s in range(len(spans)) if PIXEL_CLASS[steps.type[s]] == index]
            share = sum(overlap(*spans[s], column, grid) for s in own) / pitch
            assert abs((packed >> 5 * index & 31) - 31 * share) <= 1
            assert (packed >> 5 * index & 31 > 0) == (share > 0)


@given(machines(), st.integers(300, 20 * GRAIN), st.integers(0, 6), st.integers(1, 12))
def test_overview_tells_the_share_of_every_column(machine: Machine, pitch: int, first: int, columns: int) -> None:
    grid, steps = Grid(pitch, first, columns), machine.timeline()
    pixels = strip(make_flat(steps, ["p"]).levels[0], grid)
    for column in range(columns):
        for index in range(len(CLASSES)):
            own = [s for s in range(len(steps)) if PIXEL_CLASS[steps.type[s]] == index]
            share = sum(overlap(int(steps.begin[s]), int(steps.end[s]), column, grid) for s in own) / pitch
            assert abs((int(pixels[column]) >> 5 * index & 31) - 31 * share) <= 1


def test_every_type_that_takes_time_has_a_class() -> None:
    without = {name for name, drawn in zip(PROGRAM_TYPES, PIXEL_CLASS, strict=True) if drawn == 255}
    assert without.isdisjoint({"OnTileExecute", "DoExchange", "GlobalExchange", "Sync", "SyncAns", "Sans"})
    assert not any(name.startswith("StreamCopy") for name in without)
