"""When is the device attached? Adds three vectors in the four ways that TensorFlow's and PopTorch's connections have.

    python examples/connection_type.py                                       attach, compile, run
    python examples/connection_type.py --connection_type ON_DEMAND           compile, attach (wait for it), run
    python examples/connection_type.py --connection_type NEVER               compile; there is nothing to run on
    python examples/connection_type.py --connection_type PRE_COMPILE         compile, write sums.poplar
    python examples/connection_type.py --connection_type ON_DEMAND --load    read sums.poplar, attach, run

examples/pytorch/connection_type.py and examples/tensorflow/connection_type are the same program.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from simulator.poplar import (
    FLOAT,
    Device,
    DeviceManager,
    Engine,
    Executable,
    Graph,
    Target,
    TargetType,
    compileGraph,
)
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops

FILE = Path("sums.poplar")
VALUES = {"a": [1, 1], "b": [0, 1], "c": [1, 5]}


def compiled(target: Target) -> Executable:
    """(a + b) + (a + c) for a target, which needs no device."""
    graph, program = Graph(target), Sequence()
    popops.addCodelets(graph)
    given = {}
    for name in VALUES:
        given[name] = graph.addVariable(FLOAT, [2], name)
        graph.setTileMapping(given[name], 0)
        program.add(Copy(graph.addHostToDeviceFIFO(name, FLOAT, 2), given[name]))
    left = popops.add(graph, given["a"], given["b"], program, "left")
    right = popops.add(graph, given["a"], given["c"], program, "right")
    total = popops.add(graph, left, right, program, "total")
    program.add(Copy(total, graph.addDeviceToHostFIFO("total", FLOAT, 2)))
    executable = compileGraph(graph, program)
    print("Compiled")
    return executable


def devices() -> list[Device]:
    """The devices of one IPU, free or not."""
    return DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)


def attached_device(waits: bool) -> Device:
    """A device that this process has now. Ends the program where none is free and it does not wait."""
    while True:
        for one in devices():
            if one.attach():
                print(f"Attached to device {one.getId()}")
                return one
        if not waits:
            raise SystemExit("No device of one IPU is free; end the program that has it.")
        time.sleep(1)


def run(executable: Executable, on: Device) -> None:
    total = np.zeros(2, np.float32)
    with Engine(executable) as engine:
        engine.load(on)
        for name, values in VALUES.items():
            engine.connectStream(name, np.array(values, np.float32))
        engine.connectStream("total", total)
        engine.run(0)
    print(total)


def main() -> None:
    parser = argparse.ArgumentParser()
    types = ["ALWAYS", "ON_DEMAND", "NEVER", "PRE_COMPILE"]
    parser.add_argument("--connection_type", choices=types, default="ALWAYS")
    parser.add_argument("--load", action="store_true", help=f"read {FILE} in place of compiling")
    given = parser.parse_args()
    kind = given.connection_type
    device = attached_device(waits=False) if kind == "ALWAYS" else None
    has_devices = kind in ("ALWAYS", "ON_DEMAND")
    target = devices()[0].getTarget() if has_devices else Target.createIPUTarget(1, "ipu2")
    if given.load:
        with FILE.open("rb") as file:
            executable = Executable.deserialize(file)
    else:
        executable = compiled(target)
    if kind == "PRE_COMPILE":
        with FILE.open("wb") as file:
            executable.serialize(file)
        print(f"Saved to {FILE}")
    elif kind != "NEVER":
        run(executable, device or attached_device(waits=True))


if __name__ == "__main__":
    main()
