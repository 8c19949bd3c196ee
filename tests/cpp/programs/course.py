"""A host that runs the codelets of tests/codelets/course on a simulated IPU and on an IPU Model; as course.cpp does."""

import sys
from typing import Any

import numpy as np

from simulator.poplar import FLOAT, INT, UNSIGNED_INT, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Execute

N = 24
CODELETS = {
    "stencil": "Stencil<float>",
    "ray_tracer": "RayTracer<float>",
    "sort": "Sort<float,true>",
    "graph_network": "GraphLayer<float,Relu>",
    "random_walk": "RandomWalk<float,64>",
    "timed": "Timed<float>",
}


def show(name: str, values: Any) -> None:
    print(f"{name}: {' '.join(f'{value:g}' for value in values.tolist())}")


def run(device: Any, file: str, vertex: str, title: str) -> None:
    graph = Graph(device.getTarget())
    graph.addCodelets(f"{file}.cpp")
    fields = {"in": graph.addVariable(FLOAT, [N], "in"), "out": graph.addVariable(FLOAT, [N], "out")}
    fields |= {"links": graph.addVariable(INT, [3 * N], "links")}
    fields |= {"cycles": graph.addVariable(UNSIGNED_INT, [6], "cycles")}
    for tensor in fields.values():
        graph.setTileMapping(tensor, 1)
    for name, tensor in {"in": fields["in"], "links": fields["links"], "cycles in": fields["cycles"]}.items():
        graph.createHostWrite(name, tensor)
    graph.createHostRead("out", fields["out"])
    graph.createHostRead("cycles", fields["cycles"])
    course = graph.addComputeSet("course")
    graph.setTileMapping(graph.addVertex(course, vertex, fields), 1)

    results, counted = np.zeros(N, np.float32), np.zeros(6, np.uint32)
    with Engine(graph, Execute(course)) as engine:
        engine.load(device)
        engine.writeTensor("in", (np.arange(N) * 5 % N).astype(np.float32))
        engine.writeTensor("links", (np.arange(3 * N) * 7 % N).astype(np.int32))
        engine.writeTensor("cycles in", counted)
        engine.run(0)
        engine.readTensor("out", results)
        engine.readTensor("cycles", counted)
        show(file + title, results)
        show(f"{file}{title} cycles", counted)
        engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})


ipu = DeviceManager().getDevices(TargetType.IPU, 1)[0]
ipu.attach()
model = IPUModel()
model.tilesPerIPU = 4
modelled = model.createDevice()
for codelet, type_name in CODELETS.items():
    run(ipu, codelet, type_name, "")
    run(modelled, codelet, type_name, " on a model")
