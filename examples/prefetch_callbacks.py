"""A stream callback that fills the next transfer while the device works on the last: Graphcore's prefetch example.

    python examples/prefetch_callbacks.py

Prefetched data may serve a later transfer, through whichever callback is connected then.
"""

from __future__ import annotations

import io

import numpy as np

from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, StreamCallback, TargetType, poplar_error
from simulator.poplar.program import Copy, Execute, Repeat, Sequence

CODELET = """
#include <poplar/Vertex.hpp>
using namespace poplar;
class Increment : public Vertex {
 public:
  InOut<Vector<float>> x;
  bool compute() {
    for (auto &v : x) v += 1;
    return true;
  }
};
"""


class FillCallback(StreamCallback):
    """Fills the buffer with one value and prints when."""

    def __init__(self, value: float) -> None:
        self.value = value

    def prefetch(self, p: np.ndarray) -> StreamCallback.Result:
        print(f"prefetch (value: {self.value:g})")
        p[:] = self.value
        return StreamCallback.Result.Success

    def fetch(self, p: np.ndarray) -> None:
        print(f"fetch (value: {self.value:g})")
        p[:] = self.value

    def complete(self) -> None:
        print(f"complete (value: {self.value:g})")


def main() -> None:
    elements, repeat = 8, 5
    device = next((d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach()), None)
    if device is None:
        raise poplar_error("Could not attach to any device")
    graph = Graph(device)
    t = graph.addVariable(FLOAT, [elements], "data")
    graph.setTileMapping(t, 0)
    graph.addCodelets(io.StringIO(CODELET))
    cs = graph.addComputeSet()
    vertex = graph.addVertex(cs, "Increment", {"x": t})
    graph.setTileMapping(vertex, 0)

    inStream = graph.addHostToDeviceFIFO("in", FLOAT, elements)
    outStream = graph.addDeviceToHostFIFO("out", FLOAT, elements)
    prog = Repeat(repeat, Sequence(Copy(inStream, t), Execute(cs), Copy(t, outStream)))
    hOut = np.zeros(elements, np.float32)
    with Engine(graph, prog, {"exchange.streamBufferOverlap": "none", "exchange.enablePrefetch": "true"}) as engine:
        engine.load(device)
        engine.connectStream("out", hOut)
        previous = None
        for value in (1.0, 3.0, 3.0, 9.0, 9.0):
            if value != previous:
                print("Set input callback")
                engine.connectStreamToCallback("in", FillCallback(value))
            print("Running")
            engine.run(0)
            if not (hOut == value + 1).all():
                raise RuntimeError(f"Unexpected result. Expected: {value + 1:g};\nActual : {hOut.tolist()}")
            previous = value


if __name__ == "__main__":
    main()
