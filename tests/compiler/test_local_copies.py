"""Copies within tiles: published figures, which runs are copied on tile, and laws of their cycles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.compile import compile_graph
from simulator.machine.local_copy import copies_by_type, copy_threads, fill_threads, local_copy_cycles
from simulator.poplar import FLOAT, Graph, IPUModel
from simulator.poplar.program import Copy

COPY_COLUMNS = ("cycles", "count", "records")


def columns(*values):
    return tuple(np.array([v], np.int64) for v in values)


def test_a_small_copy_takes_the_published_72_thread_cycles():
    assert copy_threads(*columns(4, 1)).tolist() == [72]
    assert local_copy_cycles(*columns(4, 1, 0)).tolist() == [6 * 72]
    assert local_copy_cycles(*columns(0, 0, 0)).tolist() == [0]


def test_the_published_strided_copies_of_a_halo_exchange():
    """A tile's 8 DstStridedCopyDA32 took 9,267 thread cycles: six with a sixth of 100 rows of 100 words each, two with
    columns of 100 words. One worker's share of rows is ours; of a column we give each of six workers a part."""
    rows = 60 + 12 * (17 - 1) + -(-100 * 100 // 2 // 6)
    assert copy_threads(*columns(40_000, 100)).tolist() == [rows]
    column = 60 + 12 * 100 + 100  # by one worker, as published
    assert abs(6 * rows + 2 * column - 9267) < 0.05 * 9267


def test_one_worker_writes_a_constant_word_by_word():
    """Published: copy6 of the matmul chain, 1,123 cycles = an exchange of 128 words, then 128 words of padding."""
    assert fill_threads(np.array([512])).tolist() == [28 + 128]
    assert abs(60 + 128 + int(local_copy_cycles(*columns(0, 0, 512))[0]) - 1123) <= 16


@given(st.integers(1, 10**6), st.integers(1, 400), st.integers(0, 4000), st.integers(0, 9))
def test_more_work_never_takes_less(moved, runs, filled, more):
    before = local_copy_cycles(*columns(moved, runs, filled))
    for bigger in ((moved + more, runs, filled), (moved, runs + more, filled), (moved, runs, filled + more)):
        assert local_copy_cycles(*columns(*bigger)) >= before
    assert before * 8 >= moved  # 8 bytes a cycle of a thread, six threads in six cycles


@given(st.integers(0, 10**6), st.integers(0, 400), st.integers(0, 4000))
def test_vertices_of_a_copy_fit_into_its_time(moved, runs, filled):
    """Thread cycles of all vertices are no more than six workers have, and no less than the busiest one needs."""
    moved = max(moved, runs) if runs else 0
    found = copies_by_type(*columns(moved, runs, filled))
    spent, instances, records = (sum(int(getattr(each, name)[0]) for each in found) for name in COPY_COLUMNS)
    time = int(local_copy_cycles(*columns(moved, runs, filled))[0])
    assert time / 6 <= spent <= time
    assert instances <= 6
    assert records == max(runs, int(filled > 0))


@pytest.mark.parametrize(
    ("bytes_", "runs", "expected"),
    [
        (4, 1, [("poplar_rt::ShortMemcpy", 1, 72)]),
        (96, 1, [("poplar_rt::ShortMemcpy", 1, 72)]),  # twelve double words after 60 cycles
        (1024, 1, [("poplar_rt::Memcpy64Bit", 6, 6 * 60 + 128)]),
        (28, 7, [("poplar_rt::DstStridedCopyDA32", 6, 6 * 72)]),
        (400 * 100, 100, [("poplar_rt::DstStridedCopyDA32", 6, 6 * 60 + 94 * 12 + 5000)]),
    ],
)
def test_types_of_copies(bytes_, runs, expected):
    found = copies_by_type(*columns(bytes_, runs, 0))
    assert [(each.type, int(each.count[0]), int(each.cycles[0])) for each in found] == expected


def graph_of(tiles=4):
    model = IPUModel()
    model.tilesPerIPU = tiles
    return Graph(model.createDevice())


def mapped(graph, name, tiles):
    """One variable with four floats on each of `tiles`, in that order."""
    variable = graph.addVariable(FLOAT, [4 * len(tiles)], name)
    for place, tile in enumerate(tiles):
        graph.setTileMapping(variable.slice(4 * place, 4 * place + 4), tile)
    return variable


def lowered(graph, program):
    executable = compile_graph(graph.store, graph.getTarget(), [program])
    table = executable.lowered.table
    names = [(table.type[r], table.name[r]) for r in range(len(table)) if table.name[r].startswith("copy1_")]
    works = {table.type[r]: table.work[r] for r in range(len(table)) if table.name[r].startswith("copy1_")}
    cycles = {
        table.type[r]: executable.lowered.cycles[r] for r in range(len(table)) if table.name[r].startswith("copy1_")
    }
    return [kind for kind, _ in names], works, cycles


def test_a_constant_of_one_value_is_written_where_it_is_needed():
    graph = graph_of()
    zeros = graph.addConstant(FLOAT, [16], 0.0, "zeros")
    graph.setTileMapping(zeros, 0)
    kinds, _, cycles = lowered(graph, Copy(zeros, mapped(graph, "v", [0, 1, 2, 3])))
    assert kinds == ["OnTileExecute"]
    assert cycles["OnTileExecute"].tolist() == [6 * (28 + 4)] * 4


def test_a_constant_of_several_values_is_sent_from_its_tile():
    graph = graph_of()
    values = graph.addConstant(FLOAT, [16], np.arange(16.0), "values")
    graph.setTileMapping(values, 0)
    kinds, works, cycles = lowered(graph, Copy(values, mapped(graph, "v", [0, 1, 2, 3])))
    assert kinds == ["DoExchange", "OnTileExecute"]
    assert works["DoExchange"].exchange.tx.tolist() == [48, 0, 0, 0]
    assert cycles["OnTileExecute"].tolist() == [432, 0, 0, 0]


def test_a_few_bytes_ride_along_where_that_costs_nothing():
    """Tile 3 receives two blocks; tile 1 keeps one block and is idle otherwise."""
    graph = graph_of()
    source, target = mapped(graph, "a", [0, 2, 1]), mapped(graph, "b", [3, 3, 1])
    kinds, works, _ = lowered(graph, Copy(source, target))
    assert kinds == ["DoExchange"]
    exchange = works["DoExchange"].exchange
    assert exchange.rx.tolist() == [0, 0, 0, 32]  # what a tile sends to itself is no traffic
    assert exchange.tx.tolist() == [16, 0, 16, 0]
    pairs = list(zip(exchange.src.tolist(), exchange.dst.tolist(), exchange.size.tolist(), strict=True))
    assert pairs == [(0, 3, 16), (2, 3, 16)]


def test_runs_that_would_lengthen_the_exchange_are_copied_on_tile():
    """Tile 3 receives two blocks and keeps two: it would be busy twice as long."""
    graph = graph_of()
    tiles = [0, 2, 3, 3]
    source, target = mapped(graph, "a", tiles), mapped(graph, "b", [3, 3, 3, 3])
    kinds, works, _ = lowered(graph, Copy(source, target))
    assert kinds == ["DoExchange", "OnTileExecute"]
    assert works["DoExchange"].exchange.rx.tolist() == [0, 0, 0, 32]


@pytest.mark.parametrize(("floats", "kinds"), [(160, ["DoExchange"]), (161, ["DoExchange", "OnTileExecute"])])
def test_more_than_640_bytes_are_copied_on_tile(floats, kinds):
    """Tile 1 keeps a run; tile 0 sends 1,000 words to tile 3, so there is time enough."""
    graph = graph_of()
    a, b = graph.addVariable(FLOAT, [1000 + floats], "a"), graph.addVariable(FLOAT, [1000 + floats], "b")
    for variable, tile in ((a, 0), (b, 3)):
        graph.setTileMapping(variable.slice(0, 1000), tile)
        graph.setTileMapping(variable.slice(1000, 1000 + floats), 1)
    found, works, _ = lowered(graph, Copy(a, b))
    assert found == kinds
    assert works["DoExchange"].exchange.rx.tolist() == [0, 0, 0, 4000]


def test_memcpy_bytes_per_cycle_of_the_model_counts():
    def cycles(rate):
        model = IPUModel()
        model.tilesPerIPU, model.memcpyBytesPerCycle = 1, rate
        graph = Graph(model.createDevice())
        a, b = graph.addVariable(FLOAT, [12_000], "a"), graph.addVariable(FLOAT, [12_000], "b")
        return int(lowered(graph, Copy(a, b))[2]["OnTileExecute"][0])

    assert [cycles(8), cycles(16)] == [360 + 48_000 // 8, 360 + 48_000 // 16]
