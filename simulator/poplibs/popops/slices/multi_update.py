"""popops.multiUpdate, multiUpdateAdd and multiUpdateMax: many rows of a matrix updated by index.

One compute set of vertices, cut as multiSlice cuts it, applies all lookups. Slices other than rows are updated one by
one in a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.types import FLOAT, HALF
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops.loops import countedLoop
from simulator.poplibs.popops.slices.dynamic import copy_values, dynamicSlice, dynamicUpdate
from simulator.poplibs.popops.slices.embedding import Options, SlicePlan
from simulator.poplibs.popops.slices.multi_vertices import (
    multi_update_vertex,
    updated_rows,
)
from simulator.poplibs.popops.slices.row_blocks import (
    block_edges,
    block_parts,
    block_state,
    checked_call,
    matrix_blocks,
    offset_edges,
)
from simulator.poplibs.popops.slices.sliced_view import as_slices
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.programming.graph import Graph
from simulator.runtime.values.kernels import register


def multiUpdate(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    plan: SlicePlan = SlicePlan(),  # noqa: B008 - frozen
    options: Options = None,
    debugContext: Context = "",
) -> None:
    """Write the slices `s`, [n, shape of a slice], into `t` at the offsets. Of equal offsets the last wins; offsets out
    of range are ignored."""
    call, _ = checked_call(graph, "multiUpdate", t, offsets, (dims, sizes), plan, options, debugContext, s)
    if list(sizes) != [1]:

        def body(i: Tensor) -> Program:
            step = ProgramSequence()
            offset = dynamicSlice(graph, offsets, i, [0], [1], step, (call, "offset")).flatten()
            part = dynamicSlice(graph, s, i, [0], [1], step, (call, "slice")).squeeze([0])
            dynamicUpdate(graph, t, part, offset, dims, sizes, step, (call, "update"))
            return step

        prog.add(countedLoop(graph, offsets.dim(0), body, (call, "loop")))
        return
    _update(graph, t, s, offsets, dims, "none", None, plan, prog, call)


def multiUpdateAdd(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    scale: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    plan: SlicePlan = SlicePlan(),  # noqa: B008 - frozen
    options: Options = None,
    debugContext: Context = "",
) -> None:
    """t[offsets[i]] += scale * s[i], for rows of a matrix. The scale is one element of the matrix's type, or FLOAT for
    halves. Raises `poplibs_error` for other ranks and types."""
    call, _ = checked_call(graph, "multiUpdateAdd", t, offsets, (dims, sizes), plan, options, debugContext, s, True)
    if scale.numElements() != 1 or (
        scale.elementType() is not t.elementType() and (t.elementType(), scale.elementType()) != (HALF, FLOAT)
    ):
        raise poplibs_error(
            f"multiUpdateAdd: the scale holds {scale.elementType()} of shape {scale.shape()}; one element of "
            f"{t.elementType()} is needed."
        )
    _update(graph, t, s, offsets, dims, "add", scale, plan, prog, call)


def multiUpdateMax(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    plan: SlicePlan = SlicePlan(),  # noqa: B008 - frozen
    options: Options = None,
    debugContext: Context = "",
) -> None:
    """t[offsets[i]] = max(t[offsets[i]], s[i]), for rows of a matrix."""
    call, _ = checked_call(graph, "multiUpdateMax", t, offsets, (dims, sizes), plan, options, debugContext, s, True)
    _update(graph, t, s, offsets, dims, "max", None, plan, prog, call)


def _update(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    op: str,
    scale: Tensor | None,
    plan: SlicePlan,
    prog: ProgramSequence,
    call: DebugInfo,
) -> None:
    base, n = as_slices(t, dims), offsets.dim(0)
    sub = s.dimShuffle([0, dims[0] + 1, *[d + 1 for d in range(t.rank()) if d != dims[0]]]).reshape([n, base.dim(1)])
    if n * base.dim(1) == 0:
        return
    flat = offsets.flatten()
    scale_dtype = "" if scale is None else short_name(scale.elementType())
    type_ = multi_update_vertex(short_name(t.elementType()), op, scale_dtype)
    cs = graph.addComputeSet((call, f"multiUpdate{'' if op == 'none' else op.capitalize()}"))
    blocks = matrix_blocks(graph, base, n, plan).without_lookup_split(n)
    for block in range(len(blocks.row_ends)):
        (part,) = block_parts(blocks, block)
        left, right = part.columns
        edges = {
            "offsets": offset_edges(flat, part.lookups, len(left)),
            "baseT": block_edges(base, part.rows, left, right),
            "subT": block_edges(sub, part.lookups, left, right),
        }
        if scale is not None:
            at = int(scale.flatten().regions()[0][0])
            edges["scale"] = vector_edges(np.full(len(left), at, np.int64), np.ones(len(left), np.int64))
        graph.addVertices(cs, type_, part.tiles, edges, block_state(part))
    given = [base, flat, sub] + ([] if scale is None else [scale])
    prog.add(LibraryGroup([Execute(cs)], "popops.multiUpdate", given, [base], {"op": op}))


@register("popops.multiUpdate", inputs_by_row=[0], outputs_by_row=[0])
def _update_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    scale = inputs[3] if len(inputs) > 3 else None
    changed, rows = updated_rows(inputs[0], inputs[1], inputs[2], attributes["op"], scale)
    copy_values(outputs[0], inputs[0])
    outputs[0][changed] = rows
