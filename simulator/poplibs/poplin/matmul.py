"""poplin.matMul and matMulGrouped: products planned as convolutions with a kernel of one position, under PopLibs'
names."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error, invalid_option, poplar_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import LibraryGroup, Sequence
from simulator.poplar.target import Target
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF, Type
from simulator.poplibs.blocked_view import blocked_view
from simulator.poplibs.debug import LAYER, operation
from simulator.poplibs.poplin import build
from simulator.poplibs.poplin.matmul_kernel import attributes_of
from simulator.poplibs.poplin.options import MatMulOptions, parse_options, shows_plans
from simulator.poplibs.poplin.plan import Plan
from simulator.poplibs.poplin.planner import plan_matmul
from simulator.poplibs.type_names import short_name

Options = dict[str, Any] | None


def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    outputType: Type | Context | None = None,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """Append the product of two matrices to `prog`; returns it, laid out as the plan leaves it.

    `outputType` defaults to the operands' type; a name given in its place is taken as the debug context.
    Options: see `simulator.poplibs.poplin.options.MatMulOptions`. Raises `type_error`, `graph_connection_error` for
    operands that do not fit, `invalid_option`."""
    _check_operands("matMul", A, B, 2)
    return _product(graph, "matMul", A, B, prog, (outputType, debugContext), options).squeeze([0])


def matMulGrouped(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    outputType: Type | Context | None = None,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """Append the products [g, m, k] x [g, k, n] of g pairs of matrices; otherwise as `matMul`."""
    _check_operands("matMulGrouped", A, B, 3)
    return _product(graph, "matMulGrouped", A, B, prog, (outputType, debugContext), options)


def matMulReportPlan(
    out: TextIO, graph: Graph, inputType: Type, outputType: Type, aShape: list[int], bShape: list[int],
    options: Options = None,
) -> None:  # fmt: skip
    """Write the plan of a product and the terms of its cost, one per line."""
    print(plan_of(graph, inputType, aShape, bShape, options, outputType).describe(), file=out)


def matMulGroupedReportPlan(
    out: TextIO, graph: Graph, inputType: Type, outputType: Type, aShape: list[int], bShape: list[int],
    options: Options = None,
) -> None:  # fmt: skip
    """`matMulReportPlan` for [g, m, k] and [g, k, n]."""
    matMulReportPlan(out, graph, inputType, outputType, aShape, bShape, options)


def plan_of(
    graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], options: Options = None,
    outputType: Type | None = None,
) -> Plan:  # fmt: skip
    """The plan that `matMul` (two dimensions) or `matMulGrouped` (three) would use."""
    groups = aShape[0] if len(aShape) == 3 else 1
    sizes = (groups, aShape[-2], aShape[-1], bShape[-1])
    return _plan(graph.getTarget(), inputType, outputType or inputType, sizes, parse_options(options))


def createMatMulInputLHS(
    graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], name: Context = "", options: Options = None
) -> Tensor:
    """A left operand that lies as the plan of this product wants it, so that nothing need be rearranged."""
    return _input(graph, inputType, [1, *aShape], [1, *bShape], name, options, left=True).squeeze([0])


def createMatMulInputRHS(
    graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], name: Context = "", options: Options = None
) -> Tensor:
    """A right operand that lies as the plan of this product wants it."""
    return _input(graph, inputType, [1, *aShape], [1, *bShape], name, options, left=False).squeeze([0])


def createMatMulGroupedInputLHS(
    graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], name: Context = "", options: Options = None
) -> Tensor:
    """`createMatMulInputLHS` for [g, m, k] and [g, k, n]."""
    return _input(graph, inputType, aShape, bShape, name, options, left=True)


def createMatMulGroupedInputRHS(
    graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], name: Context = "", options: Options = None
) -> Tensor:
    """`createMatMulInputRHS` for [g, m, k] and [g, k, n]."""
    return _input(graph, inputType, aShape, bShape, name, options, left=False)


def _input(
    graph: Graph, type_: Type, a: list[int], b: list[int], name: Context, options: Options, left: bool
) -> Tensor:
    parsed = parse_options(options)
    plan = _plan(graph.getTarget(), type_, type_, (a[0], a[1], a[2], b[2]), parsed)
    api = "createMatMulInputLHS" if left else "createMatMulInputRHS"
    call = operation(graph, name, "poplin", api, aShape=a, bShape=b)
    return build.create_operand(graph, plan, type_, left, call)


def _product(
    graph: Graph, api: str, A: Tensor, B: Tensor, prog: Sequence, named: tuple[Any, Context], options: Options
) -> Tensor:
    """The [g, m, n] product of matrices or of stacks of them."""
    a, b = (t if t.rank() == 3 else t.expand([0]) for t in (A, B))
    given, context = named
    if given is not None and not isinstance(given, Type):
        context, given = given, None
    out_type = given or a.elementType()
    if out_type not in (FLOAT, HALF):
        raise type_error(f"{api}: the product cannot be {out_type}; FLOAT and HALF are possible.")
    parsed = parse_options(options)
    sizes = (a.dim(0), a.dim(1), a.dim(2), b.dim(2))
    plan = _plan(graph.getTarget(), a.elementType(), out_type, sizes, parsed)
    call = operation(graph, context, "poplin", api, A=A, B=B, outputType=out_type, tiles=plan.tiles)
    name = graph.addDebugInfo((call, "Conv_1"), LAYER, plan=plan.describe())
    if shows_plans():
        print(f"{api} [{sizes[1]}, {sizes[2]}] x [{sizes[2]}, {sizes[3]}]: {plan.describe()}", file=sys.stderr)
    programs, stored = build.build(graph, a, b, plan, out_type, name, parsed)
    views = [blocked_view(t.squeeze([0])) if t.dim(0) == 1 else t for t in (a, b)]
    attributes = attributes_of(plan, a.shape(), b.shape())
    prog.add(LibraryGroup(programs, "poplin.matMul", views, [stored], attributes))
    return build.as_product(stored, plan)


def _check_operands(api: str, a: Tensor, b: Tensor, rank: int) -> None:
    fits = a.rank() == b.rank() == rank and a.dim(rank - 1) == b.dim(rank - 2)
    if not fits or (rank == 3 and a.dim(0) != b.dim(0)):
        wanted = "[M, K] and [K, N]" if rank == 2 else "[G, M, K] and [G, K, N]"
        raise graph_connection_error(
            f"{api}: {a.shape()} and {b.shape()} cannot be multiplied; give {wanted} matrices."
        )
    if a.elementType() is not b.elementType() or a.elementType() not in (FLOAT, HALF):
        raise type_error(
            f"{api}: operands hold {a.elementType()} and {b.elementType()}; both must be FLOAT or both HALF."
        )


def _plan(
    target: Target, type_: Type, out_type: Type, sizes: tuple[int, int, int, int], options: MatMulOptions
) -> Plan:
    groups, m, k, n = sizes
    dtype: Any = short_name(type_)
    out_dtype: Any = short_name(out_type)
    partials = options.partials if dtype == "half" else "float"
    try:
        return plan_matmul(dtype, m, k, n, options.machine(target), groups, out_dtype, partials, options.constraints)
    except ValueError as error:
        if "constraints" in str(error):
            raise invalid_option(f"{error}.") from None
        raise poplar_error(str(error)) from None
