"""Rows of matrix products: squares with neighbours, and batches."""

from __future__ import annotations

from benchmarks.sweep.measure import Build, Planned
from benchmarks.sweep.row import Point, Row
from simulator.poplar import FLOAT, HALF, Graph, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin.planning.objective import OUTSIDE_TERMS

#: powers of two and multiples of the tiles of Mk2, with their neighbours, and the two ends of the row
SIDES = sorted(
    {7, 6144}
    | {side + step for side in (*(1 << bit for bit in range(3, 13)), 1472, 2944, 4416, 5888) for step in (-1, 0, 1)}
)
QUICK_SIDES = (15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 513)
BATCHES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64)


def product(dtype: Type, m: int, k: int, n: int, proportion: float = 0.6) -> Build:
    """[m, k] x [k, n] of operands created for it. The planned cycles leave out what the next reader of the product
    spends to regroup it, which is no step of this program."""

    def build(graph: Graph, program: Sequence) -> Planned:
        options = {"availableMemoryProportion": str(proportion)}
        left = poplin.createMatMulInputLHS(graph, dtype, dtype, [m, k], [k, n], "left", options)
        right = poplin.createMatMulInputRHS(graph, dtype, dtype, [m, k], [k, n], "right", options)
        poplin.matMul(graph, left, right, program, dtype, "product", options)
        plan = poplin.plan_of(graph, dtype, [m, k], [k, n], options)
        first = plan.describe().splitlines()
        choice = [first[0], first[1].split(",")[0], *(line for line in first if "passes over" in line)]
        return Planned(plan.total - sum(plan.term(name) for name in OUTSIDE_TERMS), ", ".join(choice))

    return build


def rows(quick: bool) -> list[Row]:
    """Squares of both types, and batches against two sizes of square weights."""
    found = []
    for dtype, grain in ((HALF, 16), (FLOAT, 8)):
        name = str(dtype).lower()
        points = [
            Point(
                f"{n}", n, n**3, product(dtype, n, n, n), f"{_count(-n % grain, 'channel')} missing in the last group"
            )
            for n in (QUICK_SIDES if quick else SIDES)
        ]
        found.append(Row(f"{name} squares", "side", points))
        for side in (1024,) if quick else (1024, 4096):
            points = [Point(f"{b}", b, b, product(dtype, b, side, side), _count(b, "position")) for b in BATCHES]
            found.append(Row(f"{name} batch x {side:,} squared", "batch", points))
    return found


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
