"""popops.multiSlice: many slices by index.

Slices of one element of one dimension are rows of a matrix: one compute set of MultiSlice vertices, cut by the plan, or
by the mapping of the first row. With several row blocks a slice is the sum of the rows of all blocks. Other slices are
taken one by one in a loop of dynamicSlice and dynamicUpdate, as in PopLibs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.arrays import AnyArray
from simulator.base.types import FLOAT, HALF, INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.popops.loops import countedLoop
from simulator.poplibs.popops.reductions.reduce import Operation, reduce
from simulator.poplibs.popops.slices.create import Blocks
from simulator.poplibs.popops.slices.dynamic import dynamicSlice, dynamicUpdate
from simulator.poplibs.popops.slices.embedding import Options, SlicePlan
from simulator.poplibs.popops.slices.multi_vertices import (
    multi_slice_vertex,
    sliced_rows,
)
from simulator.poplibs.popops.slices.row_blocks import (
    block_edges,
    block_parts,
    block_state,
    checked_call,
    matrix_blocks,
    offset_edges,
)
from simulator.poplibs.popops.slices.sliced_view import as_slices, in_columns
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def multiSlice(
    graph: Graph,
    t: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: ProgramSequence,
    plan: SlicePlan = SlicePlan(),  # noqa: B008 - frozen
    options: Options = None,
    debugContext: Context = "",
) -> Tensor:
    """A slice of `t` for each row of `offsets`, [n, dimensions]: a tensor [n, shape of a slice].

    Rows for offsets out of range are 0 (PopLibs leaves them undefined). Raises `poplibs_error` for dimensions, sizes
    and offsets that do not fit."""
    call, in_order = checked_call(graph, "multiSlice", t, offsets, (dims, sizes), plan, options, debugContext)
    n = offsets.dim(0)
    shape = [sizes[list(dims).index(d)] if d in dims else size for d, size in enumerate(t.shape())]
    if list(sizes) != [1]:
        out = graph.addVariable(t.elementType(), [n, *shape], (call, "multiSlice"))
        mapTensorLinearly(graph, out)

        def body(i: Tensor) -> Program:
            step = ProgramSequence()
            offset = dynamicSlice(graph, offsets, i, [0], [1], step, (call, "offset")).flatten()
            part = dynamicSlice(graph, t, offset, dims, sizes, step, (call, "slice"))
            dynamicUpdate(graph, out, part.expand([0]), i, [0], [1], step, (call, "store"))
            return step

        prog.add(countedLoop(graph, n, body, (call, "loop")))
        return out
    rows = _rows(graph, as_slices(t, dims), offsets.flatten(), plan, in_order, prog, call)
    return rows.reshape([n, *[s for d, s in enumerate(shape) if d != dims[0]]]).expand([dims[0] + 1])


def _rows(
    graph: Graph, base: Tensor, offsets: Tensor, plan: SlicePlan, in_order: bool, prog: ProgramSequence, call: DebugInfo
) -> Tensor:
    """[n, elements]: the rows of a matrix at the offsets."""
    n, columns = offsets.numElements(), base.dim(1)
    if n * columns == 0:
        return graph.addVariable(base.elementType(), [n, columns], (call, "multiSlice"))
    blocks = matrix_blocks(graph, base, n, plan)
    count = len(blocks.row_ends)
    if count > 1 and base.elementType() not in (FLOAT, HALF, INT, UNSIGNED_INT):
        raise poplibs_error(f"multiSlice: a plan with {count} row blocks cannot be used for {base.elementType()}.")
    cs = graph.addComputeSet((call, "multiSlice"))
    programs: list[Program] = [Execute(cs)]
    partials = []
    for block in range(count):
        name = (call, "multiSlice/partial" if count > 1 else "multiSlice/slices")
        tiles = blocks.tiles[:, block, :]
        out = in_columns(graph, base.elementType(), n, blocks.column_ends, tiles, name, blocks.lookup_ends)
        _slice_vertices(graph, cs, base, offsets, out, blocks, block, in_order)
        partials.append(out.expand([0]))
    result = partials[0].squeeze([0])
    if count > 1:
        added = ProgramSequence()
        result = reduce(graph, concat(partials, 0), [0], Operation.ADD, added, (call, "multiSlice/reduce"))
        programs += added.programs
    prog.add(LibraryGroup(programs, "popops.multiSlice", [base, offsets], [result]))
    return result


def _slice_vertices(
    graph: Graph, cs: Any, base: Tensor, offsets: Tensor, out: Tensor, blocks: Blocks, row_block: int, in_order: bool
) -> None:
    type_ = multi_slice_vertex(short_name(base.elementType()), in_order)
    for part in block_parts(blocks, row_block):
        left, right = part.columns
        edges = {
            "offsets": offset_edges(offsets, part.lookups, len(left)),
            "baseT": block_edges(base, part.rows, left, right),
            "subT": block_edges(out, part.lookups, left, right),
        }
        graph.addVertices(cs, type_, part.tiles, edges, block_state(part))


@register("popops.multiSlice", inputs_by_row=[0])
def _slice_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    sliced_rows(inputs[0], inputs[1], outputs[0])
