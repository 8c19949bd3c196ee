"""A profile summary of two matrix products in a row: Graphcore's fourth Poplar tutorial on the simulated IPU.

    python examples/tut4_profiling.py          on the IPU Model
    python examples/tut4_profiling.py --hw     on a simulated hardware IPU

matmul_chain.py is the same program with the shapes of published reports, and checks its values.
As in the tutorial nothing writes the matrices, so debug.verify refuses this one.
"""

from __future__ import annotations

import argparse
import sys

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popops, poputil


def attached_ipu() -> Device:
    """The first hardware IPU that is free."""
    print("Trying to attach to IPU")
    for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1):
        if device.attach():
            print(f"Attached to IPU {device.getId()}")
            return device
    raise SystemExit("Error attaching to device")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hw", action="store_true", help="use a simulated hardware IPU instead of the IPU Model")
    hardware = parser.parse_args().hw
    device = attached_ipu() if hardware else IPUModel().createDevice()
    graph = Graph(device.getTarget())
    popops.addCodelets(graph)
    poplin.addCodelets(graph)

    m1 = graph.addVariable(FLOAT, [900, 600], "m1")
    m2 = graph.addVariable(FLOAT, [600, 300], "m2")
    m3 = graph.addVariable(FLOAT, [300, 200], "m3")
    for matrix in (m1, m2, m3):
        poputil.mapTensorLinearly(graph, matrix)

    prog = Sequence()
    m4 = poplin.matMul(graph, m1, m2, prog, "m4")
    poplin.matMul(graph, m4, m3, prog, "m5")

    # The options make the summary show variables and steps, and hardware count its cycles.
    options = {"debug.retainDebugInformation": "true"} | ({"debug.instrument": "true"} if hardware else {})
    engine = Engine(graph, prog, options)
    engine.load(device)
    print("Running program")
    engine.run(0)
    print("Program complete")
    engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})


if __name__ == "__main__":
    main()
