"""Train a small convolutional network on synthetic digits: convolution, pooling, dense layer, SGD.

    python examples/train_cnn.py                    four epochs on the IPU Model
    python examples/train_cnn.py --channels 32 --type half

Each step streams in a batch, runs forward and backward passes and updates all weights: 3x3 convolution, ReLU, 2x2 max
pooling, twice, then a dense layer with softmax. In the report, look at the Convolve steps: the vertex of each of the
three passes of a layer, and the bytes of halo in its exchange.
"""

import argparse

import numpy as np
from train_mlp import BATCH, CLASSES, SIDE, digits, variable

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, Engine, Graph, IPUModel, Tensor, Type
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import poplin, popnn, popops
from simulator.poplibs.poplin import ConvParams, InputTransform
from simulator.poplibs.popnn import LossType, NonLinearityType
from simulator.poplibs.popnn.pooling import PoolingType, PoolParams, pool, poolInputGradient
from simulator.poplibs.poputil import mapTensorLinearly

BATCHES, TILES = 12, 64


class ConvLayer:
    """3x3 convolution that keeps the size of the field, bias, ReLU, 2x2 max pooling. `deltas` of its output give the
    update."""

    def __init__(self, graph: Graph, type_: Type, side: int, inputs: int, outputs: int, name: str) -> None:
        around = InputTransform(paddingLower=[1, 1], paddingUpper=[1, 1])
        self.graph, self.name = graph, name
        self.params = ConvParams(type_, BATCH, [side, side], [3, 3], inputs, outputs, 1, around)
        self.pool = PoolParams(PoolingType.MAX, [side, side], [2, 2], [2, 2], [0, 0], [0, 0], outputs, BATCH, type_)
        self.weights = poplin.createWeights(graph, self.params, f"{name}/weights")
        rng = np.random.default_rng(inputs)
        values = rng.normal(0, (2 / (9 * inputs)) ** 0.5, self.weights.shape())
        graph.setInitialValue(self.weights, values.astype(type_.dtype))

    def forward(self, x: Tensor, step: Sequence) -> Tensor:
        graph, self.x = self.graph, x
        out = poplin.convolution(graph, x, self.weights, self.params, False, step, f"{self.name}/fwd")
        self.biases = poplin.createBiases(graph, out, f"{self.name}/biases")
        graph.setInitialValue(self.biases, np.zeros(out.dim(1), out.elementType().dtype))
        poplin.addBias(graph, out, self.biases, step, f"{self.name}/bias")
        self.acts = popnn.nonLinearity(graph, NonLinearityType.RELU, out, step, self.name)
        self.pooled = pool(graph, self.pool, self.acts, step, f"{self.name}/pool")
        return self.pooled

    def backward(self, slope: Tensor, rate: float, step: Sequence, first: bool) -> Tensor | None:
        """Update the weights; returns the gradient of the input, None for the first layer."""
        graph, name = self.graph, self.name
        slope = poolInputGradient(graph, self.pool, self.acts, self.pooled, slope, False, step, f"{name}/poolBwd")
        slope = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, self.acts, slope, step, name)
        back = None
        if not first:
            params = poplin.getGradientParams(self.params)
            back = poplin.convolution(graph, slope, self.weights, params, True, step, f"{name}/bwd")
        poplin.convolutionWeightUpdate(graph, slope, self.weights, self.x, self.params, -rate, step, f"{name}/wu")
        poplin.convolutionBiasUpdate(graph, slope, self.biases, -rate, step, f"{name}/biasUpdate")
        return back


def training_step(graph: Graph, type_: Type, channels: int, rate: float) -> Sequence:
    """One batch: stream in, forward, loss, backward, update, stream out."""
    step = Sequence()
    first = ConvLayer(graph, type_, SIDE, 1, channels, "conv1")
    second = ConvLayer(graph, type_, SIDE // 2, channels, 2 * channels, "conv2")
    pixels = variable(graph, [BATCH, 1, SIDE, SIDE], "images")
    labels = graph.addVariable(UNSIGNED_INT, [BATCH], "labels")
    mapTensorLinearly(graph, labels)
    step.add(Copy(graph.addHostToDeviceFIFO("images", FLOAT, BATCH * SIDE * SIDE), pixels))
    step.add(Copy(graph.addHostToDeviceFIFO("labels", UNSIGNED_INT, BATCH), labels))
    images = pixels if type_ is FLOAT else popops.cast(graph, pixels, type_, step, "images")

    maps = second.forward(first.forward(images, step), step)
    features = maps.flatten(1)
    dense = variable(graph, [features.dim(1), CLASSES], "dense/weights")
    graph.setInitialValue(dense, np.random.default_rng(9).normal(0, 0.05, dense.shape()).astype(np.float32))
    wide = features if type_ is FLOAT else popops.cast(graph, features, FLOAT, step, "features")
    scores = poplin.matMul(graph, wide, dense, step, "dense/fwd")
    probabilities = popnn.nonLinearity(graph, NonLinearityType.SOFTMAX, scores, step, "dense")
    loss, slope = variable(graph, [BATCH], "loss"), variable(graph, [BATCH, CLASSES], "deltas")
    step.add(popnn.calcLoss(graph, probabilities, labels, loss, slope, LossType.CROSS_ENTROPY_LOSS, "loss"))

    dense_slope = poplin.matMul(graph, wide.transpose(), slope, step, "dense/wu")
    back = poplin.matMul(graph, slope, dense.transpose(), step, "dense/bwd")
    popops.scaledAddTo(graph, dense, dense_slope, -rate / BATCH, step, "dense/update")
    back = back if type_ is FLOAT else popops.cast(graph, back, type_, step, "deltas")
    down = second.backward(back.reshape(maps.shape()), rate / BATCH, step, first=False)
    assert down is not None
    first.backward(down, rate / BATCH, step, first=True)

    step.add(Copy(loss, graph.addDeviceToHostFIFO("loss", FLOAT, BATCH)))
    step.add(Copy(probabilities, graph.addDeviceToHostFIFO("probabilities", FLOAT, BATCH * CLASSES)))
    return step


def train(epochs: int, channels: int, type_: Type, rate: float) -> list[tuple[float, float]]:
    """(mean loss, accuracy in percent) of each epoch."""
    model = IPUModel()
    model.tilesPerIPU = TILES
    device = model.createDevice()
    graph = Graph(device)
    program = Repeat(BATCHES, training_step(graph, type_, channels, rate))
    images, labels = digits(BATCH * BATCHES, seed=4)
    loss = np.empty((BATCHES, BATCH), np.float32)
    probabilities = np.empty((BATCH * BATCHES, CLASSES), np.float32)
    results = []
    with Engine(graph, program) as engine:
        engine.load(device)
        engine.connectStream("images", images)
        engine.connectStream("labels", labels)
        engine.connectStream("loss", loss)
        engine.connectStream("probabilities", probabilities)
        for epoch in range(1, epochs + 1):
            engine.run(0, f"epoch {epoch}")
            results.append((float(loss.mean()), 100 * float((probabilities.argmax(1) == labels).mean())))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--channels", type=int, default=8, help="channels of the first layer; the second has twice as many"
    )
    parser.add_argument("--type", choices=("float", "half"), default="float", help="element type of the convolutions")
    parser.add_argument("--rate", type=float, default=0.2, help="learning rate")
    arguments = parser.parse_args()
    type_ = HALF if arguments.type == "half" else FLOAT
    for epoch, (loss, accuracy) in enumerate(train(arguments.epochs, arguments.channels, type_, arguments.rate), 1):
        print(f"Epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.1f} %")


if __name__ == "__main__":
    main()
