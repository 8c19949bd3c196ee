"""Classes of single operators (`Add`, `Tanh`, ...), made from `popops.operators`; place holders _1 to _20."""

from __future__ import annotations

from typing import Any

from simulator.poplibs.popops import operators
from simulator.poplibs.popops.expr.nodes import Operator, PlaceHolder, operator_class
from simulator.poplibs.popops.expr.op_types import BinaryOpType, OpType, TernaryOpType, UnaryOpType


def _class_of(name: str, op: OpType) -> type[Operator]:
    base: Any = operator_class(op)

    def init(self: Operator, *arguments: Any) -> None:
        base.__init__(self, op, *arguments)

    return type(name, (base,), {"__init__": init, "__doc__": f"{op.name} of expressions.", "__module__": __name__})


#: class name -> class, of each operator that has one
CLASSES: dict[str, Any] = {
    operator.expression: _class_of(operator.expression, op_type[name])
    for op_type, table in (
        (UnaryOpType, operators.UNARY),
        (BinaryOpType, operators.BINARY),
        (TernaryOpType, operators.TERNARY),
    )
    for name, operator in table.items()
    if operator.expression
}

(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10) = [PlaceHolder(i) for i in range(1, 11)]
(_11, _12, _13, _14, _15, _16, _17, _18, _19, _20) = [PlaceHolder(i) for i in range(11, 21)]
