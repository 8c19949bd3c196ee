"""popops.map and popops.mapInPlace, with simpler expressions of the same values (`enableExpressionOptimizations`).

Powers with the exponents 0.5, -0.5, 1, 2, 3, 4, -1 and -2 become roots, products and inverses; casts of a tensor to its
own type disappear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from simulator.base.errors import invalid_option
from simulator.base.options.flags import spelled
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.expr.chain import Chain
from simulator.poplibs.popops.expr.coding import Code, coded
from simulator.poplibs.popops.expr.generated import can_generate, map_generated
from simulator.poplibs.popops.expr.nodes import Expr, on_place_holders
from simulator.poplibs.popops.expr.op_types import OpType
from simulator.poplibs.poputil.exceptions import poplibs_error

_FLOATING = ("float", "half")


def optimised(code: Code) -> Code:
    """The expression with its parts simplified."""
    if code[0] == "cast":
        inner = optimised(code[1])
        return inner if inner[-1] == code[-1] and inner[0] == "in" else ("cast", inner, code[-1])
    if code[0] != "op":
        return code
    arguments = tuple(optimised(a) for a in code[2])
    if code[1] == "POWER" and arguments[1][0] == "const" and code[-1] in _FLOATING:
        power = _power(arguments[0], float(arguments[1][1]), code[-1])
        if power is not None:
            return power
    return ("op", code[1], arguments, code[-1])


def _power(base: Code, exponent: float, type_: str) -> Code | None:
    def op(name: str, *arguments: Code) -> Code:
        return ("op", name, arguments, type_)

    square = op("SQUARE", base)
    simpler: dict[float, Code] = {
        0.5: op("SQRT", base),
        -0.5: op("RSQRT", base),
        1.0: base,
        2.0: square,
        3.0: op("MULTIPLY", square, base),
        4.0: op("SQUARE", square),
        -1.0: op("INVERSE", base),
        -2.0: op("INVERSE", square),
    }
    return simpler.get(exponent)


Options = dict[str, str] | None
_DEFAULTS = {
    "enableGenerateCodelet": True,
    "forceGenerateCodelet": False,
    "enableExpressionOptimizations": True,
    "enableVectorBroadcastOptimisations": True,
}


@overload
def map(
    graph: Graph,
    expr: Expr,
    ts: Sequence[Tensor],
    prog: ProgramSequence,
    debugContext: Context = ...,
    options: Options = ...,
) -> Tensor: ...
@overload
def map(graph: Graph, op: OpType, /, *tensors_prog_context_options: Any) -> Tensor: ...
def map(graph: Graph, expr: Any, *arguments: Any, **named: Any) -> Tensor:
    """map(graph, expr, ts, prog, debugContext="", options={}) -> the expression applied to the elements of the tensors
    `ts`, which it calls _1, _2, ...; shapes are broadcast as in NumPy. Also map(graph, operator, tensors..., prog,
    ...).

    Options: `enableGenerateCodelet` (true): one generated vertex where all tensors have one shape, none holds an
    element twice and there is more than one operation, else a chain of PopLibs' vertices; `forceGenerateCodelet`
    (false): also for one operation; `enableExpressionOptimizations` (true): powers by constants as products and roots;
    `enableVectorBroadcastOptimisations` (true): vertices for broadcast vectors.

    Raises `poplibs_error` for expressions whose types do not fit and `invalid_option`."""
    return _map(graph, expr, arguments, named, in_place=False)


@overload
def mapInPlace(
    graph: Graph,
    expr: Expr,
    ts: Sequence[Tensor],
    prog: ProgramSequence,
    debugContext: Context = ...,
    options: Options = ...,
) -> None: ...
@overload
def mapInPlace(graph: Graph, op: OpType, /, *tensors_prog_context_options: Any) -> None: ...
def mapInPlace(graph: Graph, expr: Any, *arguments: Any, **named: Any) -> None:
    """`map`, with the result written to the first tensor, which must have its shape and type."""
    _map(graph, expr, arguments, named, in_place=True)


def _map(graph: Graph, expr: Any, arguments: Sequence[Any], named: dict[str, Any], in_place: bool) -> Tensor:
    rest = list(arguments)
    if isinstance(expr, OpType):
        expr = on_place_holders(expr)
        tensors = [rest.pop(0) for _ in expr.arguments]
    else:
        tensors = list(rest.pop(0) if rest else named.pop("ts"))
    names = ("prog", "debugContext", "options")
    given = dict(zip(names, rest, strict=False)) | named
    if set(given) - set(names) or "prog" not in given or len(rest) > len(names):
        raise poplibs_error("map takes (graph, expression, tensors, prog, debugContext, options).")
    return map_expression(
        graph, expr, tensors, given["prog"], given.get("debugContext", ""), given.get("options"), in_place
    )


def map_expression(
    graph: Graph,
    expr: Expr,
    tensors: Sequence[Tensor],
    prog: ProgramSequence,
    context: Context,
    options: Options,
    in_place: bool,
) -> Tensor:
    """`map` and `mapInPlace` with their arguments in order."""
    if not isinstance(expr, Expr):
        raise poplibs_error(f"map: {expr!r} is not an expression; make one of expr._1, expr.Const, expr.Add ...")
    if not tensors:
        raise poplibs_error("map: no tensors are given, so the result has no shape.")
    chosen = chosen_options(options)
    code = coded(expr, [t.elementType() for t in tensors])
    if in_place and code[-1] != tensors[0].elementType().name:
        raise poplibs_error(
            f"mapInPlace: the expression is {code[-1]}, the first tensor holds {tensors[0].elementType()}."
        )
    if in_place:
        tensors = _joined(tensors)
    if chosen["enableExpressionOptimizations"]:
        code = optimised(code)
    call = operation(graph, context, "popops", "mapInPlace" if in_place else "map", expr=repr(expr))
    if chosen["enableGenerateCodelet"] and can_generate(code, tensors, chosen["forceGenerateCodelet"]):
        return map_generated(graph, code, tensors, prog, call, in_place)
    chain = Chain(graph, tensors, prog, call, chosen["enableVectorBroadcastOptimisations"])
    if in_place:
        chain.mapped_in_place(code)
        return tensors[0]
    return chain.mapped(code)


def _joined(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors of mapInPlace with the first one in the joint shape: it may lack dimensions of size 1."""
    shapes = [tuple(t.shape()) for t in tensors]
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        joint = None
    if joint is None or math.prod(joint) != tensors[0].numElements():
        raise poplibs_error(
            f"mapInPlace: shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast into the first."
        )
    return [tensors[0].reshape(joint), *tensors[1:]]


def chosen_options(options: Options) -> dict[str, bool]:
    """The options of element-wise operations with their values. Raises `invalid_option` for unknown ones."""
    chosen = dict(_DEFAULTS)
    for name, value in (options or {}).items():
        if name not in chosen:
            raise invalid_option(f"Element-wise operations have no option '{name}'; they have {', '.join(chosen)}.")
        text = spelled(name, value)
        if text not in ("true", "false"):
            raise invalid_option(f"Option {name} is '{value}'; it must be true or false.")
        chosen[name] = text == "true"
    return chosen
