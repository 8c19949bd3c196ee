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


def results(found: Results) -> None:
    uses = {part: _uses_in(part) for part in ("floats", "integers", "truths")}
    graph, prog = found.graph, found.prog
    x = found.variable(found.given([4]))
    popops.mulInPlace(graph, x, 0.25, prog)
    popops.addInPlace(graph, x, 0.5, prog)
    _uses(found, uses["floats"], x, popops.sub(graph, 1.25, x, prog))
    _rest(found, x, popops.sub(graph, 1.25, x, prog))
    _uses(found, uses["integers"], _numbers(found, INT, [1, 5, -12, 7]), _numbers(found, INT, [1, 3, 2, 4]))
    x, y = _numbers(found, BOOL, [1, 0, 1, 0]), _numbers(found, BOOL, [1, 1, 0, 0])
    _uses(found, uses["truths"], x, y)
    changed = found.variable(x)
    for name in ("eq", "neq", "gt", "gteq", "lt", "lteq"):
        getattr(popops, f"{name}InPlace")(graph, changed, y, prog)
    found.read("comparisons in place", changed)


def _uses_in(part: str) -> list[tuple[str, str]]:
    """The macros of a function of the C++ program, with their arguments."""
    text = (HERE / "programs" / "elementwise.cpp").read_text(encoding="utf-8")
    body = text[text.index(f"void {part}(") :]
    return re.findall(r"\b(UNARY|BINARY|TEST|COMPARISON|ONE|TWO)\((\w+)\);", body[: body.index("\n}")])


def _numbers(found: Results, type_: poplar.Type, values: list[float]) -> poplar.Tensor:
    t = found.graph.addConstant(FLOAT, [len(values)], np.array(values, np.float32))
    found.graph.setTileMapping(t, 0)
    return popops.cast(found.graph, t, type_, found.prog)


def _uses(found: Results, uses: list[tuple[str, str]], x: poplar.Tensor, y: poplar.Tensor) -> None:
    graph, prog = found.graph, found.prog
    for kind, name in uses:
        if kind in ("ONE", "TWO"):
            operands = (pe._1, pe._2)[: 1 if kind == "ONE" else 2]
            found.read(f"expr {name}", popops.map(graph, getattr(pe, name)(*operands), [x, y], prog))
            continue
        others = [] if kind in ("UNARY", "TEST") else [y]
        found.read(name, getattr(popops, name)(graph, x, *others, prog))
        if kind in ("UNARY", "BINARY"):
            changed = found.variable(x)
            getattr(popops, f"{name}InPlace")(graph, changed, *others, prog)
            found.read(f"{name}InPlace", changed)


def _rest(found: Results, x: poplar.Tensor, y: poplar.Tensor) -> None:
    graph, prog = found.graph, found.prog
    found.read("clamp", popops.clamp(graph, x, found.scalar(0.25), found.scalar(0.5), prog))
    changed = found.variable(x)
    popops.clampInPlace(graph, changed, y, found.scalar(0.5), prog)
    found.read("clampInPlace", changed)
    condition = popops.gt(graph, x, 0.5, prog)
    found.read("select", popops.select(graph, x, y, condition, prog))
    changed = found.variable(x)
    popops.selectInPlace(graph, changed, y, condition, prog)
    found.read("selectInPlace", changed)
    one, two = pe._1, pe._2
    expressions = {
        "expr Any": pe.Clamp(one, 0.25, two),
        "expr Select": pe.Select(one, pe.Const(2.0), one > two),
        "expr Cast": pe.Cast(one * 10.0, INT),
        "UnaryOp": pe.Sqrt(one),
        "BinaryOp": one - two,
        "TernaryOp": pe.Clamp(one, two, 0.5),
    }
    for name, expression in expressions.items():
        found.read(name, popops.map(graph, expression, [x, y], prog))
    changed = found.variable(x)
    popops.mapInPlace(graph, pe.ConstHalf(0.5) + -one, [changed], prog)
    found.read("mapInPlace", changed)
    found.read("numbers on either side", popops.sub(graph, popops.sub(graph, 1.0, x, prog), 2.0, prog))
    products = popops.sqrt(graph, x, prog), popops.mul(graph, x, y, prog)
    clamped = popops.clamp(graph, x, y, found.scalar(0.5), prog)
    found.read("map of operators", poplar.concat([*products, clamped]))
    popops.squareInPlace(graph, changed, prog)
    popops.addInPlace(graph, changed, y, prog)
    popops.clampInPlace(graph, changed, x, y, prog)
    found.read("mapInPlace of operators", changed)
    output = popops.createOutputForElementWiseOp(graph, [x, y], HALF)
    found.number("createOutputForElementWiseOp", output.numElements())
