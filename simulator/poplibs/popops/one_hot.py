"""popops.encodeOneHot and popops.iota: rows with one value at an index, and ascending numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.errors import graph_connection_error
from simulator.base.types import INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import movement
from simulator.machine.cycles.described import described, described_as
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import aligned_runs, places_of, vector_edges
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

#: the index that stands for no class (popops/EncodingConstants.hpp)
MASKED_LABEL_CODE = 0xFFFFFFFF


@overload
def encodeOneHot(
    graph: Graph, indices: Tensor, encoded: Tensor, prog: Sequence, debugContext: Context = ""
) -> None: ...
@overload
def encodeOneHot(
    graph: Graph,
    indices: Tensor,
    encoded: Tensor,
    prog: Sequence,
    on: Tensor,
    off: Tensor,
    debugContext: Context = "",
) -> None: ...
def encodeOneHot(graph: Graph, indices: Tensor, encoded: Tensor, prog: Sequence, *rest: Any, **named: Any) -> None:
    """Set `encoded`, [n, classes], to `on` (1) at each row's index and to `off` (0) elsewhere. A row whose index is
    MASKED_LABEL_CODE or out of range has no `on`.

    Raises `graph_connection_error` where the shapes do not fit, `poplibs_error` for values that are not single elements
    of the type of `encoded`."""
    arguments = list(rest)
    on = arguments.pop(0) if arguments and isinstance(arguments[0], Tensor) else named.pop("on", None)
    off = arguments.pop(0) if arguments and isinstance(arguments[0], Tensor) else named.pop("off", None)
    context = arguments.pop(0) if arguments else named.pop("debugContext", "")
    if encoded.rank() != 2 or encoded.dim(0) != indices.numElements():
        raise graph_connection_error(
            f"encodeOneHot: {indices.numElements()} indices need a [{indices.numElements()}, classes] tensor, not "
            f"shape {encoded.shape()}."
        )
    values = [] if on is None or off is None else [on, off]
    for value in values:
        if value.numElements() != 1 or value.elementType() is not encoded.elementType():
            raise poplibs_error(
                f"encodeOneHot: a value holds {value.elementType()} of shape {value.shape()}; one element of "
                f"{encoded.elementType()} is needed."
            )
    call = operation(graph, context, "popops", "encodeOneHot", indices=indices, encoded=encoded)
    if encoded.isContiguous():
        _encode(graph, indices, encoded, values, prog, call)
        return
    whole = graph.addVariable(encoded.elementType(), encoded.shape(), (call, "encoded"))
    mapTensorLinearly(graph, whole)
    _encode(graph, indices, whole, values, prog, call)
    prog.add(Copy(whole, encoded, False, (call, "encoded")))


def _encode(graph: Graph, indices: Tensor, encoded: Tensor, values: list[Tensor], prog: Sequence, call: Any) -> None:
    if encoded.numElements() == 0:
        return
    classes = encoded.dim(1)
    cs = graph.addComputeSet((call, "OneHotEncode"))
    runs = aligned_runs(graph.store, encoded, [])
    begins = runs.starts - int(encoded.regions()[0][0])
    ends = begins + runs.lengths
    starts, lengths, of = regions.cuts(*indices.flatten().regions(), begins // classes, -(-ends // classes))
    offsets = np.searchsorted(of, np.arange(len(ends) + 1), side="left").astype(np.int64)
    edges = {"indices": vector_edges(starts, lengths, offsets), "out": vector_edges(runs.starts, runs.lengths)}
    one = np.ones(len(ends), np.int64)
    for name, value in zip(("On", "Off"), values, strict=False):
        edges[name] = vector_edges(np.full(len(ends), int(value.regions()[0][0]), np.int64), one)
    state = {"offset": begins % classes, "sliceLength": classes}
    type_ = _vertex(short_name(indices.elementType()), short_name(encoded.elementType()), bool(values))
    graph.addVertices(cs, type_, graph.state.graph_tiles(runs.tiles), edges, state)
    prog.add(LibraryGroup([Execute(cs)], "popops.encodeOneHot", [indices, *values], [encoded]))


def encode(indices: AnyArray, classes: int, on: Any = True, off: Any = False) -> AnyArray:
    """[n, classes] of two values."""
    return np.asarray(np.where(indices.reshape(-1, 1) == np.arange(classes), on, off))


@register("popops.encodeOneHot")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    on, off = (v.reshape(-1)[0] for v in inputs[1:]) if len(inputs) > 1 else (True, False)
    outputs[0][...] = encode(inputs[0], outputs[0].shape[1], on, off)


@lru_cache(maxsize=32)
def _vertex(index_dtype: str, dtype: str, custom: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        known = "int" if custom else index_dtype  # with values of the caller's all types run compiled C++
        spent = movement.encode_one_hot(known, dtype, elements["indices"])
        source = described("7.3", movement.encode_one_hot)
        return BlockCosts(spent, "exact", source, np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        values = (np.asarray(v).reshape(-1)[0] for v in (vertex.On, vertex.Off)) if custom else (True, False)
        rows = encode(np.asarray(vertex.indices), int(vertex.sliceLength), *values).reshape(-1)
        first = int(vertex.offset)
        vertex.out[...] = rows[first : first + len(vertex.out)]

    fields = [
        FieldSpec("indices", "vector", "in", None, "one_ptr", 4),
        FieldSpec("out", "vector", "out", None, "one_ptr", 8),
        FieldSpec("offset", "value", "", None),
        FieldSpec("sliceLength", "value", "", None),
    ]
    fields += [FieldSpec(n, "vector", "in", None, "one_ptr", 4) for n in ("On", "Off")] if custom else []
    # Unsigned indices for halves run assembly on the supervisor; all others run C++ on one worker.
    assembly = (index_dtype, dtype, custom) == ("uint", "half", False)
    kind: Literal["supervisor", "worker"] = "supervisor" if assembly else "worker"
    name = f"popops::EncodeOneHot{'CustomValues' if custom else ''}<{index_dtype},{dtype}>"
    return VertexType(name, kind, tuple(fields), costs, compute, doc="one-hot rows")


def iota(graph: Graph, t: Tensor, startInteger: int, prog: Sequence, debugContext: Context = "") -> None:
    """Fill a vector with startInteger, startInteger + 1, ...

    Raises `poplibs_error` unless it is a vector of INT or UNSIGNED_INT that holds no element twice."""
    if t.rank() != 1 or t.elementType() not in (INT, UNSIGNED_INT) or not t.isParallelWriteable():
        raise poplibs_error(
            f"iota: {t.elementType()} of shape {t.shape()}; a writeable vector of INT or UNSIGNED_INT is needed."
        )
    if t.numElements() == 0:
        return
    call = operation(graph, debugContext, "popops", "iota", t=t, startInteger=startInteger)
    cs = graph.addComputeSet((call, "iota"))
    runs = aligned_runs(graph.store, t, [], 2, True)
    place, size, run = places_of(t, runs)
    before = np.cumsum(size) - size
    starts = runs.starts[run] + before - before[np.searchsorted(run, run, side="left")]
    edges = {"out": vector_edges(starts, size)}
    type_ = _iota_vertex(short_name(t.elementType()))
    graph.addVertices(cs, type_, graph.state.graph_tiles(runs.tiles[run]), edges, {"offset": place + startInteger})
    prog.add(LibraryGroup([Execute(cs)], "popops.iota", [], [t], {"start": startInteger}))


@register("popops.iota")
def _iota_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    outputs[0][...] = np.arange(outputs[0].size, dtype=np.int64) + attributes["start"]


@lru_cache(maxsize=2)
def _iota_vertex(dtype: str) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent = movement.iota(dtype, elements["out"])
        return BlockCosts(spent, "exact", described_as("PopLibs estimator", movement.iota), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        vertex.out[...] = np.arange(len(vertex.out), dtype=np.int64) + int(vertex.offset)

    fields = (FieldSpec("out", "vector", "out", None, "span", 8), FieldSpec("offset", "value", "", None))
    return VertexType(f"popops::Iota<{dtype}>", "worker", fields, costs, compute, doc="counting up")
