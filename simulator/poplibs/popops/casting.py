"""popops.cast: another element type, same values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.errors import graph_connection_error, graph_object_creation_error
from simulator.base.types import BOOL, FLOAT, HALF, QUARTER, QUARTER_METADATA, Type
from simulator.building.graph import Graph
from simulator.codelets.quarter_fields import numbers, stored
from simulator.codelets.run import store
from simulator.graph.debug_context import Context
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, LibraryGroup, Program, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType, metadata_field
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import movement, slices
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import clone_mapped
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


@overload
def cast(graph: Graph, src: Tensor, dstType: Type, prog: Sequence, debugContext: Context = "") -> Tensor: ...
@overload
def cast(
    graph: Graph, src: Tensor, dstType: Type, metadata: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor: ...
@overload
def cast(graph: Graph, src: Tensor, dstType: Type, cs: ComputeSet, debugContext: Context = "") -> Tensor: ...
@overload
def cast(
    graph: Graph, src: Tensor, dstType: Type, metadata: Tensor, cs: ComputeSet, debugContext: Context = ""
) -> Tensor: ...
@overload
def cast(graph: Graph, src: Tensor, dst: Tensor, debugContext: Context = "") -> Program: ...
@overload
def cast(graph: Graph, src: Tensor, dst: Tensor, cs: ComputeSet) -> None: ...
def cast(graph: Graph, src: Tensor, *rest: Any, **named: Any) -> Any:
    """Convert `src` to another element type: (dstType, prog) returns a new tensor, filled by `prog` or a compute set;
    (dst) returns the program that casts into a tensor; (dst, cs) adds the vertices to a compute set. A cast to the same
    type is a copy.

    Floats become integers by truncation and halves by one rounding. A cast to QUARTER takes the metadata of the new
    tensor after the type; a cast from QUARTER to QUARTER converts where the metadata are different tensors. Raises
    `graph_connection_error` where shapes differ, `poplibs_error` where metadata is missing or superfluous."""
    arguments = list(rest)
    to = arguments.pop(0) if arguments else named.pop("dstType", None) or named.pop("dst")
    metadata = arguments.pop(0) if arguments and isinstance(arguments[0], Tensor) else named.pop("metadata", None)
    place = arguments.pop(0) if arguments and isinstance(arguments[0], (Sequence, ComputeSet)) else None
    place = place or named.pop("prog", None) or named.pop("cs", None)
    context = arguments.pop(0) if arguments else named.pop("debugContext", "")
    if isinstance(to, Tensor):
        if isinstance(place, ComputeSet):
            return _add_vertices(graph, src, to, place)
        done = Sequence()
        castWithOutput(graph, src, to, done, context)
        return done
    if not isinstance(to, Type):
        raise graph_object_creation_error(f"cast: {to!r} is neither a tensor nor a type such as FLOAT.")
    _check_metadata(to, metadata)
    call = operation(graph, context, "popops", "cast", src=src, dstType=to)
    dst = clone_mapped(graph, src, to, (call, "cast"), metadata)
    if isinstance(place, ComputeSet):
        _add_vertices(graph, src, dst, place)
    else:
        castWithOutput(graph, src, dst, place, call)
    return dst


def _check_metadata(type_: Type, metadata: Tensor | None) -> None:
    if (metadata is not None) != type_.requiresMetadata():
        wrong = "has no metadata" if metadata is not None else "needs its metadata: pass the tensor behind the type"
        raise poplibs_error(f"cast: type {type_} {wrong}.")


def castWithOutput(graph: Graph, src: Tensor, dst: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """`cast` into an existing tensor of the same shape, else `graph_connection_error`."""
    _check_shapes(src, dst)
    if src.elementType() is dst.elementType() and not (src.hasMetadata() and src.getMetadata() != dst.getMetadata()):
        prog.add(Copy(src, dst, False, debugContext))
        return
    cs = graph.addComputeSet((operation(graph, debugContext, "popops", "castWithOutput", src=src, dst=dst), "Cast"))
    _add_vertices(graph, src, dst, cs)
    metadata = [t.getMetadata() for t in (src, dst) if t.hasMetadata()]
    if metadata:
        attributes = {"decode": src.hasMetadata(), "encode": dst.hasMetadata()}
        prog.add(LibraryGroup([Execute(cs)], "popops.castQuarter", [src, *metadata], [dst], attributes))
    else:
        prog.add(LibraryGroup([Execute(cs)], "popops.cast", [src], [dst]))


def _check_shapes(src: Tensor, dst: Tensor) -> None:
    if src.shape() != dst.shape():
        raise graph_connection_error(f"cast: {src.shape()} does not fit {dst.shape()}; the shapes must be equal.")


def _add_vertices(graph: Graph, src: Tensor, dst: Tensor, cs: ComputeSet) -> None:
    _check_shapes(src, dst)
    types = short_name(src.elementType()), short_name(dst.elementType())
    metadata = {
        metadata_field(field): tensor.getMetadata()
        for field, tensor in (("src", src), ("dst", dst))
        if tensor.hasMetadata()
    }
    place_elementwise(
        graph, cs, Forms(_vertex(*types, True), _vertex(*types, False)), ("dst", dst), {"src": src}, metadata
    )


def checkAccuracyWhenCast(
    graph: Graph, input: Tensor, outputType: Type, tolerance: float, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A BOOL scalar: whether the one element of `input` survives the cast within the relative tolerance.

    Raises `poplibs_error` unless a FLOAT of one element is cast to HALF."""
    if input.elementType() is not FLOAT or outputType is not HALF or input.numElements() != 1:
        raise poplibs_error(
            f"checkAccuracyWhenCast: {input.elementType()} of shape {input.shape()} to {outputType}; one FLOAT is "
            "checked against HALF."
        )
    call = operation(graph, debugContext, "popops", "checkAccuracyWhenCast", input=input, tolerance=tolerance)
    out = graph.addVariable(BOOL, [], (call, "checkAccuracyWhenCast"))
    tile = int(graph.state.graph_tiles(graph.getTileMappingIntervals(input)[2])[0])
    graph.setTileMapping(out, tile)
    cs = graph.addComputeSet((call, "checkAccuracyWhenCast"))
    one = np.ones(1, np.int64)
    edges = {
        "input": vector_edges(input.regions()[0][:1], one),
        "output": vector_edges(out.regions()[0][:1], one),
    }
    graph.addVertices(cs, _CHECK, [tile], edges, {"tolerance": float(tolerance)})
    attributes = {"tolerance": float(tolerance)}
    prog.add(LibraryGroup([Execute(cs)], "popops.checkAccuracyWhenCast", [input], [out], attributes))
    return out


def survives(value: AnyArray, tolerance: float) -> AnyArray:
    """Whether floats, cast to half, stay within the tolerance."""
    with np.errstate(over="ignore"):
        after = value.astype(np.float16).astype(np.float32)
    near = np.abs(after - value) <= np.abs(value) * np.float32(tolerance)
    return np.asarray(np.isfinite(after) & near)


@register("popops.checkAccuracyWhenCast")
def _check_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    outputs[0][...] = survives(inputs[0].reshape(outputs[0].shape), attributes["tolerance"])


def convert(source: AnyArray, out: AnyArray) -> None:
    """out[...] = source in the type of `out`; finite values beyond the range of half become its largest."""
    store(out, np.asarray(source))


@register("popops.cast", elementwise=True)
def _cast_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    convert(inputs[0], outputs[0])


@register("popops.castQuarter")
def _quarter_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    values, metadata = inputs[0], inputs[1:]
    if attributes["decode"]:
        values = numbers(values, metadata[0])
    if attributes["encode"]:
        values = stored(values, metadata[-1])
    convert(values, outputs[0])


@lru_cache(maxsize=256)
def _vertex(from_dtype: str, to_dtype: str, flat: bool) -> VertexType:
    coded = [field for field, dtype in (("src", from_dtype), ("dst", to_dtype)) if dtype == QUARTER.name]

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        source = described("7.3", *((movement.cast_1d, movement.cast_core) if flat else (movement.cast_core,)))
        flops = flop_counts.cast(from_dtype, to_dtype, elements["dst"])
        provenance: Literal["exact", "guess"] = "guess" if coded else "exact"  # no cycles of 8-bit floats are published
        if flat:
            return BlockCosts(movement.cast_1d(from_dtype, to_dtype, elements["dst"]), provenance, source, flops)
        edges = block.edges["dst"]
        row = movement.CAST_2D_ROW + movement.cast_core(from_dtype, to_dtype, row_lengths(edges))
        return BlockCosts(movement.CAST_2D_BASE + sum_rows(row, edges), provenance, source, flops)

    def compute(vertex: Any) -> None:
        for out, source in zip([vertex.dst] if flat else vertex.dst, [vertex.src] if flat else vertex.src, strict=True):
            values = numbers(source, getattr(vertex, metadata_field("src"))) if "src" in coded else source
            convert(stored(values, getattr(vertex, metadata_field("dst"))) if "dst" in coded else values, out)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("src", kind, "in", None, "one_ptr", 8),
        FieldSpec("dst", kind, "out", None, "one_ptr", 8),
        *(FieldSpec(metadata_field(field), "scalar", "in", QUARTER_METADATA) for field in coded),
    )
    name = f"popops::{'Cast1D' if flat else 'Cast2D'}<{from_dtype},{to_dtype}>"
    apart = (("src", "dst"),)  # as in the public codelets
    doc = "values in another type"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc=doc, apart=apart)


def _check_costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
    spent = np.full(len(block), slices.CHECK_ACCURACY, np.int64)
    return BlockCosts(spent, "exact", "CheckAccuracyWhenCast: 30 [PopLibs estimator, published-numbers 7.3]", spent * 0)


def _check(vertex: Any) -> None:
    out = np.asarray(vertex.output)
    out.reshape(-1)[0] = bool(survives(np.asarray(vertex.input).reshape(-1)[:1], float(vertex.tolerance))[0])


_CHECK = VertexType(
    "popops::CheckAccuracyWhenCast<float,half>",
    "worker",
    (
        FieldSpec("input", "vector", "in", FLOAT, "one_ptr", 4),
        FieldSpec("output", "vector", "out", BOOL, "one_ptr", 1),
        FieldSpec("tolerance", "value", "", FLOAT),
    ),
    _check_costs,
    _check,
    doc="whether a float survives as a half",
)
