"""The same program as twin.cpp: reports of both are equal."""

import sys

import numpy as np

from simulator.poplar import FLOAT, Engine, Graph, IPUModel, VariableMappingMethod
from simulator.poplar.program import Copy, Execute, PrintTensor, Repeat, Sequence
from simulator.poplibs import poplin, popops

model = IPUModel()
model.tilesPerIPU = 8
device = model.createDevice()
graph = Graph(device.getTarget())
popops.addCodelets(graph)
poplin.addCodelets(graph)
graph.addCodelets("twin.cpp")

matrix = graph.addVariable(FLOAT, [16, 16], VariableMappingMethod.LINEAR, "matrix")
sums = graph.addVariable(FLOAT, [16], VariableMappingMethod.LINEAR, "sums")
inward = graph.addHostToDeviceFIFO("in", FLOAT, 256)
out = graph.addDeviceToHostFIFO("out", FLOAT, 16)
prog = Sequence(debugContext="main")
prog.add(Copy(inward, matrix, False, "read"))
product = poplin.matMul(graph, matrix, matrix.transpose(), prog, "product")
popops.addInPlace(graph, product, matrix, prog, "sum")
rows = graph.addComputeSet("rows")
for i in range(16):
    row = graph.addVertex(rows, "SumVertex", {"in": product[i], "out": sums[i]})
    graph.setTileMapping(row, i // 2)
prog.add(Execute(rows, debugContext="execute"))
prog.add(PrintTensor("sums", sums.slice(0, 2), "print"))
prog.add(Copy(sums, out, False, "write"))

engine = Engine(graph, Sequence(Repeat(2, prog, "repeat"), debugContext="program"))
values, results = (np.arange(256) % 7).astype(np.float32), np.zeros(16, np.float32)
engine.connectStream("in", values)
engine.connectStream("out", results)
engine.setPrintTensorStream(sys.stdout)
engine.load(device)
engine.run(0, "run")
print(*(f"{result:g}" for result in results), "")
engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true", "showVarStorage": "true"})
engine.close()
