"""One-hot encoding of class numbers, as popops.encodeOneHot does it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine.cycles import movement
from simulator.machine.cycles.described import described
from simulator.poplar import regions
from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplibs.debug import operation
from simulator.poplibs.pieces import aligned_runs, vector_edges
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


def encodeOneHot(graph: Graph, indices: Tensor, encoded: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """Set `encoded`, [n, classes], to 1 at each row's index and 0 elsewhere; rows whose index is out of range are 0.

    Raises `graph_connection_error` where the shapes do not fit or `encoded` is not one run of memory."""
    if encoded.rank() != 2 or encoded.dim(0) != indices.numElements() or not encoded.isContiguous():
        raise graph_connection_error(
            f"encodeOneHot: {indices.numElements()} indices need a contiguous [{indices.numElements()}, classes] "
            f"tensor, not shape {encoded.shape()}."
        )
    classes = encoded.dim(1)
    call = operation(graph, debugContext, "popops", "encodeOneHot", indices=indices, encoded=encoded)
    cs = graph.addComputeSet((call, "OneHotEncode"))
    runs = aligned_runs(graph.store, encoded, [])
    begins = runs.starts - int(encoded.regions()[0][0])
    ends = begins + runs.lengths
    starts, lengths, of = regions.cuts(*indices.flatten().regions(), begins // classes, -(-ends // classes))
    offsets = np.searchsorted(of, np.arange(len(ends) + 1), side="left").astype(np.int64)
    edges = {"indices": vector_edges(starts, lengths, offsets), "out": vector_edges(runs.starts, runs.lengths)}
    values = {"offset": begins % classes, "sliceLength": classes}
    type_ = _vertex(short_name(encoded.elementType()))
    graph.addVertices(cs, type_, graph._graph_tiles(runs.tiles), edges, values)
    prog.add(LibraryGroup([Execute(cs)], "popops.encodeOneHot", [indices], [encoded]))


def encode(indices: Array, classes: int) -> Array:
    """[n, classes] zeros and ones."""
    return np.asarray(indices.reshape(-1, 1) == np.arange(classes))


@register("popops.encodeOneHot")
def _kernel(outputs: list[Array], inputs: list[Array], attributes: object) -> None:
    outputs[0][...] = encode(inputs[0], outputs[0].shape[1])


@lru_cache(maxsize=8)
def _vertex(dtype: str) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        spent = movement.encode_one_hot("uint", dtype, elements["indices"])
        source = described("7.3", movement.encode_one_hot)
        return BlockCosts(spent, "exact", source, np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        rows = encode(np.asarray(vertex.indices), int(vertex.sliceLength)).reshape(-1)
        first = int(vertex.offset)
        vertex.out[...] = rows[first : first + len(vertex.out)]

    fields = (
        FieldSpec("indices", "vector", "in", None, "one_ptr", 4),
        FieldSpec("out", "vector", "out", None, "one_ptr", 8),
        FieldSpec("offset", "value", "", None),
        FieldSpec("sliceLength", "value", "", None),
    )
    # The form for halves is assembly that the supervisor runs; other types run compiled C++ on one worker.
    kind: Literal["supervisor", "worker"] = "supervisor" if dtype == "half" else "worker"
    return VertexType(f"popops::EncodeOneHot<uint,{dtype}>", kind, fields, costs, compute, doc="one-hot rows")
