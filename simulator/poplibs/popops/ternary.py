"""popops.select and popops.clamp: worker vertices over rows, with forms for operands of one element.

PopLibs' vertices: Select, BroadcastSelect (both values of one element), BroadcastSelectorSelect (one selector), Clamp,
BroadcastClamp (both limits of one element). Other operands of fewer elements are broadcast to the shape of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import BOOL
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import elementwise as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.memory_order import broadcast_to, in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops import operators
from simulator.poplibs.popops.elementwise import createOutputForElementWiseOp
from simulator.poplibs.popops.operators import evaluate
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil.broadcasting import broadcastToMatch
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

_SELECTABLE = ("float", "half", "int", "uint", "bool", "longlong", "ulonglong")
_CLAMPABLE = ("float", "half", "int")


def ternary(
    graph: Graph, op: str, operands: tuple[Tensor, Tensor, Tensor], prog: Sequence, context: Context, in_place: bool
) -> Tensor:
    """Append CLAMP or SELECT of three tensors; returns the result, the first tensor when in place.

    Raises `poplibs_error` for types that differ or have no such vertex, and shapes that do not match."""
    a, b, c = operands
    alike = operands if op == "CLAMP" else operands[:2]
    dtype = short_name(a.elementType())
    if len({t.elementType() for t in alike}) > 1 or dtype not in (_CLAMPABLE if op == "CLAMP" else _SELECTABLE):
        raise poplibs_error(f"{op}: operands hold {', '.join(str(t.elementType()) for t in alike)}; cast them.")
    if op == "SELECT" and c.elementType() is not BOOL:
        raise poplibs_error(f"SELECT: the selector holds {c.elementType()}; it must be bool.")
    matched = broadcastToMatch(a, b, c)
    if in_place:
        if matched[0].numElements() != a.numElements():
            raise poplibs_error(f"{op} in place: {a.shape()} is not the joint shape {matched[0].shape()}.")
        a = a.reshape(matched[0].shape())  # the others may have more dimensions of size 1
        operands = (a, b, c)
    call = operation(graph, context, "popops", op, A=a, B=b, C=c, inPlace=in_place)
    models = [m for t, m in zip(operands, matched, strict=True) if t.shape() == m.shape()] or [matched[0]]
    name = f"Op/{op.capitalize()}"
    out = a if in_place else createOutputForElementWiseOp(graph, models, a.elementType(), (call, f"{name}/Out"))
    if out.numElements() == 0:
        return out
    single = tuple(t.numElements() == 1 and out.numElements() > 1 for t in operands)
    form, scalars = _form(op, single, in_place)
    names = ("in1", "in2", "in3")
    vectors = {
        n: broadcast_to(t, tuple(out.shape()))
        for i, (n, t) in enumerate(zip(names, operands, strict=True))
        if i not in scalars and not (in_place and i == 0)
    }
    cs = graph.addComputeSet((call, name))
    vertex = _vertex(form, op, dtype, in_place, scalars)
    place_elementwise(
        graph, cs, Forms(None, vertex), ("out", out), vectors, {names[i]: operands[i].flatten() for i in scalars}
    )
    *given, target = in_memory_order(out, list(operands))
    prog.add(LibraryGroup([Execute(cs)], f"popops.{op.lower()}", given, [target]))
    return out


def _form(op: str, single: tuple[bool, ...], in_place: bool) -> tuple[str, tuple[int, ...]]:
    """(name of the vertex, operands that are one element in it)."""
    if op == "CLAMP":
        return ("BroadcastClamp", (1, 2)) if single[1] and single[2] else ("Clamp", ())
    if single[2]:
        return "BroadcastSelectorSelect", (2,)
    return ("BroadcastSelect", (0, 1)) if single[0] and single[1] and not in_place else ("Select", ())


def _register_kernels() -> None:
    for op in operators.TERNARY:

        def kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object, op: str = op) -> None:
            evaluate(op, inputs, outputs[0])

        register(f"popops.{op.lower()}", elementwise=True)(kernel)


_register_kernels()
_BASES = {
    "Select": cycles.SELECT_BASE,
    "BroadcastSelect": cycles.BROADCAST_SELECT_BASE,
    "BroadcastSelectorSelect": cycles.SELECTOR_SELECT_BASE,
    "Clamp": cycles.CLAMP_BASE,
    "BroadcastClamp": cycles.CLAMP_BASE,
}
_BYTES = {"half": 2, "bool": 1, "longlong": 8, "ulonglong": 8}


def _rows(form: str, dtype: str, n: Int64Array) -> Int64Array:
    if form.endswith("Clamp"):
        return cycles.clamp_row(dtype, n)
    if form == "Select":
        return cycles.select_row(n)
    if form == "BroadcastSelect":
        return cycles.broadcast_select_row(n)
    return cycles.selector_select_row(_BYTES.get(dtype, 4), n)


_FORMULAS = {
    "Select": cycles.select_row,
    "BroadcastSelect": cycles.broadcast_select_row,
    "BroadcastSelectorSelect": cycles.selector_select_row,
    "Clamp": cycles.clamp_row,
    "BroadcastClamp": cycles.clamp_row,
}


@lru_cache(maxsize=128)
def _vertex(form: str, op: str, dtype: str, in_place: bool, scalars: tuple[int, ...]) -> VertexType:
    each = flop_counts.ternary(op)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        edges = block.edges["out"]
        spent = _BASES[form] + sum_rows(_rows(form, dtype, row_lengths(edges)), edges)
        source = described("7.1", _FORMULAS[form])
        return BlockCosts(spent, "exact", source, flop_counts.typed(each * elements["out"], dtype))

    def compute(vertex: Any) -> None:
        fields = [vertex.out if in_place else vertex.in1, vertex.in2, vertex.in3]
        for row, out in enumerate(vertex.out):
            given = [np.asarray(f).reshape(()) if i in scalars else np.asarray(f[row]) for i, f in enumerate(fields)]
            evaluate(op, given, out)

    fields = [
        FieldSpec(f"in{i + 1}", "scalar" if i in scalars else "vectors", "in", None, "one_ptr", 4, outer="one_ptr")
        for i in range(1 if in_place else 0, 3)
    ]
    out = FieldSpec("out", "vectors", "inout" if in_place else "out", None, "span", 4)
    name = f"popops::{form}{'InPlace' if in_place else ''}<{dtype}>"
    return VertexType(name, "worker", (*fields, out), costs, compute, doc=f"{op} element by element")
