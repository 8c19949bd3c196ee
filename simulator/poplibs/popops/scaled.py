"""popops.scaledAddTo and scaledSubtractFrom: A += scale * B, rounded once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine import launch
from simulator.machine.cycles import scaled as cycles
from simulator.machine.cycles.described import described
from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF
from simulator.poplibs.debug import operation
from simulator.poplibs.memory_order import in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


def scaledAddTo(
    graph: Graph, A: Tensor, B: Tensor, scaleB: Tensor | float, prog: Sequence, debugContext: Context = ""
) -> None:
    """A += scaleB * B, element by element. The scale is a number or a tensor of one FLOAT or of A's type."""
    _build(graph, A, B, scaleB, prog, debugContext, subtract=False)


def scaledSubtractFrom(
    graph: Graph, A: Tensor, B: Tensor, scaleB: Tensor | float, prog: Sequence, debugContext: Context = ""
) -> None:
    """A -= scaleB * B, element by element."""
    _build(graph, A, B, scaleB, prog, debugContext, subtract=True)


def _build(
    graph: Graph, a: Tensor, b: Tensor, scale: Tensor | float, prog: Sequence, context: Context, subtract: bool
) -> None:
    name = "ScaledSubtract" if subtract else "ScaledAdd"
    if a.shape() != b.shape():
        raise graph_connection_error(f"{name}: shapes {a.shape()} and {b.shape()} differ; they must be equal.")
    if a.elementType() not in (FLOAT, HALF) or b.elementType() not in (FLOAT, HALF):
        raise type_error(f"{name}: operands hold {a.elementType()} and {b.elementType()}; FLOAT or HALF is needed.")
    dtypes = (short_name(a.elementType()), short_name(b.elementType()))
    constant = not isinstance(scale, Tensor)
    forms = Forms(*(_vertex(dtypes, subtract, constant, flat) for flat in (True, False)))
    call = operation(
        graph, context, "popops", "scaledSubtractFrom" if subtract else "scaledAddTo", A=a, B=b, scale=scale
    )
    cs = graph.addComputeSet((call, name))
    scalars = {"scaleB": scale.flatten()} if isinstance(scale, Tensor) else {}
    values = {} if isinstance(scale, Tensor) else {"scaleB": float(scale)}
    place_elementwise(graph, cs, forms, ("A", a), {"B": b}, scalars, values)
    *given, target = in_memory_order(a, [a, b])
    prog.add(LibraryGroup([Execute(cs)], f"popops.{name}", [*given, *scalars.values()], [target], values))


def accumulate(a: Array, b: Array, scale: Any, out: Array, subtract: bool) -> None:
    """out = a ± scale * b, halves in float32, rounded once."""
    product = wide(b) * np.asarray(scale, np.float32).reshape(())
    if out.dtype == np.float32:
        (np.subtract if subtract else np.add)(a, product, out=out)
    else:
        store(out, wide(a) - product if subtract else wide(a) + product)


def _kernel(subtract: bool) -> Any:
    def kernel(outputs: list[Array], inputs: list[Array], attributes: Mapping[str, Any]) -> None:
        scale = inputs[2] if len(inputs) > 2 else np.float32(attributes["scaleB"])
        accumulate(inputs[0], inputs[1], scale, outputs[0], subtract)

    return kernel


register("popops.ScaledAdd")(_kernel(False))
register("popops.ScaledSubtract")(_kernel(True))


@lru_cache(maxsize=64)
def _vertex(dtypes: tuple[str, str], subtract: bool, constant: bool, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.2", cycles.scaled_add if flat else cycles.scaled_2d_row)
        flops = flop_counts.SCALED_ADD * elements["A"]
        if flat:
            # Mk1 packs the pointers to A and B into 16 bits, which are unpacked first.
            packed = target.chip.name == "ipu1"
            spent = cycles.scaled_add(dtypes, elements["A"], subtract=subtract, scaled_pointers=packed)
            return BlockCosts(spent, "exact", source, flops, np.full_like(spent, launch.SCALED_ADD))
        edges = block.edges["A"]
        body = cycles.scaled_2d_row(dtypes[0], row_lengths(edges))
        return BlockCosts(cycles.scaled_2d_base(dtypes[0], subtract) + sum_rows(body, edges), "exact", source, flops)

    def compute(vertex: Any) -> None:
        outs, others = ([vertex.A], [vertex.B]) if flat else (vertex.A, vertex.B)
        for out, b in zip(outs, others, strict=True):
            accumulate(out, b, vertex.scaleB, out, subtract)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("A", kind, "inout", None, "span", 8),
        FieldSpec("B", kind, "in", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("scaleB", "value", "", FLOAT) if constant else FieldSpec("scaleB", "scalar", "in", None, "one_ptr"),
    )
    name = f"popops::Scaled{'Subtract' if subtract else 'Add'}{'Supervisor' if flat else '2D'}"
    template = f"<{dtypes[0]},{dtypes[1]},float,{str(constant).lower()},false>"
    return VertexType(
        name + template,
        "supervisor" if flat else "worker",
        fields,
        costs,
        compute,
        doc="A ± scale * B",
    )
