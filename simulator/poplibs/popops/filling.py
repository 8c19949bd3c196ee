"""popops.fill and popops.zero: one value everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine.cycles import movement
from simulator.machine.cycles.described import described
from simulator.poplar.debug_context import Context
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplibs.debug import operation
from simulator.poplibs.pieces import aligned_runs, vector_edges
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]


def fill(graph: Graph, t: Tensor, prog: Sequence, fillValue: float, debugContext: Context = "") -> None:
    """Set every element of `t` to a value; one Fill vertex per run of memory on each tile."""
    if t.numElements() == 0:
        return
    call = operation(graph, debugContext, "popops", "fill", t=t, fillValue=fillValue)
    cs = graph.addComputeSet((call, "Fill"))
    runs = aligned_runs(graph.store, t, [])
    edges = {"out": vector_edges(runs.starts, runs.lengths)}
    graph.addVertices(cs, _vertex(short_name(t.elementType())), runs.tiles, edges, {"in": fillValue})
    prog.add(LibraryGroup([Execute(cs)], "popops.fill", [], [t], {"value": fillValue}))


def zero(graph: Graph, t: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """Set every element of `t` to 0."""
    fill(graph, t, prog, 0, debugContext)


@register("popops.fill")
def _fill_kernel(
    outputs: list[npt.NDArray[Any]], inputs: list[npt.NDArray[Any]], attributes: Mapping[str, Any]
) -> None:
    outputs[0][...] = attributes["value"]


@lru_cache(maxsize=32)
def _vertex(dtype: str) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        cycles = movement.fill(dtype, elements["out"])
        source = described("7.3", movement.fill)
        return BlockCosts(cycles, "exact", source, np.zeros_like(cycles))

    def compute(vertex: Any) -> None:
        vertex.out[...] = getattr(vertex, "in")

    fields = (FieldSpec("in", "value", "", None), FieldSpec("out", "vector", "out", None, "one_ptr", 8))
    return VertexType(f"popops::Fill<{dtype}>", "worker", fields, costs, compute, doc="one value everywhere")
