"""A plan costs what its program takes: the planner's total beside the simulated cycles of the compiled product."""

from __future__ import annotations

import pytest

from benchmarks.sweep.measure import measure
from benchmarks.sweep.products import product
from simulator.base.options.compile import CompileSettings
from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, HALF, Graph, IPUModel, Type
from simulator.poplar.program import Sequence


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("size", [(15, 15, 15), (64, 64, 64), (129, 129, 129), (257, 257, 257), (512, 512, 512)])
def test_plan_and_program_agree(dtype: Type, size: tuple[int, int, int]) -> None:
    found = measure(product(dtype, *size))
    assert found.planned is not None
    assert found.cycles == pytest.approx(found.planned.cycles, rel=0.05)


@pytest.mark.parametrize("size", [(1, 1024, 1024), (64, 1024, 1024), (64, 4096, 512), (3, 1000, 10), (800, 500, 400)])
def test_plan_and_program_of_oblong_products_agree(size: tuple[int, int, int]) -> None:
    found = measure(product(FLOAT, *size))
    assert found.planned is not None
    assert found.cycles == pytest.approx(found.planned.cycles, rel=0.05)


def test_inputs_are_broadcast_once_for_all_passes() -> None:
    """In passes over output channels one exchange before the loop brings the inputs; the loop has those of weights,
    partial sums, and the number of the slice that is cut and written."""
    tight = measure(product(HALF, 1024, 1024, 1024, 0.02))
    assert tight.planned is not None
    assert "16 passes over output channels" in tight.planned.choice
    assert tight.cycles == pytest.approx(tight.planned.cycles, rel=0.05)
    target = IPUModel().createDevice().getTarget()
    graph, program = Graph(target), Sequence()
    product(HALF, 1024, 1024, 1024, 0.02)(graph, program)
    table = compile_graph(graph.store, target, [program], CompileSettings()).lowered.table
    exchanges = [row for row in range(len(table)) if table.type[row] == "DoExchange"]
    loop = table.type.index("RepeatDecr") if "RepeatDecr" in table.type else table.type.index("Repeat")
    brought = [row for row in exchanges if "actsBroadcast" in table.name[row]]
    assert len(brought) == 1
    assert brought[0] < loop
    assert [row for row in exchanges if row > loop] == exchanges[-4:]
