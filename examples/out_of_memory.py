"""A product too large for one IPU: the error that simulated hardware raises, and the report that it leaves.

    python examples/out_of_memory.py       exit code 1; open the report with `popvision view oom_report`
    python examples/out_of_memory.py 300 200 100       [300, 200] x [200, 100]: this fits, exit code 0

On hardware such a program cannot be loaded. A graph profile lets it compile: the profile is saved, then `load` raises
graph_memory_allocation_error; the memory pages of the report show which tiles are full, and of what.
"""

import sys

from simulator.engine.devices.device_manager import DeviceManager
from simulator.poplar import FLOAT, Engine, Graph, TargetType, graph_memory_allocation_error
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, poputil


def main(rows: int = 9000, inner: int = 7500, columns: int = 300) -> int:
    device = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device)
    m1 = graph.addVariable(FLOAT, [rows, inner], "m1")
    m2 = graph.addVariable(FLOAT, [inner, columns], "m2")
    for matrix in (m1, m2):
        poputil.mapTensorLinearly(graph, matrix)
    program = Sequence()
    poplin.matMul(graph, m1, m2, program, "m3")
    options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": "oom_report"}
    if not device.attach():
        print("The simulated IPU is in use by another process.", file=sys.stderr)
        return 2
    try:
        with Engine(graph, program, options) as engine:
            engine.load(device)
    except graph_memory_allocation_error as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        device.detach()
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
