"""opt.* options that trade cycles for memory: each moves the two in opposite directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.options.compile import CompileSettings
from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.engine.devices.what_if import overridden
from simulator.machine.exchange_code import optimised_exchange
from simulator.machine.targets import MK2
from simulator.poplar import FLOAT, Engine, Graph, TargetType, graph_memory_allocation_error
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import popops, poputil


def hardware(tiles=4):
    target = Target(TargetType.IPU, MK2, num_ipus=1, compile_ipu_code=True)
    return overridden(target, {"POPVISION_TILES": str(tiles)})


def figures(compilation, type_):
    """(largest cycles, exchange code, control code) over programs of a type."""
    rows = [p for p in compilation.program_on_ipu if compilation.programs.type[p.program] == type_]
    cycles = sum(int(p.cycles.max()) for p in rows if p.cycles is not None)
    code = sum(int(p.exchange_code.sum()) for p in rows if p.exchange_code is not None)
    return cycles, code, sum(int(p.control_code.sum()) for p in rows if p.control_code is not None)


def transposed(settings):
    """A transposition: many short runs on every tile."""
    graph = Graph(hardware())
    a, b = (graph.addVariable(FLOAT, [64, 64], name) for name in "ab")
    for tensor in (a, b):
        poputil.mapTensorLinearly(graph, tensor)
    graph.createHostWrite("a", a)
    graph.createHostRead("b", b)
    return compile_graph(graph.store, graph.getTarget(), [Sequence(Copy(a.transpose(), b))], settings).compilation


def test_exchange_code_gets_smaller_and_slower():
    cycles, code, _ = zip(
        *(
            figures(transposed(CompileSettings(exchange_optimisation=g)), "DoExchange")
            for g in ("cycles", "balanced", "memory")
        ),
        strict=True,
    )
    assert code[0] >= code[1] >= code[2]
    assert code[0] > code[2]
    assert cycles[0] == cycles[1] < cycles[2]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 500)), min_size=1, max_size=8))
def test_goals_of_exchange_code(tiles):
    """12 bytes for each run received against 4 and a loop of 24; 3 cycles more for each (a documented guess)."""
    runs, words = (np.array(column) for column in zip(*tiles, strict=True))
    code, cycles = 20 + 12 * runs, np.where(runs > 0, 60 + words, 0)
    small = 20 + 24 + 4 * runs
    got_code, got_cycles = optimised_exchange("memory", code, cycles, runs)
    looped = (small < code) & (runs > 0)
    assert got_code.tolist() == np.where(looped, small, code).tolist()
    assert got_cycles.tolist() == np.where(looped, cycles + 3 * runs, cycles).tolist()
    middle_code, middle_cycles = optimised_exchange("balanced", code, cycles, runs)
    assert middle_cycles.max() == cycles.max()
    assert (got_code <= middle_code).all()
    assert (middle_code <= code).all()
    assert [column.tolist() for column in optimised_exchange("cycles", code, cycles, runs)] == [
        code.tolist(),
        cycles.tolist(),
    ]


def test_multi_access_copies_are_faster_and_need_elements_apart():
    """4,096 floats a tile: six workers move 8 bytes a cycle, or 4 when loads and stores take turns."""
    results = []
    for fast in (True, False):
        graph = Graph(hardware())
        a, b = (graph.addVariable(FLOAT, [4 * 4096], name) for name in "ab")
        for tensor in (a, b):
            poputil.mapTensorLinearly(graph, tensor)
        graph.createHostWrite("a", a)
        program = Sequence(Copy(a, b))
        popops.add(graph, b, b, program, "use")
        settings = CompileSettings(multi_access_copies=fast)
        compilation = compile_graph(graph.store, graph.getTarget(), [program], settings).compilation
        [copy] = [
            int(p.cycles.max())
            for p in compilation.program_on_ipu
            if compilation.programs.name[p.program].endswith("OnTileCopy-0")
        ]
        memory = compilation.tile_memory
        results.append((copy, int(memory.including_gaps.max()), int(memory.excluding_gaps.max())))
    bytes_ = 4 * 4096
    steps = [-(-bytes_ // 8 // 6), -(-bytes_ // 4 // 6)]
    assert results[1][0] - results[0][0] == 6 * (steps[1] - steps[0])
    assert results[0][1] > results[1][1]  # gaps
    assert results[0][2] == results[1][2]  # and nothing else


def small(limit, vertices=1):
    """A compute set of `vertices` additions on each of four tiles."""
    graph = Graph(hardware())
    x = graph.addVariable(FLOAT, [4 * 64], "x")
    poputil.mapTensorLinearly(graph, x)
    graph.createHostWrite("x", x)
    program = Sequence()
    for i in range(vertices):
        popops.addInPlace(graph, x, x, program, f"add{i}")
    return graph, program, {"opt.limitVertexStateToLower256K": "true" if limit else "false"}


def test_low_vertex_state_takes_less_control_code_and_lies_below_the_border():
    codes = []
    for limit in (False, True):
        graph, program, _ = small(limit, 3)
        settings = CompileSettings(limit_vertex_state=limit)
        compilation = compile_graph(graph.store, graph.getTarget(), [program], settings).compilation
        codes.append(figures(compilation, "OnTileExecute")[2])
        for tile in compilation.lowered:
            state = tile.category == 5  # vertexInstanceState
            assert (tile.address[state] + tile.bytes[state] <= 208 * 1024).all()
    assert codes[0] - codes[1] == 3 * 4 * 4  # three programs, four tiles, one instruction


def test_counting_on_one_tile_of_an_ipu_saves_memory_compared_to_every_tile():
    """In 20 programs of one to four additions, on models with and without code, and on hardware with its syncs."""
    rng = np.random.default_rng(35)
    for number in range(20):
        tiles = int(rng.integers(2, 12))
        type_ = TargetType.IPU if number % 2 else TargetType.IPU_MODEL
        target = Target(type_, MK2, num_ipus=1, compile_ipu_code=number % 4 == 2)
        graph = Graph(overridden(target, {"POPVISION_TILES": str(tiles)}))
        program = Sequence()
        for _ in range(int(rng.integers(1, 5))):
            x = graph.addVariable(FLOAT, [64 * int(rng.integers(2, 40))], "x")
            poputil.mapTensorLinearly(graph, x, minElementsPerTile=1)
            popops.add(graph, x, x.reverse(0), program)
        totals = []
        for level in ("tile", "ipu"):
            settings = CompileSettings(compute_level=level)
            compilation = compile_graph(graph.store, graph.getTarget(), [program], settings).compilation
            totals.append(int(compilation.tile_memory.excluding_gaps.sum()))
        assert totals[1] < totals[0]


def test_a_counter_takes_a_word_and_four_instructions():
    """Of three compute sets on four tiles: on every tile, or on one. A compute set
    without vertices has no counter."""
    graph, program, _ = small(limit=False, vertices=3)
    graph.addComputeSet("empty")
    sizes = []
    for level in ("", "tile", "ipu"):
        settings = CompileSettings(compute_level=level, profiling_tile=3)
        compilation = compile_graph(graph.store, graph.getTarget(), [program], settings).compilation
        counters = [c.bytes for c in compilation.category_memory if c.category == "instrumentationResults"]
        sizes.append((figures(compilation, "OnTileExecute")[2], sum(counters, np.zeros(4)).tolist()))
    (code, none), (on_every_tile, words), (on_one_tile, one_word) = sizes
    assert (on_every_tile - code, on_one_tile - code) == (3 * 4 * 16, 3 * 16)
    assert (none, words, one_word) == ([0] * 4, [12] * 4, [0, 0, 0, 12])


def test_low_vertex_state_that_does_not_fit_is_an_error():
    graph = Graph(hardware(1))
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    program = Sequence()
    cs = graph.addComputeSet("many")
    type_ = next(b.type for b in _block_of_an_addition(graph, x, program))
    n = 14_000
    edge = x.reshape([1, 2]).broadcast(n, 0)
    out = graph.addVariable(FLOAT, [n, 2], "out")
    graph.setTileMapping(out, 0)
    graph.addVertices(cs, type_, np.zeros(n, np.int64), {"in1": edge, "in2": edge, "out": out})
    program.add(Execute(cs))
    with Engine(graph, program):  # state of 14,000 vertices, 16 bytes each, goes above the border
        pass
    with pytest.raises(graph_memory_allocation_error, match="limitVertexStateToLower256K puts vertex state"):
        Engine(graph, program, {"opt.limitVertexStateToLower256K": "true"})


def _block_of_an_addition(graph, x, program):
    popops.add(graph, x, x, program, "one")
    return graph.store.blocks


@pytest.mark.parametrize(
    ("option", "value", "program"),
    [
        ("opt.internalExchangeOptimisationTarget", "memory", "DoExchange"),
        ("opt.enableMultiAccessCopies", "false", "OnTileExecute"),
    ],
)
def test_engine_options_reach_the_compiler(option, value, program):
    spent = []
    for options in ({}, {option: value}):
        graph = Graph(hardware())
        a, b = (graph.addVariable(FLOAT, [64, 64], name) for name in "ab")
        for tensor in (a, b):
            poputil.mapTensorLinearly(graph, tensor)
        graph.createHostWrite("a", a)
        graph.createHostRead("b", b)
        source = a.transpose() if program == "DoExchange" else a
        with Engine(graph, Sequence(Copy(source, b)), options) as engine:
            spent.append(figures(engine.executable.compiled.compilation, program)[0])
    assert spent[1] > spent[0]
