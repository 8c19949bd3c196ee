"""A pipeline over two IPUs: IPU 1 works on one batch, IPU 0 on the next, and I/O tiles move a third.

    python examples/pipeline.py
    python examples/pipeline.py --batches 40

Each IPU has 24 compute tiles and 4 I/O tiles. I/O tiles run no vertex; they hold the data of streams. In one trip of
the loop four things happen at once: I/O tiles of IPU 0 receive the next batch from the host, IPU 0 runs stage one, IPU
1 runs stage two, and I/O tiles of IPU 1 send results to the host. Then the data moves on: results of stage one go to
IPU 1 (GlobalExchange, after an external sync of both IPUs), and batch and results move between I/O tiles and compute
tiles. The execution trace shows I/O in its own lanes, beside the compute that hides it.
"""

import argparse
import itertools

import numpy as np

from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popnn
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly

COMPUTE_TILES, IO_TILES = 24, 4
BATCH, FEATURES, HIDDEN, CLASSES = 48, 64, 96, 16
#: trips of the loop from the input of a batch to its output: in, stage one, stage two, out
DEPTH = 3


def tensor(graph: Graph, shape: list[int], name: str, values: np.ndarray | float = 0.0) -> Tensor:
    """A variable spread over the tiles of a (virtual) graph. The first trips of the loop work on its initial values."""
    made = graph.addVariable(FLOAT, shape, name)
    mapTensorLinearly(graph, made)
    graph.setInitialValue(made, values)
    return made


def layer(graph: Graph, inputs: Tensor, weights: Tensor, kind: NonLinearityType, prog: Sequence, name: str) -> Tensor:
    """A dense layer on the tiles of a virtual graph."""
    return popnn.nonLinearity(graph, kind, matMul(graph, inputs, weights, prog, name), prog, name)


def build(graph: Graph, weights: list[np.ndarray]) -> Sequence:
    """The program of one trip of the loop."""
    per_ipu = graph.getTarget().getTilesPerIPU()
    compute = per_ipu - IO_TILES
    ipu0, io0 = graph.createVirtualGraph(0, compute), graph.createVirtualGraph(compute, per_ipu)
    ipu1 = graph.createVirtualGraph(per_ipu, per_ipu + compute)
    io1 = graph.createVirtualGraph(per_ipu + compute, 2 * per_ipu)
    inbox, outbox = tensor(io0, [BATCH, FEATURES], "inbox"), tensor(io1, [BATCH, CLASSES], "outbox")
    batch, arrived = tensor(ipu0, [BATCH, FEATURES], "batch"), tensor(ipu1, [BATCH, HIDDEN], "arrived")
    w1, w2, w3, w4 = (
        tensor(on, list(values.shape), f"weights{i}", values)
        for i, (on, values) in enumerate(zip((ipu0, ipu0, ipu1, ipu1), weights, strict=True), start=1)
    )
    receive = Copy(graph.addHostToDeviceFIFO("batches", FLOAT, BATCH * FEATURES), inbox)
    send = Copy(outbox, graph.addDeviceToHostFIFO("results", FLOAT, BATCH * CLASSES))

    stage1 = Sequence()
    hidden = layer(ipu0, batch, w1, NonLinearityType.RELU, stage1, "stage1/layer1")
    hidden = layer(ipu0, hidden, w2, NonLinearityType.RELU, stage1, "stage1/layer2")
    stage2 = Sequence()
    scores = layer(ipu1, arrived, w3, NonLinearityType.RELU, stage2, "stage2/layer3")
    scores = layer(ipu1, scores, w4, NonLinearityType.SOFTMAX, stage2, "stage2/layer4")

    return Sequence(receive, stage1, stage2, send, Copy(inbox, batch), Copy(hidden, arrived), Copy(scores, outbox))


def run(count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """(results [count, batch, classes], the same from NumPy, cycles of each trip of the loop)."""
    rng = np.random.default_rng(5)
    sizes = [FEATURES, HIDDEN, HIDDEN, HIDDEN, CLASSES]
    weights = [rng.normal(0, (2 / n) ** 0.5, (n, m)).astype(np.float32) for n, m in itertools.pairwise(sizes)]
    trips = count + DEPTH  # the last trips empty the pipeline
    batches = rng.normal(0, 1, (trips, BATCH, FEATURES)).astype(np.float32)
    results = np.empty((trips, BATCH, CLASSES), np.float32)

    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, COMPUTE_TILES + IO_TILES
    device = model.createDevice()
    graph = Graph(device)
    with Engine(graph, Repeat(trips, build(graph, weights))) as engine:
        engine.load(device)
        engine.connectStream("batches", batches)
        engine.connectStream("results", results)
        before = engine.getTimeStamp()
        engine.run(0, "pipeline")
        cycles = engine.getTimeStamp().device_cycles - before.device_cycles

    x = batches[:count]
    for w in weights[:-1]:
        x = np.maximum(x @ w, 0)
    exponents = np.exp(x @ weights[-1] - (x @ weights[-1]).max(-1, keepdims=True))
    return results[DEPTH:], exponents / exponents.sum(-1, keepdims=True), cycles / trips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=12)
    arguments = parser.parse_args()
    results, expected, cycles = run(arguments.batches)
    print(f"{arguments.batches} batches of {BATCH}: {cycles:,.0f} cycles each")
    print(f"Largest difference from NumPy: {np.abs(results - expected).max():.1e}")


if __name__ == "__main__":
    main()
