"""Softmax regression, y = W x + b, trained image by image: Graphcore's regression demo, on synthetic digits.

    python examples/regression_demo.py            3 epochs of 3,000 images on an IPU Model of 4 tiles
    python examples/regression_demo.py 2 50       2 epochs of half the images
    python examples/regression_demo.py -IPU 1 10  on a simulated hardware IPU

The original trains on MNIST; this program generates noisy seven-segment digits (train_mlp.py). It prints its accuracy
and that of linear regression, which fits W to all images at once by least squares. The repository holds the losses of
the first 50 steps as PyTorch computes them (regression_losses.py).
"""

from __future__ import annotations

import sys

import numpy as np
from train_mlp import CLASSES, digits

from simulator.poplar import FLOAT, UNSIGNED_INT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.poputil import mapTensorLinearly

IMAGES, BATCH, STEPS = 3000, 300, 50  #: the first STEPS losses are committed
RATE = 0.05  #: 0.0009 in the original, which has twenty times the images


def images_and_labels() -> tuple[np.ndarray, np.ndarray]:
    return digits(IMAGES, seed=11)


def initial(features: int) -> tuple[np.ndarray, np.ndarray]:
    """W [classes, features] and b [classes, 1] before training: normally distributed."""
    rng = np.random.default_rng(12)
    return (
        rng.standard_normal((CLASSES, features), np.float32),
        rng.standard_normal((CLASSES, 1), np.float32),
    )


def linear_baseline(images: np.ndarray, labels: np.ndarray) -> float:
    """The percentage of images whose largest output of W x + b is right, fitted to one-hot labels by least squares."""
    inputs = np.hstack([images, np.ones((len(images), 1), np.float32)])
    fitted = np.linalg.lstsq(inputs, np.eye(CLASSES)[labels], rcond=None)[0]
    return 100 * float(((inputs @ fitted).argmax(1) == labels).mean())


def training_program(graph: Graph, features: int) -> Sequence:
    """BATCH images, one after another: forward, loss, update."""
    x = graph.addVariable(FLOAT, [features, 1], "x")
    W = graph.addVariable(FLOAT, [CLASSES, features], "W")
    b = graph.addVariable(FLOAT, [CLASSES, 1], "b")
    graph.createHostWrite("weights", W)
    graph.createHostWrite("biases", b)
    numCorrect = graph.addVariable(UNSIGNED_INT, [1], "numCorrect")
    expected = graph.addVariable(UNSIGNED_INT, [1], "expected")
    loss = graph.addVariable(FLOAT, [1], "loss")
    delta = graph.addVariable(FLOAT, [1, CLASSES], "delta")
    for tensor in (x, W, b, numCorrect, expected, loss, delta):
        mapTensorLinearly(graph, tensor)

    step = Sequence()
    y = popops.add(graph, matMul(graph, W, x, step, "Wx"), b, step, "Wx+b")
    softmax = popnn.nonLinearity(graph, popnn.NonLinearityType.SOFTMAX_STABLE, y.transpose(), step, "softmax(Wx+b)")
    kind = popnn.LossType.CROSS_ENTROPY_LOSS
    step.add(popnn.calcLoss(graph, softmax, expected, loss, delta, numCorrect, kind, "dE/d(Wx+b)"))
    popops.scaledAddTo(graph, b, delta.transpose(), -RATE, step, "b += -eta * dE/db")
    slope = matMul(graph, delta.transpose(), x.transpose(), step, "dE/dW")
    popops.scaledAddTo(graph, W, slope, -RATE, step, "W += -eta * dE/dW")

    dataIn = graph.addHostToDeviceFIFO("data", FLOAT, features)
    labelIn = graph.addHostToDeviceFIFO("labels", UNSIGNED_INT, 1)
    lossOut = graph.addDeviceToHostFIFO("loss", FLOAT, 1)
    numCorrectOut = graph.addDeviceToHostFIFO("hostNumCorrect", UNSIGNED_INT, 1)
    zero = graph.addConstant(UNSIGNED_INT, [1], 0)
    graph.setTileMapping(zero, 0)
    body = Sequence(Copy(dataIn, x), Copy(labelIn, expected), step, Copy(loss, lossOut))
    return Sequence(Copy(zero, numCorrect), Repeat(BATCH, body), Copy(numCorrect, numCorrectOut))


def train(device: Device, epochs: int, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The loss of each step."""
    graph = Graph(device.getTarget())
    program = training_program(graph, images.shape[1])
    batches = len(images) // BATCH
    losses = np.zeros((epochs, batches, BATCH), np.float32)
    step_losses, correct = np.zeros(BATCH, np.float32), np.zeros(1, np.uint32)
    with Engine(graph, program, {"debug.retainDebugInformation": "true"}) as engine:
        engine.load(device)
        used = batches * BATCH
        for handle, buffer in (("data", images[:used]), ("labels", labels[:used]), ("loss", step_losses)):
            engine.connectStream(handle, buffer)
        engine.connectStream("hostNumCorrect", correct)
        W, b = initial(images.shape[1])
        engine.writeTensor("weights", W)
        engine.writeTensor("biases", b)
        totalCorrect = totalTested = 0
        for epoch in range(1, epochs + 1):
            for batch in range(1, batches + 1):
                engine.run(0)
                losses[epoch - 1, batch - 1] = step_losses
                totalCorrect += int(correct[0])
                totalTested += BATCH
                if (epoch, batch) == (1, 1):
                    engine.printProfileSummary(sys.stdout)
                if totalTested > len(images) // 20:
                    done, accuracy = batch * 100 // batches, totalCorrect * 100 // totalTested
                    print(f"Epoch {epoch} ({done}%), accuracy {accuracy}%")
                    totalCorrect = totalTested = 0
    return losses.reshape(-1)


def main() -> int:
    words = sys.argv[1:]
    on_ipu = words[:1] == ["-IPU"]
    words = words[on_ipu:]
    try:
        epochs, share = int(words[0]) if words else 3, float(words[1]) if len(words) > 1 else 100.0
    except ValueError:
        epochs, share = 0, 0.0
    if epochs < 1 or not 0 < share <= 100 or share / 100 * IMAGES < BATCH:
        print(
            f"usage: {sys.argv[0]} [-IPU] [epochs [percentage of the images, from {100 * BATCH / IMAGES:g}]]",
            file=sys.stderr,
        )
        return 1
    print("Using the IPU" if on_ipu else "Using the IPU Model")
    images, labels = images_and_labels()
    kept = int(share / 100 * IMAGES)
    images, labels = images[:kept], labels[:kept]
    if on_ipu:
        print("Trying to attach to IPU")
        device = next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach())
        print(f"Attached to IPU {device.getId()}")
    else:
        model = IPUModel()
        model.numIPUs, model.tilesPerIPU = 1, 4
        device = model.createDevice()
    losses = train(device, epochs, images, labels)
    first, last = losses[:STEPS].mean(), losses[-STEPS:].mean()
    print(f"Loss, mean of the first {STEPS} steps: {first:.4f}, of the last: {last:.4f}")
    print(f"Linear regression by least squares: accuracy {linear_baseline(images, labels):.0f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
