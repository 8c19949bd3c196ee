"""popnn.nonLinearity and its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import nonlinearity as cycles
from simulator.machine.cycles.described import described
from simulator.poplar.debug_context import Context, DebugInfo
from simulator.poplar.errors import graph_connection_error, poplar_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF
from simulator.poplibs import popops
from simulator.poplibs.debug import operation
from simulator.poplibs.memory_order import in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.operators import UNARY, wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil import clone_mapped
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class NonLinearityType(Enum):
    SIGMOID = "SIGMOID"
    RELU = "RELU"
    TANH = "TANH"
    GELU = "GELU"
    SWISH = "SWISH"
    SOFTMAX = "SOFTMAX"


def nonLinearity(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A new tensor with the function applied; SOFTMAX works along the last dimension of a [batch, classes] tensor."""
    if nonLinearityType is NonLinearityType.SOFTMAX:
        return _softmax(graph, t, prog, debugContext)
    call = operation(graph, debugContext, "popnn", "nonLinearity", type=nonLinearityType.value, t=t)
    out = clone_mapped(graph, t, t.elementType(), (call, "out"))
    _apply(graph, nonLinearityType, t, out, prog, call)
    return out


def nonLinearityInPlace(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Sequence, debugContext: Context = ""
) -> None:
    """The function applied to every element where it lies. SOFTMAX needs room of its own: use nonLinearity."""
    if nonLinearityType is NonLinearityType.SOFTMAX:
        raise poplar_error("nonLinearityInPlace: SOFTMAX is not done in place; use nonLinearity.")
    call = operation(graph, debugContext, "popnn", "nonLinearityInPlace", type=nonLinearityType.value, t=t)
    _apply(graph, nonLinearityType, None, t, prog, call)


def nonLinearityInputGradient(
    graph: Graph,
    nonLinearityType: NonLinearityType,
    act: Tensor,
    outGradient: Tensor,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """The gradient of the input, laid out like `act`. `act` is the function's output; for GELU and SWISH its input.

    SOFTMAX has none here: calcLoss with CROSS_ENTROPY_LOSS gives the gradient of the softmax's input."""
    if nonLinearityType is NonLinearityType.SOFTMAX:
        raise poplar_error("nonLinearityInputGradient: calcLoss already gives the gradient through SOFTMAX.")
    if act.shape() != outGradient.shape():
        raise graph_connection_error(f"Gradient: shapes {act.shape()} and {outGradient.shape()} differ.")
    op, dtype = nonLinearityType.value, _checked(act)
    call = operation(graph, debugContext, "popnn", "nonLinearityInputGradient", type=op, act=act)
    out = clone_mapped(graph, act, act.elementType(), (call, "inGradient"))
    forms = Forms(_gradient_vertex(op, dtype, True), _gradient_vertex(op, dtype, False))
    cs = graph.addComputeSet((call, "NonLinearityGrad"))
    place_elementwise(graph, cs, forms, ("inGrad", out), {"out": act, "outGrad": outGradient}, {})
    *given, target = in_memory_order(out, [act, outGradient])
    prog.add(LibraryGroup([Execute(cs)], f"popnn.gradient.{op}", given, [target]))
    return out


def _apply(
    graph: Graph, kind: NonLinearityType, source: Tensor | None, out: Tensor, prog: Sequence, call: DebugInfo
) -> None:
    op, dtype, in_place = kind.value, _checked(out), source is None
    forms = Forms(_forward_vertex(op, dtype, in_place, True), _forward_vertex(op, dtype, in_place, False))
    cs = graph.addComputeSet((call, "NonLinearity"))
    place_elementwise(graph, cs, forms, ("out", out), {} if source is None else {"data": source}, {})
    *given, target = in_memory_order(out, [out if source is None else source])
    prog.add(LibraryGroup([Execute(cs)], f"popnn.{op}", given, [target]))


def _softmax(graph: Graph, t: Tensor, prog: Sequence, context: Context) -> Tensor:
    """exp(x - max) / sum, from popops' operations."""
    _checked(t)
    if t.rank() != 2:
        raise graph_connection_error(f"SOFTMAX needs a [batch, classes] tensor, not shape {t.shape()}.")
    call = operation(graph, context, "popnn", "nonLinearity", type="SOFTMAX", t=t)
    name = (call, "SoftMax")
    largest = popops.reduce(graph, t, [1], popops.Operation.MAX, prog, name).expand([1])
    out = popops.sub(graph, t, largest, prog, name)
    popops.expInPlace(graph, out, prog, name)
    total = popops.reduce(graph, out, [1], popops.Operation.ADD, prog, name).expand([1])
    popops.divInPlace(graph, out, total, prog, name)
    return out


def _checked(t: Tensor) -> str:
    if t.elementType() not in (FLOAT, HALF):
        raise type_error(f"Non-linearities take FLOAT or HALF, not {t.elementType()}.")
    return short_name(t.elementType())


def gradient(op: str, act: Array, out_gradient: Array) -> Array:
    """The gradient in float32; `act` = output for RELU, SIGMOID and TANH, input for GELU and SWISH."""
    y, g = wide(act), wide(out_gradient)
    if op == "RELU":
        return np.asarray(g * (y > 0))
    if op == "SIGMOID":
        return np.asarray(g * y * (1 - y))
    if op == "TANH":
        return np.asarray(g * (1 - y * y))
    if op == "SWISH":
        s = UNARY["SIGMOID"](y)
        return np.asarray(g * (s + y * s * (1 - s)))
    c = np.float32(0.7978845608028654)
    inner = np.tanh(c * (y + np.float32(0.044715) * y**3))
    slope = c * (1 + np.float32(3 * 0.044715) * y * y)
    return np.asarray(g * (0.5 * (1 + inner) + 0.5 * y * (1 - inner * inner) * slope))


def _register(op: str) -> None:
    def forward(outputs: list[Array], inputs: list[Array], attributes: object) -> None:
        if op == "RELU" and outputs[0].dtype == np.float32:
            np.maximum(inputs[0], 0, out=outputs[0])
            return
        store(outputs[0], np.asarray(UNARY[op](wide(inputs[0]))))

    def backward(outputs: list[Array], inputs: list[Array], attributes: object) -> None:
        store(outputs[0], gradient(op, inputs[0], inputs[1]))

    register(f"popnn.{op}")(forward)
    register(f"popnn.gradient.{op}")(backward)


for _kind in NonLinearityType:
    if _kind is not NonLinearityType.SOFTMAX:
        _register(_kind.value)


@lru_cache(maxsize=64)
def _forward_vertex(op: str, dtype: str, in_place: bool, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.6", cycles.forward_1d if flat else cycles.forward_2d_row)
        flops = flop_counts.nonlinearity(op) * elements["out"]
        if flat:
            return BlockCosts(cycles.forward_1d(op, dtype, elements["out"]), "exact", source, flops)
        edges = block.edges["out"]
        rows = sum_rows(cycles.forward_2d_row(op, dtype, row_lengths(edges)), edges)
        return BlockCosts(cycles.FORWARD_2D_BASE + rows, "exact", source, flops)

    def compute(vertex: Any) -> None:
        outs = [vertex.out] if flat else vertex.out
        sources = outs if in_place else ([vertex.data] if flat else vertex.data)
        for out, data in zip(outs, sources, strict=True):
            store(out, np.asarray(UNARY[op](wide(np.asarray(data)))))

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    out = FieldSpec("out", kind, "inout" if in_place else "out", None, "scaled_ptr32", 8)
    fields = (out,) if in_place else (FieldSpec("data", kind, "in", None, "scaled_ptr32", 8), out)
    name = f"popnn::NonLinearity{'1D' if flat else '2D'}{'InPlace' if in_place else ''}<{dtype},popnn::{op}>"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc=f"{op} of every element")


@lru_cache(maxsize=64)
def _gradient_vertex(op: str, dtype: str, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.6", cycles.gradient_1d if flat else cycles.gradient_2d_row)
        flops = flop_counts.gradient(op) * elements["inGrad"]
        if flat:
            return BlockCosts(cycles.gradient_1d(op, dtype, elements["inGrad"]), _class(op), source, flops)
        edges = block.edges["inGrad"]
        rows = sum_rows(cycles.gradient_2d_row(op, dtype, row_lengths(edges)), edges)
        return BlockCosts(cycles.GRADIENT_2D_BASE + rows, _class(op), source, flops)

    def compute(vertex: Any) -> None:
        columns = (
            ([vertex.inGrad], [vertex.out], [vertex.outGrad]) if flat else (vertex.inGrad, vertex.out, vertex.outGrad)
        )
        for target, act, slope in zip(*columns, strict=True):
            store(target, gradient(op, np.asarray(act), np.asarray(slope)))

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("outGrad", kind, "in", None, "scaled_ptr32", 8),
        FieldSpec("out", kind, "in", None, "scaled_ptr32", 8),
        FieldSpec("inGrad", kind, "out", None, "scaled_ptr32", 8),
    )
    name = f"popnn::NonLinearityGrad{'1D' if flat else '2D'}<{dtype},popnn::{op}>"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc=f"gradient of {op}")


def _class(op: str) -> Literal["exact", "guess"]:
    return "guess" if op == "GELU" else "exact"
