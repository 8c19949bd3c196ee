"""Two matrix products in a row, profiled: the program of Graphcore's profiling tutorial.

python examples/matmul_chain.py            on the IPU Model (estimates)
python examples/matmul_chain.py --hw       on simulated hardware
python examples/matmul_chain.py --plan     print how the planner splits both products
POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}' python examples/matmul_chain.py && popvision view .
"""

import argparse
import sys

import numpy as np

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, poputil

SHAPES = {"m1": [800, 500], "m2": [500, 400], "m3": [400, 200]}


def build(graph: Graph, shapes: dict[str, list[int]] = SHAPES) -> Sequence:
    """m4 = m1 x m2, m5 = m4 x m3. The inputs are mapped linearly; the library maps the products."""
    matrices = [graph.addVariable(FLOAT, shape, name) for name, shape in shapes.items()]
    for name, matrix in zip(shapes, matrices, strict=True):
        poputil.mapTensorLinearly(graph, matrix)
        graph.createHostWrite(name, matrix)
    program = Sequence()
    m4 = poplin.matMul(graph, matrices[0], matrices[1], program, "m4")
    m5 = poplin.matMul(graph, m4, matrices[2], program, "m5")
    graph.createHostRead("m5", m5)
    return program


def attach(hardware: bool) -> Device:
    """The IPU Model, or the first simulated IPU that is free."""
    if not hardware:
        return IPUModel().createDevice()
    for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1):
        if device.attach():
            return device
    raise SystemExit("All simulated IPUs are in use by other processes.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hw", action="store_true", help="run on simulated hardware")
    parser.add_argument("--plan", action="store_true", help="print the plans of both products")
    arguments = parser.parse_args()

    device = attach(arguments.hw)
    graph = Graph(device)
    program = build(graph)
    if arguments.plan:
        for left, right in (("m1", "m2"), ("m4", "m3")):
            a = SHAPES.get(left, [SHAPES["m1"][0], SHAPES["m2"][1]])
            poplin.matMulReportPlan(sys.stdout, graph, FLOAT, FLOAT, a, SHAPES[right])

    rng = np.random.default_rng(1)
    values = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    options = {"debug.instrument": "true"} if arguments.hw else {}
    with Engine(graph, program, options) as engine:
        engine.load(device)
        for name, matrix in values.items():
            engine.writeTensor(name, matrix)
        engine.run(0)
        result = np.empty((SHAPES["m1"][0], SHAPES["m3"][1]), np.float32)
        engine.readTensor("m5", result)
        expected = values["m1"] @ values["m2"] @ values["m3"]
        print("Program complete")
        print(f"Largest difference from NumPy: {np.abs(result - expected).max():.2e}")
        engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})


if __name__ == "__main__":
    main()
