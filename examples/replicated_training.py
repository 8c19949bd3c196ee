"""Data-parallel training: four replicas of a small network, each with its own IPU and a quarter of every batch.

    python examples/replicated_training.py                 four replicas with 32 samples each
    python examples/replicated_training.py --replicas 1    one replica with all 128: equal weights except for rounding

The graph describes one replica. Each replica streams in its own samples and computes its own gradients. An all-reduce
adds the gradients of all replicas over the links between IPUs, so that every replica takes the same step. In the
execution trace the four IPUs work side by side and meet at the external sync before each GlobalExchange.
"""

import argparse

import numpy as np

from simulator.poplar import FLOAT, UNSIGNED_INT, Device, Engine, Graph, IPUModel, Tensor, replication_factor
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import gcl, popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import LossType, NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly

JOINT_BATCH, BATCHES, FEATURES, HIDDEN, CLASSES, TILES = 128, 6, 32, 48, 4, 24


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(points [batches, batch, features] float32, labels [batches, batch] uint32): noisy points around two centres per
    class, so that no straight line separates them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1, (2 * CLASSES, FEATURES))
    centre = rng.integers(0, 2 * CLASSES, (BATCHES, JOINT_BATCH))
    points = centres[centre] + rng.normal(0, 1.3, (BATCHES, JOINT_BATCH, FEATURES))
    return points.astype(np.float32), (centre % CLASSES).astype(np.uint32)


def variable(graph: Graph, shape: list[int], name: str, values: np.ndarray | None = None) -> Tensor:
    tensor = graph.addVariable(UNSIGNED_INT if name == "labels" else FLOAT, shape, name)
    mapTensorLinearly(graph, tensor)
    if values is not None:
        graph.setInitialValue(tensor, values)
        graph.createHostRead(name, tensor)
    return tensor


def training_step(graph: Graph, batch: int, rate: float) -> Sequence:
    """One batch of a replica: stream in, forward, loss, backward, all-reduce, update, stream out."""
    rng = np.random.default_rng(1)
    first = variable(graph, [FEATURES, HIDDEN], "hidden/weights", rng.normal(0, 0.25, (FEATURES, HIDDEN)))
    second = variable(graph, [HIDDEN, CLASSES], "out/weights", rng.normal(0, 0.2, (HIDDEN, CLASSES)))
    points, labels = variable(graph, [batch, FEATURES], "points"), variable(graph, [batch], "labels")
    loss, slope = variable(graph, [batch], "loss"), variable(graph, [batch, CLASSES], "slope")
    step = Sequence()
    step.add(Copy(graph.addHostToDeviceFIFO("points", FLOAT, batch * FEATURES), points))
    step.add(Copy(graph.addHostToDeviceFIFO("labels", UNSIGNED_INT, batch), labels))

    hidden = popnn.nonLinearity(graph, NonLinearityType.RELU, matMul(graph, points, first, step, "hidden/fwd"), step)
    scores = matMul(graph, hidden, second, step, "out/fwd")
    probabilities = popnn.nonLinearity(graph, NonLinearityType.SOFTMAX, scores, step, "out")
    step.add(popnn.calcLoss(graph, probabilities, labels, loss, slope, LossType.CROSS_ENTROPY_LOSS, "loss"))

    second_slope = matMul(graph, hidden.transpose(), slope, step, "out/wu")
    back = matMul(graph, slope, second.transpose(), step, "out/bwd")
    back = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, hidden, back, step, "hidden")
    first_slope = matMul(graph, points.transpose(), back, step, "hidden/wu")
    for weights, gradient, name in ((second, second_slope, "out"), (first, first_slope, "hidden")):
        gcl.allReduceInPlaceCrossReplica(graph, gradient, gcl.CollectiveOperator.ADD, step, f"{name}/allReduce")
        popops.scaledAddTo(graph, weights, gradient, -rate / JOINT_BATCH, step, f"{name}/update")

    step.add(Copy(loss, graph.addDeviceToHostFIFO("loss", FLOAT, batch)))
    step.add(Copy(probabilities, graph.addDeviceToHostFIFO("probabilities", FLOAT, batch * CLASSES)))
    return step


def train(replicas: int, epochs: int, rate: float) -> tuple[list[np.ndarray], list[float], np.ndarray]:
    """(loss [batches, replicas] of each epoch, its accuracy, hidden weights of every replica)."""
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = replicas, TILES
    device: Device = model.createDevice()
    graph = Graph(device, replication_factor(replicas))
    points, labels = samples(seed=2)
    loss = np.empty((BATCHES, replicas, JOINT_BATCH // replicas), np.float32)
    probabilities = np.empty((BATCHES, JOINT_BATCH, CLASSES), np.float32)
    weights = np.empty((replicas, FEATURES, HIDDEN), np.float32)
    losses, accuracies = [], []
    with Engine(graph, Repeat(BATCHES, training_step(graph, JOINT_BATCH // replicas, rate))) as engine:
        engine.load(device)
        # Replicas read a stream in turn: each batch holds replica 0's samples, then replica 1's, and so on.
        for handle, buffer in (
            ("points", points),
            ("labels", labels),
            ("loss", loss),
            ("probabilities", probabilities),
        ):
            engine.connectStream(handle, buffer)
        for epoch in range(epochs):
            engine.run(0, f"epoch {epoch + 1}")
            losses.append(loss.mean(2))
            accuracies.append(100 * float((probabilities.argmax(2) == labels).mean()))
        engine.readTensor("hidden/weights", weights)
    return losses, accuracies, weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.4, help="learning rate")
    arguments = parser.parse_args()
    losses, accuracies, weights = train(arguments.replicas, arguments.epochs, arguments.rate)
    for epoch, (loss, accuracy) in enumerate(zip(losses, accuracies, strict=True), start=1):
        by_replica = ", ".join(f"{value:.4f}" for value in loss.mean(0))
        print(f"Epoch {epoch}: loss of each replica {by_replica}; accuracy {accuracy:.1f} %")
    print(f"All replicas have the same weights: {bool((weights == weights[0]).all())}")


if __name__ == "__main__":
    main()
