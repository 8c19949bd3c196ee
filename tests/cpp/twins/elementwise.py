"""The twin of tests/cpp/programs/elementwise.cpp: each function and class by its name."""

from __future__ import annotations

import re

import numpy as np

from simulator import poplar
from simulator.poplar import BOOL, FLOAT, HALF, INT
from simulator.poplibs import popops
from simulator.poplibs.popops import expr as pe
from tests.cpp.building import HERE
from tests.cpp.twins.results import Results


def run(results: Results) -> None:
    uses = {part: _uses_in(part) for part in ("floats", "integers", "truths")}
    graph, prog = results.graph, results.prog
    x = results.variable(results.operand([4]))
    popops.mulInPlace(graph, x, 0.25, prog)
    popops.addInPlace(graph, x, 0.5, prog)
    _uses(results, uses["floats"], x, popops.sub(graph, 1.25, x, prog))
    _rest(results, x, popops.sub(graph, 1.25, x, prog))
    _uses(results, uses["integers"], _numbers(results, INT, [1, 5, -12, 7]), _numbers(results, INT, [1, 3, 2, 4]))
    x, y = _numbers(results, BOOL, [1, 0, 1, 0]), _numbers(results, BOOL, [1, 1, 0, 0])
    _uses(results, uses["truths"], x, y)
    changed = results.variable(x)
    for name in ("eq", "neq", "gt", "gteq", "lt", "lteq"):
        getattr(popops, f"{name}InPlace")(graph, changed, y, prog)
    results.read("comparisons in place", changed)


def _uses_in(part: str) -> list[tuple[str, str]]:
    """The macros of a function of the C++ program, with their arguments."""
    text = (HERE / "programs" / "elementwise.cpp").read_text(encoding="utf-8")
    body = text[text.index(f"void {part}(") :]
    return re.findall(r"\b(UNARY|BINARY|TEST|COMPARISON|ONE|TWO)\((\w+)\);", body[: body.index("\n}")])


def _numbers(results: Results, type_: poplar.Type, values: list[float]) -> poplar.Tensor:
    t = results.graph.addConstant(FLOAT, [len(values)], np.array(values, np.float32))
    results.graph.setTileMapping(t, 0)
    return popops.cast(results.graph, t, type_, results.prog)


def _uses(results: Results, uses: list[tuple[str, str]], x: poplar.Tensor, y: poplar.Tensor) -> None:
    graph, prog = results.graph, results.prog
    for kind, name in uses:
        if kind in ("ONE", "TWO"):
            operands = (pe._1, pe._2)[: 1 if kind == "ONE" else 2]
            results.read(f"expr {name}", popops.map(graph, getattr(pe, name)(*operands), [x, y], prog))
            continue
        others = [] if kind in ("UNARY", "TEST") else [y]
        results.read(name, getattr(popops, name)(graph, x, *others, prog))
        if kind in ("UNARY", "BINARY"):
            changed = results.variable(x)
            getattr(popops, f"{name}InPlace")(graph, changed, *others, prog)
            results.read(f"{name}InPlace", changed)


def _rest(results: Results, x: poplar.Tensor, y: poplar.Tensor) -> None:
    graph, prog = results.graph, results.prog
    results.read("clamp", popops.clamp(graph, x, results.scalar(0.25), results.scalar(0.5), prog))
    changed = results.variable(x)
    popops.clampInPlace(graph, changed, y, results.scalar(0.5), prog)
    results.read("clampInPlace", changed)
    condition = popops.gt(graph, x, 0.5, prog)
    results.read("select", popops.select(graph, x, y, condition, prog))
    changed = results.variable(x)
    popops.selectInPlace(graph, changed, y, condition, prog)
    results.read("selectInPlace", changed)
    first, second = pe._1, pe._2
    expressions = {
        "expr Any": pe.Clamp(first, 0.25, second),
        "expr Select": pe.Select(first, pe.Const(2.0), first > second),
        "expr Cast": pe.Cast(first * 10.0, INT),
        "UnaryOp": pe.Sqrt(first),
        "BinaryOp": first - second,
        "TernaryOp": pe.Clamp(first, second, 0.5),
    }
    for name, expression in expressions.items():
        results.read(name, popops.map(graph, expression, [x, y], prog))
    changed = results.variable(x)
    popops.mapInPlace(graph, pe.ConstHalf(0.5) + -first, [changed], prog)
    results.read("mapInPlace", changed)
    results.read("numbers on either side", popops.sub(graph, popops.sub(graph, 1.0, x, prog), 2.0, prog))
    products = popops.sqrt(graph, x, prog), popops.mul(graph, x, y, prog)
    clamped = popops.clamp(graph, x, y, results.scalar(0.5), prog)
    results.read("map of operators", poplar.concat([*products, clamped]))
    popops.squareInPlace(graph, changed, prog)
    popops.addInPlace(graph, changed, y, prog)
    popops.clampInPlace(graph, changed, x, y, prog)
    results.read("mapInPlace of operators", changed)
    output = popops.createOutputForElementWiseOp(graph, [x, y], HALF)
    results.number("createOutputForElementWiseOp", output.numElements())
