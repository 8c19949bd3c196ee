"""Forms of a Python file. Annotations, messages, assertions, decorators and what only type checkers read stay out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import accumulate

from tests.faults.changes import Form, Operand

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_ATOMS = (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp)
_SPEAKING = {"print", "echo", "warn", "warning", "info", "debug", "isinstance", "issubclass", "getattr", "hasattr"}
_CHECKING = re.compile(r"^_*(check|refuse|require|ensure|validate|verify)")


def forms(source: str) -> Iterator[Form]:
    """Forms in the order of the file."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def operand(node: ast.expr) -> Operand:
        begin, end = place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)
        number = _number(node)
        text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        text = text or (isinstance(node, ast.BinOp) and (operand(node.left).text or operand(node.right).text))
        return Operand(begin, end, isinstance(node, _ATOMS), number, _name(node), text)

    def form(node: ast.stmt | ast.expr) -> Form | None:
        begin, end = place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)
        return _form(node, begin, end, operand)

    for node in _code(ast.parse(source)):
        for part in _places(node):
            yield Form("place", *operand(part)[:2], (operand(part),))
        condition = _condition(node)
        if condition is not None:
            if condition.lineno == condition.end_lineno:
                yield Form("condition", *operand(condition)[:2], sign="False")
        elif isinstance(node, ast.stmt | ast.expr) and node.lineno == node.end_lineno:
            found = form(node)
            if found is not None:
                yield found


def _form(node: ast.stmt | ast.expr, begin: int, end: int, operand: Callable[[ast.expr], Operand]) -> Form | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return Form("binary", begin, end, (operand(left), operand(right)), _SIGNS[type(op)])
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SIGNS:
            return Form("binary", begin, end, (operand(left), operand(right)), _SIGNS[type(op)])
        case ast.BoolOp(op=op, values=values) if not any(isinstance(v, ast.NamedExpr) for v in ast.walk(node)):
            sign = " and " if isinstance(op, ast.And) else " or "
            return Form("joined", begin, end, tuple(map(operand, values)), sign)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            parts = (operand(test), operand(body), operand(orelse))
            return Form("choice", begin, end, parts)
        case ast.Call(args=[ast.Name() | ast.Attribute() as first, ast.Name() | ast.Attribute() as second, *_]):
            return Form("arguments", begin, end, (operand(first), operand(second)))
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return Form("sum", begin, end, sign="pass")
        case ast.Expr(value=ast.Call(func=func)) if _CHECKING.match(_name(func)):
            return Form("check", begin, end, sign="pass")
    return None


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that do something when the program runs."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return
        case ast.Call(func=func) if _name(func) in _SPEAKING:
            return
        case ast.If(test=test) if _name(test) == "TYPE_CHECKING":
            return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _places(node: ast.AST) -> Iterator[ast.expr]:
    """Integers that count places."""
    match node:
        case ast.Slice(lower=lower, upper=upper):
            found = [lower, upper]
        case ast.Subscript(slice=ast.Constant() as index):
            found = [index]
        case ast.Call(func=ast.Name(id="range"), args=args):
            found = list(args)
        case _:
            found = []
    yield from (part for part in found if isinstance(part, ast.Constant) and type(part.value) is int)


def _condition(node: ast.AST) -> ast.expr | None:
    """The condition under which a statement does nothing but raise."""
    match node:
        case ast.If(test=test, body=[ast.Raise()]) if not any(isinstance(n, ast.NamedExpr) for n in ast.walk(test)):
            return test
    return None


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)
    return None


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
