"""Running random programs: on either target, by kernels or vertex by vertex, and in NumPy."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simulator.poplar import Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import LibraryGroup, Program, Repeat, Sequence
from simulator.runtime.recording import report_folder
from tests.integration.random_program import Pick, RandomProgram
from tests.integration.slow_numbers import DTYPE


@contextlib.contextmanager
def device(hardware: bool, tiles: int) -> Iterator[Device]:
    """A small IPU Model, or an attached simulated IPU of that many tiles."""
    if not hardware:
        model = IPUModel()
        model.tilesPerIPU = tiles
        yield model.createDevice()
        return
    with tempfile.TemporaryDirectory() as locks, environment(POPVISION_TILES=str(tiles), POPVISION_LOCKS=locks):
        found = DeviceManager().getDevices(TargetType.IPU, 1)[0]
        assert found.attach()
        try:
            yield found
        finally:
            found.detach()


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def by_vertices(program: Program, graph: Graph) -> Program:
    """The program with the vertices of each library operation in place of its kernel."""
    for number, function in enumerate(graph.store.functions):
        graph.store.functions[number] = _spelled(function)
    return _spelled(program)


def _spelled(program: Program) -> Program:
    if isinstance(program, Repeat):
        return Repeat(program.count, _spelled(program.body))
    if isinstance(program, LibraryGroup | Sequence):
        return Sequence([_spelled(p) for p in program.programs])
    return program


def seeded(seed: int) -> Pick:
    source = random.Random(seed)
    return source.randint


def run_engine(made: RandomProgram, place: Device, program: Program, runs: int, options: dict[str, str]) -> Any:
    """(values of every variable by handle, transfers of every outgoing stream by handle)."""
    sent: dict[str, list[Any]] = {handle: [] for handle in made.outputs}
    with Engine(made.graph, program, options) as engine:
        engine.load(place)
        for handle, data in made.inputs.items():
            engine.connectStream(handle, data.copy())
        for handle, into in sent.items():
            engine.connectStreamToCallback(handle, lambda values, into=into: into.append(np.array(values)))
        for _ in range(runs):
            engine.run(0)
        found = {}
        for number, v in enumerate(made.variables):
            found[f"read{number}"] = np.empty(v.cells.shape, DTYPE[v.type])
            engine.readTensor(f"read{number}", found[f"read{number}"])
    return found, sent


def expected(made: RandomProgram, runs: int) -> Any:
    """The same from NumPy, each a pair (values, bounds)."""
    for handle in made.inputs:
        made.read[handle] = 0
    for sent in made.outputs.values():
        sent.clear()
    memory = made.memory.copy()
    with np.errstate(all="ignore"):
        for _ in range(runs):
            made.body.run(memory)
    found = {f"read{n}": memory.read(v.cells, v.type) for n, v in enumerate(made.variables)}
    return found, {handle: list(sent) for handle, sent in made.outputs.items()}


def make(pick: Pick, place: Device) -> RandomProgram:
    made = RandomProgram(Graph(place), pick)
    for number, v in enumerate(made.variables):
        made.graph.createHostRead(f"read{number}", v.tensor)
    return made


def agree(found: Any, wanted: Any) -> None:
    """Every value is within its bound."""
    for name, (values, bounds) in wanted[0].items():
        within(found[0][name], values, bounds, name)
    for name, transfers in wanted[1].items():
        assert len(found[1][name]) == len(transfers), name
        for got, (values, bounds) in zip(found[1][name], transfers, strict=True):
            within(got, values, bounds, name)


def within(got: Any, values: Any, bounds: Any, name: str) -> None:
    checked = np.isfinite(bounds)
    off = np.abs(got.astype(float) - values.astype(float))
    wrong = checked & ~(off <= bounds)
    assert not wrong.any(), f"{name}: {got[wrong][:5]} for {values[wrong][:5]} within {bounds[wrong][:5]}"


def report_options(folder: Path, **more: str) -> dict[str, str]:
    report_folder._directories.pop(folder.absolute(), None)
    return {"autoReport.all": "true", "autoReport.directory": str(folder), "debug.allowOutOfMemory": "true", **more}
