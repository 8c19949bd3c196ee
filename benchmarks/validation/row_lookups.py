"""Rows gathered from a matrix and added to one, as graph networks pass messages, on Bow hardware.

Source G: github.com/graphcore/Gradient-Pytorch-Geometric, ipu-speed-advantage/precomputed_results/ipu/gather.csv and
scatter_add.csv (cycles of one operation of a PopTorch loop, by inputs, features and outputs), benchmark_util.py;
floats, random indices. graphcore/popart, willow/src/popx/op (gatherx.cpp, scatterreducex.cpp) has the calls of PopLibs
behind them. Ours is the same calls without the framework's copies around them; the published loop has such copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulator.machine.targets import BOW
from simulator.poplar import FLOAT, Device, Engine, Graph, Target, TargetType, Tensor
from simulator.poplar.program import Program, Repeat, Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import embedding


class Sizes(NamedTuple):
    """Rows read, floats a row, rows written."""

    inputs: int
    features: int
    outputs: int


#: cycles of the published files
GATHERS = {
    Sizes(16, 16, 32): 1388.62,
    Sizes(1024, 64, 1024): 7499.33,
    Sizes(2048, 256, 2048): 11212.87,
    Sizes(1024, 512, 8192): 24621.14,
}
SCATTERS = {
    Sizes(16, 16, 32): 2502.88,
    Sizes(1024, 64, 1024): 8849.03,
    Sizes(2048, 256, 2048): 30534.33,
    Sizes(1024, 512, 8192): 57687.23,
}


class Lookup(NamedTuple):
    """A graph, one operation, and its tensors."""

    graph: Graph
    device: Device
    source: Tensor
    indices: Tensor
    result: Tensor
    program: Program


def gather(sizes: Sizes, tiles: int) -> Lookup:
    """result[i] = source[indices[i]], planned for slices."""
    graph, device = _graph(tiles)
    plan = embedding.plan(
        graph, FLOAT, sizes.inputs, sizes.features, [sizes.outputs], {"usedForUpdate": "false"}
    )  # fmt: skip
    shape = [sizes.inputs, sizes.features]
    source = popops.createSliceableTensor(graph, FLOAT, shape, [0], [1], plan, {}, "source")
    indices = popops.createIndicesTensor(graph, [0], sizes.outputs, plan, {}, "indices")
    program = Sequence()
    result = popops.multiSlice(graph, source, indices, [0], [1], program, plan, {}, "gather")
    _fill(graph, source, indices, sizes.inputs)
    return Lookup(graph, device, source, indices, result.squeeze([1]), program)


def scatter_add(sizes: Sizes, tiles: int) -> Lookup:
    """result = 0, then result[indices[i]] += source[i], planned for updates."""
    graph, device = _graph(tiles)
    plan = embedding.plan(
        graph, FLOAT, sizes.outputs, sizes.features, [sizes.inputs],
        {"usedForSlice": "false", "operationForUpdate": "add"},
    )  # fmt: skip
    shape = [sizes.outputs, sizes.features]
    source = popops.createSliceTensor(graph, FLOAT, shape, [0], [1], sizes.inputs, plan, {}, "source")
    indices = popops.createIndicesTensor(graph, [0], sizes.inputs, plan, {}, "indices")
    result = popops.createSliceableTensor(graph, FLOAT, shape, [0], [1], plan, {}, "result")
    one = graph.addConstant(FLOAT, [], 1.0)
    graph.setTileMapping(one, 0)
    program = Sequence()
    popops.fill(graph, result, program, 0.0, "zero")
    popops.multiUpdateAdd(graph, result, source, indices, one, [0], [1], program, plan, {}, "scatterAdd")
    _fill(graph, source, indices, sizes.outputs)
    return Lookup(graph, device, source.squeeze([1]), indices, result, program)


def cycles(lookup: Lookup) -> float:
    """Cycles of the operation in a loop: four trips less one, over three."""
    found = []
    with Engine(lookup.graph, [Repeat(trips, lookup.program) for trips in (1, 4)]) as engine:
        engine.load(lookup.device)
        for index in (0, 1):
            before = engine.getTimeStamp().device_cycles
            engine.run(index)
            found.append(engine.getTimeStamp().device_cycles - before)
    return (found[1] - found[0]) / 3


def _graph(tiles: int) -> tuple[Graph, Device]:
    device = Device(Target(TargetType.IPU, BOW, tiles_per_ipu=tiles))
    device.attach()
    graph = Graph(device)
    popops.addCodelets(graph)
    return graph, device


def _fill(graph: Graph, source: Tensor, indices: Tensor, rows: int) -> None:
    random = np.random.default_rng(5)
    graph.setInitialValue(source, random.integers(-9, 9, source.shape()).astype(np.float32))
    graph.setInitialValue(indices, random.integers(0, rows, indices.shape()).astype(np.uint32))
