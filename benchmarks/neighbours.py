"""Ten sizes next to the published one: cycles may jump only where the plan or a rounded-up share changes."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

#: changes of one dimension of m1 [800, 500], m2 [500, 400], m3 [400, 200]: (rows, inner, middle, columns)
BASE = (800, 500, 400, 200)
SIZES = (
    (801, 500, 400, 200),
    (799, 500, 400, 200),
    (800, 501, 400, 200),
    (800, 499, 400, 200),
    (800, 500, 401, 200),
    (800, 500, 399, 200),
    (800, 500, 400, 201),
    (800, 500, 400, 199),
    (816, 500, 400, 200),
    (800, 504, 400, 200),
)
LIMIT = 0.05


class Point(NamedTuple):
    total: float
    plan: tuple[int, ...]  #: swapped and the three splits of each product
    shares: tuple[int, ...]  #: positions per worker and groups per tile of each product
    blocks: tuple[int, ...]  #: for each operand the positions of a transposed block


def measure(size: tuple[int, int, int, int]) -> Point:
    """Cycles, plan and rounded-up shares of one chain."""
    from benchmarks.validation.compiled_chain import figures
    from simulator.poplar import FLOAT, Graph, IPUModel
    from simulator.poplibs.poplin import plan_of
    from simulator.poplibs.poplin.partials.rearrange import block_width

    rows, inner, middle, columns = size
    total = float(figures(False, ((rows, inner), (inner, middle), (middle, columns)))[0])
    graph = Graph(IPUModel().createDevice())
    products = (([rows, inner], [inner, middle]), ([rows, middle], [middle, columns]))
    plans = [plan_of(graph, FLOAT, left, right) for left, right in products]
    plan = tuple(int(v) for p in plans for v in (p.swapped, p.field_split, p.in_split, p.out_split))
    shares: list[int] = []
    for p in plans:
        positions = ceil(p.field / p.field_split)
        shares += [ceil(positions / 6), ceil(p.in_groups / p.in_split), ceil(p.out_groups / p.out_split)]
    return Point(total, plan, tuple(shares), tuple(block_width(p.field) for p in plans))


def neighbour_table() -> tuple[list[str], bool]:
    """(lines of Markdown, whether every jump above the limit has its reason)."""
    base = measure(BASE)
    lines = [
        "### Neighbouring sizes",
        "",
        f"[{BASE[0]}, {BASE[1]}] x [{BASE[1]}, {BASE[2]}] x [{BASE[2]}, {BASE[3]}] takes {base.total:,.0f} cycles. "
        f"Each row changes one dimension; a change of more than {100 * LIMIT:.0f} % needs a reason.",
        "",
        "| size | cycles | change | reason |",
        "|---|---|---|---|",
    ]
    steady = True
    for size in SIZES:
        point = measure(size)
        change = point.total / base.total - 1
        reason = _reason(base, point)
        if abs(change) > LIMIT and not reason:
            steady = False
            reason = "**none found**"
        lines.append(f"| {' x '.join(map(str, size))} | {point.total:,.0f} | {100 * change:+.1f} % | {reason} |")
    return [*lines, ""], steady


def _reason(base: Point, point: Point) -> str:
    reasons = []
    if point.plan != base.plan:
        before, after = (" / ".join(_splits(p.plan[i : i + 4]) for i in (0, 4)) for p in (base, point))
        reasons.append(f"plan {before} becomes {after}")
    elif point.shares != base.shares:
        reasons.append(f"rounded-up shares {base.shares} become {point.shares}")
    if point.blocks != base.blocks:
        reasons.append(f"transposed blocks of {base.blocks} positions become {point.blocks}")
    return "; ".join(reasons)


def _splits(plan: tuple[int, ...]) -> str:
    swapped, *splits = plan
    return "x".join(str(int(s)) for s in np.asarray(splits)) + (" swapped" if swapped else "")
