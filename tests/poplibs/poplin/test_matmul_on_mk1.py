"""Float squares that fill most of a Mk1 tile: messages and sums share the memory on both sides of the border."""

from __future__ import annotations

import pytest

import popvision
from simulator.poplar import FLOAT, Graph, Target, compileGraph
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin


@pytest.mark.parametrize("n", [1408, 1664])
def test_squares_fit(n, tmp_path):
    graph, program = Graph(Target.createIPUTarget(1, "ipu1")), Sequence()
    a = poplin.createMatMulInputLHS(graph, FLOAT, FLOAT, [n, n], [n, n], "a")
    b = poplin.createMatMulInputRHS(graph, FLOAT, FLOAT, [n, n], [n, n], "b")
    poplin.matMul(graph, a, b, program, FLOAT, "product")
    options = {"debug.allowOutOfMemory": "true", "autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    compileGraph(graph, [program], options)
    with popvision.open(tmp_path) as report:
        tiles = report.tiles()
    assert (tiles["including_gaps_bytes"] <= tiles["capacity_bytes"]).all()
