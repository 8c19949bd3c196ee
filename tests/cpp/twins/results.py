"""What a twin computes, by name: as tests/cpp/programs/results.hpp."""

from __future__ import annotations

from math import prod

import numpy as np

from simulator import poplar
from simulator.poplar import program
from simulator.poplibs import popops, poputil


class Results:
    def __init__(self, graph: poplar.Graph) -> None:
        self.graph = graph
        self.prog = program.Sequence()
        self._sizes: dict[str, int] = {}
        self._numbers: dict[str, float] = {}

    def operand(self, shape: list[int], seed: int = 0) -> poplar.Tensor:
        """A tensor of the numbers that the C++ program has too."""
        numbers = ((np.arange(prod(shape)) * 7 + seed * 3) % 11 - 5) / 4
        return self._mapped(self.graph.addConstant(poplar.FLOAT, shape, numbers.astype(np.float32)))

    def indices(self, shape: list[int], numbers: list[int]) -> poplar.Tensor:
        return self._mapped(self.graph.addConstant(poplar.UNSIGNED_INT, shape, np.array(numbers, np.uint32)))

    def scalar(self, number: float) -> poplar.Tensor:
        return self._mapped(self.graph.addConstant(poplar.FLOAT, [], number))

    def variable(self, values: poplar.Tensor) -> poplar.Tensor:
        """A variable with these values."""
        copied = self.graph.clone(values)
        self.prog.add(program.Copy(values, copied))
        return copied

    def filled(self, tensor: poplar.Tensor, values: poplar.Tensor) -> poplar.Tensor:
        """The tensor, which now has these values."""
        self.prog.add(program.Copy(values.reshape(tensor.shape()), tensor))
        return tensor

    def read(self, name: str, t: poplar.Tensor) -> None:
        if t.elementType() is not poplar.FLOAT:
            t = popops.cast(self.graph, t, poplar.FLOAT, self.prog)
        kept = self.graph.clone(t.flatten())
        self.prog.add(program.Copy(t.flatten(), kept))
        self.graph.createHostRead(name, kept)
        self._sizes[name] = kept.numElements()

    def number(self, name: str, value: float) -> None:
        self._numbers[name] = float(value)

    def values(self, device: poplar.Device) -> dict[str, list[float]]:
        engine = poplar.Engine(self.graph, self.prog)
        engine.load(device)
        engine.run()
        values_by_name: dict[str, list[float]] = {name: [value] for name, value in self._numbers.items()}
        for name, size in self._sizes.items():
            values = np.zeros(size, np.float32)
            engine.readTensor(name, values)
            values_by_name[name] = values.tolist()
        return values_by_name

    def _mapped(self, t: poplar.Tensor) -> poplar.Tensor:
        poputil.mapTensorLinearly(self.graph, t)
        return t


def small_device(ipus: int = 1) -> poplar.Device:
    model = poplar.IPUModel()
    model.numIPUs, model.tilesPerIPU = ipus, 16
    return model.createDevice()
