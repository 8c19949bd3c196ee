"""Operands and results of products in the layout of their plan, under PopLibs' names.

The functions take (graph, inputType, [outputType,] aShape, bShape, debugContext="", options={}, cache=None). A single
type (PopLibs calls it dataType) is that of operands and product. Shapes are those of A and B, [m, k] and [k, n], or
with groups [g, m, k] and [g, k, n]."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import graph_connection_error
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Copy, Program, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import Parameter, match, operation
from simulator.poplibs.poplin.convolutions.turned_weights import turned_on_tiles
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.products import build
from simulator.poplibs.poplin.products.matmul import AFTER_PROGRAM
from simulator.poplibs.poplin.products.plan_lookup import look_up_product_plan, sizes_of
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly

_SHAPES = (
    Parameter("aShape", (list, tuple)),
    Parameter("bShape", (list, tuple)),
    Parameter("debugContext", default=""),
    Parameter("options", dict, None),
    Parameter("cache", PlanningCache, None),
)
_FORMS = (
    (Parameter("inputType", Type), Parameter("outputType", Type), *_SHAPES),
    (Parameter("dataType", Type), *_SHAPES),
    (Parameter("inputType", Type), *_SHAPES),
)


def createMatMulInputLHS(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """An [m, k] left operand in the layout that the plan of this product reads, so that it needs no rearrangement."""
    return _operand(graph, "createMatMulInputLHS", 2, arguments, named)


def createMatMulInputRHS(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """A [k, n] right operand in the layout that the plan of this product reads."""
    return _operand(graph, "createMatMulInputRHS", 2, arguments, named)


def createMatMulOutput(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """An [m, n] tensor of `outputType` mapped like the product (for `matMulWithOutput`)."""
    return _operand(graph, "createMatMulOutput", 2, arguments, named)


def createMatMulGroupedInputLHS(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """`createMatMulInputLHS` for [g, m, k] and [g, k, n]."""
    return _operand(graph, "createMatMulGroupedInputLHS", 3, arguments, named)


def createMatMulGroupedInputRHS(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """`createMatMulInputRHS` for [g, m, k] and [g, k, n]."""
    return _operand(graph, "createMatMulGroupedInputRHS", 3, arguments, named)


def createMatMulGroupedOutput(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """`createMatMulOutput` for [g, m, k] and [g, k, n]."""
    return _operand(graph, "createMatMulGroupedOutput", 3, arguments, named)


def preArrangeMatMulInputRHS(
    graph: Graph, aShape: list[int], B: Tensor, prog: Sequence, *arguments: Any, **named: Any
) -> Tensor:
    """Append the rearrangement that products of this shape would apply to B; returns the rearranged B for products with
    the option `inputRHSIsPreArranged`: (..., [outputType,] debugContext="", options={}, cache=None)."""
    return _arranged(graph, "preArrangeMatMulInputRHS", 2, (aShape, B, prog), arguments, named)


def preArrangeMatMulGroupedInputRHS(
    graph: Graph, aShape: list[int], B: Tensor, prog: Sequence, *arguments: Any, **named: Any
) -> Tensor:
    """`preArrangeMatMulInputRHS` for [g, m, k] and [g, k, n]."""
    return _arranged(graph, "preArrangeMatMulGroupedInputRHS", 3, (aShape, B, prog), arguments, named)


def transposeGroupedMatrix(A: Tensor) -> Tensor:
    """[g, n, m] view of a [g, m, n] tensor."""
    if A.rank() != 3:
        raise graph_connection_error(f"transposeGroupedMatrix: shape {A.shape()} is not [groups, rows, columns].")
    return A.dimShuffle([0, 2, 1])


def _operand(graph: Graph, api: str, rank: int, arguments: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    given = match(api, _FORMS, arguments, named)
    type_ = given.get("inputType") or given["dataType"]
    out_type = given.get("outputType") or type_
    a, b = _grouped(api, rank, given["aShape"], given["bShape"])
    call = operation(graph, given["debugContext"], "poplin", api, aShape=given["aShape"], bShape=given["bShape"])
    if 0 in (*a, *b):
        shape = [*a[:2], b[2]] if api.endswith("Output") else a if api.endswith("LHS") else b
        made = graph.addVariable(out_type if api.endswith("Output") else type_, shape, call)
        mapTensorLinearly(graph, made)
        return made.squeeze([0]) if rank == 2 else made
    plan = look_up_product_plan(graph.getTarget(), (type_, out_type), a, b, given["options"], given["cache"])
    if api.endswith("Output"):
        made = build.create_product(graph, plan, out_type, call)
    else:
        made = build.create_operand(graph, plan, type_, api.endswith("LHS"), call)
    return made.squeeze([0]) if rank == 2 else made


def _arranged(
    graph: Graph,
    api: str,
    rank: int,
    what: tuple[list[int], Tensor, Sequence],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Tensor:
    aShape, given_b, prog = what
    given = match(api, AFTER_PROGRAM, arguments, named)
    a, b = _grouped(api, rank, aShape, given_b.shape())
    type_ = given_b.elementType()
    out_type = given.get("outputType") or type_
    plan = look_up_product_plan(graph.getTarget(), (type_, out_type), a, b, given["options"], given["cache"])
    call = operation(graph, given["debugContext"], "poplin", api, aShape=aShape, B=given_b)
    made = build.create_operand(graph, plan, type_, False, call)
    prog.add(_copied(graph, given_b.reshape(b), made, call))
    return made.squeeze([0]) if rank == 2 else made


def _copied(graph: Graph, source: Tensor, target: Tensor, call: DebugInfo) -> Program:
    """A program that copies [g, k, n]; tiles transpose blocks of it first where that saves runs to exchange."""
    turned = turned_on_tiles(graph, source.expand([3]), target.expand([3]), call)
    return turned or Copy(source, target, False, call)


def _grouped(api: str, rank: int, aShape: list[int], bShape: list[int]) -> tuple[list[int], list[int]]:
    """Both shapes with a dimension of groups. Raises `graph_connection_error` for another number of dimensions."""
    if len(aShape) != rank or len(bShape) != rank:
        raise graph_connection_error(f"{api}: {list(aShape)} and {list(bShape)} must both have {rank} dimensions.")
    groups, m, k, n = sizes_of(aShape, bShape)
    return [groups, m, k], [groups, k, n]
