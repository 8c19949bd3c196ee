"""The ways to make an engine, and unusual programs."""

import gc
import io
import weakref

import numpy as np
import pytest

from simulator.poplar import BOOL, FLOAT, LONGLONG, Engine, Graph, IPUModel, compileGraph, poplar_error
from simulator.poplar.program import Copy, PrintTensor, Repeat, Sequence
from tests.compiler.tiny_graphs import tutorial3


@pytest.fixture
def device():
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


def test_by_position_and_by_name(device):
    tutorial = tutorial3(device.getTarget())
    options = {"debug.retainDebugInformation": "true"}
    executable = compileGraph(tutorial.graph, [tutorial.program], options)
    engines = [
        Engine(tutorial.graph, tutorial.program, options, None, "name"),
        Engine(graph=tutorial.graph, progs=[tutorial.program], opt=options, debugContext="name"),
        Engine(executable, options),
        Engine(executable, opt=options),
        Engine(exe=executable, opt=options),
    ]
    for engine in engines:
        assert engine.getEngineOptions()["debug.retainDebugInformation"] == "true"
        engine.loadAndRun(device)
        values = np.zeros(4, np.float32)
        engine.readTensor("v2", values)
        assert values.tolist() == [7.0, 6.0, 4.5, 2.5]


def test_an_empty_program_takes_only_the_switch(device):
    engine = Engine(Graph(device.getTarget()), Sequence())
    engine.loadAndRun(device)
    assert engine.getTimeStamp().device_cycles > 0


def test_other_types_scalars_empty_tensors_and_no_trips(device):
    graph = Graph(device.getTarget())
    none, other = graph.addVariable(FLOAT, [0], "none"), graph.addVariable(FLOAT, [0], "other")
    scalar, flags = graph.addVariable(LONGLONG, [], "scalar"), graph.addVariable(BOOL, [3], "flags")
    graph.setTileMapping(scalar, 1)
    graph.setTileMapping(flags, 2)
    graph.setInitialValue(scalar, 2**40)
    parts = [Copy(none, other), PrintTensor("s", scalar), PrintTensor(flags), Repeat(0, PrintTensor("no", scalar))]
    engine = Engine(graph, Sequence(parts))
    printed = io.StringIO()
    engine.setPrintTensorStream(printed)
    engine.loadAndRun(device)
    assert printed.getvalue() == f"s: {2**40}\n[0 0 0]\n"


def test_two_ipus(device):
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, 4
    device = model.createDevice()
    graph = Graph(device.getTarget())
    a, b = graph.addVariable(FLOAT, [100], "a"), graph.addVariable(FLOAT, [100], "b")
    graph.setTileMapping(a, 0)
    graph.setTileMapping(b, 7)
    graph.createHostWrite("a", a)
    graph.createHostRead("b", b)
    engine = Engine(graph, Copy(a, b), {"debug.retainDebugInformation": "true"})
    engine.load(device)
    engine.writeTensor("a", np.arange(100, dtype=np.float32))
    engine.run()
    values = np.zeros(100, np.float32)
    engine.readTensor("b", values)
    assert values.tolist() == list(range(100))
    report = engine.getReport()
    exchange = next(s for s in report.execution.steps if s.program.name == "copy1_Copy_a_to_b/GlobalPre")
    assert [(ipu.dataIn, ipu.dataOut) for ipu in exchange.ipus] == [(0, 400), (400, 0)]


def test_a_closed_engine_keeps_its_profile_but_not_its_tensors(device):
    tutorial = tutorial3(device.getTarget())
    with Engine(tutorial.graph, tutorial.program, {"debug.retainDebugInformation": "true"}) as engine:
        engine.loadAndRun(device)
    assert len(engine.getReport().execution.runs) == 1
    with pytest.raises(poplar_error, match="not loaded"):
        engine.run()


def test_a_closed_engine_can_be_loaded_and_closed_again(device):
    engine = Engine(Graph(device), Sequence())
    for _ in range(2):
        engine.loadAndRun(device)
        engine.close()
        with pytest.raises(poplar_error, match="not loaded"):
            engine.run()


def test_memory_of_an_engine_goes_when_the_engine_goes(device):
    graph = Graph(device.getTarget())
    x = graph.addVariable(FLOAT, [1000], "x")
    graph.setTileMapping(x, 0)
    engine = Engine(graph, PrintTensor(x))
    engine.load(device)
    arena = weakref.ref(engine.core.memories[0])
    gc.disable()
    try:
        del engine
        assert arena() is None
    finally:
        gc.enable()
