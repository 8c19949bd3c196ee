"""The classes of single operators (`Add`, `Tanh`, `Select`, ...) and the place holders _1 to _20."""

from __future__ import annotations

from typing import Any

from simulator.poplibs.popops.expr.nodes import BinaryOp, PlaceHolder, TernaryOp, UnaryOp
from simulator.poplibs.popops.expr.op_types import BinaryOpType, TernaryOpType, UnaryOpType


def _unary(name: str, op: UnaryOpType) -> type[UnaryOp]:
    def init(self: UnaryOp, a: Any) -> None:
        UnaryOp.__init__(self, op, a)

    return type(name, (UnaryOp,), {"__init__": init, "__doc__": f"{op.name} of an expression.", "__module__": __name__})


def _binary(name: str, op: BinaryOpType) -> type[BinaryOp]:
    def init(self: BinaryOp, a: Any, b: Any) -> None:
        BinaryOp.__init__(self, op, a, b)

    text = f"{op.name} of two expressions."
    return type(name, (BinaryOp,), {"__init__": init, "__doc__": text, "__module__": __name__})


def _ternary(name: str, op: TernaryOpType, text: str) -> type[TernaryOp]:
    def init(self: TernaryOp, a: Any, b: Any, c: Any) -> None:
        TernaryOp.__init__(self, op, a, b, c)

    return type(name, (TernaryOp,), {"__init__": init, "__doc__": text, "__module__": __name__})


Abs: Any = _unary("Abs", UnaryOpType.ABSOLUTE)
Asin: Any = _unary("Asin", UnaryOpType.ASIN)
BitwiseNot: Any = _unary("BitwiseNot", UnaryOpType.BITWISE_NOT)
Cbrt: Any = _unary("Cbrt", UnaryOpType.CBRT)
Ceil: Any = _unary("Ceil", UnaryOpType.CEIL)
Cos: Any = _unary("Cos", UnaryOpType.COS)
Erf: Any = _unary("Erf", UnaryOpType.ERF)
Exp: Any = _unary("Exp", UnaryOpType.EXPONENT)
Expm1: Any = _unary("Expm1", UnaryOpType.EXPONENT_MINUS_ONE)
Floor: Any = _unary("Floor", UnaryOpType.FLOOR)
GeluErf: Any = _unary("GeluErf", UnaryOpType.GELU_ERF)
Inv: Any = _unary("Inv", UnaryOpType.INVERSE)
IsFinite: Any = _unary("IsFinite", UnaryOpType.IS_FINITE)
IsInf: Any = _unary("IsInf", UnaryOpType.IS_INF)
IsNaN: Any = _unary("IsNaN", UnaryOpType.IS_NAN)
Log: Any = _unary("Log", UnaryOpType.LOGARITHM)
Log1p: Any = _unary("Log1p", UnaryOpType.LOGARITHM_ONE_PLUS)
Neg: Any = _unary("Neg", UnaryOpType.NEGATE)
Not: Any = _unary("Not", UnaryOpType.LOGICAL_NOT)
Relu: Any = _unary("Relu", UnaryOpType.RELU)
Round: Any = _unary("Round", UnaryOpType.ROUND)
Rsqrt: Any = _unary("Rsqrt", UnaryOpType.RSQRT)
Sigmoid: Any = _unary("Sigmoid", UnaryOpType.SIGMOID)
Signum: Any = _unary("Signum", UnaryOpType.SIGNUM)
Sin: Any = _unary("Sin", UnaryOpType.SIN)
Sqrt: Any = _unary("Sqrt", UnaryOpType.SQRT)
Square: Any = _unary("Square", UnaryOpType.SQUARE)
Tan: Any = _unary("Tan", UnaryOpType.TAN)
Tanh: Any = _unary("Tanh", UnaryOpType.TANH)
Trunc: Any = _unary("Trunc", UnaryOpType.TRUNC)

Add: Any = _binary("Add", BinaryOpType.ADD)
And: Any = _binary("And", BinaryOpType.LOGICAL_AND)
Atan2: Any = _binary("Atan2", BinaryOpType.ATAN2)
BitwiseAnd: Any = _binary("BitwiseAnd", BinaryOpType.BITWISE_AND)
BitwiseOr: Any = _binary("BitwiseOr", BinaryOpType.BITWISE_OR)
BitwiseXnor: Any = _binary("BitwiseXnor", BinaryOpType.BITWISE_XNOR)
BitwiseXor: Any = _binary("BitwiseXor", BinaryOpType.BITWISE_XOR)
Divide: Any = _binary("Divide", BinaryOpType.DIVIDE)
Equal: Any = _binary("Equal", BinaryOpType.EQUAL)
Gt: Any = _binary("Gt", BinaryOpType.GREATER_THAN)
Gte: Any = _binary("Gte", BinaryOpType.GREATER_THAN_EQUAL)
InvStdDevToVariance: Any = _binary("InvStdDevToVariance", BinaryOpType.INV_STD_DEV_TO_VARIANCE)
Lt: Any = _binary("Lt", BinaryOpType.LESS_THAN)
Lte: Any = _binary("Lte", BinaryOpType.LESS_THAN_EQUAL)
Max: Any = _binary("Max", BinaryOpType.MAXIMUM)
Min: Any = _binary("Min", BinaryOpType.MINIMUM)
Mul: Any = _binary("Mul", BinaryOpType.MULTIPLY)
NotEqual: Any = _binary("NotEqual", BinaryOpType.NOT_EQUAL)
Or: Any = _binary("Or", BinaryOpType.LOGICAL_OR)
Pow: Any = _binary("Pow", BinaryOpType.POWER)
Rem: Any = _binary("Rem", BinaryOpType.REMAINDER)
Shl: Any = _binary("Shl", BinaryOpType.SHIFT_LEFT)
Shr: Any = _binary("Shr", BinaryOpType.SHIFT_RIGHT)
ShrSE: Any = _binary("ShrSE", BinaryOpType.SHIFT_RIGHT_SIGN_EXTEND)
Sub: Any = _binary("Sub", BinaryOpType.SUBTRACT)
VarianceToInvStdDev: Any = _binary("VarianceToInvStdDev", BinaryOpType.VARIANCE_TO_INV_STD_DEV)

Clamp: Any = _ternary("Clamp", TernaryOpType.CLAMP, "The first expression, not below the second nor above the third.")
Select: Any = _ternary("Select", TernaryOpType.SELECT, "The first expression where the third is true, else the second.")

(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10) = [PlaceHolder(i) for i in range(1, 11)]
(_11, _12, _13, _14, _15, _16, _17, _18, _19, _20) = [PlaceHolder(i) for i in range(11, 21)]
