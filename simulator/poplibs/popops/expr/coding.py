"""Typed expressions as nested tuples, which programs store and kernels evaluate.

    ("in", i, type)  ("const", value, type)  ("cast", code, type)  ("op", name, arguments, type)

Coding resolves types: a constant takes the type of the operand that it meets. Arithmetic on halves is done in float32
and rounded at each Cast and once at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.types import BOOL, FLOAT, HALF, Type, numpy_type, type_named
from simulator.codelets.run import rounded
from simulator.poplibs.popops import operators
from simulator.poplibs.popops.expr.nodes import Cast, Const, Expr, Operator, PlaceHolder
from simulator.poplibs.popops.expr.op_types import TernaryOpType
from simulator.poplibs.poputil.exceptions import poplibs_error

Code = tuple[Any, ...]


def coded(expr: Expr, types: Sequence[Type]) -> Code:
    """The code of an expression on tensors of the given types. Raises `poplibs_error` for place holders without a
    tensor and for operators whose arguments differ in type."""
    code = _coded(expr, types)
    return _with_type(code, FLOAT if code[-1] is None and _has_float(code) else _default(code))


def type_of(code: Code) -> Type:
    return type_named(code[-1])


def _coded(expr: Expr, types: Sequence[Type]) -> Code:
    """The code; its type is None while it contains only constants."""
    if isinstance(expr, PlaceHolder):
        if expr.index > len(types):
            raise poplibs_error(f"{expr} stands for tensor {expr.index}, but {len(types)} are given.")
        return ("in", expr.index - 1, types[expr.index - 1].name)
    if isinstance(expr, Const):
        return ("const", expr.value, None, expr.getType().name)
    if isinstance(expr, Cast):
        inner = _coded(expr.a, types)
        return ("cast", _with_type(inner, _default(inner)), expr.type.name)
    assert isinstance(expr, Operator)
    return _operator(expr, [_coded(a, types) for a in expr.arguments])


def _operator(expr: Operator, arguments: list[Code]) -> Code:
    name = expr.op.name
    selector = arguments[2:] if expr.op is TernaryOpType.SELECT else []
    alike = arguments[:2] if selector else arguments
    found = sorted({known for known in map(_type_of, alike) if known is not None})
    if len(found) > 1:
        raise poplibs_error(f"{name}: its arguments hold {' and '.join(found)}; put one into Cast(..., type).")
    if found:
        alike = [_with_type(a, type_named(found[0])) for a in alike]
    elif name in operators.BOOLEAN_RESULT:
        alike = [_with_type(a, _default(alike[0])) for a in alike]
    if selector:
        flag = _with_type(selector[0], BOOL)
        if flag[-1] != BOOL.name:
            raise poplibs_error(f"SELECT: its third argument holds {flag[-1]}; it must be bool, such as a comparison.")
        alike = [*alike, flag]
    result = BOOL.name if name in operators.BOOLEAN_RESULT else (found[0] if found else None)
    return ("op", name, tuple(alike), result)


def _type_of(code: Code) -> str | None:
    """The type of an expression; None while it contains only constants."""
    return None if code[0] == "const" and code[2] is None else code[-1]


def _with_type(code: Code, type_: Type) -> Code:
    """The expression with a type given to its untyped constants."""
    if _type_of(code) is not None:
        return code
    if code[0] == "const":
        value, own = code[1], code[3]
        if type_.dtype is not None and type_.dtype.kind in "iub" and value != type_.dtype.type(value):
            raise poplibs_error(f"Const({value!r}) is not a value of type {type_}; cast the other argument to {own}.")
        return ("const", value, type_.name)
    return ("op", code[1], tuple(_with_type(a, type_) for a in code[2]), type_.name)


def _default(code: Code) -> Type:
    """The type of an expression of constants: a constant's own, else that of the first argument."""
    if code[0] == "const":
        return type_named(code[3]) if len(code) == 4 else type_named(code[2])
    return _default(code[2][0]) if code[-1] is None else type_named(code[-1])


def _has_float(code: Code) -> bool:
    if code[0] == "const":
        return len(code) == 4 and code[3] in (FLOAT.name, HALF.name)
    return code[0] == "op" and any(_has_float(a) for a in code[2])


def operators_in(code: Code) -> list[str]:
    """Names of the operators, without casts."""
    if code[0] == "op":
        return [code[1], *[name for a in code[2] for name in operators_in(a)]]
    return operators_in(code[1]) if code[0] == "cast" else []


def casts_in(code: Code) -> int:
    if code[0] == "op":
        return sum(casts_in(a) for a in code[2])
    return 1 + casts_in(code[1]) if code[0] == "cast" else 0


def evaluate(code: Code, inputs: Sequence[AnyArray]) -> AnyArray:
    """The values of an expression; those of halves in float32, not yet rounded."""
    kind = code[0]
    if kind == "in":
        return operators.wide(np.asarray(inputs[code[1]]))
    dtype = numpy_type(type_named(code[-1]))
    if kind == "const":
        return operators.wide(rounded(np.asarray(code[1]), dtype))
    if kind == "cast":
        return operators.wide(rounded(evaluate(code[1], inputs), dtype))
    found = operators.apply(code[1], [evaluate(a, inputs) for a in code[2]])
    return found if dtype.kind == "f" else found.astype(dtype, copy=False)
