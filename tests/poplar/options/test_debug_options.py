"""debug.*: the same program with two values."""

import io
from pathlib import Path

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, HALF, INT, Engine, ErrorCode, Graph, application_runtime_error
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly
from tests.poplar.options.small import Half, Root, model, one_vertex, result


class Sneaky(Vertex):
    """Writes its input."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.x[0] = 7
        self.y[:] = self.x


def test_halves_that_overflow():
    values = [1, 40000, -40000, np.inf]
    device = model()
    assert result(device, Half, HALF, values).tolist() == [2, 65504, -65504, np.inf]
    on = result(device, Half, HALF, values, {"debug.nanOverflowMode": "true"})
    assert on[[0, 3]].tolist() == [2, np.inf]
    assert np.isnan(on[1:3]).all()


@pytest.mark.parametrize("library", [False, True])
def test_halves_of_library_operations_overflow_too(library):
    device = model()
    outcomes = []
    for on in ("false", "true"):
        graph = Graph(device)
        x = graph.addVariable(HALF, [8], "x")
        mapTensorLinearly(graph, x)
        graph.setInitialValue(x, [60000] * 8)
        program = Sequence()
        y = popops.add(graph, x, x, program)
        graph.createHostRead("y", y)
        options = {"debug.nanOverflowMode": on, "debug.runtimeVerify": "true" if library else "false"}
        engine = Engine(graph, program, options)
        engine.load(device)
        engine.run()
        out = np.zeros(8, np.float16)
        engine.readTensor("y", out)
        outcomes.append(out)
    assert (outcomes[0] == 65504).all()
    assert np.isnan(outcomes[1]).all()


def test_invalid_operations_stop_a_program():
    device = model()
    assert np.isnan(result(device, Root, FLOAT, [4, -1])[1])
    with pytest.raises(application_runtime_error, match=r"Program \d+ \('apply'\) stopped at an invalid") as caught:
        result(device, Root, FLOAT, [4, -1], {"debug.floatPointOpException": "true"})
    (error,) = caught.value.errors
    assert (error.code, error.isSimulated) == (ErrorCode.FLOATING_POINT_INVALID_OPERATION, False)
    assert result(device, Root, FLOAT, [4, 9], {"debug.floatPointOpException": "true"}).tolist() == [2, 3]


def _hidden_by_errstate(x):
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def _hidden_by_a_nested_errstate(x):
    with np.errstate(invalid="raise"), np.errstate(all="ignore"):
        return np.sqrt(x)


@np.errstate(all="ignore")
def _hidden_by_a_decorator(x):
    return np.sqrt(x)


def _hidden_by_seterr(x):
    np.seterr(all="ignore")
    return np.sqrt(x)


class Hiding(Vertex):
    """y = square root of x, in the way that `way` names."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))
    way = staticmethod(np.sqrt)

    def compute(self):
        self.y[:] = type(self).way(self.x)


class Comparing(Vertex):
    """y = whether x is close to itself; np.isclose ignores that infinities have no difference."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = np.isclose(self.x, self.x)


@pytest.mark.parametrize(
    "way", [_hidden_by_errstate, _hidden_by_a_nested_errstate, _hidden_by_a_decorator, _hidden_by_seterr]
)
def test_a_codelet_cannot_hide_invalid_operations(way, monkeypatch):
    device, before = model(), np.geterr()
    monkeypatch.setattr(Hiding, "way", staticmethod(way))
    on = {"debug.floatPointOpException": "true"}
    with pytest.raises(application_runtime_error, match=r"Program \d+ \('apply'\) stopped at an invalid"):
        result(device, Hiding, FLOAT, [4, -1], on)
    assert result(device, Hiding, FLOAT, [4, 9], on).tolist() == [2, 3]
    assert np.isnan(result(device, Hiding, FLOAT, [4, -1])[1])  # the option is off
    assert np.geterr() == before
    with np.errstate(invalid="ignore"):  # and NumPy is as it was elsewhere
        assert np.isnan(np.sqrt(-np.ones(1))).all()


def test_functions_of_numpy_keep_their_own_errstate():
    on = {"debug.floatPointOpException": "true"}
    assert result(model(), Comparing, FLOAT, [1, np.inf], on).tolist() == [1, 1]


def test_overflow_as_nan_is_an_invalid_operation():
    device = model()
    both = {"debug.nanOverflowMode": "true", "debug.floatPointOpException": "true"}
    with pytest.raises(application_runtime_error, match="overflow of a half"):
        result(device, Half, HALF, [40000], both)
    one = {"debug.floatPointOpException": "true"}
    assert result(device, Half, HALF, [40000], one).tolist() == [65504]


def test_writes_to_inputs_are_found():
    device = model()
    assert result(device, Sneaky, FLOAT, [1, 2]).tolist() == [7, 2]
    with pytest.raises(application_runtime_error, match=r"Compute set 'apply' changed variable 'x'.*runtimeVerify"):
        result(device, Sneaky, FLOAT, [1, 2], {"debug.runtimeVerify": "true"})
    assert result(device, Root, FLOAT, [1, 4], {"debug.runtimeVerify": "true"}).tolist() == [1, 2]


def test_remote_rows_that_nothing_was_written_to():
    device = model()
    for on, raises in (("false", False), ("true", True)):
        graph = Graph(device)
        x = graph.addVariable(INT, [2], "x")
        graph.setTileMapping(x, 0)
        graph.createHostRead("x", x)
        engine = Engine(graph, Copy(graph.addRemoteBuffer("far", INT, 2), x), {"debug.runtimeVerify": on})
        engine.load(device)
        if raises:
            with pytest.raises(application_runtime_error, match=r"'far': row 0 is read.*runtimeVerify"):
                engine.run()
            engine.copyToRemoteBuffer(np.array([3, 4], np.int32), "far", 0)
        engine.run()
        out = np.ones(2, np.int32)
        engine.readTensor("x", out)
        assert out.tolist() == ([3, 4] if raises else [0, 0])


def test_trace_of_edges(tmp_path, capsys):
    device = model()
    result(device, Root, FLOAT, [4, 9])
    assert capsys.readouterr().err == ""
    result(device, Root, FLOAT, [4, 9], {"debug.trace": "true"})
    assert capsys.readouterr().err == (
        "Before compute set 'apply':\n"
        "  tile 1 vertex Root 0 x = [4.0000000 9.0000000]\n"
        "  tile 1 vertex Root 0 y = [0.0000000 0.0000000]\n"
        "After compute set 'apply':\n"
        "  tile 1 vertex Root 0 x = [4.0000000 9.0000000]\n"
        "  tile 1 vertex Root 0 y = [2.0000000 3.0000000]\n"
    )
    file = tmp_path / "trace.txt"
    result(device, Root, FLOAT, [4, 9], {"debug.trace": "true", "debug.traceFile": str(file)})
    assert capsys.readouterr().err == ""
    assert "y = [2.0000000 3.0000000]" in file.read_text()


def test_trace_of_copies_and_of_library_operations(tmp_path):
    device = model()
    graph = Graph(device)
    x, y = graph.addVariable(FLOAT, [2], "x"), graph.addVariable(FLOAT, [2], "y")
    for tile, tensor in enumerate((x, y)):
        graph.setTileMapping(tensor, tile)
    graph.setInitialValue(x, [1, 2])
    program = Sequence(Copy(x, y))
    popops.addInPlace(graph, y, x, program, "sum")
    file = tmp_path / "trace"
    engine = Engine(graph, program, {"debug.trace": "true", "debug.traceFile": str(file)})
    engine.load(device)
    engine.run()
    text = file.read_text()
    assert "Before exchange:\n  source = [1.0000000 2.0000000]\n  destination = [0.0000000 0.0000000]\n" in text
    assert "[2.0000000 4.0000000]" in text.split("After compute set")[1]


def test_dump_directory_and_home(tmp_path, monkeypatch):
    device = model()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    options = {"debug.trace": "true", "debug.trace.out": "trace"}
    result(device, Root, FLOAT, [4], options)
    result(device, Root, FLOAT, [4], options | {"debug.dumpDirectory": "~/dumps"})
    assert (tmp_path / "trace").read_text() == (Path("dumps") / "trace").read_text()


def test_stochastic_rounding_keeps_the_mean():
    from simulator.poplar import FloatingPointBehaviour, setFloatingPointBehaviour, setStochasticRounding

    device = model()
    step = 2.0**-10  # between 1 and 2 halves are 2**-10 apart
    outcomes = []
    for on in (False, True):
        graph = Graph(device)
        x, y = graph.addVariable(FLOAT, [4000], "x"), graph.addVariable(HALF, [4000], "y")
        graph.setTileMapping(x, 0)
        graph.setTileMapping(y, 0)
        graph.setInitialValue(x, [1 + step / 4] * 4000)
        program = Sequence()
        setFloatingPointBehaviour(graph, program, FloatingPointBehaviour(False, False, False, True, False))
        setStochasticRounding(graph, program, on)
        y = popops.cast(graph, x, HALF, program)
        graph.createHostRead("y", y)
        engine = Engine(graph, program)
        engine.load(device)
        engine.run()
        out = np.zeros(4000, np.float16)
        engine.readTensor("y", out)
        outcomes.append(out.astype(np.float64))
    assert set(outcomes[0]) == {1.0}
    assert set(outcomes[1]) == {1.0, 1 + step}
    assert abs(outcomes[1].mean() - (1 + step / 4)) < step / 20


def test_behaviour_is_put_back_and_read_by_tile():
    from simulator.poplar import (
        FloatingPointBehaviour,
        getAndModifyFloatingPointBehaviour,
        poplar_error,
        setFloatingPointBehaviour,
    )

    none, nanoo = FloatingPointBehaviour(*[False] * 5), FloatingPointBehaviour(False, False, False, False, True)
    assert (~none, none | nanoo, nanoo & ~nanoo) == (FloatingPointBehaviour(), nanoo, none)
    device = model()
    graph, apply = one_vertex(device, Half, HALF, [40000])
    program = Sequence()
    before = getAndModifyFloatingPointBehaviour(graph, program, ~none, nanoo, "on")
    program.add(apply)
    setFloatingPointBehaviour(graph, program, before, "off")
    during = getAndModifyFloatingPointBehaviour(graph, program, none, nanoo)
    last = getAndModifyFloatingPointBehaviour(graph, program, nanoo, none)
    for name, words in (("before", before), ("during", during), ("last", last)):
        graph.createHostRead(name, words)
    engine = Engine(graph, program)
    engine.load(device)
    engine.run()
    y, words = np.zeros(1, np.float16), np.zeros(4, np.uint32)
    engine.readTensor("y", y)
    assert np.isnan(y[0])
    for name, expected in (("before", 0), ("during", 0), ("last", nanoo.word())):
        engine.readTensor(name, words)
        assert words.tolist() == [expected] * 4
    with pytest.raises(poplar_error, match="behaviour must be a FloatingPointBehaviour or a Tensor, not 3"):
        setFloatingPointBehaviour(graph, program, 3)
    with pytest.raises(poplar_error, match="holds no behaviour"):
        setFloatingPointBehaviour(graph, program, graph.addVariable(FLOAT, [4], "f"))


def test_division_by_zero_and_overflow_have_flags_of_their_own():
    from simulator.poplar import FloatingPointBehaviour, setFloatingPointBehaviour

    device = model()
    for flags, codelet, type_, values, code in (
        ((False, True, False, False, False), Inverse, FLOAT, [0.0], ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO),
        ((False, False, True, False, False), Half, HALF, [60000], ErrorCode.FLOATING_POINT_OVERFLOW),
    ):
        graph, apply = one_vertex(device, codelet, type_, values)
        program = Sequence()
        setFloatingPointBehaviour(graph, program, FloatingPointBehaviour(*flags))
        program.add(apply)
        engine = Engine(graph, program)
        engine.load(device)
        with pytest.raises(application_runtime_error) as caught:
            engine.run()
        assert caught.value.errors[0].code is code


class Inverse(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = 1 / self.x


def test_print_streams_are_the_programs(capsys):
    from simulator.poplar.program import PrintTensor

    device = model()
    graph = Graph(device)
    x = graph.addVariable(INT, [2], "x")
    graph.setTileMapping(x, 0)
    engine = Engine(graph, PrintTensor("x", x))
    stream = io.StringIO()
    engine.setPrintTensorStream(stream)
    engine.load(device)
    engine.run()
    assert stream.getvalue() == "x: [0 0]\n"
    assert capsys.readouterr().err == ""


ADDRESSES = {"popvision.addressAccurate": "true"}


def test_a_trace_does_not_go_with_addresses():
    from simulator.poplar import invalid_option

    with pytest.raises(invalid_option, match=r"debug\.trace shows .* give one of the two options"):
        result(model(), Root, FLOAT, [1], {"debug.trace": "true"} | ADDRESSES)


def test_vertices_are_verified_at_addresses_too():
    verified = {"debug.runtimeVerify": "true"} | ADDRESSES
    assert result(model(), Root, FLOAT, [1, 4], verified).tolist() == [1, 2]
    with pytest.raises(
        application_runtime_error, match=r"^Vertex 0 of type Sneaky .* changed its field 'x', .*runtimeVerify"
    ):
        result(model(), Sneaky, FLOAT, [1, 2], verified)


def test_invalid_operations_stop_a_program_at_addresses_too():
    stopping = {"debug.floatPointOpException": "true"} | ADDRESSES
    with pytest.raises(application_runtime_error, match=r"Program \d+ \('apply'\) stopped at an invalid") as caught:
        result(model(), Root, FLOAT, [4, -1], stopping)
    assert caught.value.errors[0].code == ErrorCode.FLOATING_POINT_INVALID_OPERATION
    assert result(model(), Root, FLOAT, [4, 9], stopping).tolist() == [2, 3]
