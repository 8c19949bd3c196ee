"""A small program that option tests run twice."""

import numpy as np

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, HALF, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Execute, Sequence


class Half(Vertex):
    """y = 2 x in half."""

    x = Input(Vector(HALF))
    y = Output(Vector(HALF))

    def compute(self):
        self.y[:] = 2 * self.x

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + sizes["x"]


class Root(Vertex):
    """y = square root of x."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = np.sqrt(self.x)

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + sizes["x"]


def model(tiles=4):
    device = IPUModel()
    device.tilesPerIPU = tiles
    return device.createDevice()


def one_vertex(device, codelet, type_, values):
    """(graph, program) that applies a codelet of fields x and y to values on tile 1; y is read as "y"."""
    graph = Graph(device)
    graph.addCodelets(codelet)
    x, y = graph.addVariable(type_, [len(values)], "x"), graph.addVariable(type_, [len(values)], "y")
    graph.setTileMapping(x, 0)
    graph.setTileMapping(y, 1)
    graph.setInitialValue(x, values)
    cs = graph.addComputeSet("apply")
    graph.setTileMapping(graph.addVertex(cs, codelet.__name__, {"x": x, "y": y}), 1)
    graph.createHostRead("y", y)
    return graph, Execute(cs)


def result(device, codelet, type_, values, options=None):
    """What that program leaves in y."""
    engine = Engine(*one_vertex(device, codelet, type_, values), options)
    engine.load(device)
    engine.run()
    out = np.zeros(len(values), type_.dtype)
    engine.readTensor("y", out)
    return out


def streaming(device, elements=4, repeat=1):
    """(graph, program): a stream "in" to a variable and from there to a stream "out", `repeat` times."""
    from simulator.poplar.program import Repeat

    graph = Graph(device)
    t = graph.addVariable(FLOAT, [elements], "t")
    graph.setTileMapping(t, 0)
    into = graph.addHostToDeviceFIFO("in", FLOAT, elements)
    out = graph.addDeviceToHostFIFO("out", FLOAT, elements)
    return graph, Repeat(repeat, Sequence(Copy(into, t), Copy(t, out)))
