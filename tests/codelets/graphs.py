"""Small graphs of compiled codelets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.poplar import Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Program


def model(tiles: int = 4, version: str = "ipu2") -> Any:
    one = IPUModel(version)
    one.tilesPerIPU = tiles
    return one.createDevice()


class Bench:
    """A graph on a small model: variables with values, vertices on tiles, and what a run makes of them."""

    def __init__(self, tiles: int = 4, device: Any = None) -> None:
        self.device = device or model(tiles)
        self.graph = Graph(self.device.getTarget())
        self.cs = self.graph.addComputeSet("cs")
        self._names: dict[str, Any] = {}
        self._given: dict[str, Any] = {}

    def tensor(self, name: str, type_: Any, values: Any, tile: int = 0) -> Any:
        array = np.asarray(values, type_.dtype)
        made = self.graph.addVariable(type_, array.shape, name)
        self.graph.setTileMapping(made, tile)
        self.graph.createHostRead(name, made)
        self.graph.createHostWrite(name + " in", made)
        self._names[name], self._given[name] = made, array
        return made

    def vertex(self, type_: str, fields: Mapping[str, Any], tile: int = 0) -> Any:
        made = self.graph.addVertex(self.cs, type_, fields)
        self.graph.setTileMapping(made, tile)
        return made

    def engine(self, program: Program | None = None, options: Mapping[str, str] | None = None) -> Engine:
        engine = Engine(self.graph, program or Execute(self.cs), options or {})
        engine.load(self.device)
        for name, array in self._given.items():
            engine.writeTensor(name + " in", array)
        return engine

    def read(self, engine: Engine, name: str) -> Any:
        array = np.zeros_like(self._given[name])
        engine.readTensor(name, array)
        return array

    def run(self, names: Sequence[str], options: Mapping[str, str] | None = None) -> list[Any]:
        with self.engine(None, options) as engine:
            engine.run(0)
            return [self.read(engine, name) for name in names]
