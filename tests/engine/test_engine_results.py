"""Results of runs: tutorials, NumPy, streams and host tensors."""

import io

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Input, MultiVertex, Output, Vector, VectorList, Vertex
from simulator.poplar import FLOAT, HALF, INT, Engine, Graph, IPUModel, compileGraph
from simulator.poplar.program import Call, Copy, Execute, PrintTensor, Repeat, Sequence
from tests.compiler.tiny_graphs import Scale, tutorial3


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 8
    return model.createDevice()


def on_tile(graph, type_, shape, name, tile=0):
    tensor = graph.addVariable(type_, shape, name)
    graph.setTileMapping(tensor, tile)
    return tensor


def run(device, graph, program, options=None):
    engine = Engine(graph, program, options)
    engine.load(device)
    engine.run()
    return engine


def read(engine, handle, n, dtype=np.float32):
    out = np.zeros(n, dtype)
    engine.readTensor(handle, out)
    return out


def test_tutorial_3(device):
    tutorial = tutorial3(device.getTarget())
    printed = io.StringIO()
    tutorial.program.add(PrintTensor("v2", tutorial.v2))
    engine = Engine(tutorial.graph, tutorial.program)
    engine.setPrintTensorStream(printed)
    engine.load(device)
    engine.run()
    assert printed.getvalue() == "v2: [7.0000000 6.0000000 4.5000000 2.5000000]\n"
    assert read(engine, "v2", 4).tolist() == [7.0, 6.0, 4.5, 2.5]


def test_print_tensor_goes_to_standard_error(device, capsys):
    graph = Graph(device.getTarget())
    run(device, graph, PrintTensor("x", on_tile(graph, INT, [2], "x")))
    assert capsys.readouterr().err == "x: [0 0]\n"


def test_tutorial_1_copies_slices_and_reads_a_stream_twice(device):
    graph = Graph(device.getTarget())
    v1, v2 = on_tile(graph, FLOAT, [4], "v1"), on_tile(graph, FLOAT, [4, 4], "v2", 1)
    v4 = on_tile(graph, INT, [10], "v4", 2)
    constant = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5])
    graph.setTileMapping(constant, 3)
    graph.createHostRead("v2", v2)
    graph.createHostRead("v4", v4)
    stream = graph.addHostToDeviceFIFO("v4-input", INT, 10)
    program = Sequence(Copy(constant, v1), Copy(v1.slice(1, 3), v2[1].slice(1, 3)), Copy(stream, v4), Copy(stream, v4))
    engine = Engine(graph, program)
    engine.connectStream("v4-input", np.arange(30, dtype=np.int32))
    engine.load(device)
    engine.run()
    assert read(engine, "v2", (4, 4)).tolist() == [[0] * 4, [0, 1.5, 2, 0], [0] * 4, [0] * 4]
    assert read(engine, "v4", 10, np.int32).tolist() == list(range(10, 20))
    engine.run()
    assert read(engine, "v4", 10, np.int32).tolist() == list(range(10))  # 20-29, then around to 0-9


def test_copies_of_views_equal_numpy(device):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(6, 5)).astype(np.float32)
    graph = Graph(device.getTarget())
    a, b = on_tile(graph, FLOAT, [6, 5], "a"), on_tile(graph, FLOAT, [5, 6], "b", 1)
    c = on_tile(graph, FLOAT, [30], "c", 2)
    graph.createHostWrite("a", a)
    graph.createHostRead("b", b)
    graph.createHostRead("c", c)
    program = Sequence(Copy(a.transpose(), b), Copy(a.reverse(0).flatten(), c))
    engine = Engine(graph, program)
    engine.load(device)
    engine.writeTensor("a", data)
    engine.run()
    assert np.array_equal(read(engine, "b", (5, 6)), data.T)
    assert np.array_equal(read(engine, "c", 30), data[::-1].reshape(-1))


@pytest.mark.parametrize("codelet", [Scale, type("ScaleOne", (Scale,), {"compute_batch": None})])
def test_batches_and_single_vertices_agree_with_numpy(device, codelet):
    """Vertices of two sizes, evenly and unevenly spaced, over several tiles."""
    if codelet is not Scale:
        del codelet.compute_batch
        codelet = type("ScaleOne", (Vertex,), {"x": Scale.x, "y": Scale.y, "compute": Scale.compute})
    graph = Graph(device.getTarget())
    graph.addCodelets(codelet)
    x, y = on_tile(graph, FLOAT, [40], "x"), on_tile(graph, FLOAT, [40], "y", 3)
    cs = graph.addComputeSet("cs")
    for begin, size in ((0, 4), (4, 4), (8, 4), (12, 7), (20, 4), (30, 7)):
        edges = {"x": x.slice(begin, begin + size), "y": y.slice(begin, begin + size)}
        graph.setTileMapping(graph.addVertex(cs, codelet.__name__, edges), begin % 8)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    engine = Engine(graph, Execute(cs))
    engine.load(device)
    data = np.arange(40, dtype=np.float32)
    engine.writeTensor("x", data)
    engine.run()
    expected = np.zeros(40, np.float32)
    for begin, size in ((0, 4), (4, 4), (8, 4), (12, 7), (20, 4), (30, 7)):
        expected[begin : begin + size] = 3 * data[begin : begin + size]
    assert np.array_equal(read(engine, "y", 40), expected)


class Gather(Vertex):
    parts = Input(VectorList(FLOAT))
    singles = Vector(Input(FLOAT))
    y = Output(Vector(FLOAT))
    state = INT

    def compute(self):
        self.y[0] = sum(part.sum() for part in self.parts)
        self.y[1] = np.asarray(self.singles).sum() + self.state


def test_lists_of_edges_state_and_scattered_vectors(device):
    graph = Graph(device.getTarget())
    graph.addCodelets(Gather)
    x, y = on_tile(graph, FLOAT, [12], "x"), on_tile(graph, FLOAT, [4], "y", 1)
    cs = graph.addComputeSet("cs")
    parts = [x.slice(0, 2), x.slice(4, 9)]
    edges = {"parts": parts, "singles": [x[11], x[3]], "y": y.slice(0, 4).subSample(2, 0)}
    vertex = graph.addVertex(cs, "Gather", edges)
    graph.setInitialValue(vertex["state"], 100)
    graph.setTileMapping(vertex, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    engine = Engine(graph, Execute(cs))
    engine.load(device)
    engine.writeTensor("x", np.arange(12, dtype=np.float32))
    engine.run()
    assert read(engine, "y", 4).tolist() == [0 + 1 + 4 + 5 + 6 + 7 + 8, 0, 11 + 3 + 100, 0]


class HalfStep(Vertex):
    x = InOut(Vector(HALF))

    def compute(self):
        self.x[:] = self.x * np.float32(3) + np.float32(0.1)


def test_half_is_rounded_once_per_vertex(device):
    graph = Graph(device.getTarget())
    graph.addCodelets(HalfStep)
    x = on_tile(graph, HALF, [5], "x")
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "HalfStep", {"x": x}), 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    engine = Engine(graph, Execute(cs))
    engine.load(device)
    data = np.array([0.1, 1 / 3, 100.7, -2.0, 65000], np.float16)
    engine.writeTensor("x", data)
    engine.run()
    expected = np.minimum(data.astype(np.float32) * np.float32(3) + np.float32(0.1), 65504).astype(np.float16)
    assert np.array_equal(read(engine, "x", 5, np.float16), expected)


class EachWorker(MultiVertex):
    y = Output(Vector(INT))

    def compute(self, workerId):
        self.y[workerId::6] = workerId


def test_all_workers_of_a_multi_vertex_run(device):
    graph = Graph(device.getTarget())
    graph.addCodelets(EachWorker)
    y = on_tile(graph, INT, [8], "y")
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "EachWorker", {"y": y}), 0)
    graph.createHostRead("y", y)
    engine = run(device, graph, Execute(cs))
    assert read(engine, "y", 8, np.int32).tolist() == [0, 1, 2, 3, 4, 5, 0, 1]


def test_repeat_and_call_run_as_often_as_they_say(device):
    graph = Graph(device.getTarget())
    graph.addCodelets(Scale)
    x, y = on_tile(graph, FLOAT, [1], "x"), on_tile(graph, FLOAT, [1], "y")
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "Scale", {"x": x, "y": y}), 0)
    function = graph.addFunction(Sequence(Execute(cs), Copy(y, x)))
    graph.setInitialValue(x, 1.0)
    graph.createHostRead("x", x)
    engine = run(device, graph, Sequence(Repeat(3, Call(function)), Call(function)))
    assert read(engine, "x", 1).tolist() == [81.0]
    engine.load(device)
    assert read(engine, "x", 1).tolist() == [1.0]


def test_later_edits_of_the_graph_do_not_reach_the_executable(device):
    tutorial = tutorial3(device.getTarget())
    executable = compileGraph(tutorial.graph, [tutorial.program])
    tutorial.program.programs.clear()
    tutorial.graph.setTileMapping(tutorial.v1, 7)
    tutorial.graph.setInitialValue(tutorial.v2, 9.0)
    tutorial.graph.addVariable(FLOAT, [4], "later")
    engine = Engine(executable)
    engine.load(device)
    assert read(engine, "v2", 4).tolist() == [0.0] * 4
    engine.run()
    assert read(engine, "v2", 4).tolist() == [7.0, 6.0, 4.5, 2.5]


class Doubler:
    """A callback object: fetch, then complete."""

    def __init__(self):
        self.calls = []

    def fetch(self, memory):
        memory[:] = [len(self.calls) + 1] * len(memory)
        self.calls.append("fetch")

    def complete(self):
        self.calls.append("complete")


def test_streams_by_callback_in_both_directions(device):
    graph = Graph(device.getTarget())
    x = on_tile(graph, FLOAT, [2], "x")
    into = graph.addHostToDeviceFIFO("into", FLOAT, 2)
    out = graph.addDeviceToHostFIFO("out", FLOAT, 2)
    engine = Engine(graph, Repeat(2, Sequence(Copy(into, x), Copy(x, out))))
    source, seen = Doubler(), []
    engine.connectStreamToCallback("into", source)
    engine.connectStreamToCallback("out", 0, lambda memory: seen.append(memory.tolist()))
    engine.load(device)
    engine.run()
    assert source.calls == ["fetch", "complete"] * 2
    assert seen == [[1.0, 1.0], [3.0, 3.0]]
    assert engine.listStreams() == ["into+", "out-"]


def test_a_buffer_of_one_transfer_is_a_fixed_location_and_raw_bytes_are_fine(device):
    graph = Graph(device.getTarget())
    x = on_tile(graph, INT, [2], "x")
    out = graph.addDeviceToHostFIFO("out", INT, 2)
    into = graph.addHostToDeviceFIFO("into", INT, 2)
    engine = Engine(graph, Sequence(Copy(into, x), Copy(x, out)))
    memory, raw = np.array([5, 6], np.int32), bytearray(8)
    engine.connectStream("into", memory)
    engine.connectStream("out", raw)
    engine.load(device)
    engine.run()
    memory[:] = [7, 8]
    engine.run()
    assert np.frombuffer(raw, np.int32).tolist() == [7, 8]
