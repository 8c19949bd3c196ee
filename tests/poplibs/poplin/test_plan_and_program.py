"""A plan costs what its program takes: the planner's total beside the simulated cycles of the compiled product."""

from __future__ import annotations

import pytest

from benchmarks.sweep.measure import measure
from benchmarks.sweep.products import product
from simulator.poplar import FLOAT, HALF, Graph, IPUModel, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin


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
    """In passes over output channels the exchange of inputs stands before the loop: more passes add none."""
    tight = measure(product(HALF, 1024, 1024, 1024, 0.02))
    assert tight.planned is not None
    assert "16 passes over output channels" in tight.planned.choice
    assert tight.cycles == pytest.approx(tight.planned.cycles, rel=0.05)
    # Received by a tile in all: its inputs once, then in each pass weights, partial sums and two slice numbers.
    graph = Graph(IPUModel().createDevice())
    shape, options = [1024, 1024], {"availableMemoryProportion": "0.02"}
    left = poplin.createMatMulInputLHS(graph, HALF, HALF, shape, shape, "a", options)
    right = poplin.createMatMulInputRHS(graph, HALF, HALF, shape, shape, "b", options)
    program = Sequence()
    poplin.matMul(graph, left, right, program, HALF, "mm", options)
    copies = [step for step in program.programs if "broadcastActs" in str(getattr(step, "debug", ""))]
    assert len(copies) <= 1
