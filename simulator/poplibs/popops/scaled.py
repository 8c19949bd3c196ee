"""popops.scaledAddTo and scaledSubtractFrom: A += scaleB * B, or A = scaleA * A + scaleB * B, rounded once.

Arguments select the overload as in C++: a second tensor of A's shape is B, anything else is scaleA.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, overload

from simulator.arrays import AnyArray
from simulator.base.errors import graph_connection_error, invalid_option, type_error
from simulator.base.options.flags import spelled
from simulator.base.types import FLOAT, HALF, INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.memory_order import in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.casting import cast
from simulator.poplibs.popops.scaled_vertices import ScaledForm, accumulate, combine, scaled_vertex
from simulator.poplibs.poputil.region_splits import checkAccuracyWhenCast
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

Options = dict[str, str] | None
Scale = Tensor | float


class ScaledAddSpecialisation(Enum):
    """DEFAULT: scaleA * A + scaleB * B. X_MINUS_AX_PLUS_BY: A - scaleA * A + scaleB * B."""

    DEFAULT = "default"
    X_MINUS_AX_PLUS_BY = "X minus aX plus bY"


@overload
def scaledAddTo(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    scaleB: Scale,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
@overload
def scaledAddTo(
    graph: Graph,
    A: Tensor,
    scaleA: Scale,
    B: Tensor,
    scaleB: Scale,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
@overload
def scaledAddTo(
    graph: Graph,
    A: Tensor,
    scaleA: Scale,
    B: Tensor,
    scaleB: Scale,
    prog: Sequence,
    speciality: ScaledAddSpecialisation,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
def scaledAddTo(graph: Graph, A: Tensor, *rest: Any, **named: Any) -> None:
    """A += scaleB * B, or A = scaleA * A + scaleB * B, element by element; scales are numbers or tensors of one
    element.

    Options: `optimizeForSpeed` (false): vertices whose operands must be in different memory elements;
    `scaleFloatToHalfTolerance` (1e-6): the relative error up to which a float scale of halves becomes a half.

    Raises `graph_connection_error` where A and B differ in shape, `type_error` for types without such a vertex."""
    _build(graph, A, rest, named, subtract=False)


@overload
def scaledSubtractFrom(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    scaleB: Scale,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
@overload
def scaledSubtractFrom(
    graph: Graph,
    A: Tensor,
    scaleA: Scale,
    B: Tensor,
    scaleB: Scale,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None: ...
def scaledSubtractFrom(graph: Graph, A: Tensor, *rest: Any, **named: Any) -> None:
    """A -= scaleB * B, or A = scaleA * A - scaleB * B; otherwise as `scaledAddTo`."""
    _build(graph, A, rest, named, subtract=True)


def _build(graph: Graph, a: Tensor, rest: tuple[Any, ...], named: dict[str, Any], subtract: bool) -> None:
    given = _by_name(rest, named)
    name = "ScaledSubtract" if subtract else "ScaledAdd"
    b, scale_a, scale_b, prog = given["B"], given.get("scaleA"), given["scaleB"], given["prog"]
    if a.shape() != b.shape():
        raise graph_connection_error(f"{name}: shapes {a.shape()} and {b.shape()} differ; they must be equal.")
    _check_types(name, a, b, scale_a is not None)
    fast, tolerance = _chosen(given.get("options"))
    scales = [s for s in (scale_a, scale_b) if s is not None]
    for scale in scales:
        if isinstance(scale, Tensor) and scale.numElements() != 1:
            raise graph_connection_error(f"{name}: a scale has shape {scale.shape()}; it must be one element.")
    arguments = {"A": a, "B": b, "scaleB": scale_b} | ({} if scale_a is None else {"scaleA": scale_a})
    api = "scaledSubtractFrom" if subtract else "scaledAddTo"
    call = operation(graph, given.get("debugContext", ""), "popops", api, **arguments)
    if scale_a is not None and b.elementType() is not a.elementType():
        b = cast(graph, b, a.elementType(), prog, (call, "castB"))
    constant = not any(isinstance(s, Tensor) for s in scales)
    if not constant:
        scales = [s if isinstance(s, Tensor) else _tensor(graph, s, call) for s in scales]
    one_minus = given.get("speciality") is ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY
    form = ScaledForm(
        (short_name(a.elementType()), short_name(b.elementType())),
        _scale_type(graph, a, b, scales, tolerance),
        subtract,
        constant,
        fast,
        scale_a is not None,
        one_minus,
    )
    _place(graph, a, b, scales, form, (call, name), prog)


def _place(
    graph: Graph,
    a: Tensor,
    b: Tensor,
    scales: list[Any],
    form: ScaledForm,
    context: tuple[DebugInfo, str],
    prog: Sequence,
) -> None:
    names = ["scaleA", "scaleB"][-len(scales) :]
    tensors = {} if form.constant else {n: s.flatten() for n, s in zip(names, scales, strict=True)}
    values = dict(zip(names, scales, strict=True)) if form.constant else {}
    cs = graph.addComputeSet(context)
    forms = Forms(scaled_vertex(form, True), scaled_vertex(form, False))
    place_elementwise(graph, cs, forms, ("A", a), {"B": b}, tensors, values)
    *given, target = in_memory_order(a, [a, b])
    attributes = {"values": values, "subtract": form.subtract, "both": form.both, "oneMinus": form.one_minus}
    prog.add(LibraryGroup([Execute(cs)], "popops.scaledAdd", [*given, *tensors.values()], [target], attributes))


def _by_name(rest: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name, `scaleA` only where given."""
    both = "scaleA" in named or ("B" in named and bool(rest)) or (len(rest) > 3 and isinstance(rest[3], Sequence))
    both = both or bool(rest and not isinstance(rest[0], Tensor))
    names = ["scaleA", "B", "scaleB", "prog"] if both else ["B", "scaleB", "prog"]
    if len(rest) > len(names) and isinstance(rest[len(names)], ScaledAddSpecialisation):
        names.append("speciality")
    names += ["debugContext", "options"]
    given = dict(zip(names, rest, strict=False)) | named
    missing = {"B", "scaleB", "prog"} - set(given)
    if missing or len(rest) > len(names):
        raise type_error(f"scaledAddTo takes (graph, A, [scaleA,] B, scaleB, prog); missing: {sorted(missing)}.")
    return given


def _check_types(name: str, a: Tensor, b: Tensor, both: bool) -> None:
    types = a.elementType(), b.elementType()
    floating = all(t in (FLOAT, HALF) for t in types)
    whole = types[0] is types[1] and types[0] in (INT, UNSIGNED_INT) and not both
    if not floating and not whole:
        needed = "FLOAT or HALF" if both else "FLOAT or HALF, or both INT or UNSIGNED_INT,"
        raise type_error(f"{name}: operands hold {types[0]} and {types[1]}; {needed} is needed.")


def _tensor(graph: Graph, value: float, call: DebugInfo) -> Tensor:
    constant = graph.addConstant(FLOAT, [], value, (call, "scale"))
    graph.setTileMapping(constant, 0)
    return constant


def _scale_type(graph: Graph, a: Tensor, b: Tensor, scales: list[Any], tolerance: float) -> str:
    """half where the scales of halves are halves, or numbers within the tolerance of a half; else float."""
    if a.elementType() not in (FLOAT, HALF):
        return short_name(a.elementType())
    if a.elementType() is not HALF or b.elementType() is not HALF:
        return "float"
    target = graph.getTarget()
    fits = [
        s.elementType() is HALF if isinstance(s, Tensor) else checkAccuracyWhenCast(target, s, FLOAT, HALF, tolerance)
        for s in scales
    ]
    return "half" if all(fits) else "float"


def _chosen(options: Options) -> tuple[bool, float]:
    fast, tolerance = False, 1e-6
    for name, value in (options or {}).items():
        text = spelled(name, value)
        if name == "optimizeForSpeed" and text in ("true", "false"):
            fast = text == "true"
        elif name == "scaleFloatToHalfTolerance":
            try:
                tolerance = float(text)
            except ValueError:
                raise invalid_option(f"Option {name} is '{text}'; it must be a number.") from None
        else:
            raise invalid_option(
                f"Scaled addition has no option {name} = '{text}'; it has optimizeForSpeed (true, false) and "
                "scaleFloatToHalfTolerance (a number)."
            )
    return fast, tolerance


@register("popops.scaledAdd", elementwise=True)
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    given = attributes["values"]
    scales = list(given.values()) if given else inputs[2:]
    if attributes["both"]:
        first, second = scales
        combine(inputs[0], first, inputs[1], second, outputs[0], attributes["subtract"], attributes["oneMinus"])
    else:
        accumulate(inputs[0], inputs[1], scales[0], outputs[0], attributes["subtract"])
