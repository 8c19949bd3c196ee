"""Two IPUs that alternate: one works on a row while the other moves rows to and from remote memory.

    python examples/remote_buffers.py                     rows of 6,000 numbers
    python examples/remote_buffers.py --elements 60000

A program of the IPU HPC cookbook. It adds 1 to each row, in a deliberately slow loop:

    read 0 | work on 0, read 1 | write 0, work on 1 | next row: read 0, write 1 | work on 0, read 1 | ...
"""

from __future__ import annotations

import argparse
import io
import sys

import numpy as np

from simulator.poplar import INT, DeviceManager, Engine, Graph, TargetType, Tensor
from simulator.poplar.program import Copy, Execute, Repeat, Sequence
from simulator.poplibs import popops, poputil

REPEATS = 4
CODELET = """
#include <poplar/Vertex.hpp>
using namespace poplar;
class ProcessData : public Vertex {
 public:
  InOut<Vector<int>> data;
  bool compute() {
    for (unsigned round = 0; round < 10; ++round)
      for (unsigned i = 0; i < data.size(); ++i) data[i] += round < 9 ? 9 : -80;
    return true;
  }
};
"""


def process(graph: Graph, data: Tensor) -> Execute:
    """Add a vertex for each run of the data, on its tile."""
    cs = graph.addComputeSet("processData")
    for tile, held in enumerate(graph.getTileMapping(data)):
        for run in held:
            vertex = graph.addVertex(cs, "ProcessData", {"data": data.slice(run.begin, run.end)})
            graph.setTileMapping(vertex, tile)
    return Execute(cs)


def build(graph: Graph, elements: int) -> Sequence:
    one = graph.addVariable(INT, [], "1")
    graph.setTileMapping(one, 0)
    graph.setInitialValue(one, 1)
    tiles = graph.getTarget().getTilesPerIPU()
    buffers, data, rows = [], [], []
    for ipu in range(2):
        tensor = graph.addVariable(INT, [elements], f"data{ipu}")
        poputil.mapTensorLinearly(graph.createVirtualGraph(ipu * tiles, (ipu + 1) * tiles), tensor)
        row = graph.addVariable(INT, [], f"offset{ipu}")
        graph.setTileMapping(row, ipu * tiles)
        graph.setInitialValue(row, 0)
        buffers.append(graph.addRemoteBuffer(f"remoteBuffer{ipu}", INT, elements, REPEATS))
        data.append(tensor)
        rows.append(row)

    def read(ipu: int) -> Copy:
        return Copy(buffers[ipu], data[ipu], rows[ipu])

    def write(ipu: int) -> Copy:
        return Copy(data[ipu], buffers[ipu], rows[ipu])

    def next_row(ipu: int) -> Sequence:
        step = Sequence()
        popops.addInPlace(graph, rows[ipu], one, step, f"offset{ipu}++")
        return step

    work = [process(graph, data[ipu]) for ipu in range(2)]
    turn = Sequence(
        next_row(0), Sequence(read(0), write(1)), next_row(1), Sequence(work[0], read(1)), Sequence(write(0), work[1])
    )
    start = [read(0), Sequence(work[0], read(1)), Sequence(write(0), work[1])]
    return Sequence([*start, Repeat(REPEATS - 1, turn), write(1)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=6000)
    elements = parser.parse_args().elements
    if elements < 1:
        parser.error(f"--elements must be at least 1, not {elements}")
    device = next((d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 2) if d.attach()), None)
    if device is None:
        print("Could not attach to IPU device. Aborting", file=sys.stderr)
        return 1
    graph = Graph(device.getTarget())
    graph.addCodelets(io.StringIO(CODELET))
    program = build(graph, elements)
    with Engine(graph, program, {"debug.instrument": "true"}) as engine:
        engine.load(device)
        print("Copy initial data to remote buffer:")
        for row in range(REPEATS):
            engine.copyToRemoteBuffer(np.full(elements, row, np.int32), "remoteBuffer0", row)
            engine.copyToRemoteBuffer(np.full(elements, 100 + row, np.int32), "remoteBuffer1", row)
        print("Running Program")
        engine.run(0)
        print("Copy final data from remote buffer and check:")
        found = np.empty(elements, np.int32)
        for row in range(REPEATS):
            for buffer in range(2):
                engine.copyFromRemoteBuffer(f"remoteBuffer{buffer}", found, row)
                wanted = 100 * buffer + row + 1
                if not (found == wanted).all():
                    print(f"chunk {row} remoteBuffer {buffer} did not have the expected value everywhere")
                    return 1
                print(f"  remoteBuffer{buffer} row {row}: {found[0]}")
        engine.printProfileSummary(sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
