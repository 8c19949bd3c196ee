"""QUARTER values on tiles: codelets see numbers, tensors hold bytes, and the metadata tensor says which."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    QUARTER,
    UNSIGNED_CHAR,
    Engine,
    Graph,
    IPUModel,
    QuarterMetadata,
    convertFromDeviceType,
    convertToDeviceType,
    createVariableMetadataTensor,
)
from simulator.poplar.program import Copy, Execute, Sequence
from tests.runtime.both_engines import ACCURATE

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152


class Scale(Vertex):
    x = Input(Vector(QUARTER))
    parts = Vector(Input(QUARTER))
    y = Output(Vector(QUARTER))
    total = InOut(QUARTER)
    exact = Output(FLOAT)

    def compute(self):
        self.y = 3 * self.x
        self.exact = float(self.x.sum())
        self.total = self.total + sum(self.parts)

    @classmethod
    def estimate(cls, sizes, values, target):
        return 5 + sizes["x"]


class Batch(Vertex):
    """The same, many vertices at once; without the vector of edges."""

    x = Input(Vector(QUARTER))
    y = Output(Vector(QUARTER))
    total = InOut(QUARTER)
    exact = Output(FLOAT)

    def compute(self):
        self.y = 3 * self.x
        self.exact = float(self.x.sum())
        self.total = self.total + self.x[:2].sum()

    def compute_batch(self):
        self.y = 3 * self.x
        self.exact = self.x.sum(axis=1)
        self.total = self.total + self.x[:, :2].sum(axis=1)

    @classmethod
    def estimate(cls, sizes, values, target):
        return 5 + sizes["x"]


@pytest.mark.parametrize("codelet", [Scale, Batch])
@pytest.mark.parametrize("options", [{}, ACCURATE])
def test_codelets_compute_with_numbers(codelet: type[Vertex], options: dict[str, str]) -> None:
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph = Graph(device)
    graph.addCodelets(codelet)
    coarse, fine = QuarterMetadata(F152, 2), QuarterMetadata(F143, -1)
    x = graph.addVariable(QUARTER, createVariableMetadataTensor(graph, coarse.getFormat(), 2), [8], "x")
    y = graph.addVariable(QUARTER, createVariableMetadataTensor(graph, fine.getFormat(), -1), [8], "y")
    totals = graph.clone(y.getMetadata(), y[:2], "totals")
    exact = graph.addVariable(FLOAT, [2], "exact")
    cs = graph.addComputeSet("scale")
    for i in range(2):
        part = slice(4 * i, 4 * i + 4)
        v = graph.addVertex(cs, codelet.__name__, {"x": x[part], "y": y[part], "total": totals[i], "exact": exact[i]})
        if codelet is Scale:
            graph.connect(v["parts"], x[part.start : part.start + 2])
        graph.setTileMapping(v, 1 + i)
        for t in (x[part], y[part], totals[i], exact[i]):
            graph.setTileMapping(t, 3 - i)
    values = np.array([1, -2, 3, 0.5, 7, -0.25, 8, 100])
    graph.setInitialValue(x, values)
    graph.setInitialValue(totals, [1.0, 2.0])
    graph.createHostRead("y", y)
    graph.createHostRead("totals", totals)
    graph.createHostRead("exact", exact)
    engine = Engine(graph, Sequence(Execute(cs)), options)
    engine.load(device)
    engine.run()
    held = convertFromDeviceType(QUARTER, coarse, convertToDeviceType(QUARTER, coarse, values)).astype(np.float64)
    out = np.zeros(8, np.uint8)
    read = QuarterMetadata()
    engine.readTensor("y", read, out)
    assert read == fine
    assert out.tolist() == convertToDeviceType(QUARTER, fine, 3 * held).tolist()
    sums = np.zeros(2, np.float32)
    engine.readTensor("exact", sums)
    assert sums.tolist() == held.reshape(2, 4).sum(axis=1).tolist()
    two = np.zeros(2, np.uint8)
    engine.readTensor("totals", read, two)
    expected = np.array([1.0, 2.0]) + held.reshape(2, 4)[:, :2].sum(axis=1)
    assert two.tolist() == convertToDeviceType(QUARTER, fine, expected).tolist()


def test_a_program_may_change_the_metadata() -> None:
    model = IPUModel()
    model.tilesPerIPU = 2
    device = model.createDevice()
    graph = Graph(device)
    graph.addCodelets(Scale)
    x = graph.addVariable(QUARTER, [2], "x")
    metadata = x.getMetadata()
    raw = graph.addConstant(UNSIGNED_CHAR, [2], [0x40, 0x48])
    graph.setTileMapping(raw, 0)
    graph.setTileMapping(x, 0)
    y, total = graph.clone(metadata, x, "y"), graph.clone(metadata, x[0], "total")
    exact = graph.addVariable(FLOAT, [2])
    graph.setTileMapping(exact, 1)
    graph.setInitialValue(metadata, QuarterMetadata(F143, 0))
    other = createVariableMetadataTensor(graph, F143, 3)
    graph.setInitialValue(total, 0)
    sets = []
    for i in range(2):
        cs = graph.addComputeSet(f"read {i}")
        v = graph.addVertex(cs, "Scale", {"x": x, "parts": [x[0]], "y": y, "total": total, "exact": exact[i]})
        graph.setTileMapping(v, 1)
        sets.append(Execute(cs))
    graph.createHostRead("exact", exact)
    program = Sequence(Copy(raw, x.reinterpret(UNSIGNED_CHAR)), sets[0], Copy(other, metadata), sets[1])
    engine = Engine(graph, program)
    engine.load(device)
    engine.run()
    sums = np.zeros(2, np.float32)
    engine.readTensor("exact", sums)
    assert sums.tolist() == [3.0, 24.0]
