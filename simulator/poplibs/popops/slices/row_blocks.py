"""Cut a matrix of slices into blocks of rows and columns, and make the edges of the vertices on these blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops.slices.create import Blocks, blocks_of_plan
from simulator.poplibs.popops.slices.dynamic import parts_of_slices
from simulator.poplibs.popops.slices.embedding import Options, SlicePlan, chosen_options
from simulator.poplibs.popops.slices.sliced_view import check_slice, column_runs
from simulator.poplibs.poputil.exceptions import poplibs_error


def matrix_blocks(graph: Graph, base: Tensor, lookups: int, plan: SlicePlan) -> Blocks:
    if plan.is_plan:
        if (plan.entries, plan.elements) != (base.dim(0), base.dim(1)):
            raise poplibs_error(
                f"The plan is for {plan.entries} entries of {plan.elements} elements, the tensor has "
                f"{base.dim(0)} of {base.dim(1)}."
            )
        return blocks_of_plan(plan, base.elementType(), lookups)
    ends, tiles = column_runs(graph, base)
    return Blocks(
        np.array([base.dim(0)], np.int64), ends, np.array([lookups], np.int64), tiles.reshape(1, 1, len(ends))
    )


@dataclass(frozen=True)
class BlockPart:
    """One vertex: rows [low, high) and columns [left, right) of the matrix, lookups [first, last), and its tile."""

    rows: tuple[int, int]
    columns: tuple[Int64Array, Int64Array]
    lookups: tuple[int, int]
    tiles: Int64Array


def block_parts(blocks: Blocks, row_block: int) -> list[BlockPart]:
    """The vertices of a row block, all columns of a group of lookups at once."""
    low = int(blocks.row_ends[row_block - 1]) if row_block else 0
    left = np.append(0, blocks.column_ends[:-1])
    firsts = np.append(0, blocks.lookup_ends[:-1]).tolist()
    return [
        BlockPart(
            (low, int(blocks.row_ends[row_block])),
            (left, blocks.column_ends),
            (first, last),
            blocks.tiles[g, row_block],
        )
        for g, (first, last) in enumerate(zip(firsts, blocks.lookup_ends.tolist(), strict=True))
    ]


def block_edges(matrix: Tensor, rows: tuple[int, int], left: Int64Array, right: Int64Array) -> Any:
    """One vector for each column block: its columns of the rows, row after row."""
    return vector_edges(*parts_of_slices(matrix.slice(rows[0], rows[1], 0), left, right - left))


def offset_edges(offsets: Tensor, lookups: tuple[int, int], count: int) -> Any:
    starts, lengths = regions.cut(*offsets.regions(), *lookups)
    spread = np.arange(count + 1, dtype=np.int64) * len(starts)
    return vector_edges(np.tile(starts, count), np.tile(lengths, count), spread)


def block_state(part: BlockPart) -> dict[str, Any]:
    low, high = part.rows
    return {"baseOffset": low, "numBaseElements": high - low, "regionSize": part.columns[1] - part.columns[0]}


def checked_call(
    graph: Graph,
    name: str,
    t: Tensor,
    offsets: Tensor,
    what: tuple[Sequence[int], Sequence[int]],
    plan: SlicePlan,
    options: Options,
    context: Context,
    s: Tensor | None = None,
    matrix_only: bool = False,
) -> tuple[DebugInfo, bool]:
    """(record of the call, whether offsets are sorted)."""
    dims, sizes = what
    check_slice(name, t.shape(), dims, sizes)
    chosen = chosen_options(options)
    if offsets.rank() != 2 or offsets.dim(1) != len(dims) or offsets.elementType() is not UNSIGNED_INT:
        raise poplibs_error(
            f"{name}: the offsets are {offsets.elementType()} of shape {offsets.shape()}; UNSIGNED_INT of shape "
            f"[n, {len(dims)}] is needed."
        )
    if matrix_only and (t.rank() != 2 or len(dims) != 1 or list(sizes) != [1]):
        raise poplibs_error(f"{name}: a tensor of rank 2 and sizes [1] are needed, not {t.shape()} and {list(sizes)}.")
    if s is not None:
        shape = [offsets.dim(0), *[sizes[list(dims).index(d)] if d in dims else n for d, n in enumerate(t.shape())]]
        if s.shape() != shape or s.elementType() is not t.elementType():
            raise poplibs_error(
                f"{name}: the slices hold {s.elementType()} of shape {s.shape()}; {t.elementType()} of shape {shape} "
                "is needed."
            )
    call = operation(graph, context, "popops", name, t=t, offsets=offsets, dims=list(dims), plan=str(plan))
    return call, chosen["indicesAreSorted"] == "true"
