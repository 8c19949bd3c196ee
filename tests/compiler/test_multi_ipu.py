"""Programs over several IPUs: cycles by hand, who waits at a barrier, memory of packets, bytes that cross."""

import numpy as np
import pytest

from simulator.compiler.compile import compile_graph
from simulator.compiler.machine import machine_of
from simulator.poplar import FLOAT, Graph, SyncType, invalid_tile_mapping
from simulator.poplar.program import Copy, CrossReplicaCopy, Execute, Repeat, Sequence, Sync
from simulator.runtime.clock.barriers import external_barrier, internal_barrier
from simulator.runtime.clock.device_clock import DeviceClock
from tests.compiler.tiny_graphs import Scale, model


def steps_of(graph, program):
    """(type, name, [(begin, end) of each tile or None]) of every step of the program itself, from its first cycle."""
    executable = compile_graph(graph.store, graph.getTarget(), [program])
    lowered, machine = executable.lowered, executable.machine
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, machine)
    run = clock.run(lowered.branches[0])
    found, zero = [], None
    for row, base, pattern in zip(run.segment.program, run.segment.base, run.segment.pattern, strict=True):
        if row < lowered.branches[0]:
            continue
        parts = [(b + clock.patterns[p].start, clock.patterns[p].cycles) for b, p in zip(base, pattern, strict=True)]
        begin, cycles = (np.concatenate(column) for column in zip(*parts, strict=True))
        zero = int(begin.max()) if zero is None else zero
        tiles = [(int(b) - zero, int(b + c) - zero) if c else None for b, c in zip(begin, cycles, strict=True)]
        found.append((lowered.table.type[row], lowered.table.name[row], tiles))
    return executable, found


def variable(graph, name, tile, n=4):
    t = graph.addVariable(FLOAT, [n], name)
    graph.setTileMapping(t, tile)
    return t


def test_a_copy_of_one_element_to_another_ipu_cycle_by_cycle():
    """4 words from tile 0 to tile 3, of 2 tiles on each of 2 IPUs. The switch broadcast leaves all clocks together."""
    target = model(tiles=2, ipus=2)
    graph = Graph(target)
    a, b = variable(graph, "a", 0), variable(graph, "b", 3)
    executable, found = steps_of(graph, Copy(a, b))
    filled = 6 * 72  # a small copy: 72 thread cycles (published-numbers 7.3), a thread issues every sixth cycle
    met = filled + 600  # a sync between IPUs (published-numbers 3)
    moved = met + 300 + 4  # latency, then a word a cycle of the one tile
    assert found == [
        ("OnTileExecute", "copy1_Copy_a_to_b/GlobalPre/OnTileCopy-0", [(0, filled), None, None, None]),
        ("Sync", "External", [(filled, met), (0, met), (0, met), (0, met)]),
        ("GlobalExchange", "copy1_Copy_a_to_b/GlobalPre", [(met, moved), None, None, (met, moved)]),
        ("Sync", "Internal", [(moved, moved + 100), (met, moved + 100), (met, moved + 100), (moved, moved + 100)]),
    ]
    memory = {(m.category, m.ipu): m.bytes.tolist() for m in executable.compilation.category_memory}
    assert memory["globalMessage", 0] == [16, 0]  # the packet buffer
    assert memory["globalExchangePacketHeader", 0] == [8, 0]
    assert ("globalMessage", 1) not in memory


def test_only_the_ipus_of_an_exchange_wait_for_each_other():
    target = model(tiles=2, ipus=3)
    graph = Graph(target)
    a, b, c, d = (variable(graph, name, tile) for name, tile in (("a", 0), ("b", 1), ("c", 4), ("d", 3)))
    _, found = steps_of(graph, Sequence(Copy(a, b), Copy(b, c)))
    (inside, _), (_, crossing) = [
        ([t is not None for t in tiles[:2]], [t is not None for t in tiles])
        for type_, name, tiles in found
        if type_ == "Sync" and name in ("Internal", "External")
    ][:2]
    assert inside == [True, True]
    assert crossing == [True, True, False, False, True, True]
    syncs = [tiles for type_, name, tiles in found if type_ == "Sync"]
    assert [t is None for t in syncs[0]] == [False, False, True, True, True, True]
    del d


@pytest.mark.parametrize(
    ("kind", "waiting"), [(SyncType.INTERNAL, 100), (SyncType.EXTERNAL, 600), (SyncType.GLOBAL, 600)]
)
def test_explicit_syncs_join_tiles_ipus_or_replicas(kind, waiting):
    """Two replicas of two IPUs with one tile each; tile 0 of each replica is late by 6 x 72 cycles."""
    target = model(tiles=1, ipus=4)
    graph = Graph(target, 2)
    a, b = variable(graph, "a", 0), variable(graph, "b", 0)
    _, found = steps_of(graph, Sequence(Copy(a, b), Sync(kind)))
    late = 6 * 72
    (copy, sync) = [tiles for _, _, tiles in found]
    assert copy == [(0, late), None, (0, late), None]
    early = 0 if kind is not SyncType.INTERNAL else None
    other = (0, waiting) if early is None else (early, late + waiting)
    assert sync == [(late, late + waiting), other] * 2


def test_terms_of_a_sync_name_its_group_and_who_takes_part():
    target = model(tiles=2, ipus=6)
    graph = Graph(target, 2)
    a, b, c = (variable(graph, name, tile) for name, tile in (("a", 0), ("b", 3), ("c", 2)))
    executable, _ = steps_of(graph, Sequence(Copy(a, b), CrossReplicaCopy(b, c, {0: 1, 1: 0})))
    terms = {(t.object, t.term[:10]): t.value for t in executable.compilation.cost_terms}
    table = executable.lowered.table
    external = [row for row in range(len(table)) if table.sync_type[row] == "external"]
    found = [(terms[f"program:{row}", "sync group"], terms[f"program:{row}", "tiles of a"]) for row in external]
    assert found == [(1, 4), (2, 2)]  # two IPUs of three; one IPU


def test_groups_of_a_barrier():
    """Clocks of two replicas with two IPUs of one tile: who leaves when, in each group."""
    target = model(tiles=1, ipus=2)
    machine = machine_of(target, 2)
    clocks = np.array([10, 0, 70, 30])
    assert (clocks + internal_barrier(clocks, None, machine)).tolist() == [110, 100, 170, 130]
    assert (clocks + external_barrier(clocks, None, machine, "GS1", 600)).tolist() == [610, 610, 670, 670]
    assert (clocks + external_barrier(clocks, None, machine, "GS2", 600)).tolist() == [670] * 4
    first = np.array([True, False])
    assert (clocks + external_barrier(clocks, first, machine, "GS2", 600)).tolist() == [670, 0, 670, 30]
    assert (clocks + internal_barrier(clocks, first, machine)).tolist() == [110, 0, 170, 30]


def test_input_on_io_tiles_overlaps_with_compute_and_meets_it_at_the_next_copy():
    """Tile 3 only holds what the stream brings; tiles 0 to 2 compute meanwhile."""
    target = model(tiles=4)
    graph = Graph(target)
    graph.addCodelets(Scale)
    box, x, y = variable(graph, "box", 3, 30), variable(graph, "x", 0, 30), variable(graph, "y", 0, 30)
    cs = graph.addComputeSet("triple")
    vertex = graph.addVertex(cs, "Scale", {"x": x, "y": y})
    graph.setTileMapping(vertex, 0)
    graph.setPerfEstimate(vertex, 1000)
    stream = graph.addHostToDeviceFIFO("in", FLOAT, 30)
    _, found = steps_of(graph, Repeat(2, Sequence(Copy(stream, box), Execute(cs), Copy(box, x))))
    by_type = {}
    for type_, _, tiles in found:
        by_type.setdefault(type_, []).append(tiles)
    for begin, mid, compute in zip(
        by_type["StreamCopyBegin"], by_type["StreamCopyMid"], by_type["OnTileExecute"], strict=True
    ):
        assert [t is None for t in begin] == [t is None for t in mid] == [True, True, True, False]
        assert compute[0][0] <= mid[3][0] < mid[3][1] < compute[0][1] == compute[0][0] + 6000
    joint = [tiles for type_, _, tiles in found if type_ == "Sync" and None not in tiles]
    assert len(joint) == 2
    assert all(t[0][1] == t[3][1] for t in joint)


def test_streams_into_tiles_that_compute_hold_everyone_up():
    target = model(tiles=2)
    graph = Graph(target)
    graph.addCodelets(Scale)
    x, y = variable(graph, "x", 0, 30), variable(graph, "y", 0, 30)
    cs = graph.addComputeSet("triple")
    graph.setTileMapping(graph.addVertex(cs, "Scale", {"x": x, "y": y}), 0)
    _, found = steps_of(graph, Sequence(Copy(graph.addHostToDeviceFIFO("in", FLOAT, 30), x), Execute(cs)))
    assert None not in found[0][2]


def test_bytes_that_cross_are_conserved_and_a_multicast_leaves_once():
    target = model(tiles=2, ipus=2)
    graph = Graph(target)
    a, b, c = variable(graph, "a", 0), variable(graph, "b", 2), variable(graph, "c", 3)
    executable, _ = steps_of(graph, Sequence(Copy(a, b), Copy(a, c)))
    compilation = executable.compilation
    programs = [i for i, t in enumerate(compilation.programs.type) if t == "GlobalExchange"]
    assert len(programs) == 1  # independent neighbours go together
    rows = [p for p in compilation.program_on_ipu if p.program == programs[0]]
    assert sum(int(p.rx.sum()) for p in rows if p.rx is not None) == 32
    assert sum(int(p.tx.sum()) for p in rows if p.tx is not None) == 16
    sent = [s for s in compilation.sendings if s.program == programs[0]]
    assert [(s.src.tolist(), s.receivers.tolist(), s.bytes.tolist()) for s in sent] == [([0], [2], [16])]
    assert sum(int(m.bytes.sum()) for m in compilation.messages if m.program == programs[0]) == 32


def test_packets_hold_1024_bytes():
    target = model(tiles=1, ipus=2)
    graph = Graph(target, 2)
    a, b = variable(graph, "a", 0, 257), variable(graph, "b", 0, 257)
    executable, _ = steps_of(graph, CrossReplicaCopy(a, b, {0: 1, 1: 0}))
    headers = [m for m in executable.compilation.category_memory if m.category == "globalExchangePacketHeader"]
    assert [(m.ipu, m.bytes.tolist()) for m in headers] == [(0, [16]), (1, [16])]


def test_tiles_of_a_virtual_graph():
    graph = Graph(model(tiles=4, ipus=2))
    second = graph.createVirtualGraph(4, 8)
    assert second.getTopLevelGraph() is graph
    x = graph.addVariable(FLOAT, [4])
    second.setTileMapping(x, 1)
    assert [i for i, part in enumerate(graph.getTileMapping(x)) if part] == [5]
    with pytest.raises(invalid_tile_mapping, match="Tile 4 is out of range: the graph has 4 tiles"):
        second.setTileMapping(x, 4)
    with pytest.raises(invalid_tile_mapping, match="not within one IPU"):
        graph.createVirtualGraph(3, 5)


@pytest.mark.parametrize("on", [0, 2])
def test_a_loop_on_one_ipu_equals_its_trips_written_out_and_is_found_out_at_once(on):
    """The other IPU keeps its clock. The loop's tiles drift apart within a trip and meet in its exchange."""
    target = model(tiles=2, ipus=2)

    def program(graph, trips):
        a, b = variable(graph, "a", on), variable(graph, "b", on + 1)
        c, d, e = (variable(graph, name, 2 - on, n) for name, n in (("c", 90), ("d", 90), ("e", 4)))
        body = Sequence(Copy(a, b), Copy(b, a))
        return Sequence(Copy(c, d), *trips(body), Copy(a, e))

    found = []
    for trips in (lambda body: [Repeat(7, body)], lambda body: [body] * 7):
        graph = Graph(target)
        found.append([tiles for _, _, tiles in steps_of(graph, program(graph, trips))[1]])
    assert found[0] == found[1]
    trip = max(t[1] for t in found[0][-5] if t) - max(t[1] for t in found[0][-9] if t)  # four steps each, four behind
    lengths = []
    for count in (50_000, 100_000):
        graph = Graph(target)
        executable = compile_graph(
            graph.store, target, [program(graph, lambda body, count=count: [Repeat(count, body)])]
        )
        lowered = executable.lowered
        clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
        run = clock.run(lowered.branches[0])
        assert len(clock.patterns) < 200
        assert all((tail >= 0).all() for tail in run.tail)
        lengths.append(run.cycles)
    assert lengths[1] - lengths[0] == 50_000 * trip


def test_beyond_the_cap_of_records_a_loop_beside_idle_io_tiles_keeps_its_length():
    """Tile 2 gets input and then idles while tiles 0 and 1 loop; each trip's record is another one."""
    lengths = {}
    for count in (300, 100_000):
        target = model(tiles=3)
        graph = Graph(target)
        graph.addCodelets(Scale)
        box, a, b, c = (variable(graph, name, tile, 30) for name, tile in (("box", 2), ("a", 0), ("b", 1), ("c", 0)))
        cs = graph.addComputeSet("triple")
        graph.setTileMapping(graph.addVertex(cs, "Scale", {"x": a, "y": c}), 0)
        stream = graph.addHostToDeviceFIFO("in", FLOAT, 30)
        loop = Repeat(count, Sequence(Execute(cs), Copy(c, b), Copy(b, a)))
        program = Sequence(Copy(stream, box), loop, Copy(box, a))
        lowered = compile_graph(graph.store, target, [program]).lowered
        for cap in (100, 100_000)[: 2 if count == 300 else 1]:
            clock = DeviceClock(
                lowered.table, lowered.cycles, lowered.function_roots, machine_of(target), max_arrays=cap
            )
            run = clock.run(lowered.branches[0])
            assert run.segment.truncated == (cap == 100)
            lengths[count, cap] = run.cycles
    assert lengths[300, 100] == lengths[300, 100_000]
    assert (lengths[100_000, 100] - lengths[300, 100]) % 99_700 == 0  # trips are alike
