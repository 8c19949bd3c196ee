"""A report made by running a program: two IPUs of eight tiles, streams both ways, a product, an exchange between IPUs,
a loop, memory of every kind, two recorded runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import poplin, popnn, popops, poputil


def make(folder: Path, **options: str) -> Path:
    """Write the report into `folder`; the path of its profile.pop. `options` are engine options, `_` for the dot."""
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU, model.compileIPUCode = 2, 8, True
    device = model.createDevice()
    graph, program = Graph(device), Sequence()
    first, second = graph.createVirtualGraph(0, 8), graph.createVirtualGraph(8, 16)
    x, w = first.addVariable(FLOAT, [12, 16], "x"), first.addVariable(FLOAT, [16, 24], "w")
    y = second.addVariable(FLOAT, [12, 24], "y")
    for part, tensors in ((first, (x, w)), (second, (y,))):
        for tensor in tensors:
            poputil.mapTensorLinearly(part, tensor)
    into, out = graph.addHostToDeviceFIFO("into", FLOAT, 192), graph.addDeviceToHostFIFO("out", FLOAT, 288)
    program.add(Copy(into, x))
    made = poplin.matMul(first, x, w, program, "layer/product")
    popnn.nonLinearityInPlace(first, popnn.NonLinearityType.RELU, made, program, "layer/relu")
    program.add(Copy(made, y))
    body = Sequence()
    popops.addInPlace(second, y, y, body, "layer/twice")
    program.add(Repeat(2, body))
    program.add(Copy(y, out))
    graph.createHostWrite("w", w)
    chosen = {"autoReport.all": "true", "autoReport.directory": str(folder), "profiler.includeFlopEstimates": "true"}
    chosen |= {"autoReport.executionProfileProgramRunCount": "2", "debug.instrument": "true"}
    chosen |= {name.replace("_", "."): value for name, value in options.items()}
    with Engine(graph, program, chosen) as engine:
        engine.load(device)
        engine.connectStream("into", np.arange(192, dtype=np.float32))
        engine.connectStream("out", np.empty(288, np.float32))
        for name in ("first", "second"):
            engine.run(0, name)
    return folder / "profile.pop"
