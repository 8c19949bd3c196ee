"""Each family of operations, compiled and run by the engine on the model and on simulated hardware."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly


@pytest.mark.parametrize("hardware", [False, True])
def test_a_program_of_every_family(hardware: bool) -> None:
    device = IPUModel().createDevice()
    if hardware:
        devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)
        device = next(found for found in devices if found.attach())
    graph, program = Graph(device), Sequence()
    x, y = graph.addVariable(HALF, [24, 40], "x"), graph.addVariable(HALF, [40, 12], "y")
    labels = graph.addVariable(UNSIGNED_INT, [24], "labels")
    for tensor in (x, y, labels):
        mapTensorLinearly(graph, tensor)
    product = matMul(graph, x, y, program, "p")
    single = popops.cast(graph, product, FLOAT, program, "cast")
    popops.scaledAddTo(graph, single, single, 0.5, program, "grow")
    active = popnn.nonLinearity(graph, NonLinearityType.TANH, single, program, "act")
    one_hot = graph.addVariable(FLOAT, [24, 12], "oneHot")
    mapTensorLinearly(graph, one_hot)
    popops.encodeOneHot(graph, labels, one_hot, program, "hot")
    popops.mulInPlace(graph, active, one_hot, program, "mask")
    popops.fill(graph, active.slice(0, 1, 1), program, 2.0, "column")
    total = popops.reduce(graph, active, [0, 1], popops.Operation.ADD, program, "total")
    graph.createHostWrite("x", x)
    graph.createHostWrite("y", y)
    graph.createHostWrite("labels", labels)
    graph.createHostRead("total", total)

    rng = np.random.default_rng(10)
    x_values, y_values = rng.normal(size=(24, 40)).astype(np.float16), rng.normal(size=(40, 12)).astype(np.float16)
    label_values = rng.integers(0, 12, 24).astype(np.uint32)
    with Engine(graph, program) as engine:
        engine.load(device)
        for handle, values in (("x", x_values), ("y", y_values), ("labels", label_values)):
            engine.writeTensor(handle, values)
        engine.run(0)
        out = np.empty(1, np.float32)
        engine.readTensor("total", out)
    if hardware:
        device.detach()
    exact = np.tanh(1.5 * (x_values.astype(np.float64) @ y_values)) * np.eye(12)[label_values]
    exact[:, 0] = 2
    assert out[0] == pytest.approx(exact.sum(), rel=2e-3)
