"""Figures of a window against a loop over every cell; facts of steps, tables and searches on a report made by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.step_details import find_steps, step_at, step_facts, step_tiles, steps_in_window
from popvision.analysis.execution.timeline import PHASES, run_bars, step_count, timeline
from popvision.analysis.execution.window import figures_of, window_figures
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import PHASE_OF_TYPE
from tests.analysis.execution.execution_case import Machine
from tests.reports import write_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(write_tiny(tmp_path_factory.mktemp("tiny")))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    machine = Machine(draw(st.integers(1, 4)))
    for program in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["OnTileExecute", "DoExchange", "Sync", "StreamCopyBegin", "StreamCopyMid"]))
        cells = st.lists(st.integers(0, 25), min_size=machine.tiles, max_size=machine.tiles)
        machine.step(kind, None if kind == "Sync" else draw(cells), program)
    return machine


@given(machines(), st.integers(0, 200), st.integers(0, 200))
def test_figures_equal_a_loop_over_cells(machine: Machine, one: int, other: int) -> None:
    begin, end = sorted((min(one, machine.total), min(other, machine.total)))
    found = figures_of(machine.timeline(), machine, begin, end)
    cycles = dict.fromkeys(PHASES, 0)
    useful, cells, mean, longest, bytes_in = 0, 0, 0.0, 0, 0
    for kind, program, tiles, _ in machine.steps:
        cut = [max(0, min(b + c, end) - max(b, begin)) for b, c in tiles]
        cycles[PHASE_OF_TYPE[kind]] += sum(cut)
        cells += sum(each > 0 for each in cut)
        useful += sum(cut) if kind in ("OnTileExecute", "DoExchange", "StreamCopyMid") else 0
        if kind == "OnTileExecute":
            mean, longest = mean + sum(cut) / machine.tiles, longest + max(cut)
        if kind.startswith("StreamCopy") and any(cut):
            bytes_in += 10 * program + 1
    tail = sum(max(0, end - max(clock, begin)) for clock in machine.clocks)
    cycles["sync"] += tail
    assert found.tile_cycles == cycles
    assert found.tail == tail
    assert sum(found.tile_cycles.values()) == machine.tiles * (end - begin)
    assert (found.useful, found.intervals, found.compute_max) == (useful, cells, longest)
    assert found.transfers["stream copy"].received == bytes_in
    assert sum(each.received for each in found.streams.values()) == bytes_in
    assert found.compute_mean == pytest.approx(mean)


@given(machines(), st.integers(0, 200))
def test_figures_of_two_halves_add_up(machine: Machine, cut: int) -> None:
    steps, middle = machine.timeline(), min(cut, machine.total)
    whole = figures_of(steps, machine, 0, machine.total)
    parts = [figures_of(steps, machine, 0, middle), figures_of(steps, machine, middle, machine.total)]
    for phase in PHASES:
        assert whole.tile_cycles[phase] == sum(part.tile_cycles[phase] for part in parts)
    assert whole.useful == sum(part.useful for part in parts)


def test_the_whole_tiny_run(tiny: ReportSource) -> None:
    """Two compute steps of 10 20 0 5, a sync of 13 3 23 18, an exchange of 4 0 4 0, a tail of 6 0 16 15; 43 cycles."""
    found = window_figures(tiny, 0, 0, 10_000)
    assert found.length == 43
    assert found.tile_cycles == {"compute": 70, "exchange": 8, "global exchange": 0, "host": 0, "sync": 57 + 37}
    assert found.tail == 37
    assert found.share("compute") == 70 / (4 * 43)
    assert found.utilisation == 78 / (4 * 43)
    assert found.balance == (2 * 35 / 4) / (2 * 20)
    assert (found.steps, found.intervals) == (4, 3 + 4 + 2 + 3)


def test_bandwidth_of_the_tiny_run(tiny: ReportSource) -> None:
    """The exchange brings 16 B to two tiles and takes 4 cycles; a window that cuts it counts bytes, not the rate."""
    moved = window_figures(tiny, 0, 0, 43).transfers["exchange"]
    assert (moved.received, moved.sent, moved.cycles, moved.bandwidth) == (16, 8, 4, 4.0)
    cut = window_figures(tiny, 0, 24, 43).transfers["exchange"]
    assert (cut.received, cut.bandwidth) == (16, None)


def test_active_tile_balance(tiny: ReportSource) -> None:
    assert window_figures(tiny, 0, 0, 43).active_balance == pytest.approx(35 / 3 / 20)


def test_hidden_types_leave_the_figures_and_are_named(tiny: ReportSource) -> None:
    found = window_figures(tiny, 0, 0, 43, hidden=("Sync",))
    assert found.hidden == {"Sync"}
    assert found.all_cycles == 70 + 8
    assert found.share("compute") == 70 / 78
    assert found.utilisation == 1
    assert window_figures(tiny, 0, 0, 43, hidden=("OnTileExecute",)).balance is None


def test_part_of_the_tiny_run(tiny: ReportSource) -> None:
    """Cycles 5 to 15: tiles 0 and 1 compute 5 and 10 of them, tile 0 then waits 5; tiles 2 and 3 wait all 10."""
    found = window_figures(tiny, 0, 5, 15)
    assert found.tile_cycles == {"compute": 15, "exchange": 0, "global exchange": 0, "host": 0, "sync": 25}
    assert found.balance == (15 / 4) / 10


def test_an_empty_window_has_no_ratios(tiny: ReportSource) -> None:
    found = window_figures(tiny, 0, 7, 7)
    assert (found.utilisation, found.balance, found.share("sync"), found.steps) == (None, None, None, 0)


def test_windows_that_end_before_they_begin_are_refused(tiny: ReportSource) -> None:
    with pytest.raises(ValueError, match="from 9 to 3 ends before"):
        window_figures(tiny, 0, 9, 3)


def test_lengths_of_steps_telescope_to_the_run(tiny: ReportSource) -> None:
    steps = timeline(tiny, 0)
    assert steps.begin.tolist() == [0, 20, 23, 27]
    assert steps.end.tolist() == [20, 23, 27, 43]
    assert run_bars(tiny).total == 43
    assert step_count(tiny) == 4


def test_facts_of_a_step(tiny: ReportSource) -> None:
    facts, tiles = step_facts(tiny, 0, 3), step_tiles(tiny, 0, 3)
    assert (facts.name, facts.type, facts.phase, facts.program) == ("layer/matmul", "OnTileExecute", "compute", 1)
    assert (facts.begin, facts.end, facts.busy_begin, facts.busy_end) == (27, 43, 23, 43)
    assert (facts.active_tiles, facts.tiles) == (3, 4)
    assert facts.tile_balance == (35 / 4) / 20
    assert facts.active_tile_balance == 35 / 60
    assert tiles.begin.tolist() == [27, 23, 27, 23]
    assert tiles.cycles.tolist() == [10, 20, 0, 5]
    assert tiles.active.tolist() == [10, 20, 5]


def test_the_step_of_a_tile_at_a_cycle(tiny: ReportSource) -> None:
    assert [step_at(tiny, 0, 0, cycle) for cycle in (0, 9, 10, 22, 23, 27, 36, 37)] == [0, 0, 1, 1, 2, 3, 3, -1]


def test_the_step_of_a_tile_in_a_pixel_is_that_of_most_cycles(tiny: ReportSource) -> None:
    parts = [step_tiles(tiny, 0, step) for step in range(step_count(tiny))]
    for tile, cycle, until in itertools.product(range(4), range(0, 44, 3), range(1, 45, 4)):
        if cycle >= until:
            continue
        cycles = [
            int(min(part.end[tile], until) - max(part.begin[tile], cycle)) if part.cycles[tile] else 0 for part in parts
        ]
        expected = cycles.index(max(cycles)) if max(cycles) > 0 else -1
        assert step_at(tiny, 0, tile, cycle, until) == expected, (tile, cycle, until)


def test_steps_are_found_by_name(tiny: ReportSource) -> None:
    assert find_steps(tiny, 0, "MATMUL").tolist() == [0, 3]
    assert find_steps(tiny, 0, "exchangepre").tolist() == [2]
    assert find_steps(tiny, 0, "nothing").tolist() == []


def test_steps_of_a_window_as_a_table(tiny: ReportSource) -> None:
    rows = viewer_frame(steps_in_window(tiny, 0, 21, 24))
    assert rows["step"].tolist() == [1, 2, 3]
    assert rows["cycles"].tolist() == [3, 4, 16]
    assert rows["name"].tolist() == ["Sync (Internal)", "cs0_layer/ExchangePre", "layer/matmul"]
    assert rows["data_in"].tolist() == [0, 16, 0]
    tiles = [step_tiles(tiny, 0, step).active for step in (1, 2, 3)]
    assert rows["active_mean_cycles"].tolist() == [float(each.mean()) for each in tiles]
    ends = [step_tiles(tiny, 0, step).end * (step_tiles(tiny, 0, step).cycles > 0) for step in (1, 2, 3)]
    assert [int(end.argmax()) for end in ends] == [int(text.split()[1]) for text in rows["last_tile"]]
    ties = [int((end == end.max()).sum()) - 1 for end in ends]
    assert [int(text.split()[3]) if "and" in text else 0 for text in rows["last_tile"]] == ties


def test_what_is_not_there_is_named(tiny: ReportSource) -> None:
    with pytest.raises(ValueError, match="IPU 3 is not one of this report's 1 IPUs"):
        timeline(tiny, 3)
    with pytest.raises(ValueError, match="step 4 is not one of the 4 recorded steps"):
        step_facts(tiny, 0, 4)


def test_a_report_path_may_be_the_folder(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    assert step_count(ReportSource(tmp_path)) == 4
