"""Executables that are saved and read again."""

import io

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    UNSIGNED_INT,
    Engine,
    Executable,
    Graph,
    IPUModel,
    compileGraph,
    file_load_error,
    poplar_error,
    replication_factor,
)
from simulator.poplar.program import Copy, Execute, If, PrintTensor, Repeat, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.poputil import mapTensorLinearly


class Affine(Vertex):
    """y = factor * x + 1."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))
    factor = FLOAT

    def compute(self):
        self.y[:] = self.factor * self.x + 1


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


def everything(device):
    """Vertices of ones own, library operations, loops, a function, streams, a choice by data and a print."""
    graph = Graph(device)
    graph.addCodelets(Affine)
    a, b = graph.addVariable(FLOAT, [6, 5], "a"), graph.addVariable(FLOAT, [5, 4], "b")
    x, y = graph.addVariable(FLOAT, [8], "x"), graph.addVariable(FLOAT, [8], "y")
    flag = graph.addVariable(UNSIGNED_INT, [], "flag")
    for tensor in (a, b, x, y):
        mapTensorLinearly(graph, tensor)
    graph.setTileMapping(flag, 0)
    graph.setInitialValue(flag, 1)
    graph.setInitialValue(x, np.arange(8))
    cs = graph.addComputeSet("affine")
    for i, part in enumerate(((0, 3), (3, 8))):
        vertex = graph.addVertex(cs, "Affine", {"x": x.slice(*part), "y": y.slice(*part), "factor": 2.0 + i})
        graph.setTileMapping(vertex, i)
    function = graph.addFunction(Sequence(Execute(cs), Copy(y, x)))
    program = Sequence(Copy(graph.addHostToDeviceFIFO("a", FLOAT, 30), a))
    product = matMul(graph, a, b, program, "product")
    doubled = popops.add(graph, product, product, program, "doubled")
    from simulator.poplar.program import Call

    program.add(Repeat(3, Sequence(Call(function))))
    program.add(If(flag, PrintTensor("x", x), Sequence()))
    graph.createHostWrite("b", b)
    graph.createHostRead("doubled", doubled)
    graph.createHostRead("x", x)
    return graph, [program, Sequence(PrintTensor("y", y))]


def run(engine, device):
    rng = np.random.default_rng(1)
    a, b = rng.random((6, 5), np.float32), rng.random((5, 4), np.float32)
    printed = io.StringIO()
    engine.setPrintTensorStream(printed)
    engine.connectStream("a", a)
    engine.load(device)
    engine.writeTensor("b", b)
    engine.run(0)
    engine.run(1)
    doubled, x = np.zeros((6, 4), np.float32), np.zeros(8, np.float32)
    engine.readTensor("doubled", doubled)
    engine.readTensor("x", x)
    summary = io.StringIO()
    engine.printProfileSummary(summary, {"showExecutionSteps": "true", "showVarStorage": "true"})
    return doubled, x, printed.getvalue(), summary.getvalue(), engine.getTimeStamp().device_cycles, (a, b)


def test_a_saved_executable_does_what_it_did_before(device):
    graph, programs = everything(device)
    options = {"autoReport.executionProfileProgramRunCount": "3"}
    executable = compileGraph(graph, programs, options)
    before = run(Engine(executable, options), device)
    file = io.BytesIO()
    executable.serialize(file)
    again = Executable.deserialize(io.BytesIO(file.getvalue()))
    after = run(Engine(again, options), device)
    a, b = before[5]
    np.testing.assert_allclose(before[0], 2 * (a @ b), rtol=1e-5)
    for one, two in zip(before[:5], after[:5], strict=True):
        np.testing.assert_array_equal(one, two)
    assert before[2].startswith("x: [")
    assert before[4] > 0


def test_a_run_changes_no_byte_of_the_file(device):
    graph, programs = everything(device)
    executable = compileGraph(graph, programs)
    files = [io.BytesIO(), io.BytesIO()]
    executable.serialize(files[0])
    with Engine(executable) as engine:
        run(engine, device)
    executable.serialize(files[1])
    assert files[0].getvalue() == files[1].getvalue()


def test_the_engine_writes_its_executable_too_and_it_can_be_written_again(device, tmp_path):
    graph, programs = everything(device)
    with (tmp_path / "program").open("wb") as file:
        Engine(graph, programs).serializeExecutable(file)
    with (tmp_path / "program").open("rb") as file:
        executable = Executable.deserialize(file)
    first, second = io.BytesIO(), io.BytesIO()
    executable.serialize(first)
    Executable.deserialize(io.BytesIO(first.getvalue())).serialize(second)
    assert len(first.getvalue()) == len(second.getvalue())
    assert executable.getTarget().getNumTiles() == 4


def test_replicas_halves_and_options(tmp_path):
    model = IPUModel()
    model.tilesPerIPU, model.numIPUs = 2, 2
    device = model.createDevice()
    graph = Graph(device, replication_factor(2))
    x = graph.addVariable(HALF, [3], "x")
    graph.setTileMapping(x, 1)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    options = {"autoReport.directory": str(tmp_path), "autoReport.outputGraphProfile": "true"}
    file = io.BytesIO()
    compileGraph(graph, Sequence(), options, None, "named").serialize(file)
    engine = Engine(Executable.deserialize(io.BytesIO(file.getvalue())), options)
    assert engine.getEngineOptions()["autoReport.directory"] == str(tmp_path)
    engine.load(device)
    values = np.arange(6, dtype=np.float16)
    engine.writeTensor("x", values)
    back = np.zeros(6, np.float16)
    engine.readTensor("x", back)
    np.testing.assert_array_equal(values, back)
    assert (tmp_path / "named" / "profile.pop").is_file()


def test_codelets_in_cpp_are_saved_as_text(device):
    source = """
        #include <poplar/Vertex.hpp>
        using namespace poplar;
        struct Twice : public Vertex {
          Input<Vector<float>> x; Output<Vector<float>> y; float factor;
          bool compute() { for (unsigned i = 0; i < x.size(); ++i) y[i] = x[i] * factor; return true; }
        };"""
    graph = Graph(device)
    graph.addCodelets(io.StringIO(source))
    x, y = graph.addVariable(FLOAT, [4], "x"), graph.addVariable(FLOAT, [4], "y")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 0)
    graph.setInitialValue(x, [1, 2, 3, 4])
    graph.createHostRead("y", y)
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "Twice", {"x": x, "y": y, "factor": 2.5}), 0)
    file = io.BytesIO()
    compileGraph(graph, Execute(cs)).serialize(file)
    engine = Engine(Executable.deserialize(io.BytesIO(file.getvalue())))
    engine.load(device)
    engine.run()
    values = np.zeros(4, np.float32)
    engine.readTensor("y", values)
    assert values.tolist() == [2.5, 5, 7.5, 10]
    engine.close()


def test_codelets_that_no_other_program_could_find(device):
    class Inside(Vertex):
        x = InOut(Vector(FLOAT))

        def compute(self):
            self.x[:] += 1

    graph = Graph(device)
    graph.addCodelets(Inside)
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "Inside", {"x": x}), 0)
    with pytest.raises(poplar_error, match="Inside is defined inside a function"):
        compileGraph(graph, Execute(cs)).serialize(io.BytesIO())


def test_a_codelet_that_has_changed_since(device, tmp_path, monkeypatch):
    source = (
        "from simulator.codelets.vertex import InOut, Vector, Vertex\nfrom simulator.poplar import FLOAT\n"
        "class Step(Vertex):\n    x = InOut(Vector(FLOAT))\n    def compute(self):\n        self.x[:] += {}\n"
    )
    path = tmp_path / "steps.py"
    path.write_text(source.format(1))
    graph = Graph(device)
    graph.addCodelets(str(path))
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    graph.createHostRead("x", x)
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "Step", {"x": x}), 0)
    file = io.BytesIO()
    compileGraph(graph, Execute(cs)).serialize(file)
    engine = Engine(Executable.deserialize(io.BytesIO(file.getvalue())))
    engine.load(device)
    engine.run()
    values = np.zeros(2, np.float32)
    engine.readTensor("x", values)
    assert values.tolist() == [1, 1]
    path.write_text(source.format(2))
    with pytest.raises(poplar_error, match=r"Codelet Step of module .* has changed"):
        Executable.deserialize(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("damage", ["", "x", "cut", "flip"])
def test_files_that_hold_no_executable(device, damage):
    file = io.BytesIO()
    compileGraph(Graph(device), Sequence()).serialize(file)
    data = file.getvalue()
    wrong = {
        "": b"",
        "x": b"something else entirely, long enough",
        "cut": data[: len(data) // 2],
        "flip": data[:200] + b"\xff" * 64 + data[264:],
    }[damage]
    with pytest.raises(file_load_error, match="holds no executable"):
        Executable.deserialize(io.BytesIO(wrong))


def test_a_file_of_before_checksums_is_read(device, monkeypatch):
    file = io.BytesIO()
    executable = compileGraph(Graph(device), Sequence())
    with monkeypatch.context() as before:
        before.setattr("simulator.engine.executable_file.VERSION", "2.0.0")
        before.setattr("simulator.engine.executable_file.with_checksum", lambda message: message)
        executable.serialize(file)
    assert Executable.deserialize(io.BytesIO(file.getvalue())).getTarget().getNumTiles() == 4
    file = io.BytesIO()
    executable.serialize(file)
    with pytest.raises(file_load_error, match="checksum is missing"):
        Executable.deserialize(io.BytesIO(file.getvalue()[:-24]))


def test_text_files_and_other_versions(device, monkeypatch):
    executable = compileGraph(Graph(device), Sequence())
    with pytest.raises(poplar_error, match="binary file"):
        executable.serialize(io.StringIO())
    with pytest.raises(file_load_error, match="binary file"):
        Executable.deserialize(io.StringIO("x"))
    file = io.BytesIO()
    executable.serialize(file)
    monkeypatch.setattr("simulator.engine.executable_file.__version__", "9.9")
    with pytest.raises(file_load_error, match=r"this is 9\.9"):
        Executable.deserialize(io.BytesIO(file.getvalue()))
    assert Executable.deserialize(io.BytesIO(file.getvalue()), checkPackageHash=False).getTarget().getNumTiles() == 4


def test_library_code_that_runs_vertex_by_vertex_is_not_saved(device):
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [8], "x")
    mapTensorLinearly(graph, x)
    program = Sequence()
    popops.add(graph, x, x, program, "sum")
    with pytest.raises(poplar_error, match=r"debug\.runtimeVerify cannot be saved"):
        compileGraph(graph, program, {"debug.runtimeVerify": "true"}).serialize(io.BytesIO())
