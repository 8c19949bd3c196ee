"""Modules: one program without control streams, and external variables."""

import csv
import io

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    Engine,
    Graph,
    IPUModel,
    Module,
    ModuleRuntime,
    Preallocations,
    compileGraph,
    compileModule,
    graph_program_compilation_error,
    invalid_tile_mapping,
    link_error,
    poplar_error,
    stream_connection_error,
    symbol_error,
)
from simulator.poplar.program import Execute, PrintTensor, Sequence


class Triple(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self):
        self.x[:] *= 3

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + sizes["x"]


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


def tripling(device):
    """A graph that triples what lies at the symbol "table"."""
    graph = Graph(device)
    graph.addCodelets(Triple)
    table = graph.addExternalVariable(FLOAT, [2, 3], "table")
    cs = graph.addComputeSet("triple")
    vertex = graph.addVertex(cs, "Triple", {"x": table.flatten()})
    graph.setTileMapping(vertex, 2)
    return graph, Execute(cs)


def test_a_module_is_branched_to_and_works_on_external_variables(device):
    graph, program = tripling(device)
    module = compileModule(graph, program, Preallocations({"table": 2}))
    assert module.getSymbols() == ["table"]
    runtime = ModuleRuntime(module)
    runtime.load(device)
    values = np.arange(6, dtype=np.float32)
    runtime.writeExternal("table", values)
    cycles = runtime.run()
    runtime.run()
    back = np.zeros((2, 3), np.float32)
    runtime.readExternal("table", back)
    np.testing.assert_array_equal(back.reshape(-1), 9 * values)
    assert cycles == 6 * (10 + 6)  # one vertex, no control streams around it


def test_an_engine_runs_the_same_program_with_control_streams(device):
    graph, program = tripling(device)
    engine = Engine(compileGraph(graph, program, Preallocations({"table": 2})))
    engine.load(device)
    engine.run()
    assert engine.getTimeStamp().device_cycles > 6 * 16


def test_places_decide_where_bytes_are(device):
    graph, program = tripling(device)
    vertex_tile = {"table": [(2, (0, 4)), (3, (4, 6))]}
    options = {"debug.retainDebugInformation": "true"}
    engine = Engine(compileGraph(graph, [program], Preallocations(vertex_tile), True, options), options)
    report = engine.getReport()
    exchanged = [p.name for p in report.compilation.programs if str(p.type).endswith("DoExchange")]
    assert any("triple" in name for name in exchanged)  # elements 4 and 5 travel
    graph, program = tripling(device)
    engine = Engine(compileGraph(graph, [program], Preallocations({"table": 2}), options), options)
    report = engine.getReport()
    assert not any("triple" in p.name for p in report.compilation.programs if str(p.type).endswith("DoExchange"))


def test_symbols_without_a_place_and_places_without_a_symbol(device):
    graph, program = tripling(device)
    with pytest.raises(link_error, match="Undefined symbol 'table'") as caught:
        compileModule(graph, program)
    assert "undefined symbol: table" in caught.value.output
    with pytest.raises(link_error, match="Symbol 'other' is preallocated"):
        compileModule(graph, program, Preallocations({"table": 0, "other": 1}))


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (9, "tile 9 does not exist"),
        ([(0, (0, 3))], "place 3 elements"),
        ([(0, (0, 4)), (1, (3, 6))], "repeated or omitted"),
        ("x", "neither"),
    ],
)
def test_places_that_cannot_be(device, place, what):
    graph, program = tripling(device)
    with pytest.raises(invalid_tile_mapping, match=what):
        compileModule(graph, program, Preallocations({"table": place}))


def test_a_module_has_no_streams(device):
    graph, program = tripling(device)
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    with pytest.raises(graph_program_compilation_error, match="PrintTensor program needs a data stream"):
        compileModule(graph, Sequence(program, PrintTensor(x)), Preallocations({"table": 0}))
    graph.addHostToDeviceFIFO("into", FLOAT, 2)
    with pytest.raises(graph_program_compilation_error, match="the graph has the data stream 'into'"):
        compileModule(graph, program, Preallocations({"table": 0}))


def test_one_program_only(device):
    graph, program = tripling(device)
    with pytest.raises(poplar_error, match="a module has exactly one"):
        compileModule(graph, [program])


def test_what_a_runtime_refuses(device):
    graph, program = tripling(device)
    runtime = ModuleRuntime(compileModule(graph, program, Preallocations({"table": 1})))
    with pytest.raises(poplar_error, match="not loaded"):
        runtime.run()
    with pytest.raises(poplar_error, match="not loaded"):
        runtime.readExternal("table", np.zeros(6, np.float32))
    with pytest.raises(poplar_error, match="compiled for 4 tiles"):
        runtime.load(IPUModel().createDevice())
    runtime.load(device)
    with pytest.raises(symbol_error, match="no external variable 'chair'; its symbols are: table"):
        runtime.writeExternal("chair", np.zeros(6, np.float32))
    with pytest.raises(stream_connection_error, match="has 6 elements, but the buffer holds 5"):
        runtime.writeExternal("table", np.zeros(5, np.float32))


def test_a_module_is_saved_and_read_again(device):
    graph, program = tripling(device)
    file = io.BytesIO()
    compileModule(graph, program, Preallocations({"table": 1})).serialize(file)
    runtime = ModuleRuntime(Module.deserialize(io.BytesIO(file.getvalue())))
    runtime.load(device)
    runtime.writeExternal("table", np.ones(6, np.float32))
    runtime.run()
    back = np.zeros(6, np.float32)
    runtime.readExternal("table", back)
    assert back.tolist() == [3] * 6


def placed(device, folder, addresses, *parts):
    """(begin, end) of the allocation of "table" on each tile, and the runtime's view of it after one run."""
    graph, program = tripling(device)
    options = {"debug.loweredVarDumpFile": str(folder / "variables.csv"), "popvision.addressAccurate": addresses}
    runtime = ModuleRuntime(compileModule(graph, program, Preallocations({"table": list(parts)}), options))
    runtime.load(device)
    runtime.writeExternal("table", np.arange(6, dtype=np.float32))
    runtime.run()
    back = np.zeros(6, np.float32)
    runtime.readExternal("table", back)
    with (folder / "variables.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["category"] == "variable"]
    return {int(r["tile"]): (int(r["address"]), int(r["bytes"])) for r in rows}, back.tolist()


@pytest.mark.parametrize("addresses", ["false", "true"])
def test_addresses_decide_where_on_a_tile_bytes_are(device, tmp_path, addresses):
    tripled = [0, 3, 6, 9, 12, 15]
    parts = (2, (0, 4), 0x8000), (3, (4, 6), 0x10000)
    assert placed(device, tmp_path, addresses, *parts) == ({2: (0x8000, 16), 3: (0x10000, 8)}, tripled)
    mixed, back = placed(device, tmp_path, addresses, (2, (0, 4), 0x8000), (3, (4, 6)))
    assert (mixed[2], back) == ((0x8000, 16), tripled)
    assert mixed[3][0] < 0x8000


@pytest.mark.parametrize(
    ("parts", "kind", "what"),
    [
        (
            [(2, (0, 6), 0x8004)],
            invalid_tile_mapping,
            "address 32772 on tile 2 must be a multiple of 16",
        ),
        ([(2, (0, 6), 638976)], invalid_tile_mapping, "room for 24 bytes below 638976"),
        ([(2, (0, 4), 0x8000), (2, (4, 6), 0x9000)], invalid_tile_mapping, "tile 2 has an address and several parts"),
        ([(2, (0, 6), 0)], link_error, r"24 bytes .* at address 0 of tile 2 overlap '.*', which ends at \d+; place"),
    ],
)
def test_addresses_that_cannot_be(device, parts, kind, what):
    graph, program = tripling(device)
    with pytest.raises(kind, match=what):
        compileModule(graph, program, Preallocations({"table": parts}))
