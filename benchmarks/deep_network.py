"""Build and compile a deep network: `python -m benchmarks.deep_network`.

200 layers on 1,472 tiles of the Mk2 IPU Model: 1,600 compute sets of vertices and 2.4 million vertices. A layer is a
half-precision matrix product of the library (planned once for all layers), a bias, a nonlinearity, a residual addition,
a scaled addition and a decay, with one or more vertices on every tile. The graph is compiled with the graph profile.
Times are processor time; copies between tiles have further compute sets. Writes docs/measured/benchmarks.md.
"""

from __future__ import annotations

import resource
import sys
import time

from benchmarks.document import write_section
from simulator.poplar import HALF, Graph, IPUModel, compileGraph
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popops, poputil

LAYERS, BATCH, WIDTH = 200, 368, 512
SECONDS, GIB = 60.0, 6.0


def build(graph: Graph, layers: int = LAYERS) -> Sequence:
    """x = tanh(x w + b) + x, then updates of the weights, layer by layer."""
    program = Sequence()
    x = graph.addVariable(HALF, [BATCH, WIDTH], "x")
    poputil.mapTensorLinearly(graph, x)
    for layer in range(layers):
        weights = graph.addVariable(HALF, [WIDTH, WIDTH], f"weights{layer}")
        bias = graph.addVariable(HALF, [WIDTH], f"bias{layer}")
        for tensor in (weights, bias):
            poputil.mapTensorLinearly(graph, tensor)
        name = f"layer{layer}"
        product = poplin.matMul(graph, x, weights, program, f"{name}/product")
        popops.addInPlace(graph, product, bias, program, f"{name}/bias")
        active = popops.tanh(graph, product, program, f"{name}/tanh")
        x = popops.add(graph, active, x, program, f"{name}/residual")
        popops.scaledAddTo(graph, weights, weights, 0.01, program, f"{name}/update")
        popops.mulInPlace(graph, weights, 0.99, program, f"{name}/decay")
    return program


def main() -> int:
    """Measure, print, write the section. Returns exit code 1 beyond the limit."""
    graph = Graph(IPUModel().createDevice())
    began = time.process_time()
    program = build(graph)
    built = time.process_time()
    executable = compileGraph(graph, [program], {"debug.retainDebugInformation": "true"})
    compiled = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    vertices = sum(len(block) for block in graph.store.blocks)
    sets = len({block.compute_set for block in graph.store.blocks})
    del executable
    met = compiled - built <= SECONDS and peak <= GIB
    text = "\n".join(
        [
            "## A network of 200 layers",
            "",
            (__doc__ or "").split("\n\n", 1)[1].strip(),
            "",
            f"Limit: {SECONDS:.0f} s to compile and {GIB:.0f} GiB.",
            "",
            "| layers | compute sets | vertices | build (s) | compile (s) | peak (GiB) | within the limit |",
            "| ---: | ---: | ---: | ---: | ---: | ---: | --- |",
            f"| {LAYERS} | {sets:,} | {vertices:,} | {built - began:.1f} | {compiled - built:.1f} "
            f"| {peak:.2f} | {'yes' if met else 'no'} |",
        ]
    )
    print(text)
    write_section("deep network", text)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
