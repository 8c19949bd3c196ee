"""The operators of expressions, under the names of popops/ExprOp.hpp: those of `popops.operators`.

SHIFT_RIGHT fills with zeros, SHIFT_RIGHT_SIGN_EXTEND with the sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from simulator.poplibs.popops import operators


class OpType(Enum):
    """The base of the three enumerations."""


def _op_type(name: str, table: Mapping[str, operators.Operator]) -> Any:
    make: Any = OpType
    return make(name, [op for op, operator in table.items() if not operator.popnn_only], module=__name__)


UnaryOpType = _op_type("UnaryOpType", operators.UNARY)
BinaryOpType = _op_type("BinaryOpType", operators.BINARY)
TernaryOpType = _op_type("TernaryOpType", operators.TERNARY)
