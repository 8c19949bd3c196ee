"""Rates of whole programs (published-numbers 4 and 7.4): AMP on all tiles of Bow, and stages of a reduction."""

from __future__ import annotations

from benchmarks.validation.one_tile import busiest, product
from benchmarks.validation.row import EXACT, Group, Row, percent
from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.machine.targets import BOW
from simulator.poplar import FLOAT, Graph, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil

ROWS = 2048


def groups() -> list[Group]:
    """The rate of AMP from the compiled product of one tile, and compute sets of reductions of many lengths."""
    cycles = busiest(product(ROWS), "Convolve", hardware=True)
    rate = 2 * ROWS * 16 * 16 * BOW.tiles * BOW.clock_hz / cycles / 1e12
    amp = Row("AMP 16 x 16 half, 2,048 rows on each of 1,472 tiles of Bow", 334.94, rate, "TFLOP/s", "4", percent(1))
    stages = [
        Row(f"stages of a sum over {n} tiles", published, _stages(n), "", "7.4", EXACT)
        for n, published in ((15, 1), (16, 2), (124, 2), (125, 3))
    ]
    about = "Every tile has the same vertex, so the rate follows from its cycles on hardware and the clock."
    return [Group("Throughput and stages", about, [amp, *stages])]


def _stages(tiles: int) -> int:
    """Compute sets of a sum of one float from each of this many tiles."""
    target = Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles)
    graph, program = Graph(target), Sequence()
    data = graph.addVariable(FLOAT, [tiles, 1], "partials")
    poputil.mapTensorLinearly(graph, data, 1, 1)
    popops.reduce(graph, data, [0], popops.ReduceParams(popops.Operation.ADD), program, "sum")
    compilation = compile_graph(graph.store, target, [program]).compilation
    return len({part.compute_set for part in compilation.compute_set_vertices})
