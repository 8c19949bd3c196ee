"""Train a three-layer network on synthetic digits: forward, loss, backward and SGD on the simulated IPU.

    python examples/train_mlp.py                        five epochs on the IPU Model
    python examples/train_mlp.py --epochs 2 --hidden 256
    POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}' PVTI_OPTIONS='{"enable":"true"}' python examples/train_mlp.py

One run of the program is one epoch: a Repeat that streams in a batch, trains on it and streams out its loss and
probabilities. With PVTI_OPTIONS set the host also records graphs of loss and accuracy.
"""

import argparse
import itertools

import numpy as np

from popvision import pvti
from simulator.poplar import FLOAT, UNSIGNED_INT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import LossType, NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly

SIDE, CLASSES, BATCH, BATCHES = 16, 10, 64, 30
#: the bars of each digit, of seven: top, upper left, upper right, middle, lower left, lower right, bottom
BARS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")


def digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(images [count, SIDE * SIDE] float32, labels [count] uint32): shifted seven-segment digits with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count).astype(np.uint32)
    places = [(0, 1, 1, 7), (1, 0, 5, 1), (1, 7, 5, 1), (6, 1, 1, 7), (7, 0, 5, 1), (7, 7, 5, 1), (12, 1, 1, 7)]
    shapes = np.zeros((CLASSES, SIDE, SIDE), np.float32)
    for digit, bars in enumerate(BARS):
        for bar, (top, left, height, width) in zip(bars, places, strict=True):
            if bar == "1":
                shapes[digit, top + 1 : top + 1 + height, left + 3 : left + 3 + width] = 1
    images = shapes[labels]
    for axis in (1, 2):
        shift = rng.integers(-1, 2, count)
        images = np.stack([np.roll(image, s, axis - 1) for image, s in zip(images, shift, strict=True)])
    images += rng.normal(0, 0.35, images.shape).astype(np.float32)
    return images.reshape(count, SIDE * SIDE), labels


def variable(graph: Graph, shape: list[int], name: str) -> Tensor:
    tensor = graph.addVariable(FLOAT, shape, name)
    mapTensorLinearly(graph, tensor)
    return tensor


def parameters(graph: Graph, sizes: list[int], seed: int) -> list[tuple[Tensor, Tensor]]:
    """(weights [in, out], biases [out]) of each layer, with initial values."""
    rng = np.random.default_rng(seed)
    layers = []
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes), start=1):
        weights = variable(graph, [fan_in, fan_out], f"layer{i}/weights")
        biases = variable(graph, [fan_out], f"layer{i}/biases")
        graph.setInitialValue(weights, rng.normal(0, (2 / fan_in) ** 0.5, (fan_in, fan_out)).astype(np.float32))
        graph.setInitialValue(biases, np.zeros(fan_out, np.float32))
        layers.append((weights, biases))
    return layers


def training_step(graph: Graph, layers: list[tuple[Tensor, Tensor]], rate: float) -> Sequence:
    """One batch: stream in, forward, loss, backward, update, stream out."""
    features = layers[0][0].dim(0)
    images = variable(graph, [BATCH, features], "images")
    loss = variable(graph, [BATCH], "loss")
    slope = variable(graph, [BATCH, CLASSES], "deltas")
    labels = graph.addVariable(UNSIGNED_INT, [BATCH], "labels")
    mapTensorLinearly(graph, labels)
    step = Sequence()
    step.add(Copy(graph.addHostToDeviceFIFO("images", FLOAT, BATCH * features), images))
    step.add(Copy(graph.addHostToDeviceFIFO("labels", UNSIGNED_INT, BATCH), labels))

    activations = [images]
    for i, (weights, biases) in enumerate(layers, start=1):
        out = matMul(graph, activations[-1], weights, step, f"layer{i}/fwd")
        popops.addInPlace(graph, out, biases, step, f"layer{i}/bias")
        kind = NonLinearityType.RELU if i < len(layers) else NonLinearityType.SOFTMAX
        activations.append(popnn.nonLinearity(graph, kind, out, step, f"layer{i}"))
    probabilities = activations.pop()
    step.add(popnn.calcLoss(graph, probabilities, labels, loss, slope, LossType.CROSS_ENTROPY_LOSS, "loss"))

    for i in range(len(layers), 0, -1):
        weights, biases = layers[i - 1]
        inputs = activations[i - 1]
        weight_slope = matMul(graph, inputs.transpose(), slope, step, f"layer{i}/wu")
        bias_slope = popops.reduce(graph, slope, [0], popops.Operation.ADD, step, f"layer{i}/biasGrad")
        if i > 1:
            back = matMul(graph, slope, weights.transpose(), step, f"layer{i}/bwd")
            slope = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, inputs, back, step, f"layer{i - 1}")
        popops.scaledAddTo(graph, weights, weight_slope, -rate / BATCH, step, f"layer{i}/updateWeights")
        popops.scaledAddTo(graph, biases, bias_slope, -rate / BATCH, step, f"layer{i}/updateBiases")

    step.add(Copy(loss, graph.addDeviceToHostFIFO("loss", FLOAT, BATCH)))
    step.add(Copy(probabilities, graph.addDeviceToHostFIFO("probabilities", FLOAT, BATCH * CLASSES)))
    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=128, help="width of the first hidden layer")
    parser.add_argument("--rate", type=float, default=0.2, help="learning rate")
    arguments = parser.parse_args()

    channel = pvti.createTraceChannel("Training")
    losses = pvti.Graph("Loss", "nats").addSeries("training loss")
    accuracies = pvti.Graph("Accuracy", "%").addSeries("training accuracy")

    device = IPUModel().createDevice()
    graph = Graph(device)
    with pvti.Tracepoint(channel, "Build graph"):
        layers = parameters(graph, [SIDE * SIDE, arguments.hidden, 64, CLASSES], seed=3)
        program = Repeat(BATCHES, training_step(graph, layers, arguments.rate))
    images, labels = digits(BATCH * BATCHES, seed=4)
    loss = np.empty((BATCHES, BATCH), np.float32)
    probabilities = np.empty((BATCH * BATCHES, CLASSES), np.float32)
    with Engine(graph, program) as engine:
        engine.load(device)
        for handle, buffer in (
            ("images", images),
            ("labels", labels),
            ("loss", loss),
            ("probabilities", probabilities),
        ):
            engine.connectStream(handle, buffer)
        for epoch in range(1, arguments.epochs + 1):
            with pvti.Tracepoint(channel, f"Epoch {epoch}"):
                engine.run(0, f"epoch {epoch}")
            accuracy = 100 * float((probabilities.argmax(1) == labels).mean())
            for batch_loss in loss.mean(1):
                losses.add(float(batch_loss))
            accuracies.add(accuracy)
            print(f"Epoch {epoch}: loss {loss.mean():.4f}, accuracy {accuracy:.1f} %")


if __name__ == "__main__":
    main()
