"""popops.fill and popops.zero: one value in a whole tensor, or in its part on some tiles."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import movement
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

Intervals = SequenceOf[tuple[int, int]]
Mapping_ = SequenceOf[Intervals]


@overload
def fill(graph: Graph, t: Tensor, prog: Sequence, fillValue: float, debugContext: Context = "") -> None: ...
@overload
def fill(graph: Graph, t: Tensor, tileRegions: Intervals, tile: int, fillCS: ComputeSet, fillValue: float) -> None: ...
@overload
def fill(graph: Graph, t: Tensor, tile: int, fillCS: ComputeSet, fillValue: float) -> None: ...
@overload
def fill(graph: Graph, t: Tensor, mapping: Mapping_, fillCS: ComputeSet, fillValue: float) -> None: ...
def fill(graph: Graph, t: Tensor, *rest: Any, **named: Any) -> None:
    """Set each element of `t` to a value: (prog, fillValue, debugContext=""). With a compute set in place of the
    program only the elements on one tile: (tileRegions, tile, fillCS, fillValue), (tile, fillCS, fillValue), or those
    of a mapping, on whatever tile: (mapping, fillCS, fillValue).

    Raises `poplibs_error` for a value that does not fit the tensor's type."""
    if (rest and isinstance(rest[0], Sequence)) or "prog" in named:
        given = dict(zip(("prog", "fillValue", "debugContext"), rest, strict=False)) | named
        _fill_all(graph, t, given["prog"], given["fillValue"], given.get("debugContext", ""))
        return
    *where, cs, value = [*rest, *named.values()]
    _check_value(t, value)
    _add_vertices(graph, cs, _part(graph, t, where), value)


@overload
def zero(graph: Graph, t: Tensor, prog: Sequence, debugContext: Context = "") -> None: ...
@overload
def zero(graph: Graph, t: Tensor, tileRegions: Intervals, tile: int, zeroCS: ComputeSet) -> None: ...
@overload
def zero(graph: Graph, t: Tensor, tile: int, zeroCS: ComputeSet) -> None: ...
@overload
def zero(graph: Graph, t: Tensor, mapping: Mapping_, zeroCS: ComputeSet) -> None: ...
def zero(graph: Graph, t: Tensor, *rest: Any, **named: Any) -> None:
    """`fill` with 0; the arguments are those of `fill` without the value."""
    if (rest and isinstance(rest[0], Sequence)) or "prog" in named:
        given = dict(zip(("prog", "debugContext"), rest, strict=False)) | named
        _fill_all(graph, t, given["prog"], 0, given.get("debugContext", ""))
        return
    *where, cs = [*rest, *named.values()]
    _add_vertices(graph, cs, _part(graph, t, where), 0)


def _part(graph: Graph, t: Tensor, where: list[Any]) -> Tensor:
    """The elements that a compute set fills."""
    flat = t.flatten()
    if len(where) == 2:
        intervals = where[0]
    elif isinstance(where[0], int):
        intervals = graph.getTileMapping(t)[where[0]]
    else:
        intervals = [interval for tile in where[0] for interval in tile]
    parts = [flat.slice(begin, end) for begin, end in intervals if begin < end]
    return concat(parts) if parts else flat.slice(0, 0)


def _check_value(t: Tensor, value: float) -> None:
    dtype = t.elementType().dtype
    if dtype is not None and dtype.kind in "iu" and not float(value).is_integer():
        raise poplibs_error(f"fill: {value} is not a value of type {t.elementType()}.")


def _fill_all(graph: Graph, t: Tensor, prog: Sequence, value: float, context: Context) -> None:
    _check_value(t, value)
    if t.numElements() == 0:
        return
    call = operation(graph, context, "popops", "fill", t=t, fillValue=value)
    cs = graph.addComputeSet((call, "Fill"))
    _add_vertices(graph, cs, t, value)
    prog.add(LibraryGroup([Execute(cs)], "popops.fill", [], [t], {"value": value}))


def _add_vertices(graph: Graph, cs: ComputeSet, t: Tensor, value: float) -> None:
    dtype = short_name(t.elementType())
    forms = Forms(_vertex(dtype, True), _vertex(dtype, False))
    place_elementwise(graph, cs, forms, ("out", t), {}, {}, {"in": value})


@register("popops.fill", elementwise=True)
def _fill_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    outputs[0][...] = attributes["value"]


@lru_cache(maxsize=32)
def _vertex(dtype: str, flat: bool) -> VertexType:
    """Fill for one run of memory, Fill2d for rows."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        if flat:
            cycles = movement.fill(dtype, elements["out"])
        else:
            edges = block.edges["out"]
            rows = sum_rows(movement.fill_2d(dtype, row_lengths(edges)), edges)
            cycles = np.asarray(movement.fill_2d_base(dtype) + rows)
        source = described("7.3", movement.fill if flat else movement.fill_2d)
        return BlockCosts(cycles, "exact", source, np.zeros_like(cycles))

    def compute(vertex: Any) -> None:
        for out in [vertex.out] if flat else vertex.out:
            out[...] = getattr(vertex, "in")

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    out = FieldSpec("out", kind, "out", None, "one_ptr" if flat else "span", 8)
    fields = (FieldSpec("in", "value", "", None), out)
    name = f"popops::{'Fill' if flat else 'Fill2d'}<{dtype}>"
    return VertexType(name, "worker", fields, costs, compute, doc="one value everywhere")
