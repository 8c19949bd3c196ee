"""Look up the plan of a product from the types and shapes that a program gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.base.errors import graph_connection_error, invalid_option, poplar_error, type_error
from simulator.base.target import Target
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.poplibs.poplin.planning.cache import PlanningCache, planned
from simulator.poplibs.poplin.planning.options import parse_options
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.planning.product_planner import plan_matmul
from simulator.poplibs.type_names import short_name

Options = dict[str, Any] | None


def look_up_product_plan(
    target: Target,
    types: tuple[Type, Type],
    aShape: Sequence[int],
    bShape: Sequence[int],
    options: Options,
    cache: PlanningCache | None = None,
) -> Plan:
    """The plan of [m, k] x [k, n], or [g, m, k] x [g, k, n]; `types` = (of the operands, of the product).

    Raises `graph_connection_error`, `type_error`, `invalid_option`."""
    groups, m, k, n = sizes_of(aShape, bShape)
    if types[0] not in (FLOAT, HALF) or types[1] not in (FLOAT, HALF):
        raise type_error(f"matMul: {types[0]} operands and a {types[1]} product; FLOAT and HALF are possible.")
    dtype: Any = short_name(types[0])
    out_dtype: Any = short_name(types[1])
    parsed = parse_options(options)
    partials = parsed.partials if dtype == "half" else "float"
    what = (dtype, m, k, n, parsed.machine(target), groups, out_dtype, partials, parsed.constraints)
    try:
        return planned(cache, ("matMul", *what), lambda: plan_matmul(*what))
    except ValueError as error:
        if "constraints" in str(error):
            raise invalid_option(f"{error}.") from None
        raise poplar_error(str(error)) from None


def sizes_of(aShape: Sequence[int], bShape: Sequence[int]) -> tuple[int, int, int, int]:
    """(groups, m, k, n) of two shapes. Raises `graph_connection_error`."""
    rank = len(aShape)
    fits = rank == len(bShape) and rank in (2, 3) and aShape[-1] == bShape[-2] and aShape[:-2] == bShape[:-2]
    if not fits:
        raise graph_connection_error(
            f"matMul: {list(aShape)} and {list(bShape)} cannot be multiplied; give [M, K] and [K, N], or [G, M, K] and "
            "[G, K, N]."
        )
    return (aShape[0] if rank == 3 else 1), aShape[-2], aShape[-1], bShape[-1]


def plan_of(
    graph: Graph,
    inputType: Type,
    aShape: list[int],
    bShape: list[int],
    options: Options = None,
    outputType: Type | None = None,
) -> Plan:
    """The plan that `matMul` (two dimensions) or `matMulGrouped` (three) would use."""
    return look_up_product_plan(graph.getTarget(), (inputType, outputType or inputType), aShape, bShape, options)
