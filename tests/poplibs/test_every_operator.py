"""Every element-wise operator of popops, in all its types, against NumPy.

There is one program for each type; a test keeps the table of references complete."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from popvision.arrays import AnyArray
from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Engine, Graph, IPUModel, Tensor, Type, type_error
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly

BITS = 32


def _erf(x: AnyArray) -> AnyArray:
    return np.vectorize(math.erf)(x)


def _towards_zero(a: AnyArray, b: AnyArray) -> AnyArray:
    return np.trunc(a / b) if a.dtype.kind in "iu" else a / b


def _bits(f: Callable[[int], int]) -> Callable[[AnyArray], AnyArray]:
    return lambda x: np.vectorize(lambda v: f(int(v) & (2**BITS - 1)))(x)


#: name -> (function of float64 or integer arrays, types)
FLOATS, NUMBERS, INTEGERS = (FLOAT, HALF), (FLOAT, HALF, INT), (INT, UNSIGNED_INT)
EVERY = (FLOAT, HALF, INT, UNSIGNED_INT)
REFERENCE: dict[str, tuple[Callable[..., Any], tuple[Type, ...]]] = {
    "abs": (np.abs, NUMBERS),
    "asin": (np.arcsin, FLOATS),
    "cbrt": (np.cbrt, FLOATS),
    "ceil": (np.ceil, FLOATS),
    "cos": (np.cos, FLOATS),
    "erf": (_erf, FLOATS),
    "exp": (np.exp, FLOATS),
    "expm1": (np.expm1, FLOATS),
    "floor": (np.floor, FLOATS),
    "geluErf": (lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))), FLOATS),
    "inv": (lambda x: 1 / x, FLOATS),
    "isFinite": (np.isfinite, FLOATS),
    "isInf": (np.isinf, FLOATS),
    "isNaN": (np.isnan, FLOATS),
    "log": (np.log, FLOATS),
    "log1p": (np.log1p, FLOATS),
    "nearbyInt": (lambda x: 2 * np.floor(x / 2) + np.where(x % 2 == 0.5, 0, np.floor(x % 2 + 0.5)), FLOATS),
    "neg": (np.negative, NUMBERS),
    "relu": (lambda x: np.maximum(x, 0), FLOATS),
    "round": (lambda x: np.trunc(x + np.copysign(0.5, x)), FLOATS),
    "rsqrt": (lambda x: 1 / np.sqrt(x), FLOATS),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), FLOATS),
    "signum": (np.sign, NUMBERS),
    "sin": (np.sin, FLOATS),
    "sqrt": (np.sqrt, FLOATS),
    "square": (np.square, EVERY),
    "tan": (np.tan, FLOATS),
    "tanh": (np.tanh, FLOATS),
    "trunc": (np.trunc, FLOATS),
    "bitwiseNot": (np.invert, INTEGERS),
    "popcount": (_bits(int.bit_count), INTEGERS),
    "countLeadingZeros": (_bits(lambda v: BITS - v.bit_length()), INTEGERS),
    "logicalNot": (np.logical_not, (BOOL,)),
    "add": (np.add, EVERY),
    "atan2": (np.arctan2, FLOATS),
    "div": (_towards_zero, EVERY),
    "invStdDevToVariance": (lambda a, b: 1 / a**2 - b, FLOATS),
    "max": (np.maximum, EVERY),
    "min": (np.minimum, EVERY),
    "mul": (np.multiply, EVERY),
    "pow": (np.power, FLOATS),
    "rem": (np.fmod, EVERY),
    "sub": (np.subtract, EVERY),
    "varianceToInvStdDev": (lambda a, b: 1 / np.sqrt(a + b), FLOATS),
    "bitwiseAnd": (np.bitwise_and, INTEGERS),
    "bitwiseOr": (np.bitwise_or, INTEGERS),
    "bitwiseXor": (np.bitwise_xor, INTEGERS),
    "bitwiseXnor": (lambda a, b: ~(a ^ b), INTEGERS),
    "shiftLeft": (np.left_shift, INTEGERS),
    "shiftRight": (lambda a, b: a.view(np.uint32) >> b.view(np.uint32), INTEGERS),
    "shiftRightSignExtend": (np.right_shift, (INT,)),
    "eq": (np.equal, (*EVERY, BOOL)),
    "gt": (np.greater, (*EVERY, BOOL)),
    "gteq": (np.greater_equal, (*EVERY, BOOL)),
    "lt": (np.less, (*EVERY, BOOL)),
    "lteq": (np.less_equal, (*EVERY, BOOL)),
    "neq": (np.not_equal, (*EVERY, BOOL)),
    "logicalAnd": (np.logical_and, (BOOL,)),
    "logicalOr": (np.logical_or, (BOOL,)),
    "select": (lambda a, b, c: np.where(c, a, b), EVERY),
    "clamp": (lambda a, low, high: np.minimum(np.maximum(a, low), high), (FLOAT, HALF, INT)),
}
COMPARISONS = (np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal)
#: operators whose domain is 0 to 1
SMALL = ("asin", "log", "log1p", "rsqrt", "inv", "sqrt", "pow", "varianceToInvStdDev", "invStdDevToVariance", "tan")


def operators() -> set[str]:
    """Public functions of popops with the first parameters of an operator."""
    found = set()
    for name, function in vars(popops).items():
        if not name.startswith("_") and inspect.isfunction(function):
            first = [*inspect.signature(function).parameters][:5]
            if any(first[: len(begin)] == begin for begin in (["graph", "A", "prog"], ["graph", "A", "B", "prog"])) or (
                first == ["graph", "A", "B", "C", "prog"]
            ):
                found.add(name.removesuffix("InPlace"))
    return found - {"allTrue"}


def test_every_operator_has_a_reference() -> None:
    assert operators() == set(REFERENCE)


def values(type_: Type, name: str, rng: np.random.Generator, n: int = 30) -> AnyArray:
    if type_ is BOOL:
        return rng.integers(0, 2, n).astype(np.bool_)
    if type_ in FLOATS:
        found = rng.uniform(0.1, 0.9, n) if name in SMALL else rng.uniform(-3, 3, n)
        if name.startswith("is"):
            found[:3] = np.nan, np.inf, -np.inf
        return found.astype(type_.dtype)
    return rng.integers(1 if type_ is UNSIGNED_INT or name in ("rem", "div") else -9, 9, n).astype(type_.dtype)


def second(type_: Type, name: str, rng: np.random.Generator) -> AnyArray:
    if name.startswith("shift"):
        return rng.integers(0, 9, 30).astype(type_.dtype)
    if type_ is INT and name in ("rem", "div"):
        return rng.choice([-4, -3, -1, 2, 5], 30).astype(np.int32)
    return values(type_, name, rng) if type_ is not UNSIGNED_INT else rng.integers(1, 9, 30).astype(np.uint32)


def written(graph: Graph, type_: Type, array: AnyArray, program: Sequence) -> Tensor:
    """A variable that the program fills."""
    constant, tensor = graph.addConstant(type_, [5, 6], array), graph.addVariable(type_, [5, 6])
    graph.setTileMapping(constant, 0)
    mapTensorLinearly(graph, tensor, 1)
    program.add(Copy(constant, tensor))
    return tensor


@pytest.mark.parametrize("in_place", [False, True], ids=["new", "in place"])
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT, UNSIGNED_INT, BOOL], ids=str)
def test_operators_of_a_type(type_: Type, in_place: bool) -> None:
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph, program, rng = Graph(device), Sequence(), np.random.default_rng(7)
    wanted = {}
    for name, (reference, types) in REFERENCE.items():
        function = getattr(popops, name + ("InPlace" if in_place else ""), None)
        if type_ not in types or function is None:
            continue
        count = len(inspect.signature(reference).parameters) if inspect.isfunction(reference) else reference.nin
        given = [values(type_, name, rng), second(type_, name, rng), second(type_, name, rng)][:count]
        if name == "select":
            given[2] = rng.integers(0, 2, 30).astype(np.bool_)
        if name == "clamp":
            given[1:] = [np.minimum(*given[1:]), np.maximum(*given[1:])]
        tensors = [written(graph, BOOL if array.dtype == np.bool_ else type_, array, program) for array in given]
        try:
            out = function(graph, *tensors, program, name)
        except type_error:
            assert in_place, name
            assert reference in COMPARISONS, name  # their results are BOOL
            assert type_ is not BOOL, name
            continue
        out = tensors[0] if in_place else out
        graph.createHostRead(name, out)
        with np.errstate(all="ignore"):
            wide = [a.astype(np.float64) if type_ in FLOATS and a.dtype != np.bool_ else a for a in given]
            wanted[name] = np.asarray(reference(*wide)), out.elementType().dtype
    with Engine(graph, program) as engine:
        engine.load(device)
        engine.run(0)
        for name, (expected, dtype) in wanted.items():
            found = np.zeros(30, dtype)
            engine.readTensor(name, found)
            if dtype.kind == "f":
                close = 1e-6 if type_ is FLOAT else 2e-3
                np.testing.assert_allclose(found.astype(np.float64), expected, rtol=close, atol=close, err_msg=name)
            else:
                np.testing.assert_array_equal(found, expected.astype(dtype), err_msg=name)
    assert len(wanted) >= {FLOAT: 40, HALF: 40, INT: 20, UNSIGNED_INT: 20, BOOL: 8}[type_] - 7 * in_place
