"""Small graphs for library tests, run by vertices and by kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.poplar import Engine, Graph, IPUModel, Tensor, Type
from simulator.poplar.program import Sequence
from simulator.poplibs.poputil import mapTensorLinearly
from tests.poplibs.slow_machine import SlowMachine


def small_graph(tiles: int = 8) -> Graph:
    model = IPUModel()
    model.tilesPerIPU = tiles
    return Graph(model.createDevice())


def linear(graph: Graph, type_: Type, shape: list[int], name: str = "t") -> Tensor:
    """A variable spread in shares of at least one 64-bit vector, so that small tensors use several tiles."""
    tensor = graph.addVariable(type_, shape, name)
    mapTensorLinearly(graph, tensor, 1)
    return tensor


def both_ways(
    build: Callable[[Graph, Sequence], tuple[dict[str, tuple[Tensor, Any]], Tensor]], tiles: int = 8
) -> tuple[Any, Any]:
    """Build a program once and run it by vertices and by kernels; returns (result of vertices, result of kernels).

    `build` returns ({name: (tensor, values)}, output)."""
    graph, program = small_graph(tiles), Sequence()
    inputs, out = build(graph, program)
    results = []
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        for tensor, values in inputs.values():
            machine.write(tensor, values)
        with np.errstate(all="ignore"):
            machine.run(program)
        results.append(machine.read(out))
    return results[0], results[1]


def run_engine(build: Callable[[Graph, Sequence], tuple[dict[str, tuple[Tensor, Any]], Tensor]]) -> Any:
    """Build a program as for `both_ways` on four tiles and run it in an engine; returns the result."""
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph, program = Graph(device), Sequence()
    given, out = build(graph, program)
    for name, (tensor, _) in given.items():
        graph.createHostWrite(name, tensor)
    graph.createHostRead("out", out)
    found = np.zeros(out.numElements(), out.elementType().dtype)
    with Engine(graph, program) as engine:
        engine.load(device)
        for name, (tensor, values) in given.items():
            engine.writeTensor(name, np.ascontiguousarray(values, tensor.elementType().dtype).reshape(-1))
        engine.run(0)
        engine.readTensor("out", found)
    return found.reshape(out.shape())
