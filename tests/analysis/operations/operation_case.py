"""A small program with operations of two layers, a function that is called twice and compiled code, run by the
simulator."""

from __future__ import annotations

from pathlib import Path

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Call, Copy, Sequence
from simulator.poplibs import popops, poputil


def run_operations(folder: Path, size: int = 64, extra: bool = False) -> Path:
    """Write the reports of two runs of net/first (add), net/second (multiply, in a function called twice) and out
    (add); with `extra` also more/third."""
    model = IPUModel()
    model.tilesPerIPU = 8
    model.compileIPUCode = True
    device = model.createDevice()
    graph = Graph(device)
    popops.addCodelets(graph)
    a = graph.addVariable(FLOAT, [size], "a")
    b = graph.addVariable(FLOAT, [size], "b")
    poputil.mapTensorLinearly(graph, a)
    graph.setTileMapping(b, 7)
    body = Sequence()
    first = popops.add(graph, a, b, body, "net/first")
    inner = Sequence()
    second = popops.mul(graph, first, b, inner, "net/second")
    inner.add(Copy(second, b))
    function = graph.addFunction(inner)
    body.add(Call(function))
    body.add(Call(function))
    out = popops.add(graph, first, b, body, "out")
    if extra:
        out = popops.mul(graph, out, out, body, "more/third")
    body.add(Copy(out, a))
    options = {"autoReport.all": "true", "autoReport.directory": str(folder), "profiler.includeFlopEstimates": "true"}
    engine = Engine(graph, body, options)
    engine.load(device)
    engine.run(0)
    engine.run(0)
    engine.close()
    return folder
