"""popnn.nonLinearity, its gradient, and the short names (popnn.relu, popnn.tanhInPlace, ...), under PopLibs' names.

SIGMOID, RELU, TANH, GELU, GELU_ERF and SWISH have their own vertices. HARD_SIGMOID, max(0, min(1, 0.2 x + 0.5)), and
the softmaxes are made of popops' operations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from simulator.base.errors import graph_connection_error, poplar_error, type_error
from simulator.base.types import FLOAT, HALF
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import NUMBER, Parameter, match, operation
from simulator.poplibs.memory_order import in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popnn import softmax_steps
from simulator.poplibs.popnn.nonlinearity_vertices import forward_vertex, gradient_vertex
from simulator.poplibs.poputil import clone_mapped
from simulator.poplibs.type_names import short_name


class NonLinearityType(Enum):
    SIGMOID = "SIGMOID"
    HARD_SIGMOID = "HARD_SIGMOID"
    RELU = "RELU"
    TANH = "TANH"
    GELU = "GELU"
    GELU_ERF = "GELU_ERF"
    SWISH = "SWISH"
    SOFTMAX = "SOFTMAX"
    SOFTMAX_STABLE = "SOFTMAX_STABLE"
    SOFTMAX_SCALED = "SOFTMAX_SCALED"


#: HARD_SIGMOID is flat beyond this distance from 0; its slope within
_BEND, _SLOPE = 2.5, 0.2

_CONTEXT = Parameter("debugContext", default="")
_SCALING = Parameter("nonLinearityScaling", NUMBER)
_WITH_PROGRAM = ((Parameter("prog", Sequence), _CONTEXT), (_SCALING, Parameter("prog", Sequence), _CONTEXT))
_WITH_COMPUTE_SET = ((Parameter("cs", ComputeSet), _CONTEXT), (_SCALING, Parameter("cs", ComputeSet), _CONTEXT))


def nonLinearity(graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, *arguments: Any, **named: Any) -> Any:
    """A new tensor with the function applied: (..., prog, debugContext="").

    The softmaxes work along the last dimension of t, of any rank from 1. With a number before `prog`,
    `nonLinearityScaling`, returns (tensor, the factor by which its elements are too large): 16384 for SOFTMAX_SCALED,
    else 1. The number itself is ignored, as C++ overwrites it. Raises `type_error` unless t is FLOAT or HALF."""
    given = match("nonLinearity", _WITH_PROGRAM, arguments, named)
    out = _applied(graph, nonLinearityType, t, given["prog"], given["debugContext"])
    return (out, scaling_of(nonLinearityType)) if "nonLinearityScaling" in given else out


def nonLinearityInPlace(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, *arguments: Any, **named: Any
) -> float | None:
    """Apply the function to each element in place: (..., prog, debugContext="") or (..., cs, debugContext="").

    With a compute set the vertices are added to it and the caller executes it; the softmaxes and HARD_SIGMOID take
    several steps and no compute set (`poplar_error`). With a number before `prog`, returns the scaling like
    `nonLinearity`."""
    given = match("nonLinearityInPlace", (*_WITH_PROGRAM, *_WITH_COMPUTE_SET), arguments, named)
    _checked(t)
    if not t.isParallelWriteable():
        raise poplar_error(
            f"nonLinearityInPlace: a tensor of shape {t.shape()} has elements that are constant or occur twice, "
            "and cannot be written; use nonLinearity."
        )
    _apply_in_place(graph, nonLinearityType, t, given)
    return scaling_of(nonLinearityType) if "nonLinearityScaling" in given else None


def nonLinearityInputGradient(
    graph: Graph, nonLinearityType: NonLinearityType, act: Tensor, outGradient: Tensor, *arguments: Any, **named: Any
) -> Tensor:
    """The gradient of the input, laid out like `act`: (..., prog, debugContext="") or (..., cs, debugContext="").

    `act` is the function's output; for GELU, GELU_ERF, SWISH and HARD_SIGMOID its input (the slope of HARD_SIGMOID
    applies where |act| <= 2.5, as in PopLibs). Raises `graph_connection_error` for different shapes."""
    given = match("nonLinearityInputGradient", (_WITH_PROGRAM[0], _WITH_COMPUTE_SET[0]), arguments, named)
    if act.shape() != outGradient.shape():
        raise graph_connection_error(f"Gradient: shapes {act.shape()} and {outGradient.shape()} differ.")
    op, dtype = nonLinearityType.value, _checked(act)
    context = given["debugContext"]
    call = operation(graph, context, "popnn", "nonLinearityInputGradient", type=op, act=act)
    if _is_softmax(nonLinearityType) or nonLinearityType is NonLinearityType.HARD_SIGMOID:
        if "cs" in given:
            _refuse_compute_set(op, "gradient")
        if _is_softmax(nonLinearityType):
            return softmax_steps.input_gradient(graph, act, outGradient, given["prog"], (call, "SoftMaxGradient"))
        return _hard_sigmoid_gradient(graph, act, outGradient, given["prog"], call)
    out = clone_mapped(graph, act, act.elementType(), (call, "inGradient"))
    forms = Forms(gradient_vertex(op, dtype, True), gradient_vertex(op, dtype, False))
    cs = given.get("cs") or graph.addComputeSet((call, "NonLinearityGrad"))
    place_elementwise(graph, cs, forms, ("inGrad", out), {"out": act, "outGrad": outGradient}, {})
    if "prog" in given:
        *read, target = in_memory_order(out, [act, outGradient])
        given["prog"].add(LibraryGroup([Execute(cs)], f"popnn.gradient.{op}", read, [target]))
    return out


def scaling_of(nonLinearityType: NonLinearityType) -> float:
    """The factor by which the outputs of a scaled function are too large."""
    return softmax_steps.SCALING if nonLinearityType is NonLinearityType.SOFTMAX_SCALED else 1.0


def _applied(graph: Graph, kind: NonLinearityType, t: Tensor, prog: Sequence, context: Context) -> Tensor:
    _checked(t)
    call = operation(graph, context, "popnn", "nonLinearity", type=kind.value, t=t)
    if _is_softmax(kind):
        return softmax_steps.apply(graph, kind.value, t, prog, (call, "SoftMax"))
    if kind is NonLinearityType.HARD_SIGMOID:
        out = popops.mul(graph, t, _SLOPE, prog, (call, "hardSigmoidActivation"))
        _hard_sigmoid_ends(graph, out, prog, call)
        return out
    out = clone_mapped(graph, t, t.elementType(), (call, "out"))
    cs = graph.addComputeSet((call, "NonLinearity"))
    _place(graph, kind.value, t, out, cs)
    *read, target = in_memory_order(out, [t])
    prog.add(LibraryGroup([Execute(cs)], f"popnn.{kind.value}", read, [target]))
    return out


def _apply_in_place(graph: Graph, kind: NonLinearityType, t: Tensor, given: dict[str, Any]) -> None:
    call = operation(graph, given["debugContext"], "popnn", "nonLinearityInPlace", type=kind.value, t=t)
    if _is_softmax(kind) or kind is NonLinearityType.HARD_SIGMOID:
        if "cs" in given:
            _refuse_compute_set(kind.value, "form")
        if _is_softmax(kind):
            softmax_steps.apply_in_place(graph, kind.value, t, given["prog"], (call, "SoftMax"))
        else:
            popops.mulInPlace(graph, t, _SLOPE, given["prog"], (call, "hardSigmoidActivation"))
            _hard_sigmoid_ends(graph, t, given["prog"], call)
        return
    cs = given.get("cs") or graph.addComputeSet((call, "NonLinearity"))
    _place(graph, kind.value, None, t, cs)
    if "prog" in given:
        *read, target = in_memory_order(t, [t])
        given["prog"].add(LibraryGroup([Execute(cs)], f"popnn.{kind.value}", read, [target]))


def _place(graph: Graph, op: str, source: Tensor | None, out: Tensor, cs: ComputeSet) -> None:
    dtype, in_place = short_name(out.elementType()), source is None
    forms = Forms(forward_vertex(op, dtype, in_place, True), forward_vertex(op, dtype, in_place, False))
    place_elementwise(graph, cs, forms, ("out", out), {} if source is None else {"data": source}, {})


def _hard_sigmoid_ends(graph: Graph, scaled: Tensor, prog: Sequence, call: DebugInfo) -> None:
    """min(1, max(0, x + 0.5)) in place."""
    name = (call, "hardSigmoidActivation")
    popops.addInPlace(graph, scaled, 0.5, prog, name)
    popops.maxInPlace(graph, scaled, 0.0, prog, name)
    popops.minInPlace(graph, scaled, 1.0, prog, name)


def _hard_sigmoid_gradient(graph: Graph, act: Tensor, slope: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """0.2 of the gradient where |act| <= 2.5, else 0."""
    name = (call, "HardSigmoidGradient")
    inside = popops.lteq(graph, popops.abs(graph, act, prog, name), _BEND, prog, name)
    out = popops.cast(graph, inside, act.elementType(), prog, name)
    popops.mulInPlace(graph, out, _SLOPE, prog, name)
    popops.mulInPlace(graph, out, slope, prog, name)
    return out


def _is_softmax(kind: NonLinearityType) -> bool:
    return kind.value.startswith("SOFTMAX")


def _refuse_compute_set(op: str, what: str) -> NoReturn:
    raise poplar_error(f"The {what} of {op} takes several steps; give a Sequence instead of a compute set.")


def _checked(t: Tensor) -> str:
    if t.elementType() not in (FLOAT, HALF):
        raise type_error(f"Non-linearities take FLOAT or HALF, not {t.elementType()}.")
    return short_name(t.elementType())


def _pair(kind: NonLinearityType) -> tuple[Callable[..., Any], Callable[..., float | None]]:
    """(a function that returns a new tensor, one that works in place)."""

    def applied(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> Any:
        return nonLinearity(graph, kind, t, *arguments, **named)

    def in_place(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> float | None:
        return nonLinearityInPlace(graph, kind, t, *arguments, **named)

    applied.__doc__ = f"`nonLinearity` of {kind.value}."
    in_place.__doc__ = f"`nonLinearityInPlace` of {kind.value}."
    return applied, in_place


sigmoid, sigmoidInPlace = _pair(NonLinearityType.SIGMOID)
relu, reluInPlace = _pair(NonLinearityType.RELU)
tanh, tanhInPlace = _pair(NonLinearityType.TANH)
gelu, geluInPlace = _pair(NonLinearityType.GELU)
swish, swishInPlace = _pair(NonLinearityType.SWISH)
softmax, softmaxInPlace = _pair(NonLinearityType.SOFTMAX)
softmaxStable, softmaxStableInPlace = _pair(NonLinearityType.SOFTMAX_STABLE)
scaledSoftmaxStable, scaledSoftmaxStableInPlace = _pair(NonLinearityType.SOFTMAX_SCALED)
