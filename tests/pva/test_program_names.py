"""A program bears the name of its debug context; without one, that of its stream, remote buffer or host function."""

from __future__ import annotations

import numpy as np
import pytest

from popvision import pva
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Call, Copy, Sequence
from simulator.poplibs import poputil


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> pva.Report:
    """Copies of every kind to and from the host, once with a debug context and once without."""
    folder = tmp_path_factory.mktemp("names")
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph, program = Graph(device), Sequence()
    t = graph.addVariable(FLOAT, [8], "t")
    poputil.mapTensorLinearly(graph, t)
    info = graph.addDebugInfo("step", "network")
    seed, plain = (graph.addHostToDeviceFIFO(name, FLOAT, 8) for name in ("seed_stream", "plain"))
    split = graph.addDeviceToHostFIFO("split", FLOAT, 8, {"splitLimit": "16"})
    rows = graph.addRemoteBuffer("rows", FLOAT, 8)
    called = graph.addHostFunction("onHost", [(FLOAT, 8)], [(FLOAT, 8)])
    program.add(Copy(seed, t, debugContext="__seed"))
    program.add(Copy(plain, t))
    program.add(Copy(t, rows, debugContext=(info, "save")))
    program.add(Copy(rows, t))
    program.add(Call(called, [t], [t], "ask"))
    program.add(Call(called, [t], [t]))
    program.add(Copy(t, split, debugContext="results"))
    options = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.connectStream("seed_stream", np.ones(8, np.float32))
        engine.connectStream("plain", np.arange(8, dtype=np.float32))
        engine.connectStream("split", np.empty(8, np.float32))
        engine.connectHostFunction("onHost", 0, lambda inputs, outputs: None)
        engine.run(0)
    return pva.openReport(folder / "profile.pop", folder / "debug.cbor")


EXPECTED = [
    "",
    "",
    "__seed",
    "plain",
    "step/save",
    "rows",
    "ask/inputs",
    "ask/outputs",
    "onHost/inputs",
    "onHost/outputs",
    "results/0",
    "results/1",
]


@pytest.mark.parametrize("part", ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"])
def test_host_copies_bear_the_name_of_their_context(report: pva.Report, part: str) -> None:
    assert [p.name for p in report.compilation.programs if p.type.name == part] == EXPECTED
    assert [s.program.name for s in report.execution.steps if s.program.type.name == part] == EXPECTED


def test_the_context_has_the_same_name(report: pva.Report) -> None:
    for program in report.compilation.programs:
        if program.name in ("__seed", "step/save"):
            assert [context.name for context in program.debugContexts] == [program.name]
