"""One operator on tensors and numbers: the code behind popops.add, popops.exp, popops.select, ..."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.base.errors import type_error
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops import elementwise, operators
from simulator.poplibs.popops.elementwise import Operand
from simulator.poplibs.popops.expr.mapping import Options, chosen_options, map_expression
from simulator.poplibs.popops.expr.nodes import on_place_holders
from simulator.poplibs.popops.expr.op_types import BinaryOpType, TernaryOpType, UnaryOpType
from simulator.poplibs.popops.ternary import ternary


def apply_operator(
    graph: Graph,
    op: str,
    operands: Sequence[Operand],
    prog: ProgramSequence,
    context: Context,
    options: Options,
    in_place: bool,
) -> Tensor:
    """Append the operator to `prog`; returns the result, the first operand when in place. A number becomes a constant
    of the type of the other operand. Options: those of `popops.map`."""
    chosen = chosen_options(options)
    first = operands[0]
    if in_place and not isinstance(first, Tensor):
        raise type_error(f"{op} in place: the first operand is {first!r}; it must be a tensor.")
    tensors = [t for t in operands if isinstance(t, Tensor)]
    generated = chosen["forceGenerateCodelet"] and chosen["enableGenerateCodelet"]
    spelled = op in operators.ONLY_WITH_SCALAR and isinstance(operands[1], Tensor) and operands[1].numElements() > 1
    if len(tensors) == len(operands) and (generated or spelled):
        expression = on_place_holders((UnaryOpType, BinaryOpType, TernaryOpType)[len(operands) - 1][op])
        return map_expression(graph, expression, tensors, prog, context, options, in_place)
    if len(operands) == 1:
        return elementwise.unary(graph, op, tensors[0], prog, context, in_place)
    if len(operands) == 2:
        vectors = chosen["enableVectorBroadcastOptimisations"]
        return elementwise.binary(graph, op, operands[0], operands[1], prog, context, in_place, vectors)
    if len(tensors) < 3:
        raise type_error(f"{op}: all three operands must be tensors; make constants with addConstant.")
    return ternary(graph, op, (tensors[0], tensors[1], tensors[2]), prog, context, in_place)
