"""popops.dynamicSlice and dynamicUpdate: slices at offsets that are known only when the program runs.

Several dimensions are sliced one after the other, starting with the one that leaves the smallest slice. An update of
several dimensions slices, updates the slice and writes it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.errors import type_error
from simulator.base.types import INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.building.mapping import grain
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, LibraryGroup
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import Runs, aligned_runs, places_of, rows_edges, vector_edges
from simulator.poplibs.popops.slices.dynamic_vertices import dynamic_vertex, slice_numbers
from simulator.poplibs.popops.slices.sliced_view import as_slices, check_slice, column_runs, from_slices, in_columns
from simulator.poplibs.poputil.copies import duplicate
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.arena import Rows
from simulator.runtime.values.kernels import register


def dynamicSlice(
    graph: Graph,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    debugContext: Context = "",
) -> Tensor:
    """`sizes[i]` elements of each dimension `dims[i]` from `offset[i]` on. `offset` may have a second dimension with a
    value for each tile of the graph.

    An offset beyond the dimension counts as 0; a slice that crosses the end wraps to the beginning. Raises
    `poplibs_error` for dimensions, sizes and offsets that do not fit."""
    call = _checked(graph, "dynamicSlice", t, offset, dims, sizes, debugContext)
    if not dims:
        return duplicate(graph, t, prog, (call, "slice"))
    out = t
    for number in _order(t, dims, sizes):
        out = _slice_one(graph, out, offset[number], dims[number], sizes[number], prog, call)
    return out


def dynamicSliceWithOutput(
    graph: Graph,
    output: Tensor,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    debugContext: Context = "",
) -> None:
    """`dynamicSlice` into an existing tensor of the slice's shape."""
    call = _checked(graph, "dynamicSliceWithOutput", t, offset, dims, sizes, debugContext)
    found = dynamicSlice(graph, t, offset, dims, sizes, prog, call)
    if output.shape() != found.shape() or output.elementType() is not t.elementType():
        raise poplibs_error(
            f"dynamicSliceWithOutput: the output holds {output.elementType()} of shape {output.shape()}; the slice is "
            f"{t.elementType()} of shape {found.shape()}."
        )
    prog.add(Copy(found, output, False, (call, "output")))


def dynamicUpdate(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    debugContext: Context = "",
) -> None:
    """Write `s` into `t` at the place that `dynamicSlice` with the same arguments would read. Raises `poplibs_error` in
    the same cases, and where `s` has another shape or type than the slice."""
    call = _checked(graph, "dynamicUpdate", t, offset, dims, sizes, debugContext)
    shape = [sizes[list(dims).index(d)] if d in dims else n for d, n in enumerate(t.shape())]
    if s.shape() != shape or s.elementType() is not t.elementType():
        raise poplibs_error(
            f"dynamicUpdate: the update holds {s.elementType()} of shape {s.shape()}; the slice is "
            f"{t.elementType()} of shape {shape}."
        )
    if not dims:
        prog.add(Copy(s, t, False, (call, "update")))
        return
    _update(graph, t, s, offset, list(_order(t, dims, sizes)), (dims, sizes), prog, call)


def _update(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offset: Tensor,
    order: list[int],
    what: tuple[Sequence[int], Sequence[int]],
    prog: ProgramSequence,
    call: DebugInfo,
) -> None:
    dims, sizes = what
    first, rest = order[0], order[1:]
    if rest:
        inner = _slice_one(graph, t, offset[first], dims[first], sizes[first], prog, call)
        _update(graph, inner, s, offset, rest, what, prog, call)
        s = inner
    base, sub = as_slices(t, [dims[first]]), as_slices(s, [dims[first]])
    _add(graph, base, sub, offset[first], True, prog, (call, f"dynamicUpdateSlice_d{dims[first]}"))


def _order(t: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> list[int]:
    return sorted(range(len(dims)), key=lambda i: sizes[i] / max(t.dim(dims[i]), 1))


def _checked(
    graph: Graph,
    name: str,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    context: Context,
) -> DebugInfo:
    check_slice(name, t.shape(), dims, sizes)
    if offset.elementType() not in (UNSIGNED_INT, INT):
        raise type_error(f"{name}: the offsets hold {offset.elementType()}; UNSIGNED_INT is needed.")
    tiles = graph.getTarget().getNumTiles()
    if offset.rank() not in (1, 2) or offset.dim(0) != len(dims) or (offset.rank() == 2 and offset.dim(1) != tiles):
        raise poplibs_error(
            f"{name}: offsets of shape {offset.shape()} for {len(dims)} dimensions; [{len(dims)}] or "
            f"[{len(dims)}, {tiles}] is needed."
        )
    return operation(graph, context, "popops", name, t=t, offset=offset, dims=list(dims), sizes=list(sizes))


def _slice_one(
    graph: Graph, t: Tensor, offset: Tensor, dim: int, size: int, prog: ProgramSequence, call: DebugInfo
) -> Tensor:
    base = as_slices(t, [dim])
    shape = [size if d == dim else n for d, n in enumerate(t.shape())]
    label = f"dynamicSlice_d{dim}"
    if base.dim(1) * size == 0:
        return graph.addVariable(t.elementType(), shape, (call, f"{label}/slice"))
    ends, tiles = column_runs(graph, base)
    sub = in_columns(graph, t.elementType(), size, ends, tiles, (call, f"{label}/slice"))
    _add(graph, base, sub, offset, False, prog, (call, label))
    return from_slices(sub, shape, [dim])


def _add(
    graph: Graph,
    base: Tensor,
    sub: Tensor,
    offset: Tensor,
    update: bool,
    prog: ProgramSequence,
    name: tuple[DebugInfo, str],
) -> None:
    """The compute set between [slices, elements] views, on the tiles that hold the first base slice."""
    if base.dim(1) == 0 or sub.dim(0) == 0:
        return
    cs = graph.addComputeSet(name)
    model = base.slice(0, 1, 0).flatten()
    for flat, runs in _runs_of_vertices(graph, base, model):
        if len(runs.tiles):
            _vertices(graph, cs, (base, sub, offset, model), runs, update, flat)
    kernel = "popops.dynamicUpdate" if update else "popops.dynamicSlice"
    flat_offset = offset.flatten()[:1]
    given, made = ([sub, flat_offset, base], [base]) if update else ([base, flat_offset], [sub])
    prog.add(LibraryGroup([Execute(cs)], kernel, given, made))


def _runs_of_vertices(graph: Graph, base: Tensor, model: Tensor) -> list[tuple[bool, Runs]]:
    """(True, runs for the 1D vertex): those of tiles whose part of all slices is one run of memory. (False, runs that
    the workers of the other tiles share for the 2D vertex, which has a pointer for each slice of a run)."""
    unit = grain(base.elementType())
    runs = aligned_runs(graph.store, model, [], unit)
    alone = runs.take(runs.workers < 0)
    place, size, run = places_of(model, alone)
    in_pieces = np.diff(parts_of_slices(base, place, size)[2]) > 1
    apart = np.isin(alone.tiles, alone.tiles[run[in_pieces]])
    if not apart.any():
        return [(True, alone), (False, runs.take(runs.workers >= 0))]
    alone = alone.take(~apart)
    dealt = aligned_runs(graph.store, model, [], unit, always_dealt=True)
    return [(True, alone), (False, dealt.take(~np.isin(dealt.tiles, alone.tiles)))]


def _vertices(
    graph: Graph,
    cs: ComputeSet,
    tensors: tuple[Tensor, Tensor, Tensor, Tensor],
    runs: Runs,
    update: bool,
    flat: bool,
) -> None:
    base, sub, offset, model = tensors
    place, size, run = places_of(model, runs)
    first = (
        np.arange(len(run)) if flat else np.flatnonzero(np.diff(runs.tiles[run] * 8 + runs.workers[run], prepend=-1))
    )
    tiles = graph.state.graph_tiles(runs.tiles[run[first]])
    values: dict[str, Any] = {"numBaseElements": base.dim(0), "numSubElements": sub.dim(0)}
    if flat:
        edges = {n: vector_edges(*parts_of_slices(t, place, size)) for n, t in (("baseT", base), ("subT", sub))}
    else:
        rows = np.append(first, len(run)).astype(np.int64)
        edges = {n: slices_edges(t, place, size, rows) for n, t in (("baseT", base), ("subT", sub))}
        values["numRegions"] = np.diff(rows)
    elements = regions.elements(*offset.flatten().regions())
    at = elements[tiles] if len(elements) > 1 else np.full(len(tiles), elements[0])
    edges["offset"] = vector_edges(at, np.ones(len(tiles), np.int64))
    type_ = dynamic_vertex(short_name(base.elementType()), update, flat)
    graph.addVertices(cs, type_, tiles, edges, values)


def slices_edges(matrix: Tensor, place: Int64Array, size: Int64Array, rows: Int64Array) -> FieldEdges:
    """Edges of vectors: for each place of a vertex, `rows[i]:rows[i + 1]`, the elements [place, place + size) of each
    slice."""
    count, columns = matrix.shape()
    begins = (np.arange(count)[None, :] * columns + place[:, None]).reshape(-1)
    starts, lengths, of = regions.cuts(*matrix.flatten().regions(), begins, begins + np.repeat(size, count))
    offsets = np.searchsorted(of, np.arange(len(begins) + 1), side="left").astype(np.int64)
    return rows_edges(starts, lengths, rows * count, offsets)


def parts_of_slices(matrix: Tensor, place: Int64Array, size: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Regions of the elements [place, place + size) of all slices, slice after slice, and the offsets of each place."""
    count, columns = matrix.shape()
    begins = (np.arange(count)[None, :] * columns + place[:, None]).reshape(-1)
    starts, lengths, of = regions.cuts(*matrix.flatten().regions(), begins, begins + np.repeat(size, count))
    # Join adjacent pieces of one vertex.
    owner = of // count
    fresh = np.ones(len(starts), np.bool_)
    if len(starts) > 1:
        variable = matrix.view.store.variable_of(starts)
        fresh[1:] = (
            (starts[1:] != (starts + lengths)[:-1]) | (owner[1:] != owner[:-1]) | (variable[1:] != variable[:-1])
        )
    head = np.flatnonzero(fresh)
    joined = np.add.reduceat(lengths, head) if len(head) else lengths
    offsets = np.searchsorted(owner[head], np.arange(len(place) + 1), side="left").astype(np.int64)
    return starts[head], joined, offsets


def copy_values(out: AnyArray | Rows, before: AnyArray | Rows) -> None:
    """Fill `out` with the values of `before`, the same tensor: nothing to do where both are its memory."""
    if isinstance(out, Rows) or isinstance(before, Rows):
        return
    if out.__array_interface__["data"] != before.__array_interface__["data"]:
        out[...] = before


@register("popops.dynamicSlice", inputs_by_row=[0])
def _slice_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    base, out = inputs[0], outputs[0]
    out[...] = base[slice_numbers(inputs[1], base.shape[0], out.shape[0])]


@register("popops.dynamicUpdate", inputs_by_row=[2], outputs_by_row=[0])
def _update_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    sub, base = inputs[0], outputs[0]
    copy_values(base, inputs[2])
    base[slice_numbers(inputs[1], base.shape[0], sub.shape[0])] = sub
