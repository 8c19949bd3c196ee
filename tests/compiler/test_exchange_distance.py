"""Distance on the exchange: published figures of real programs, and laws on random copies.

The formulas are written again here from published-numbers 1, 3 and 7.7: 60 cycles to start, a word a cycle, 17 + 19
cycles to the opposite side, one per island of four tiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.profile import ProfileReader
from popvision.pva import openReport
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.compiler.compile import compile_graph
from simulator.compiler.exchange.plan import broadcast, plan_exchange
from simulator.compiler.ir.transfers import Transfer
from simulator.compiler.machine import machine_of
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, concat
from simulator.poplar.program import Copy, Execute, Sequence

MK2 = machine_of(IPUModel("ipu2").createDevice().getTarget())
COLUMN = 92


class Halo(Vertex):
    """What one worker of an unstructured mesh reads and writes."""

    own = Input(Vector(FLOAT))
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        self.out = self.own.sum() + self.a.sum() + self.b.sum()

    @classmethod
    def estimate(cls, sizes, values, target):
        return 20, 0


def halo_program(graph):
    """Three workers that receive 40, 36 and 40 bytes. Each sends three kinds of floats: for one neighbour, for both
    (two floats, a multicast), for the other: 8, 7 and 8 floats in all."""
    kinds = {0: (2, 2, 4), 1: (3, 2, 2), 2: (3, 2, 3)}  # for the lower neighbour, both, the higher one
    graph.addCodelets(Halo)
    data = {}
    for tile, parts in kinds.items():
        data[tile] = graph.addVariable(FLOAT, [sum(parts)], f"worker{tile}")
        graph.setTileMapping(data[tile], tile)
        graph.setInitialValue(data[tile], np.arange(sum(parts), dtype=np.float32) + tile)
    lower = {t: data[t].slice(0, kinds[t][0] + 2) for t in kinds}
    higher = {t: data[t].slice(kinds[t][0], sum(kinds[t])) for t in kinds}
    reads = {0: (lower[1], lower[2]), 1: (lower[0], higher[2]), 2: (higher[0], higher[1])}
    out = graph.addVariable(FLOAT, [3], "out")
    cs = graph.addComputeSet("updateBToA")
    for tile, (a, b) in reads.items():
        vertex = graph.addVertex(cs, "Halo", {"own": data[tile], "a": a, "b": b, "out": out[tile]})
        graph.setTileMapping(vertex, tile)
        graph.setTileMapping(out[tile], tile)
    graph.createHostRead("out", out)
    return Sequence(Execute(cs))


def test_the_published_exchange_of_three_tiles_as_a_program(tmp_path):
    model = IPUModel("ipu1")
    model.compileIPUCode = True
    device = model.createDevice()
    graph = Graph(device)
    program = halo_program(graph)
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.run(0)
        result = np.empty(3, np.float32)
        engine.readTensor("out", result)
    own = [np.arange(n, dtype=np.float32) + t for t, n in ((0, 8), (1, 7), (2, 8))]
    low = {t: own[t][: k + 2] for t, k in ((0, 2), (1, 3), (2, 3))}
    high = {t: own[t][k:] for t, k in ((0, 2), (1, 3), (2, 3))}
    wanted = [own[0].sum() + low[1].sum() + low[2].sum(), own[1].sum() + low[0].sum() + high[2].sum()]
    assert result.tolist() == [*wanted, own[2].sum() + high[0].sum() + high[1].sum()]

    report = openReport(str(tmp_path / "profile.pop"))
    step = next(s for s in report.execution.steps if "updateBToA/ExchangePre" in s.program.name)
    ipu = step.ipus[0]
    assert (ipu.dataIn, ipu.dataOut) == (116, 92)  # published: 208 : (116/92)
    assert abs(ipu.cycles - 70) <= 16
    assert round(ipu.activeTileBalance, 3) == 0.995
    assert ipu.activeTiles == 3
    code = sum(step.program.codeBytesByTile[t] for t in range(3))
    assert abs(code - 140) <= 14
    reader = ProfileReader(tmp_path / "profile.pop")
    names, programs, on_ipu = reader.programs().name, reader.steps().program, reader.steps_on_ipu(0)
    at = next(i for i, p in enumerate(programs) if "updateBToA/ExchangePre" in names[int(p)])
    overlapped = int(on_ipu.all_to_max[at - 1]) - int(on_ipu.active_from_min[at])
    assert 0 <= overlapped <= 17  # published: 1 cycle overlapped with the previous step


def test_a_word_to_all_tiles_takes_the_way_to_the_farthest():
    """Published: 123 cycles, read from pixels, for switchControlBroadcast."""
    cycles = broadcast(0, 4, MK2.ipu_of_tile, MK2.bus_of_tile, 4.0, MK2.stage).internal.cycles
    lead = 26 - MK2.relative_sync_delay
    moving = cycles - lead
    assert moving[0] == 61  # sends one word
    assert moving[1] == 61
    assert moving[COLUMN - 1] == 60 + 22 + 1  # the last island of its own column
    assert moving[-1] == moving.max() == 60 + 17 + 19 + 22 + 1
    assert abs(moving.max() - 123) <= 16


def test_many_words_hide_the_distance():
    """Words of one message follow each other: 1,000 words over the whole chip take 1,000 cycles and one way."""
    rows = Transfer(*(np.array([v]) for v in (0, 1471, 0, 1000, 4)))
    cycles = plan_exchange(rows, MK2.ipu_of_tile, MK2.bus_of_tile, 4.0, MK2.stage).internal.cycles
    assert cycles[1471] - (26 - MK2.relative_sync_delay[1471]) == 60 + 1000 + 36 + 22
    assert cycles[0] - (26 - MK2.relative_sync_delay[0]) == 60 + 1000


TILES = 16
copies = st.lists(
    st.tuples(st.integers(0, TILES - 1), st.integers(0, TILES - 1), st.integers(0, 40), st.integers(1, 40)),
    min_size=1,
    max_size=12,
)


def figures(rows, machine):
    rows = [r for r in rows if r[0] != r[1]] or [(0, 1, 0, 1)]
    columns = np.array(sorted(set(rows)), np.int64).T
    transfer = Transfer(columns[0], columns[1], columns[2], columns[3], np.full(columns.shape[1], 4))
    return transfer, plan_exchange(transfer, machine.ipu_of_tile, machine.bus_of_tile, 4.0, machine.stage).internal


def small():
    model = IPUModel("ipu2")
    model.tilesPerIPU = TILES
    return machine_of(model.createDevice().getTarget())


SMALL = small()


@given(copies)
def test_bytes_are_conserved_and_nothing_exceeds_its_bandwidth(rows):
    transfer, e = figures(rows, SMALL)
    assert e.rx.sum() == transfer.bytes.sum() == e.size.sum()
    assert e.tx.sum() <= e.rx.sum()  # a multicast is sent once
    assert (e.sendings.size * e.sendings.receivers).sum() == e.rx.sum()
    assert (e.cycles * 8 >= e.rx).all()  # 8 bytes a cycle where a pair receives the same, else 4
    assert (e.cycles * 4 >= e.tx).all()
    assert ((e.cycles > 0) == ((e.rx > 0) | (e.tx > 0))).all()
    alone = e.rx[np.asarray([r[1] for r in rows])].max(initial=0)
    assert e.cycles.max() >= 60 + alone / 8


@given(copies, st.integers(1, 40))
def test_more_bytes_in_the_same_pattern_never_take_less(rows, more):
    _, e = figures(rows, SMALL)
    _, longer = figures([(s, d, 100 * start, n + more) for s, d, start, n in rows], SMALL)
    _, apart = figures([(s, d, 100 * start, n) for s, d, start, n in rows], SMALL)
    assert (longer.cycles >= apart.cycles).all()
    assert apart.rx.tolist() == e.rx.tolist()


@given(copies, st.permutations(range(TILES // 4)))
def test_moving_whole_islands_keeps_totals(rows, order):
    """Tile ids permuted by groups of four keep their bus pairs: the same bytes, messages and code."""
    place = {t: 4 * order[t // 4] + t % 4 for t in range(TILES)}
    _, e = figures(rows, SMALL)
    _, moved = figures([(place[s], place[d], start, n) for s, d, start, n in rows], SMALL)
    for column in ("rx", "tx", "code"):
        assert sorted(getattr(e, column)) == sorted(getattr(moved, column))
    assert len(e.size) == len(moved.size)


@given(st.permutations(range(24)), st.integers(0, 23))
def test_random_copies_through_the_compiler_conserve_bytes(order, cut):
    """A permutation of 24 words over four tiles: what tiles receive is what lies elsewhere."""
    model = IPUModel()
    model.tilesPerIPU = 4
    graph = Graph(model.createDevice())
    a, b = graph.addVariable(FLOAT, [24], "a"), graph.addVariable(FLOAT, [24], "b")
    for t in range(4):
        graph.setTileMapping(a.slice(6 * t, 6 * t + 6), t)
        graph.setTileMapping(b.slice(6 * t, 6 * t + 6), (t + cut) % 4)
    copy = Copy(concat([a.slice(k, k + 1) for k in order]), b)
    executable = compile_graph(graph.store, graph.getTarget(), [copy])
    remote = sum(k // 6 != (at // 6 + cut) % 4 for at, k in enumerate(order))
    exchanged = [
        w.exchange
        for w, n in zip(executable.lowered.table.work, executable.lowered.table.name, strict=True)
        if w.exchange is not None and n.startswith("copy1")
    ]
    assert sum(int(e.rx.sum()) for e in exchanged) == 4 * remote
    assert sum(int(e.tx.sum()) for e in exchanged) == 4 * remote


@pytest.mark.parametrize(("version", "rows"), [("ipu1", 76), ("ipu2", 92)])
def test_the_tile_at_the_base_of_a_column_is_farthest_from_the_sync_controller(version, rows):
    delays = IPUModel(version).createDevice().getTarget().relative_sync_delay()
    assert (delays[0], delays[3], delays[rows - 4]) == (26, 26, 0)
    assert (np.diff(delays[:rows]) <= 0).all()
    assert (delays[rows:] == delays[:-rows]).all()
