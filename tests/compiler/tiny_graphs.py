"""Graphs of a few vertices, compiled by several tests."""

from dataclasses import dataclass

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Target, TargetType
from simulator.poplar.program import Copy, Execute, Sequence


class Sum(Vertex):
    """out = sum of x; 10 + 2 per element thread cycles."""

    x = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        self.out = self.x.sum()

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + 2 * sizes["x"], sizes["x"]


class Scale(Vertex):
    """y = 3 x, all vertices at once."""

    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = 3 * self.x

    compute_batch = compute


def model(tiles=4, ipus=1, **options):
    """An IPU Model target without sync delays, so that cycles can be counted by hand."""
    options = {"min_sync_delay": 100, "no_relative_sync_delay": True} | options
    return Target(TargetType.IPU_MODEL, num_ipus=ipus, tiles_per_ipu=tiles, **options)


def hardware(tiles=4, **options):
    options = {"min_sync_delay": 100, "no_relative_sync_delay": True} | options
    return Target(TargetType.IPU, tiles_per_ipu=tiles, **options)


@dataclass
class Tutorial:
    graph: Graph
    program: Sequence
    v1: object
    v2: object


def tutorial3(target):
    """v1 = constant; v2[i] = sum of v1[i:]; everything of index i on tile i, the constant on tile 0."""
    graph = Graph(target)
    graph.addCodelets(Sum)
    v1, v2 = graph.addVariable(FLOAT, [4], "v1"), graph.addVariable(FLOAT, [4], "v2")
    for i in range(4):
        graph.setTileMapping(v1[i], i)
        graph.setTileMapping(v2[i], i)
    cs = graph.addComputeSet("sums")
    for i in range(4):
        vertex = graph.addVertex(cs, "Sum", {"x": v1.slice(i, 4), "out": v2[i]})
        graph.setTileMapping(vertex, i)
    constant = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5], "values")
    graph.setTileMapping(constant, 0)
    graph.createHostRead("v2", v2)
    return Tutorial(graph, Sequence(Copy(constant, v1), Execute(cs)), v1, v2)


def reporting_engine(folder, runs_kept):
    """tutorial3, loaded on a model of 4 tiles, with all reports in a folder and so many runs in them."""
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    tutorial = tutorial3(device.getTarget())
    flags = {
        "autoReport.all": "true",
        "autoReport.directory": str(folder),
        "autoReport.executionProfileProgramRunCount": str(runs_kept),
    }
    engine = Engine(tutorial.graph, tutorial.program, flags)
    engine.load(device)
    return engine
