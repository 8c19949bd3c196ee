"""A matrix times a vector, with rows cut into parts by a cost estimate: Graphcore's sixth Poplar tutorial.

    python examples/tut6_matrix_vector_opt.py 40 50                         on the IPU Model of the Mk2
    python examples/tut6_matrix_vector_opt.py 40 50 --device model-ipu1     of the Mk1
    python examples/tut6_matrix_vector_opt.py 40 50 --device ipu            on a simulated hardware IPU

Each part of a row is a dot product on its own tile; a second compute set adds the parts of a row. More parts mean
shorter products but longer sums. `estimateCycles` finds the best number.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from simulator.poplar import (
    FLOAT,
    Device,
    DeviceManager,
    Engine,
    Graph,
    IPUModel,
    RelativeSyncDelayType,
    TargetType,
    Tensor,
)
from simulator.poplar.program import Copy, Execute, Sequence

CODELETS = Path(__file__).with_name("matrix_mul_codelets.cpp")
FLOAT_BYTES = 4


def ceilDiv(a: int, b: int) -> int:
    return -(-a // b)


def estimateCycles(graph: Graph, numRows: int, numCols: int, split: int, verbose: bool = False) -> int:
    """Cycles of the slowest tile when each row is cut into `split` parts: dot products at two products a cycle, with
    six workers side by side; the exchange of their operands; the same for the sums of the parts."""
    target = graph.getTarget()
    tiles, workers = target.getNumTiles(), target.getNumWorkerContexts()
    rate = int(target.getExchangeBytesPerCycle())
    vertices = max(ceilDiv(numRows * split, tiles), 1)
    width = ceilDiv(numCols, split)
    compute = ceilDiv(vertices, workers) * workers * (5 + (width + 1) // 2)
    exchange = ceilDiv(vertices, numRows) * width * FLOAT_BYTES // rate
    sums = max(ceilDiv(numRows, tiles), 1)
    reduceCompute = ceilDiv(sums, workers) * workers * (5 + (split + 1) // 2)
    reduceExchange = sums * split * FLOAT_BYTES // rate
    total = compute + exchange + reduceCompute + reduceExchange
    if verbose:
        print(
            f"colsAxisSplit={split}, total cost={total} (compute cost={compute}, exchange cost={exchange}, "
            f"reduce exchange cost={reduceExchange}, reduce compute cost={reduceCompute})"
        )
    return total


def calcOptimalColAxisSplit(graph: Graph, numRows: int, numCols: int) -> int:
    """The cheapest number of parts, the smallest of equal ones."""
    costs = [estimateCycles(graph, numRows, numCols, split) for split in range(1, numCols)] or [0]
    best = 1 + costs.index(min(costs))
    print("Best split chosen:")
    estimateCycles(graph, numRows, numCols, best, verbose=True)
    print(f"Worst cost seen: {max(costs)}")
    return best


def buildMultiplyProgram(graph: Graph, matrix: Tensor, vector: Tensor, out: Tensor) -> Sequence:
    numRows, numCols = matrix.shape()
    split = calcOptimalColAxisSplit(graph, numRows, numCols)
    partials = graph.addVariable(FLOAT, [numRows, split], "partials")
    tiles = graph.getTarget().getNumTiles()
    for i in range(numCols):  # every tile reads the vector, so spread it over all of them
        graph.setTileMapping(vector[i], i * tiles // numCols)

    mulCS = graph.addComputeSet("mulCS")
    for i in range(split):
        begin, end = i * numCols // split, (i + 1) * numCols // split
        for row in range(numRows):
            part = matrix[row].slice(begin, end)
            fields = {"a": part, "b": vector.slice(begin, end), "out": partials[row][i]}
            v = graph.addVertex(mulCS, "DotProductVertex", fields)
            tile = (i * numRows + row) * tiles // (split * numRows)
            graph.setTileMapping(v, tile)
            graph.setTileMapping(part, tile)
            graph.setTileMapping(partials[row][i], tile)
            graph.setPerfEstimate(v, 5 + (end - begin + 1) // 2)

    reduceCS = graph.addComputeSet("reduceCS")
    for row in range(numRows):
        v = graph.addVertex(reduceCS, "ReduceVertex", {"in": partials[row], "out": out[row]})
        tile = row * tiles // numRows
        graph.setTileMapping(v, tile)
        graph.setTileMapping(out[row], tile)
        graph.setPerfEstimate(v, 5 + (partials[row].numElements() + 1) // 2)
    return Sequence([Execute(mulCS), Execute(reduceCS)])


def checkResult(matrix: np.ndarray, vector: np.ndarray, output: np.ndarray) -> int:
    """Whether the outputs are right to 1e-5: parts are added in another order than the elements of a row."""
    for row, (expected, actual) in enumerate(zip(matrix.astype(np.float64) @ vector, output, strict=True)):
        error = abs(1 - expected / actual) if actual else abs(expected)
        if error > 1e-5:
            print(f"ERROR: output {row}: expected={expected:g}, actual={actual:g}, relative error={error:g}")
            return 1
    print("Multiplication result OK")
    return 0


def deviceOf(name: str) -> Device:
    if name == "ipu":
        print("Trying to attach to IPU")
        for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1):
            if device.attach():
                print(f"Attached to IPU {device.getId()}")
                return device
        raise SystemExit("Error attaching to device")
    model = IPUModel(name.removeprefix("model-"))
    model.minIPUSyncDelay = 0  # syncs without delay
    model.relativeSyncDelay = RelativeSyncDelayType.NO_DELAY
    return model.createDevice()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numRows", type=int)
    parser.add_argument("numCols", type=int)
    parser.add_argument("--device", choices=["model-ipu1", "model-ipu2", "ipu"], default="model-ipu2")
    given = parser.parse_args()
    numRows, numCols = given.numRows, given.numCols
    if min(numRows, numCols) < 1:
        parser.error("numRows and numCols must be at least 1")
    print(f"Device {given.device}")
    print(f"Multiplying matrix of size {numRows}x{numCols} by vector of size {numCols}")
    print("Constructing compute graph and control program")
    device = deviceOf(given.device)
    graph = Graph(device)
    graph.addCodelets(str(CODELETS))
    matrix = graph.addVariable(FLOAT, [numRows, numCols], "matrix")
    inputVector = graph.addVariable(FLOAT, [numCols], "inputVector")
    outputVector = graph.addVariable(FLOAT, [numRows], "outputVector")
    mulProg = buildMultiplyProgram(graph, matrix, inputVector, outputVector)

    inStreamV = graph.addHostToDeviceFIFO("inputVector", FLOAT, numCols)
    inStreamM = graph.addHostToDeviceFIFO("inputMatrix", FLOAT, numCols * numRows)
    outStream = graph.addDeviceToHostFIFO("out", FLOAT, numRows)
    copies = [Copy(inStreamV, inputVector), Copy(inStreamM, matrix), mulProg, Copy(outputVector, outStream)]
    hInput = np.arange(numCols, dtype=np.float32)
    hMatrix = np.outer(np.arange(numRows), np.arange(numCols)).astype(np.float32)
    hOutput = np.zeros(numRows, np.float32)
    with Engine(graph, Sequence(copies), {"autoReport.all": "true"}) as engine:
        engine.load(device)
        engine.connectStream("inputVector", hInput)
        engine.connectStream("inputMatrix", hMatrix)
        engine.connectStream("out", hOutput)
        print("Running graph program to multiply matrix by vector")
        engine.run()
        if checkResult(hMatrix, hInput, hOutput):
            return 1
        engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
