"""Variables, tile mappings, copies and streams: Graphcore's first Poplar tutorial on the simulated IPU.

python examples/tut1_variables.py          on the IPU Model
python examples/tut1_variables.py --hw     on a simulated hardware IPU
"""

from __future__ import annotations

import argparse

import numpy as np

from simulator.poplar import FLOAT, INT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Copy, PrintTensor, Sequence


def attached_ipu() -> Device:
    """The first hardware IPU that is free."""
    print("Trying to attach to IPU")
    for device in DeviceManager().getDevices(TargetType.IPU, 1):
        if device.attach():
            print(f"Attached to IPU {device.getId()}")
            return device
    raise SystemExit("Error attaching to device")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hw", action="store_true", help="use a simulated hardware IPU instead of the IPU Model")
    device = attached_ipu() if parser.parse_args().hw else IPUModel().createDevice()
    graph = Graph(device.getTarget())

    v1 = graph.addVariable(FLOAT, [4], "v1")
    v2 = graph.addVariable(FLOAT, [4], "v2")
    v3 = graph.addVariable(FLOAT, [4, 4], "v3")
    v4 = graph.addVariable(INT, [10], "v4")
    for variable in (v1, v3, v4):
        graph.setTileMapping(variable, 0)
    for i in range(4):  # one element on each of four tiles
        graph.setTileMapping(v2[i], i)

    prog = Sequence()

    # A constant fills v1, v1 fills v2: the second copy needs an exchange between tiles.
    c1 = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5])
    graph.setTileMapping(c1, 0)
    prog.add(Copy(c1, v1))
    prog.add(PrintTensor("v1-debug", v1))
    prog.add(Copy(v1, v2))
    prog.add(PrintTensor("v2-debug", v2))

    # The host can write and read v3; the program changes the right part of its second row.
    graph.createHostWrite("v3-write", v3)
    graph.createHostRead("v3-read", v3)
    prog.add(Copy(v1.slice(0, 3), v3.slice([1, 1], [2, 4])))

    # Each copy from the stream takes the next ten numbers of the host's buffer.
    stream = graph.addHostToDeviceFIFO("v4-input-stream", INT, 10)
    prog.add(Copy(stream, v4))
    prog.add(PrintTensor("v4-0", v4))
    prog.add(Copy(stream, v4))
    prog.add(PrintTensor("v4-1", v4))

    engine = Engine(graph, prog)
    engine.load(device)
    h3 = np.zeros((4, 4), np.float32)
    engine.writeTensor("v3-write", h3)
    engine.connectStream("v4-input-stream", np.arange(30, dtype=np.int32))

    print("Running program")
    engine.run(0)
    print("Program complete")

    engine.readTensor("v3-read", h3)
    print("\nh3 data:")
    for row in h3:
        print("  " + "".join(f"{value:g} " for value in row))


if __name__ == "__main__":
    main()
