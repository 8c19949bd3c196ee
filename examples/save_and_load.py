"""Compile once, save the executable, load it in another run: Graphcore's advanced Poplar example.

    python examples/save_and_load.py --model                                   build, compile and run
    python examples/save_and_load.py --model --exe-name saved --save-exe       the same, and write saved.poplar
    python examples/save_and_load.py --model --exe-name saved --load-exe       read saved.poplar and run it

One executable has four programs: write x and y; z = x + y by a C++ codelet; the sum of z and a constant by a library;
read z and the sum. A loaded executable finds its streams and tensors by name.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np

from simulator.poplar import (
    FLOAT,
    Device,
    DeviceManager,
    Engine,
    Executable,
    Graph,
    IPUModel,
    TargetType,
    compileGraph,
    concat,
    poplar_error,
)
from simulator.poplar.program import Copy, Execute, Program, Sequence
from simulator.poplibs import popops

CODELET = """
#include <poplar/Vertex.hpp>
using namespace poplar;
class VectorAdd : public Vertex {
 public:
  Input<Vector<float>> x;
  Input<Vector<float>> y;
  Output<Vector<float>> z;
  bool compute() {
    for (unsigned i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];
    return true;
  }
};
"""
WRITE_INPUTS, CUSTOM_PROG, REDUCTION_PROG, READ_RESULTS = range(4)
SIZE, CONSTANT = 4, 1.1


def buildGraphAndPrograms(graph: Graph) -> list[Program]:
    """x, y and z on tile 0, and the programs in the order of their numbers."""
    graph.addCodelets(io.StringIO(CODELET))
    x, y, z = (graph.addVariable(FLOAT, [SIZE], name) for name in "xyz")
    k = graph.addConstant(FLOAT, [SIZE], CONSTANT, "const")
    for tensor in (x, y, z, k):
        graph.setTileMapping(tensor, 0)
    cs = graph.addComputeSet("VectorAdd")
    vertex = graph.addVertex(cs, "VectorAdd", {"x": x, "y": y, "z": z})
    graph.setTileMapping(vertex, 0)
    reduction = Sequence()
    total = popops.reduce(graph, concat(z, k), [0], popops.Operation.ADD, reduction, "reduction")

    writeX, writeY = (graph.addHostToDeviceFIFO(f"write_{name}", FLOAT, SIZE) for name in "xy")
    readZ = graph.addDeviceToHostFIFO("read_z", FLOAT, SIZE)
    readTotal = graph.addDeviceToHostFIFO("read_result", FLOAT, 1)
    write = Sequence(Copy(writeX, x), Copy(writeY, y))
    return [write, Execute(cs), reduction, Sequence(Copy(z, readZ), Copy(total, readTotal))]


def executable(device: Device, given: argparse.Namespace) -> Executable:
    """The executable: compiled, and saved if requested, or loaded without a graph."""
    path = Path(f"{given.exe_name}.poplar")
    if given.load_exe:
        try:
            with path.open("rb") as file:
                return Executable.deserialize(file)
        except (OSError, poplar_error):
            print(f"Error: Failed to load executable '{path}'", file=sys.stderr)
            raise
    graph = Graph(device)
    compiled = compileGraph(graph, buildGraphAndPrograms(graph))
    if given.save_exe:
        with path.open("wb") as file:
            compiled.serialize(file)
    return compiled


def execute(engine: Engine, device: Device, given: argparse.Namespace) -> int:
    engine.load(device)
    x, y = np.arange(1, SIZE + 1, dtype=np.float32), np.arange(SIZE, 0, -1, dtype=np.float32)
    z, total = np.zeros(SIZE, np.float32), np.zeros(1, np.float32)
    for handle, buffer in (("write_x", x), ("write_y", y), ("read_z", z), ("read_result", total)):
        engine.connectStream(handle, buffer)
    for program in (WRITE_INPUTS, CUSTOM_PROG, REDUCTION_PROG, READ_RESULTS):
        engine.run(program)
    if given.profile:
        with Path(given.profile_name).open("w", encoding="utf-8") as report:
            engine.printProfileSummary(report, {"showExecutionSteps": "true"})
    if not (z == x + y).all() or abs(total[0] - (x.sum() + y.sum() + SIZE * CONSTANT)) > 1e-4:
        print(f"Results do not match: {z} {total}", file=sys.stderr)
        return 1
    print("Results match.", file=sys.stderr)
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="store_true", help="use the IPU Model instead of simulated hardware")
    parser.add_argument("--ipus", type=int, default=1)
    parser.add_argument("--exe-name", default="", help="the file's name without .poplar")
    parser.add_argument("--save-exe", action="store_true")
    parser.add_argument("--load-exe", action="store_true")
    parser.add_argument("--profile", action="store_true", help="write a profile summary")
    parser.add_argument("--profile-name", default="profile.txt")
    given = parser.parse_args()
    if (given.save_exe or given.load_exe) and not given.exe_name:
        parser.error("To save/load an executable you must set 'exe-name'")
    if given.load_exe and given.profile:
        parser.error("It is not possible to run profiling on a loaded executable.")
    return given


def main() -> int:
    given = options()
    if given.model:
        model = IPUModel()
        model.numIPUs = given.ipus
        device = model.createDevice()
        print("Using IPU model", file=sys.stderr)
    else:
        found = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, given.ipus)
        device = next(candidate for candidate in found if candidate.attach())
        print(f"Using HW device ID: {device.getId()}", file=sys.stderr)
    with Engine(executable(device, given)) as engine:
        return execute(engine, device, given)


if __name__ == "__main__":
    sys.exit(main())
