"""popops.cast: another element type, same values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import movement
from simulator.machine.cycles.described import described
from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import Type
from simulator.poplibs.debug import operation
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil import clone_mapped
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]


def cast(graph: Graph, src: Tensor, dstType: Type, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A new tensor with the values of `src` as `dstType`: floats to integers truncate, to half round once."""
    call = operation(graph, debugContext, "popops", "cast", src=src, dstType=dstType)
    dst = clone_mapped(graph, src, dstType, (call, "cast"))
    castWithOutput(graph, src, dst, prog, call)
    return dst


def castWithOutput(graph: Graph, src: Tensor, dst: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """`cast` into an existing tensor of the same shape, else `graph_connection_error`."""
    if src.shape() != dst.shape():
        raise graph_connection_error(f"cast: {src.shape()} does not fit {dst.shape()}; the shapes must be equal.")
    forms = Forms(
        *(_vertex(short_name(src.elementType()), short_name(dst.elementType()), flat) for flat in (True, False))
    )
    cs = graph.addComputeSet((operation(graph, debugContext, "popops", "castWithOutput", src=src, dst=dst), "Cast"))
    place_elementwise(graph, cs, forms, ("dst", dst), {"src": src}, {})
    prog.add(LibraryGroup([Execute(cs)], "popops.cast", [src], [dst]))


def convert(source: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
    """out[...] = source in the type of `out`; finite values too large for half become its largest."""
    store(out, np.asarray(source))


@register("popops.cast")
def _cast_kernel(outputs: list[npt.NDArray[Any]], inputs: list[npt.NDArray[Any]], attributes: object) -> None:
    convert(inputs[0], outputs[0])


@lru_cache(maxsize=256)
def _vertex(from_dtype: str, to_dtype: str, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.3", *((movement.cast_1d, movement.cast_core) if flat else (movement.cast_core,)))
        flops = flop_counts.cast(from_dtype, to_dtype, elements["dst"])
        if flat:
            return BlockCosts(movement.cast_1d(from_dtype, to_dtype, elements["dst"]), "exact", source, flops)
        edges = block.edges["dst"]
        row = movement.CAST_2D_ROW + movement.cast_core(from_dtype, to_dtype, row_lengths(edges))
        return BlockCosts(movement.CAST_2D_BASE + sum_rows(row, edges), "exact", source, flops)

    def compute(vertex: Any) -> None:
        for out, source in zip([vertex.dst] if flat else vertex.dst, [vertex.src] if flat else vertex.src, strict=True):
            convert(source, out)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (FieldSpec("src", kind, "in", None, "one_ptr", 8), FieldSpec("dst", kind, "out", None, "one_ptr", 8))
    name = f"popops::{'Cast1D' if flat else 'Cast2D'}<{from_dtype},{to_dtype}>"
    apart = (("src", "dst"),)  # as the public codelets ask
    doc = "values in another type"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc=doc, apart=apart)
