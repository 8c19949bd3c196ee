"""A profile summary of two matrix products in a row: Graphcore's fourth Poplar tutorial on the simulated IPU.

python examples/tut4_profiling.py          on the IPU Model
python examples/tut4_profiling.py --hw     on a simulated hardware IPU

The same program with values that are checked, and shapes of published reports: matmul_chain.py.
"""

from __future__ import annotations

import argparse
import sys

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popops, poputil


def attached_ipu() -> Device:
    """The first hardware IPU that nobody else uses."""
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

    # Names of variables and of steps are kept for the summary; hardware counts its cycles when it is asked to.
    options = {"debug.retainDebugInformation": "true"} | ({"debug.instrument": "true"} if hardware else {})
    engine = Engine(graph, prog, options)
    engine.load(device)
    print("Running program")
    engine.run(0)
    print("Program complete")
    engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})


if __name__ == "__main__":
    main()
