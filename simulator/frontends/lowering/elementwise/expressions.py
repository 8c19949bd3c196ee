"""Element-wise expressions in the type that torch computes them in: one call of popops.map for each operator.

popops.map generates one vertex where operands have one shape, and chains PopLibs' vertices where they are broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import COMPUTED, common_type, is_floating
from simulator.poplar import BOOL, FLOAT, INT, Tensor, Type
from simulator.poplibs import popops
from simulator.poplibs.popops import expr

Operand = Tensor | float
#: expressions of the operands -> an expression
Make = Callable[..., Any]


def mapped(
    at: Building,
    make: Make,
    *operands: Operand,
    name: str,
    type: Type | None = None,
    result: Type | None = None,
    flags: tuple[Tensor, ...] = (),
) -> Tensor:
    """`make` on the elements of the operands, tensors or numbers, in `type` (their common type); shapes are broadcast.
    `flags` are further operands, which stay bool. The result has that type, or `result`.

    Raises `poplar_error` for whole numbers beyond 32 bits."""
    wanted = common_type(operands) if type is None else type
    inner = wanted if wanted in COMPUTED else INT
    tensors: list[Tensor] = []
    terms: list[Any] = []
    for one in operands:
        if isinstance(one, Tensor):
            tensors.append(one)
            holder = expr.PlaceHolder(len(tensors))
            terms.append(holder if one.elementType() is inner else expr.Cast(holder, inner))
        else:
            terms.append(expr.Const(_number(one, inner), inner))
    for flag in flags:
        tensors.append(flag)
        terms.append(expr.PlaceHolder(len(tensors)))
    body = make(*terms)
    if result is None and wanted is not inner:
        body = expr.Cast(body, wanted)
    elif result is not None and result not in (inner, BOOL):
        body = expr.Cast(body, result)
    return popops.map(at.graph, body, tensors, at.program, at.name(name))


def in_floats(*operands: Operand) -> Type:
    """The type of operators whose results are floating-point numbers: FLOAT for integers."""
    common = common_type(operands)
    return common if is_floating(common) else FLOAT


def _number(value: float, type_: Type) -> float:
    if type_ is BOOL:
        return bool(value)
    if is_floating(type_):
        return float(value)
    if not -(2**31) <= value < 2**32:
        raise poplar_error(f"The number {value} does not fit the 32-bit integers of the IPU.")
    return int(value)
