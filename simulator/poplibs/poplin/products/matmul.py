"""poplin.matMul and its forms, under PopLibs' names: grouped, into a given tensor, accumulated.

Options are those of `simulator.poplibs.poplin.planning.options.MatMulOptions`."""

from __future__ import annotations

import sys
from typing import Any, TextIO, overload

from simulator.base.errors import graph_connection_error, invalid_option, type_error
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, Parameter, match, operation
from simulator.poplibs.memory_order import blocked_view
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.planning.options import parse_options, shows_plans
from simulator.poplibs.poplin.products import build
from simulator.poplibs.poplin.products.kernel import attributes_of
from simulator.poplibs.poplin.products.plan_lookup import look_up_product_plan
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly

Options = dict[str, Any] | None
Cache = PlanningCache | None

_LAST = (
    Parameter("debugContext", default=""),
    Parameter("options", dict, None),
    Parameter("cache", PlanningCache, None),
)
#: the parameters after `prog`; the type of the product may come first
AFTER_PROGRAM = ((Parameter("outputType", Type, None), *_LAST), _LAST)


@overload
def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    outputType: Type | None,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor: ...
@overload
def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor: ...
@overload
def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    *,
    outputType: Type | None,
    options: Options = None,
    cache: Cache = None,
) -> Tensor: ...
def matMul(graph: Graph, A: Tensor, B: Tensor, prog: Sequence, *arguments: Any, **named: Any) -> Tensor:
    """Append the product of two matrices to `prog`; returns it in the layout that the plan leaves.

    `outputType` defaults to the operands' type. With an inner dimension of 0 the product is zeros. Raises `type_error`,
    `graph_connection_error` for operands that do not fit, `invalid_option`."""
    given = match("matMul", AFTER_PROGRAM, arguments, named)
    _check_operands("matMul", A, B, 2)
    return _product(graph, "matMul", A, B, prog, given).squeeze([0])


def matMulGrouped(graph: Graph, A: Tensor, B: Tensor, prog: Sequence, *arguments: Any, **named: Any) -> Tensor:
    """Append the products [g, m, k] x [g, k, n] of g pairs of matrices; otherwise as `matMul`: (..., outputType,
    debugContext="", options={}, cache=None)."""
    given = match("matMulGrouped", AFTER_PROGRAM, arguments, named)
    _check_operands("matMulGrouped", A, B, 3)
    return _product(graph, "matMulGrouped", A, B, prog, given)


def matMulWithOutput(
    graph: Graph,
    A_: Tensor,
    B_: Tensor,
    out: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options_: Options = None,
    cache: Cache = None,
) -> None:
    """out = A_ x B_ (out may be one of them), in the type of `out`. `createMatMulOutput` gives a tensor mapped like the
    product."""
    _check_operands("matMulWithOutput", A_, B_, 2)
    _into(graph, "matMulWithOutput", (A_, B_, out), prog, debugContext, options_, cache)


def matMulGroupedWithOutput(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options_: Options = None,
    cache: Cache = None,
) -> None:
    """`matMulWithOutput` for [g, m, k] and [g, k, n]."""
    _check_operands("matMulGroupedWithOutput", A, B, 3)
    _into(graph, "matMulGroupedWithOutput", (A, B, out), prog, debugContext, options_, cache)


def matMulAcc(
    graph: Graph,
    C: Tensor,
    k: float | Tensor,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> None:
    """C += k * A * B, for a number or a tensor of one element of A's type."""
    _check_operands("matMulAcc", A, B, 2)
    _accumulate(graph, "matMulAcc", (C, k, A, B), prog, debugContext, options, cache)


def matMulGroupedAcc(
    graph: Graph,
    C: Tensor,
    k: float | Tensor,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> None:
    """`matMulAcc` for [g, m, n], [g, m, k] and [g, k, n]."""
    _check_operands("matMulGroupedAcc", A, B, 3)
    _accumulate(graph, "matMulGroupedAcc", (C, k, A, B), prog, debugContext, options, cache)


def matMulReportPlan(
    out: TextIO,
    graph: Graph,
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    options: Options = None,
    cache: Cache = None,
) -> None:
    """Write the plan of a product and the terms of its cost, one per line."""
    print(
        look_up_product_plan(graph.getTarget(), (inputType, outputType), aShape, bShape, options, cache).describe(),
        file=out,
    )


def matMulGroupedReportPlan(
    out: TextIO,
    graph: Graph,
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    options: Options = None,
    cache: Cache = None,
) -> None:
    """`matMulReportPlan` for [g, m, k] and [g, k, n]."""
    matMulReportPlan(out, graph, inputType, outputType, aShape, bShape, options, cache)


def _into(
    graph: Graph,
    api: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    prog: Sequence,
    context: Context,
    options: Options,
    cache: Cache,
) -> None:
    a, b, out = tensors
    wanted = [*a.shape()[:-1], b.dim(b.rank() - 1)]
    if out.shape() != wanted:
        raise graph_connection_error(f"{api}: out has shape {out.shape()}, the product has {wanted}.")
    call = operation(graph, context, "poplin", api, A=a, B=b, out=out)
    given = {"outputType": out.elementType(), "debugContext": call, "options": options, "cache": cache}
    product = _product(graph, api, a, b, prog, given)
    prog.add(Copy(product.reshape(wanted), out, False, call))


def _accumulate(
    graph: Graph,
    api: str,
    operands: tuple[Tensor, float | Tensor, Tensor, Tensor],
    prog: Sequence,
    context: Context,
    options: Options,
    cache: Cache,
) -> None:
    total, k, a, b = operands
    wanted = [*a.shape()[:-1], b.dim(b.rank() - 1)]
    if total.shape() != wanted:
        raise graph_connection_error(f"{api}: C has shape {total.shape()}, the product has {wanted}.")
    if isinstance(k, Tensor) and (k.numElements() != 1 or k.elementType() is not a.elementType()):
        raise type_error(
            f"{api}: k is {k.elementType()}{k.shape()}; give a number or one element of {a.elementType()}."
        )
    call = operation(graph, context, "poplin", api, C=total, k=k, A=a, B=b)
    given = {"outputType": total.elementType(), "debugContext": call, "options": options, "cache": cache}
    product = _product(graph, "matMul", a, b, prog, given)
    popops.scaledAddTo(graph, total, product.reshape(wanted), k, prog, call)


def _product(graph: Graph, api: str, A: Tensor, B: Tensor, prog: Sequence, given: dict[str, Any]) -> Tensor:
    """The [g, m, n] product of matrices or of stacks of them."""
    a, b = (t if t.rank() == 3 else t.expand([0]) for t in (A, B))
    out_type = given.get("outputType") or a.elementType()
    if out_type not in (FLOAT, HALF):
        raise type_error(f"{api}: the product cannot be {out_type}; FLOAT and HALF are possible.")
    parsed = parse_options(given["options"])
    if 0 in (*a.shape(), *b.shape()):
        return _product_of_nothing(graph, api, a, b, prog, out_type, given["debugContext"])
    plan = look_up_product_plan(
        graph.getTarget(), (a.elementType(), out_type), a.shape(), b.shape(), given["options"], given["cache"]
    )
    call = operation(graph, given["debugContext"], "poplin", api, A=A, B=B, outputType=out_type, tiles=plan.tiles)
    name = graph.addDebugInfo((call, "Conv_1"), LAYER, plan=plan.describe())
    if shows_plans():
        m, k, n = a.dim(1), a.dim(2), b.dim(2)
        print(f"{api} [{m}, {k}] x [{k}, {n}]: {plan.describe()}", file=sys.stderr)
    if parsed.rhs_arranged and build.needs_transposing(b):
        raise invalid_option(
            f"{api}: inputRHSIsPreArranged is true, but B is not in the layout of the plan; make B with "
            "preArrangeMatMulInputRHS and the same options."
        )
    programs, stored = build.build(graph, a, b, plan, out_type, name, parsed)
    views = [blocked_view(t.squeeze([0])) if t.dim(0) == 1 else t for t in (a, b)]
    attributes = attributes_of(plan, a.shape(), b.shape())
    prog.add(LibraryGroup(programs, "poplin.matMul", views, [stored], attributes))
    return build.as_product(stored, plan)


def _product_of_nothing(
    graph: Graph, api: str, a: Tensor, b: Tensor, prog: Sequence, type_: Type, context: Context
) -> Tensor:
    """[g, m, n] zeros: sums without terms, or no elements at all. There is no plan."""
    call = operation(graph, context, "poplin", api, A=a, B=b, outputType=type_)
    out = graph.addVariable(type_, [a.dim(0), a.dim(1), b.dim(2)], (call, "zeroTensor"))
    mapTensorLinearly(graph, out)
    popops.zero(graph, out, prog, call)
    return out


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
