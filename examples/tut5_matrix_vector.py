"""A matrix times a vector, with a C++ vertex for each row: Graphcore's fifth Poplar tutorial.

python examples/tut5_matrix_vector.py 40 50          on the CPU target, which maps everything to its only tile
python examples/tut5_matrix_vector.py 40 50 --ipu    on a simulated IPU, one row per tile
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, TargetType, Tensor
from simulator.poplar.program import Copy, Execute, Program, Sequence

CODELETS = Path(__file__).with_name("matrix_mul_codelets.cpp")


def checkResult(matrix: np.ndarray, vector: np.ndarray, output: np.ndarray) -> int:
    """Whether each output equals, to the last bit, the float sum of products added from the first column on."""
    for row, actual in enumerate(output):
        total = np.float32(0)
        for a, b in zip(matrix[row], vector, strict=True):
            total += a * b
        if actual != total:
            print(f"ERROR: output {row}: expected={total:g}, actual={actual:g}")
            return 1
    print("Multiplication result OK")
    return 0


def buildMultiplyProgram(graph: Graph, matrix: Tensor, vector: Tensor, out: Tensor, on_ipu: bool) -> Program:
    """One vertex for each row. On an IPU each row, its vertex and its output have their own tile."""
    numRows = matrix.dim(0)
    tiles = graph.getTarget().getNumTiles()
    if on_ipu and numRows > tiles:
        raise SystemExit(f"{numRows} rows need {numRows} tiles, but the target has {tiles}; see tutorial 6.")
    mulCS = graph.addComputeSet("mulCS")
    if on_ipu:
        graph.setTileMapping(vector, 0)
    for i in range(numRows):
        v = graph.addVertex(mulCS, "DotProductVertex", {"a": matrix[i], "b": vector, "out": out[i]})
        if on_ipu:
            graph.setTileMapping(matrix[i], i)
            graph.setTileMapping(out[i], i)
            graph.setTileMapping(v, i)
            graph.setPerfEstimate(v, 20)
    return Execute(mulCS)


def attachedIpu() -> Device:
    print("Trying to attach to IPU")
    for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1):
        if device.attach():
            print(f"Attached to IPU {device.getId()}")
            return device
    raise SystemExit("Error attaching to device")


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "--ipu"]
    on_ipu = "--ipu" in sys.argv
    if len(arguments) != 2 or not all(a.isdecimal() and int(a) > 0 for a in arguments):
        print(f"usage: {sys.argv[0]} numRows numCols [--ipu]", file=sys.stderr)
        return 1
    numRows, numCols = (int(a) for a in arguments)
    print(f"Multiplying matrix of size {numRows}x{numCols} by vector of size {numCols}")
    device = attachedIpu() if on_ipu else Device.createCPUDevice()
    print("Creating environment (compiling vertex programs)")
    print("Constructing compute graph and control program")
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))

    matrix = graph.addVariable(FLOAT, [numRows, numCols], "matrix")
    inputVector = graph.addVariable(FLOAT, [numCols], "inputVector")
    outputVector = graph.addVariable(FLOAT, [numRows], "outputVector")
    mulProg = buildMultiplyProgram(graph, matrix, inputVector, outputVector, on_ipu)

    inStreamV = graph.addHostToDeviceFIFO("inputVector", FLOAT, numCols)
    inStreamM = graph.addHostToDeviceFIFO("inputMatrix", FLOAT, numCols * numRows)
    outStream = graph.addDeviceToHostFIFO("out", FLOAT, numRows)
    prog = Sequence([Copy(inStreamV, inputVector), Copy(inStreamM, matrix), mulProg, Copy(outputVector, outStream)])

    hInput = np.arange(numCols, dtype=np.float32)
    hMatrix = np.outer(np.arange(numRows), np.arange(numCols)).astype(np.float32)
    hOutput = np.zeros(numRows, np.float32)
    with Engine(graph, prog) as engine:
        engine.load(device)
        engine.connectStream("inputVector", hInput)
        engine.connectStream("inputMatrix", hMatrix)
        engine.connectStream("out", hOutput)
        print("Running graph program to multiply matrix by vector")
        engine.run()
    return checkResult(hMatrix, hInput, hOutput)


if __name__ == "__main__":
    sys.exit(main())
