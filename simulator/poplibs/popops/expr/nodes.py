"""Expressions on elements of tensors: `Tanh(Add(Square(_1), Const(3)))`, or with operators `(_1 * _1 + 3) < _2`.

Names and meaning are those of popops/Expr.hpp. C++'s `&&`, `||` and `!`, which Python does not overload, are the
classes And, Or and Not; an expression has no truth value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.base.errors import type_error
from simulator.base.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Type
from simulator.poplibs.popops.expr.op_types import BinaryOpType, OpType, UnaryOpType

Method = Callable[["Expr", Any], "Expr"]


def _overloads(op: OpType) -> tuple[Method, Method]:
    """`a op b` and, for a number on the left, `b op a`."""
    return lambda self, other: BinaryOp(op, self, other), lambda self, other: BinaryOp(op, other, self)


class Expr:
    """The base of all expressions."""

    def children(self) -> tuple[Expr, ...]:
        """The expressions in this one."""
        return ()

    def _key(self) -> tuple[Any, ...]:
        return (type(self).__name__,)

    def deepEquals(self, other: Expr) -> bool:
        """Whether both have the same structure and equal parts. (`==` makes an expression.)"""
        mine, theirs = self.children(), other.children()
        same = self._key() == other._key() and len(mine) == len(theirs)
        return same and all(a.deepEquals(b) for a, b in zip(mine, theirs, strict=True))

    def __bool__(self) -> bool:
        raise type_error(f"{self} has no truth value: use And, Or, Not, Select in expressions, not and, or, not, if.")

    def __repr__(self) -> str:
        return f"{self._key()[-1]}({', '.join(map(repr, self.children()))})"

    def __neg__(self) -> Expr:
        return UnaryOp(UnaryOpType.NEGATE, self)

    def __invert__(self) -> Expr:
        return UnaryOp(UnaryOpType.BITWISE_NOT, self)

    __add__, __radd__ = _overloads(BinaryOpType.ADD)
    __sub__, __rsub__ = _overloads(BinaryOpType.SUBTRACT)
    __mul__, __rmul__ = _overloads(BinaryOpType.MULTIPLY)
    __truediv__, __rtruediv__ = _overloads(BinaryOpType.DIVIDE)
    __mod__, __rmod__ = _overloads(BinaryOpType.REMAINDER)
    __and__, __rand__ = _overloads(BinaryOpType.BITWISE_AND)
    __or__, __ror__ = _overloads(BinaryOpType.BITWISE_OR)
    __xor__, __rxor__ = _overloads(BinaryOpType.BITWISE_XOR)
    __lshift__, __rlshift__ = _overloads(BinaryOpType.SHIFT_LEFT)
    __rshift__, __rrshift__ = _overloads(BinaryOpType.SHIFT_RIGHT)
    __lt__, _ = _overloads(BinaryOpType.LESS_THAN)
    __le__, _ = _overloads(BinaryOpType.LESS_THAN_EQUAL)
    __gt__, _ = _overloads(BinaryOpType.GREATER_THAN)
    __ge__, _ = _overloads(BinaryOpType.GREATER_THAN_EQUAL)
    __eq__, _ = _overloads(BinaryOpType.EQUAL)  # type: ignore[assignment]
    __ne__, _ = _overloads(BinaryOpType.NOT_EQUAL)  # type: ignore[assignment]
    __hash__ = object.__hash__


def as_expr(value: Any) -> Expr:
    """An expression as it is, a number as Const; anything else raises `type_error`."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return Const(value)
    raise type_error(f"{value!r} is neither an expression nor a number; expressions call tensors _1, _2, ...")


def Any_(expr: Expr) -> Expr:
    """C++'s `Any`, a holder of any expression: in Python every variable is one."""
    return as_expr(expr)


class Const(Expr):
    """A constant. Its type is that of the expressions that it meets; without any it is bool, int, unsigned int or float
    by its value."""

    def __init__(self, x: Any, type_: Type | None = None) -> None:
        value = x.item() if isinstance(x, np.generic) else x
        if not isinstance(value, bool | int | float):
            raise type_error(f"Const: {x!r} is not a number.")
        self.value: bool | int | float = value
        self._type = type_ or _type_of_number(x)

    def getType(self) -> Type:
        return self._type

    def getDataAsDouble(self) -> float:
        return float(self.value)

    def _key(self) -> tuple[Any, ...]:
        return ("Const", self._type.name, self.value)

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


def _type_of_number(x: Any) -> Type:
    if isinstance(x, bool | np.bool_):
        return BOOL
    if isinstance(x, np.unsignedinteger):
        return UNSIGNED_INT
    return INT if isinstance(x, int | np.integer) else FLOAT


class ConstHalf(Const):
    """A constant of type HALF."""

    def __init__(self, x: float) -> None:
        super().__init__(float(x), HALF)


class Cast(Expr):
    """An expression converted to another type."""

    def __init__(self, a: Any, bType: Type) -> None:
        self.a, self.type = as_expr(a), bType

    def getLHS(self) -> Expr:
        return self.a

    def getRHSType(self) -> Type:
        return self.type

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def _key(self) -> tuple[Any, ...]:
        return ("Cast", self.type.name)

    def __repr__(self) -> str:
        return f"Cast({self.a!r}, {self.type})"


class PlaceHolder(Expr):
    """The element of tensor number `index`, counted from 1."""

    def __init__(self, index: int) -> None:
        if index < 1:
            raise type_error(f"PlaceHolder: index {index} is below 1; tensors are counted from 1.")
        self.index = index

    def getIndex(self) -> int:
        return self.index

    def _key(self) -> tuple[Any, ...]:
        return ("PlaceHolder", self.index)

    def __repr__(self) -> str:
        return f"_{self.index}"


class Operator(Expr):
    """An operator with its arguments."""

    def __init__(self, op: OpType, *arguments: Any) -> None:
        self.op = op
        self.arguments = tuple(as_expr(a) for a in arguments)

    def getOpType(self) -> OpType:
        return self.op

    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def _key(self) -> tuple[Any, ...]:
        return ("Operator", self.op.name)


class UnaryOp(Operator):
    def __init__(self, type: OpType, a: Any) -> None:
        super().__init__(type, a)

    def getArg(self) -> Expr:
        return self.arguments[0]


class BinaryOp(Operator):
    def __init__(self, type: OpType, a: Any, b: Any) -> None:
        super().__init__(type, a, b)

    def getLHS(self) -> Expr:
        return self.arguments[0]

    def getRHS(self) -> Expr:
        return self.arguments[1]


class TernaryOp(Operator):
    def __init__(self, type: OpType, a: Any, b: Any, c: Any) -> None:
        super().__init__(type, a, b, c)

    def getArg0(self) -> Expr:
        return self.arguments[0]

    def getArg1(self) -> Expr:
        return self.arguments[1]

    def getArg2(self) -> Expr:
        return self.arguments[2]


def operator_class(op: OpType) -> type[Operator]:
    """UnaryOp, BinaryOp or TernaryOp."""
    return UnaryOp if isinstance(op, UnaryOpType) else BinaryOp if isinstance(op, BinaryOpType) else TernaryOp


def on_place_holders(op: OpType) -> Operator:
    """An operator on _1, _2, ..., as many as it has operands."""
    node = operator_class(op)
    return node(op, *[PlaceHolder(i + 1) for i in range((UnaryOp, BinaryOp, TernaryOp).index(node) + 1)])
