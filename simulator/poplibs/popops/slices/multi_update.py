"""popops.multiUpdate, multiUpdateAdd and multiUpdateMax: many rows of a matrix updated by index.

A compute set of vertices, cut as multiSlice cuts it, applies all lookups. A plan may cut the lookups of multiUpdateAdd
into groups, as in PopLibs: each adds to a matrix of zeros of its own, and the sum of these is added to the tensor.
Slices other than rows are updated one by one in a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.types import FLOAT, HALF
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops.casting import cast, castWithOutput
from simulator.poplibs.popops.filling import zero
from simulator.poplibs.popops.loops import countedLoop
from simulator.poplibs.popops.reductions.params import ReduceParams
from simulator.poplibs.popops.reductions.reduce import Operation, reduceWithOutput
from simulator.poplibs.popops.scaled import scaledAddTo
from simulator.poplibs.popops.slices.create import Blocks
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
from simulator.poplibs.popops.slices.sliced_view import as_slices, in_columns
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
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
    update = _Update(graph, base, sub, offsets.flatten(), op, plan.one_point, call)
    blocks = matrix_blocks(graph, base, n, plan)
    if op == "add" and scale is not None and len(blocks.lookup_ends) > 1:
        programs = update.by_groups(scale, blocks)
    else:
        programs = [update.vertices(base, sub, scale, blocks.without_lookup_split(n))]
    given = [base, update.offsets, sub] + ([] if scale is None else [scale])
    prog.add(LibraryGroup(programs, "popops.multiUpdate", given, [base], {"op": op}))


@dataclass(frozen=True)
class _Update:
    """An update of the rows of `base` by those of `sub`."""

    graph: Graph
    base: Tensor
    sub: Tensor
    offsets: Tensor
    op: str
    one_point: bool  #: all offsets are equal, says the plan
    call: DebugInfo

    def vertices(self, base: Tensor | list[Tensor], sub: Tensor, scale: Tensor | None, blocks: Blocks) -> Program:
        """Update `base`, or for each group of lookups a matrix of its own."""
        graph, op = self.graph, self.op
        scale_dtype = "" if scale is None else short_name(scale.elementType())
        type_ = multi_update_vertex(short_name(sub.elementType()), op, scale_dtype, self.base.dim(0), self.one_point)
        cs = graph.addComputeSet((self.call, f"multiUpdate{'' if op == 'none' else op.capitalize()}"))
        for block in range(len(blocks.row_ends)):
            for group, part in enumerate(block_parts(blocks, block)):
                left, right = part.columns
                edges = {
                    "offsets": offset_edges(self.offsets, part.lookups, len(left)),
                    "baseT": block_edges(base if isinstance(base, Tensor) else base[group], part.rows, left, right),
                    "subT": block_edges(sub, part.lookups, left, right),
                }
                if scale is not None:
                    at = int(scale.flatten().regions()[0][0])
                    edges["scale"] = vector_edges(np.full(len(left), at, np.int64), np.ones(len(left), np.int64))
                graph.addVertices(cs, type_, part.tiles, edges, block_state(part))
        return Execute(cs)

    def by_groups(self, scale: Tensor, blocks: Blocks) -> list[Program]:
        """Each group of lookups adds to a matrix of zeros of its own; the sum of these, times scale, is added to
        `base`. Halves are added as floats."""
        graph, call, steps = self.graph, self.call, ProgramSequence()
        type_ = FLOAT if self.base.elementType() is HALF else self.base.elementType()
        sub = self.sub if type_ is self.sub.elementType() else cast(graph, self.sub, type_, steps, (call, "castSlices"))
        partials = [
            in_columns(graph, type_, self.base.dim(0), blocks.column_ends, tiles, (call, "partial"), blocks.row_ends)
            for tiles in blocks.tiles
        ]
        joined = concat([partial.expand([0]) for partial in partials], 0)
        zero(graph, joined, steps, (call, "zeroPartials"))
        one = graph.addConstant(type_, [], 1, (call, "one"))
        graph.setTileMapping(one, 0)
        steps.add(self.vertices(partials, sub, one, blocks))
        reduced = graph.clone(type_, self.base, (call, "reduced"))
        reduceWithOutput(graph, joined, reduced, [0], ReduceParams(Operation.ADD), steps, (call, "reduce"))
        self._apply(reduced, scale.flatten()[0], steps)
        return steps.programs

    def _apply(self, reduced: Tensor, scale: Tensor, steps: ProgramSequence) -> None:
        """Add `reduced` times scale to the base."""
        graph, base, name = self.graph, self.base, (self.call, "updateBase")
        if reduced.elementType() is base.elementType():
            scaledAddTo(graph, base, reduced, scale, steps, name)
            return
        wide = cast(graph, base, FLOAT, steps, (self.call, "castBase"))
        if scale.elementType() is HALF:
            scale = cast(graph, scale, FLOAT, steps, (self.call, "castScale"))
        scaledAddTo(graph, wide, reduced, scale, steps, name)
        castWithOutput(graph, wide, base, steps, (self.call, "castBaseBack"))


@register("popops.multiUpdate", inputs_by_row=[0], outputs_by_row=[0])
def _update_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    scale = inputs[3] if len(inputs) > 3 else None
    changed, rows = updated_rows(inputs[0], inputs[1], inputs[2], attributes["op"], scale)
    copy_values(outputs[0], inputs[0])
    outputs[0][changed] = rows
