"""The vertex types of popnn's non-linearities, over a run or over rows, and their kernels over whole tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import nonlinearity as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.popops.operators import apply, wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.runtime.values.kernels import register

#: functions with their own vertices
VERTEX_FUNCTIONS = ("SIGMOID", "RELU", "TANH", "GELU", "GELU_ERF", "SWISH")


def gradient(op: str, act: AnyArray, out_gradient: AnyArray) -> AnyArray:
    """The gradient in float32. `act` is the output for RELU, SIGMOID and TANH, the input for GELU, GELU_ERF
    and SWISH."""
    y, g = wide(act), wide(out_gradient)
    if op == "RELU":
        return np.asarray(g * (y > 0))
    if op == "SIGMOID":
        return np.asarray(g * y * (1 - y))
    if op == "TANH":
        return np.asarray(g * (1 - y * y))
    if op == "SWISH":
        s = apply("SIGMOID", [y])
        return np.asarray(g * (s + y * s * (1 - s)))
    if op == "GELU_ERF":
        bell = np.float32(0.3989422804014327) * np.exp(-y * y / 2)
        return np.asarray(g * (0.5 * (1 + apply("ERF", [y * np.float32(0.7071067811865476)])) + y * bell))
    c = np.float32(0.7978845608028654)
    inner = np.tanh(c * (y + np.float32(0.044715) * y**3))
    slope = c * (1 + np.float32(3 * 0.044715) * y * y)
    return np.asarray(g * (0.5 * (1 + inner) + 0.5 * y * (1 - inner * inner) * slope))


def _register(op: str) -> None:
    def forward(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
        if op == "RELU" and outputs[0].dtype == np.float32:
            np.maximum(inputs[0], 0, out=outputs[0])
            return
        store(outputs[0], apply(op, [wide(inputs[0])]))

    def backward(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
        store(outputs[0], gradient(op, inputs[0], inputs[1]))

    register(f"popnn.{op}", elementwise=True)(forward)
    register(f"popnn.gradient.{op}", elementwise=True)(backward)


for _op in VERTEX_FUNCTIONS:
    _register(_op)


@lru_cache(maxsize=64)
def forward_vertex(op: str, dtype: str, in_place: bool, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
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
            store(out, apply(op, [wide(np.asarray(data))]))

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    out = FieldSpec("out", kind, "inout" if in_place else "out", None, "scaled_ptr32", 8)
    fields = (out,) if in_place else (FieldSpec("data", kind, "in", None, "scaled_ptr32", 8), out)
    name = f"popnn::NonLinearity{'1D' if flat else '2D'}{'InPlace' if in_place else ''}<{dtype},popnn::{op}>"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc=f"{op} of every element")


@lru_cache(maxsize=64)
def gradient_vertex(op: str, dtype: str, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
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
    return "guess" if op in ("GELU", "GELU_ERF") else "exact"
