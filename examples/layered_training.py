"""Train a network whose layers have names in the report: six dense layers on one IPU of 1,472 tiles.

    popvision run -d report examples/layered_training.py
    python examples/analysis/layers.py report

Each layer is a debug context of the program's own software layer, "network", above its PopLibs calls: forward, backward
and update. So reports can group by layer ("operations" of "network") and by call (of "poplibs").
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass

import numpy as np

from simulator.poplar import FLOAT, DebugInfo, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Program, Repeat, Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly

BATCH, WIDTHS, RATE = 32, (64, 256, 256, 128, 128, 64, 16), 0.05


@dataclass
class Dense:
    """out = relu(x w), its gradient and its update. `info` names the layer."""

    info: DebugInfo
    weights: Tensor
    x: Tensor | None = None
    out: Tensor | None = None

    def forward(self, graph: Graph, x: Tensor, step: Sequence) -> Tensor:
        self.x = x
        product = matMul(graph, x, self.weights, step, (self.info, "fwd"))
        self.out = popnn.nonLinearity(graph, NonLinearityType.RELU, product, step, (self.info, "fwd"))
        return self.out

    def backward(self, graph: Graph, slope: Tensor, step: Sequence) -> Tensor:
        """The gradient of the input; the weights are updated after it is computed."""
        assert self.x is not None
        assert self.out is not None
        slope = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, self.out, slope, step, (self.info, "bwd"))
        back = matMul(graph, slope, self.weights.transpose(), step, (self.info, "bwd"))
        change = matMul(graph, self.x.transpose(), slope, step, (self.info, "wu"))
        popops.scaledAddTo(graph, self.weights, change, -RATE / BATCH, step, (self.info, "update"))
        return back


def dense_layers(graph: Graph, seed: int = 7) -> list[Dense]:
    rng = np.random.default_rng(seed)
    layers = []
    for number, (inputs, outputs) in enumerate(itertools.pairwise(WIDTHS), 1):
        info = graph.addDebugInfo(f"layer{number}", "network", op_type="dense", inputs=inputs, outputs=outputs)
        weights = graph.addVariable(FLOAT, [inputs, outputs], (info, "weights"))
        mapTensorLinearly(graph, weights)
        graph.setInitialValue(weights, rng.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)).astype(np.float32))
        layers.append(Dense(info, weights))
    return layers


def training(graph: Graph, steps: int) -> Program:
    """A program of this many batches: stream in, forward, loss, backward with update, stream out the error."""
    step, layers = Sequence(), dense_layers(graph)
    data = graph.addDebugInfo("data", "network", op_type="stream")
    loss = graph.addDebugInfo("loss", "network", op_type="loss")
    x = graph.addVariable(FLOAT, [BATCH, WIDTHS[0]], (data, "x"))
    wanted = graph.addVariable(FLOAT, [BATCH, WIDTHS[-1]], (data, "wanted"))
    for handle, tensor in (("x", x), ("wanted", wanted)):
        mapTensorLinearly(graph, tensor)
        stream = graph.addHostToDeviceFIFO(handle, FLOAT, tensor.numElements())
        step.add(Copy(stream, tensor, debugContext=(data, handle)))
    out = x
    for layer in layers:
        out = layer.forward(graph, out, step)
    slope = popops.sub(graph, out, wanted, step, (loss, "difference"))
    error = popops.reduce(
        graph, popops.square(graph, slope, step, (loss, "square")), [0, 1], popops.Operation.ADD, step, (loss, "sum")
    )
    for layer in reversed(layers):
        slope = layer.backward(graph, slope, step)
    step.add(Copy(error, graph.addDeviceToHostFIFO("error", FLOAT, 1), debugContext=(data, "error")))
    return Repeat(steps, step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4, help="batches")
    parser.add_argument("--tiles", type=int, default=1472)
    arguments = parser.parse_args()
    model = IPUModel()
    model.tilesPerIPU = arguments.tiles
    model.compileIPUCode = True  # gives code a size
    device = model.createDevice()
    graph = Graph(device)
    program = training(graph, arguments.steps)
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (arguments.steps, BATCH, WIDTHS[0])).astype(np.float32)
    errors = np.empty(arguments.steps, np.float32)
    with Engine(graph, program) as engine:
        engine.load(device)
        engine.connectStream("x", x)
        engine.connectStream("wanted", np.abs(x[..., : WIDTHS[-1]]).copy())
        engine.connectStream("error", errors)
        engine.run(0, "training")
    for number, error in enumerate(errors.tolist()):
        print(f"Step {number}: squared error {error / BATCH:.4f}")


if __name__ == "__main__":
    main()
