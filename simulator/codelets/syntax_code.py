"""Instructions of a Python codelet, counted in its syntax: what a compiler would have to emit for its statements.

The syntax tree of `compute` and of the functions of its module that it calls is walked once, each function once, with
the kind of every value: a number, an element or array in memory, an array in registers, a list of arrays. Then

- a field that the code uses costs the loads of its pointer and size, or of the number;
- reading an element or array in memory is a load, assigning one a store (three instructions below four bytes: the
  others of the word stay), each operator, comparison or function an operation or a call;
- `for` and `while` are three instructions, the count, a branch past no trips and the branch back, beside what their
  heads compute; so is a statement that assigns a whole array, and a reduction: NumPy's expressions are one fused
  loop. A matrix product is three loops;
- `if`, `and`, `or`, `break` and `continue` are branches. Constants, names, sizes, views, `assert` and `raise` cost
  nothing. An array that is indexed by one number gives an element.

The tree is the same in every version of Python that runs this. Linear in the source.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, Literal

import numpy as np

from simulator.codelets.count_run import ENTRY
from simulator.codelets.counted_functions import OPERATION_OF
from simulator.codelets.fields import attribute_of
from simulator.graph.vertices import FieldSpec
from simulator.machine.instructions import CALLS, INSTRUCTIONS

#: Instructions of each thing that is counted; those of a store of halves are the instruction table's.
INSTRUCTIONS_OF: dict[str, int] = {
    "entry and exit": ENTRY,
    "load": 1,
    "store": 1,
    "store half": INSTRUCTIONS["store half"],
    "operation": 1,
    "branch": 1,
    "call": 1,
    "loop": 3,
}


@dataclass(frozen=True)
class Value:
    """What an expression gives. "element" and "array" lie in memory, "result" is an array in registers. `narrow`: of
    elements below four bytes."""

    kind: Literal["number", "element", "array", "result", "list"]
    narrow: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is an array."""
        return self.kind in ("array", "result")


_NUMBER, _RESULT = Value("number"), Value("result")

#: Functions by name: ufuncs, and those of `math` and Python that are one operation or call.
_OPERATIONS: dict[str, str] = {
    **{ufunc.__name__: "call" if names[0] in CALLS else "operation" for ufunc, names in OPERATION_OF.items()},
    **dict.fromkeys(("pow", "asin", "acos", "atan", "atan2", "erf", "fmod", "remainder", "divmod"), "call"),
    **dict.fromkeys(("round", "int", "float", "bool", "astype", "where", "select", "fma", "ceil"), "operation"),
    **dict.fromkeys(("float16", "float32", "float64", "int32", "uint32", "int64", "clip", "abs"), "operation"),
}
#: Reductions: (operations in the loop, loops).
_REDUCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("sum", "prod", "max", "min", "amax", "amin", "any", "all", "cumsum", "count_nonzero"), (1, 1)),
    **dict.fromkeys(("mean", "argmax", "argmin", "dot", "vdot", "inner"), (2, 1)),
    **dict.fromkeys(("var", "std"), (4, 2)),
    **dict.fromkeys(("matmul", "outer"), (2, 3)),
}
_GIVES_ARRAY = ("cumsum", "matmul", "outer")
_FILLED = ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "copy")
#: What costs nothing and gives what it is given: views, and arrays without values.
_THROUGH = (
    "reshape",
    "ravel",
    "transpose",
    "flatten",
    "view",
    "squeeze",
    "asarray",
    "array",
    "list",
    "tuple",
    "tolist",
)
_UNFILLED = ("empty", "empty_like")
_FREE = ("len", "shape", "size", "item", "isinstance", "ndim")


def instructions_of(counts: Mapping[str, int]) -> int:
    """The instructions of what was counted."""
    return sum(INSTRUCTIONS_OF[what] * times for what, times in counts.items())


def counted_in_syntax(cls: type[Any], fields: Sequence[FieldSpec]) -> dict[str, int]:
    """What a codelet's code holds, by the names of `INSTRUCTIONS_OF`. Raises ValueError where its source is not there,
    or is no function's."""
    count = _Count(cls, {attribute_of(spec.name): spec for spec in fields})
    count.add("entry and exit")
    count.function(inspect.unwrap(cls.compute), [], {})
    return {what: count.counts[what] for what in INSTRUCTIONS_OF if count.counts.get(what)}


def _tree(function: Callable[..., Any]) -> ast.FunctionDef:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise ValueError(f"no source of {function.__qualname__}") from error
    if not isinstance(tree, ast.FunctionDef):
        raise ValueError(f"no source of {function.__qualname__}")
    return tree


@dataclass
class _Count:
    """The counts of one codelet. `gives`: what each function that was walked returns."""

    cls: type[Any]
    fields: dict[str, FieldSpec]
    counts: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    gives: dict[Any, Value] = field(default_factory=dict)

    def add(self, what: str, times: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + times

    def function(self, function: Any, given: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """Count a function at its first call, with the arguments given there."""
        if not isinstance(function, FunctionType):
            raise ValueError(f"{function!r:.60} is no function of Python")
        if function.__code__ in self.gives:
            return self.gives[function.__code__]
        self.gives[function.__code__] = _NUMBER  # what a function gives that calls itself
        tree = _tree(function)
        names = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
        own = names[0] if names and _is_member(self.cls, function) else ""
        names = names[1:] if own else names
        known = {**dict.fromkeys(names, _NUMBER), **dict(zip(names, given, strict=False)), **named}
        walk = _Walk(self, own, function, known)
        walk.block(tree.body)
        self.gives[function.__code__] = walk.returned
        return walk.returned

    def field(self, name: str) -> Value:
        """A field that the code names; its first use loads what the vertex's state holds of it."""
        spec = self.fields[name]
        narrow = spec.type is not None and spec.type.size < 4
        if name not in self.used:
            self.used.add(name)
            points_only = spec.kind == "scalar" or spec.layout == "one_ptr"
            self.add("load", 1 if points_only or (spec.kind == "value" and not spec.elements) else 2)
        if spec.kind == "value":
            return Value("array", narrow) if spec.elements else _NUMBER
        kinds: dict[str, Any] = {"scalar": "element", "vector": "array", "scalars": "array", "vectors": "list"}
        return Value(kinds[spec.kind], narrow)


def _is_member(cls: type[Any], function: FunctionType) -> bool:
    """Whether it is a method of the class that takes an object or the class."""
    for base in cls.__mro__:
        for member in vars(base).values():
            if member is function or (isinstance(member, classmethod) and member.__func__ is function):
                return True
    return False


@dataclass
class _Walk:
    """One function. `own`: the name of its object, "" for none; `names`: what its local names hold."""

    count: _Count
    own: str
    function: FunctionType
    names: dict[str, Value]
    returned: Value = _NUMBER

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        add = self.count.add
        match node:
            case ast.Assign(targets, value):
                found = self.moved(value)
                for target in targets:
                    self.assign(target, found, value)
            case ast.AnnAssign(target, _, value) if value is not None:
                self.assign(target, self.moved(value), value)
            case ast.AugAssign(target, operator, value):
                self.augment(target, operator, value)
            case ast.If(test, body, orelse):
                self.read(test)
                add("branch", 2 if orelse else 1)  # the second leads from the end of the body past the other
                self.block([*body, *orelse])
            case ast.For(target, iterated, body, orelse):
                add("loop")
                self.bind(target, self.items(iterated))
                self.block([*body, *orelse])
            case ast.While(test, body, orelse):
                add("loop")
                self.read(test)
                self.block([*body, *orelse])
            case ast.Return(value) if value is not None:
                found = self.moved(value)
                self.returned = found if self.returned.kind == "number" else self.returned
            case ast.Break() | ast.Continue():
                add("branch")
            case ast.Expr(value):
                self.read(value)
            case ast.With(_, body):
                self.block(body)
            case ast.Try(body, handlers, orelse, finalbody):
                self.block([*body, *(s for one in handlers for s in one.body), *orelse, *finalbody])
            case ast.FunctionDef(name, _, body):
                self.names[name] = _NUMBER
                self.block(body)
            case _:
                return

    def assign(self, target: ast.expr, found: Value, value: ast.expr) -> None:
        """Assign what an expression gave. Elements of a tuple are taken apart where they are written as one."""
        if isinstance(target, ast.Tuple | ast.List):
            apart = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            for at, one in enumerate(target.elts):
                part = value.elts[at] if apart and isinstance(value, ast.Tuple | ast.List) else value
                self.assign(one, _RESULT if apart and found.whole else _NUMBER, part)
        elif isinstance(target, ast.Name):
            self.names[target.id] = found
        else:
            self.store(self.place(target), found)

    def store(self, place: Value, found: Value) -> None:
        whole = place.whole or place.kind == "list"
        if found.kind == "array":
            self.count.add("load")
        self.count.add("loop", int(whole))
        self.count.add("store half" if place.narrow else "store")

    def augment(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        found = self.read(value)
        place = self.names.get(target.id, _NUMBER) if isinstance(target, ast.Name) else self.place(target)
        self.loaded(place)
        self.operator(operator, place, found, value)
        if isinstance(target, ast.Name) and place.kind in ("number", "result"):
            self.names[target.id] = _RESULT if found.whole else place
            return
        self.store(place, _RESULT)

    # Loops

    def items(self, iterated: ast.expr) -> list[Value]:
        """What a loop's head gives to its target, one value for each part of it."""
        name = self.called_name(iterated)
        arguments = iterated.args if isinstance(iterated, ast.Call) else []
        if name == "range":
            for argument in arguments:
                self.read(argument)
            self.count.add("operation", int(len(arguments) > 1))  # the count from first, last and step
            return [_NUMBER]
        if name == "zip":
            return [item for argument in arguments for item in self.items(argument)]
        if name == "enumerate":
            return [_NUMBER, *self.items(arguments[0])]
        if name in ("reversed", "sorted", "list", "tuple") and arguments:
            return self.items(arguments[0])
        found = self.place(iterated)
        self.count.add("load", int(found.kind in ("array", "list")))
        return [Value("array", found.narrow) if found.kind == "list" else _NUMBER]

    def bind(self, target: ast.expr, values: Sequence[Value]) -> None:
        flat = _names_of(target)
        for at, name in enumerate(flat):
            self.names[name] = values[at] if at < len(values) else _NUMBER

    # Expressions

    def read(self, node: ast.expr) -> Value:
        """An expression as an operand: what lies in memory is loaded."""
        return self.loaded(self.place(node))

    def moved(self, node: ast.expr) -> Value:
        """An expression that gets a name or is assigned: an element is loaded, an array stays where it lies."""
        found = self.place(node)
        return self.loaded(found) if found.kind == "element" else found

    def loaded(self, found: Value) -> Value:
        if found.kind not in ("element", "array"):
            return found
        self.count.add("load")
        return _NUMBER if found.kind == "element" else _RESULT

    def place(self, node: ast.expr) -> Value:
        """An expression where it lies."""
        add = self.count.add
        match node:
            case ast.Name(name):
                return self.names.get(name, _NUMBER)
            case ast.Attribute(ast.Name(name), attribute) if name == self.own:
                return self.count.field(attribute) if attribute in self.count.fields else _NUMBER
            case ast.Attribute(value, attribute):
                inner = self.place(value)
                return inner if attribute in ("T", "real") else _NUMBER
            case ast.Subscript(value, index):
                return self.element(self.place(value), index)
            case ast.BinOp(ast.Constant(), _, ast.Constant()):
                return _NUMBER
            case ast.BinOp(left, operator, right):
                return self.operator(operator, self.read(left), self.read(right), right)
            case ast.UnaryOp(operator, operand):
                found = self.read(operand)
                add("operation", int(not isinstance(operand, ast.Constant) and not isinstance(operator, ast.UAdd)))
                return found
            case ast.BoolOp(_, values):
                add("branch", len(values) - 1)
                return _joined([self.read(value) for value in values])
            case ast.Compare(left, operators, others):
                add("operation", len(operators))
                return _joined([self.read(one) for one in (left, *others)])
            case ast.IfExp(test, body, orelse):
                self.read(test)
                add("branch")
                return _joined([self.read(body), self.read(orelse)])
            case ast.Call():
                return self.call(node)
            case ast.ListComp(element, heads) | ast.GeneratorExp(element, heads) | ast.SetComp(element, heads):
                return self.comprehension(element, heads)
            case ast.Tuple(elements) | ast.List(elements):
                return _joined([self.read(one) for one in elements])
            case ast.NamedExpr(target, value):
                found = self.moved(value)
                self.names[target.id] = found
                return found
            case _:
                return _NUMBER

    def element(self, base: Value, index: ast.expr) -> Value:
        """What an index takes of a value."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        sliced = False
        for part in parts:
            if isinstance(part, ast.Slice):
                sliced = True
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        self.read(bound)
            else:
                by_array = self.read(part).whole or (isinstance(part, ast.Constant) and part.value is Ellipsis)
                sliced = sliced or by_array
        if base.kind == "list":
            if sliced:
                return base
            self.count.add("load")  # the pointer of the inner vector
            return Value("array", base.narrow)
        if sliced or base.kind in ("number", "element"):
            return base
        return Value("element", base.narrow) if base.kind == "array" else _NUMBER

    def operator(self, operator: ast.operator, left: Value, right: Value, node: ast.expr) -> Value:
        if isinstance(operator, ast.MatMult):
            return self.reduction("matmul", [left, right])
        square = isinstance(operator, ast.Pow) and isinstance(node, ast.Constant) and node.value == 2
        function = isinstance(operator, ast.FloorDiv | ast.Mod | ast.Pow) and not square
        self.count.add("call" if function else "operation")
        return _joined([left, right])

    def comprehension(self, element: ast.expr, heads: Sequence[ast.comprehension]) -> Value:
        for head in heads:
            self.count.add("loop")
            self.bind(head.target, self.items(head.iter))
            for test in head.ifs:
                self.read(test)
                self.count.add("branch")
        self.read(element)
        return _RESULT

    # Calls

    def resolved(self, node: ast.expr) -> Any:
        """The object that a name, or an attribute of a module, stands for; None for what the function computes."""
        if isinstance(node, ast.Name) and node.id not in self.names:
            cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
            if node.id in cells:
                return cells[node.id].cell_contents
            return self.function.__globals__.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == self.own != "":
                found = inspect.getattr_static(self.count.cls, node.attr, None)
                return getattr(found, "__func__", found)
            of = self.resolved(node.value)
            return getattr(of, node.attr, None) if isinstance(of, ModuleType) else None
        return None

    def called_name(self, node: ast.expr) -> str:
        """The name of the function of Python that is called here, "" for another expression."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return ""
        return node.func.id if self.resolved(node.func) is getattr(builtins, node.func.id, self) else ""

    def call(self, node: ast.Call) -> Value:
        target = self.resolved(node.func)
        if isinstance(target, FunctionType) and target.__module__ == self.count.cls.__module__:
            self.count.add("call")
            named = {str(keyword.arg): self.moved(keyword.value) for keyword in node.keywords}
            return self.count.function(target, [self.moved(one) for one in node.args], named)
        nodes = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg not in ("axis", "dtype"))]
        known = target is None or getattr(target, "__module__", "") in ("builtins", "math", "numpy", None)
        known = known or isinstance(target, np.ufunc)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(target, "__name__", "")
        method = target is None and isinstance(node.func, ast.Attribute)
        given = [node.func.value, *nodes] if method and isinstance(node.func, ast.Attribute) else nodes
        return self.known(name if known else "", given)

    def known(self, name: str, nodes: Sequence[ast.expr]) -> Value:
        """A function by its name; an unknown one is a call."""
        if name in _FREE:
            for node in nodes:
                self.place(node)
            return _NUMBER
        if name in _THROUGH and nodes:
            found = self.place(nodes[0])
            for node in nodes[1:]:
                self.read(node)
            return found
        if name in _FILLED or name in _UNFILLED:
            for node in nodes:
                self.moved(node)
            if name in _FILLED:
                self.store(Value("array"), _RESULT)
            return Value("array")
        if name in _REDUCTIONS:
            looped = isinstance(nodes[0], ast.GeneratorExp | ast.ListComp) if nodes else False
            given = [self.read(node) for node in nodes]
            if looped or (name in ("max", "min") and len(given) > 1):
                self.count.add("operation", max(len(given) - 1, 1))
                return _joined(given) if not looped else _NUMBER
            return self.reduction(name, given)
        given = [self.read(node) for node in nodes]
        self.count.add(_OPERATIONS.get(name, "call"), 2 if name == "clip" else 1)
        return _joined(given)

    def reduction(self, name: str, given: Sequence[Value]) -> Value:
        operations, loops = _REDUCTIONS[name]
        self.count.add("operation", operations)
        self.count.add("loop", loops)
        return _RESULT if name in _GIVES_ARRAY else _NUMBER


def _joined(given: Sequence[Value]) -> Value:
    """What an operation on these gives."""
    return _RESULT if any(value.whole for value in given) else _NUMBER


def _names_of(target: ast.expr) -> list[str]:
    """The names of a target, in order."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for one in target.elts for name in _names_of(one)]
    return [""]
