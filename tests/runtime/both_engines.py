"""One program run by the ordinary engine and by the address-accurate one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from simulator.base.types import numpy_type
from simulator.poplar import FLOAT, HALF, Engine, Executable, Graph, IPUModel, Tensor, Type, compileGraph
from simulator.poplar.program import Program, Sequence

ACCURATE = {"popvision.addressAccurate": "true"}
Values = dict[str, np.ndarray]


def graph_of(tiles: int, ipus: int = 1, replicas: int = 1) -> tuple[Any, Graph]:
    model = IPUModel()
    model.tilesPerIPU, model.numIPUs = tiles, ipus * replicas
    device = model.createDevice()
    if replicas == 1:
        return device, Graph(device)
    from simulator.poplar import replication_factor

    return device, Graph(device, replication_factor(replicas))


def scattered(graph: Graph, type_: Type, shape: list[int], name: str, seed: int, run: int = 3) -> Tensor:
    """A variable whose runs of a few elements lie on tiles at random, so that nearly everything is remote."""
    tensor = graph.addVariable(type_, shape, name)
    flat, rng = tensor.flatten(), np.random.default_rng(seed)
    for first in range(0, tensor.numElements(), run):
        last = min(first + run, tensor.numElements())
        graph.setTileMapping(flat.slice(first, last), int(rng.integers(graph.getTarget().getNumTiles())))
    return tensor


def results(
    device: Any,
    graph: Graph,
    programs: Program | list[Program],
    inputs: Values,
    outputs: dict[str, np.dtype[Any]],
    options: dict[str, str],
    connect: Callable[[Engine], None] = lambda engine: None,
    runs: int = 2,
) -> Values:
    """Host tensors after every program ran `runs` times. `outputs`: NumPy type by handle."""
    return results_of(compileGraph(graph, programs, options), device, inputs, outputs, connect, runs)


def results_of(
    executable: Executable,
    device: Any,
    inputs: Values,
    outputs: dict[str, np.dtype[Any]],
    connect: Callable[[Engine], None] = lambda engine: None,
    runs: int = 2,
) -> Values:
    """The same of a compiled graph."""
    store = executable.compiled.source.store
    numels = {handle: tensor.numElements() for _, handle, tensor in store.host_copies}
    with Engine(executable, executable.options.given) as engine:
        for row in executable.compiled.compilation.compute_set_vertices:  # no vertex is free
            assert (row.cycles[row.count > 0] >= row.count[row.count > 0]).all(), store.blocks[row.vertex_type]
        engine.load(device)
        connect(engine)
        for handle, values in inputs.items():
            engine.writeTensor(handle, values)
        for _ in range(runs):
            for number in range(executable.compiled.num_programs):
                engine.run(number)
        found = {}
        for handle, dtype in outputs.items():
            found[handle] = np.zeros(numels[handle] * store.replicas, dtype)
            engine.readTensor(handle, found[handle])
        return found


def without_addresses(executable: Executable) -> Executable:
    """What an ordinary engine runs of a graph compiled for the address-accurate mode: compilation differs only in what
    it keeps for that mode, and takes more than half of the time of a tiny program."""
    compiled = replace(executable.compiled, arrangements=None)
    return Executable(compiled, executable.plan, executable.options, executable.name, executable.target)


class Workbench:
    """A graph with inputs, a program to fill, and results to compare."""

    def __init__(self, tiles: int, seed: int = 0) -> None:
        self.device, self.graph = graph_of(tiles)
        self.program = Sequence()
        self.inputs: Values = {}
        self.outputs: dict[str, np.dtype[Any]] = {}
        self.rng = np.random.default_rng(seed)

    def give(self, type_: Type, shape: list[int], name: str, values: Any = None, run: int = 3) -> Tensor:
        """An input with values, scattered over the tiles."""
        tensor = scattered(self.graph, type_, shape, name, int(self.rng.integers(1000)), run)
        if values is None:
            values = self.rng.uniform(0.25, 0.9, shape) if type_ in (FLOAT, HALF) else self.rng.integers(1, 5, shape)
        self.graph.createHostWrite(name, tensor)
        self.inputs[name] = np.asarray(values).astype(type_.dtype).reshape(-1)
        return tensor

    def take(self, tensor: Tensor, name: str) -> None:
        """A result."""
        self.graph.createHostRead(name, tensor)
        self.outputs[name] = numpy_type(tensor.elementType())

    def run(self, accurate: bool, runs: int = 1) -> Values:
        options = ACCURATE if accurate else {}
        return results(self.device, self.graph, self.program, self.inputs, self.outputs, options, runs=runs)

    def check(self, exact: bool = True, runs: int = 1, roundings: int = 1) -> Values:
        """Both engines agree: bit for bit, or within the rounding of sums that are added in another order, of which
        `roundings` follow each other. Returns what the ordinary one says."""
        executable = compileGraph(self.graph, self.program, ACCURATE)
        ordinary, accurate = (
            results_of(compiled, self.device, self.inputs, self.outputs, runs=runs)
            for compiled in (without_addresses(executable), executable)
        )
        assert ordinary
        for name, expected in ordinary.items():
            found = accurate[name]
            if exact:
                assert np.array_equal(found.view(np.uint8), expected.view(np.uint8)), name
            else:
                close = roundings * (4e-3 if expected.dtype == np.float16 else 2e-6)
                np.testing.assert_allclose(found, expected, rtol=close, atol=close, err_msg=name)
        return ordinary
