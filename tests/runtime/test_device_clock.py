"""The modelled clock: cycles counted by hand, the laws of intervals, loops against unrolled ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile.model import PHASE_OF_TYPE
from simulator.compiler.compile import compile_graph
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.machine import machine_of
from simulator.poplar import FLOAT, Graph
from simulator.poplar.program import Copy, Repeat
from simulator.runtime.clock.device_clock import DeviceClock
from simulator.runtime.clock.measured_times import MeasuredTimes
from tests.compiler.tiny_graphs import hardware, model, tutorial3

TILES = 3
MACHINE = machine_of(model(TILES))


def clock_of(executable, **options):
    lowered = executable.lowered
    return DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine, **options)


def steps(clock, run):
    """(program, start per tile, cycles per tile) over all tiles of the device, absolute."""
    for program, base, pattern in zip(run.segment.program, run.segment.base, run.segment.pattern, strict=True):
        parts = [clock.patterns[p] for p in pattern]
        start = np.concatenate([b + p.start for b, p in zip(base, parts, strict=True)])
        yield int(program), start, np.concatenate([p.cycles for p in parts])


def check_laws(clock, run, tiles):
    """Each step starts where the last one ended, on every tile; with the tail that is the run; lengths telescope."""
    now = np.zeros(tiles, np.int64)
    length = 0
    for _, start, cycles in steps(clock, run):
        assert np.array_equal(start, now)
        length += int((start + cycles).max() - start.max())
        now = start + cycles
    tail = np.concatenate(run.tail)
    assert np.array_equal(now + tail, np.full(tiles, run.cycles))
    assert (tail >= 0).all()
    assert length == run.cycles


def test_runs_longer_than_32_bits():
    """15,000 copies from the host take some 2.4 thousand million cycles on hardware."""
    graph = Graph(hardware())
    x = graph.addVariable(FLOAT, [], "x")
    graph.setTileMapping(x, 1)
    program = Repeat(15_000, Copy(graph.addHostToDeviceFIFO("in", FLOAT, 1), x))
    executable = compile_graph(graph.store, hardware(), [program])
    clock = clock_of(executable)
    run = clock.run(executable.lowered.branches[0])
    last = clock.patterns[run.segment.pattern[-1, 0]]
    assert run.cycles > 2**31
    assert run.tail[0].dtype == np.int64
    assert np.array_equal(run.segment.base[-1, 0] + last.start + last.cycles + run.tail[0], np.full(4, run.cycles))


def test_tutorial_3_cycle_by_cycle():
    tutorial = tutorial3(model())
    executable = compile_graph(tutorial.graph.store, model(), [tutorial.program])
    clock = clock_of(executable)
    run = clock.run(executable.lowered.branches[0])
    check_laws(clock, run, 4)
    found = [(executable.lowered.table.type[p], start.max(), (start + c).max()) for p, start, c in steps(clock, run)]
    assert found == [
        ("StreamCopyBegin", 0, 90),
        ("StreamCopyMid", 90, 90 + 21),  # 20 and 4 bytes at 6 a cycle
        ("StreamCopyEnd", 111, 121),
        ("Sync", 121, 221),
        ("StreamCopyBegin", 221, 311),
        ("StreamCopyMid", 311, 332),
        ("StreamCopyEnd", 332, 342),
        ("Sync", 342, 442),
        ("Sync", 442, 542),  # before the broadcast
        ("DoExchange", 542, 603),
        ("Sync", 603, 703),
        ("DoExchange", 703, 766),  # tile 0 sends three words
        ("OnTileExecute", 766, 766 + 432),  # tile 0 copies its own element: 72 cycles of a thread
        ("Sync", 1198, 1298),
        ("DoExchange", 1298, 1364),  # tile 0: two fragments after the first, three instructions each
        ("OnTileExecute", 1364, 1364 + 432),
        ("OnTileExecute", 1796, 1796 + 108),
    ]
    assert run.cycles == 1904


def test_phases_of_all_tiles_add_up_to_tiles_times_cycles():
    tutorial = tutorial3(model())
    executable = compile_graph(tutorial.graph.store, model(), [tutorial.program])
    clock = clock_of(executable)
    run = clock.run(executable.lowered.branches[0])
    by_phase: dict[str, int] = {}
    for program, _, cycles in steps(clock, run):
        phase = PHASE_OF_TYPE[executable.lowered.table.type[program]]
        by_phase[phase] = by_phase.get(phase, 0) + int(cycles.sum())
    assert by_phase["compute"] == 432 + 3 * 432 + 6 * (18 + 16 + 14 + 12)
    assert sum(by_phase.values()) + sum(int(t.sum()) for t in run.tail) == 4 * run.cycles


def table_of(body):
    """A table whose branch runs `body`: cycles per tile, "sync", or (count, body). Returns (table, cycles, branch)."""
    table, cycles = ProgramTable(), []

    def fill(parent, items):
        for item in items:
            if item == "sync":
                table.add(parent, "Sync", sync_type="internal")
                cycles.append(None)
            elif isinstance(item, tuple):
                loop = table.add(parent, "Repeat", repeat_count=item[0])
                cycles.append(None)
                fill(loop, item[1])
            else:
                table.add(parent, "OnTileExecute", work=Work())
                cycles.append(np.array(item, np.int64))

    root = table.add(None, "Sequence")
    switch = table.add(root, "OnEveryTileSwitch")
    branch = table.add(switch, "Sequence")
    cycles.extend([None] * 3)
    fill(branch, body)
    return table, cycles, branch


def run_body(body, **options):
    table, cycles, branch = table_of(body)
    clock = DeviceClock(table, cycles, {}, MACHINE, **options)
    return clock, clock.run(branch)


def test_waiting_at_a_barrier_is_the_barriers():
    clock, run = run_body([[5, 0, 2], "sync", [1, 1, 1]])
    assert [c.tolist() for _, _, c in steps(clock, run)] == [[5, 0, 2], [100, 105, 103], [1, 1, 1]]
    assert (run.cycles, run.tail[0].tolist()) == (106, [0, 0, 0])


def test_tiles_that_end_early_have_a_tail():
    _, run = run_body([[5, 0, 2]])
    assert (run.cycles, run.tail[0].tolist()) == (5, [0, 5, 3])


def test_a_tile_may_run_ahead_while_nothing_makes_it_wait():
    clock, run = run_body([[5, 0, 2], [0, 4, 0]])
    assert [s.tolist() for _, s, _ in steps(clock, run)] == [[0, 0, 0], [5, 0, 2]]
    assert run.cycles == 5


tile_cycles = st.lists(st.integers(0, 9), min_size=TILES, max_size=TILES)
bodies = st.recursive(
    st.lists(tile_cycles | st.just("sync"), min_size=1, max_size=3),
    lambda inner: st.lists(tile_cycles | st.just("sync") | st.tuples(st.integers(0, 7), inner), min_size=1, max_size=3),
    max_leaves=8,
)


def unrolled(body):
    for item in body:
        if isinstance(item, tuple):
            for _ in range(item[0]):
                yield from unrolled(item[1])
        else:
            yield item


@given(bodies)
def test_loops_equal_their_unrolled_form(body):
    flat = list(unrolled(body))
    if not flat:
        return
    clock, run = run_body(body)
    check_laws(clock, run, TILES)
    other_clock, other = run_body(flat)
    mine = [(s.tolist(), c.tolist()) for _, s, c in steps(clock, run)]
    assert mine == [(s.tolist(), c.tolist()) for _, s, c in steps(other_clock, other)]
    assert run.cycles == other.cycles


def test_a_loop_in_steady_state_costs_one_trip():
    clock, run = run_body([(1_000_000, [[5, 0, 2], "sync"])])
    assert len(run.segment) == 2_000_000
    assert len(clock.patterns) < 10
    assert run.cycles == 1_000_000 * 105


def test_beyond_the_cap_only_the_length_is_known():
    clock, run = run_body([[1, 1, 1], (1000, [[5, 0, 2], "sync"])], max_steps=10)
    assert (len(run.segment), run.segment.truncated, run.cycles) == (10, True, 1 + 1000 * 105)
    last = list(steps(clock, run))[-1]
    assert np.array_equal(last[1] + last[2] + run.tail[0], np.full(TILES, run.cycles))


def test_the_cap_is_no_truncation_when_it_is_just_enough():
    _, run = run_body([(5, [[5, 0, 2], "sync"])], max_steps=10)
    assert (len(run.segment), run.segment.truncated) == (10, False)


def test_clocks_that_drift_apart_are_recorded_up_to_a_cap_and_counted_exactly():
    """Tile 1 takes no part, so every trip begins in a new state."""
    body = [(10_000, [[5, 0, 2], (2, [[1, 0, 1]])]), "sync"]
    clock, run = run_body(body, max_arrays=60)
    assert run.segment.truncated
    assert 50 < len(clock.patterns) == len(run.segment) < 120
    assert run.cycles == 10_000 * (5 + 2) + 100
    last = list(steps(clock, run))[-1]
    assert np.array_equal(last[1] + last[2] + run.tail[0], np.full(TILES, run.cycles))
    again = clock.run(2)
    assert again.cycles == run.cycles


def test_measured_waits_replace_those_of_data_copies_only():
    tutorial = tutorial3(model())
    executable = compile_graph(tutorial.graph.store, model(), [tutorial.program])
    clock = clock_of(executable)
    read = executable.lowered.branches[1]  # the host read: one data copy
    usual = clock.run(read).cycles
    waited = clock.run(read, MeasuredTimes({"": [(0, 5_000 / executable.machine.clock_hz)]}, executable.machine))
    check_laws(clock, waited, 4)
    assert waited.cycles - usual == 5_000 - 90
    assert clock.run(read).cycles == usual


def test_a_period_longer_than_is_looked_for_is_still_counted():
    """Tile 1 falls behind for 300 trips of an inner loop, then a barrier brings it back: no state repeats within."""
    body = [(3, [(300, [[5, 0, 2]]), "sync"])]
    clock, run = run_body(body)
    check_laws(clock, run, TILES)
    assert (run.cycles, len(run.segment)) == (3 * (300 * 5 + 100), 3 * 301)


@pytest.mark.parametrize("relative", [[0, 0, 0], [0, 4, 9]])
def test_sync_takes_the_way_to_the_controller_twice(relative):
    machine = replace(MACHINE, relative_sync_delay=np.array(relative))
    table, cycles, branch = table_of(["sync", "sync"])
    clock = DeviceClock(table, cycles, {}, machine)
    first, second = (c.tolist() for _, _, c in steps(clock, clock.run(branch)))
    assert first == [max(relative) + 100 + r for r in relative]
    # The farthest tile leaves last and asks last: its request arrives 2 x 9 cycles after the nearest one's would.
    assert second[2] == 2 * max(relative) + 100
