"""sparseDenseMatMul and denseSparseMatMul of a pattern known at compile time, and the tensors that they take.

The blocks are kept by band of columns, row and column; each tile has a run of them. A product is one compute set, after
which rows with blocks on several tiles are added up and the others copied to the result, whose rows without blocks are
set to zero. The transposed product multiplies the transposed operands, as in PopLibs. Unlike PopLibs a dense operand of
another layout is not regrouped first, and dense rows go to the vertices without a padded copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.target import Target
from simulator.base.types import FLOAT, HALF, UNSIGNED_SHORT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor, concat, taken
from simulator.graph.vertices import FieldEdges
from simulator.machine.cycles.sparse import BLOCK_LENGTHS
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poplin.planning.cache import planned as planned_by
from simulator.poplibs.popops.filling import zero
from simulator.poplibs.popops.reductions.reduce import Operation, ReduceParams, SingleReduceOp, reduceMany
from simulator.poplibs.popsparse.static_ import planner
from simulator.poplibs.popsparse.static_.matmul_params import (
    MatMulOptions,
    MatMulParams,
    Options,
    Pattern,
    PlanningCache,
    SparseTensor,
    parsed_options,
)
from simulator.poplibs.popsparse.static_.planner import Plan
from simulator.poplibs.popsparse.static_.vertices import product_vertex
from simulator.poplibs.popsparse.static_.work_lists import Work, work_of
from simulator.poplibs.popsparse.storage import Matrix, transposed_blocks
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly


class Share(NamedTuple):
    """What a tile multiplies: blocks [first, last) in the order of the device, with columns [left, right) of the dense
    operand."""

    tile: int
    first: int
    last: int
    left: int
    right: int


def createSparseDenseMatMulLHS(
    graph: Graph,
    inputType: Type,
    params: MatMulParams,
    csrLHS: Matrix,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> SparseTensor:
    """The left operand of sparse [m][k] * dense [k][n]: a place for its values, and where its blocks are, from a
    CSRMatrix (values are not used). Options: availableMemoryProportion (0.6), numBands, nSplit.

    Raises `poplibs_error` for sizes and blocks that do not fit (blocks of 1, 4, 8 or 16 rows and columns), and where no
    plan keeps within the memory; `invalid_option`."""
    pattern = planned_pattern(graph.getTarget(), inputType, params, csrLHS, parsed_options(options), cache, False)
    return _sparse_tensor(graph, inputType, pattern, debugContext)


def createDenseSparseMatMulRHS(
    graph: Graph,
    inputType: Type,
    params: MatMulParams,
    csrRHS: Matrix,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> SparseTensor:
    """The right operand of dense [n][k] * sparse [k][m]; otherwise as `createSparseDenseMatMulLHS`."""
    pattern = planned_pattern(graph.getTarget(), inputType, params, csrRHS, parsed_options(options), cache, True)
    return _sparse_tensor(graph, inputType, pattern, debugContext)


def createSparseDenseMatMulRHS(
    graph: Graph,
    inputType: Type,
    params: MatMulParams,
    csrLHS: Matrix,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> Tensor:
    """A dense right operand [1][k][n], laid out for the product. Raises what `createSparseDenseMatMulLHS` raises."""
    pattern = planned_pattern(graph.getTarget(), inputType, params, csrLHS, parsed_options(options), cache, False)
    call = operation(graph, debugContext, "popsparse", "createSparseDenseMatMulRHS", params=str(params))
    return _dense(graph, inputType, pattern, params.n, (call, "rhs"))


def createDenseSparseMatMulLHS(
    graph: Graph,
    inputType: Type,
    params: MatMulParams,
    csrRHS: Matrix,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> Tensor:
    """A dense left operand [1][n][k]. Raises what `createSparseDenseMatMulLHS` raises."""
    pattern = planned_pattern(graph.getTarget(), inputType, params, csrRHS, parsed_options(options), cache, True)
    call = operation(graph, debugContext, "popsparse", "createDenseSparseMatMulLHS", params=str(params))
    return _dense(graph, inputType, pattern, params.n, (call, "lhs")).dimShuffle([0, 2, 1])


def sparseDenseMatMul(
    graph: Graph,
    lhs: SparseTensor,
    rhs: Tensor,
    prog: Sequence,
    transposeLHS: bool = False,
    transposeRHS: bool = False,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> Tensor:
    """sparse [m][k] * dense [1][k][n] (transposed: [1][n][k]): [1][m][n], mapped as the planner's result.

    Raises `poplibs_error` for another shape or type than the sparse operand was made for, for other options, and for a
    transposed sparse operand, which is not supported, as in PopLibs."""
    pattern = _checked("sparseDenseMatMul", lhs, transposeLHS, options)
    dense = rhs.dimShuffle([0, 2, 1]) if transposeRHS and rhs.rank() == 3 else rhs
    call = operation(graph, debugContext, "popsparse", "sparseDenseMatMul", rhs=rhs)
    return _product(graph, pattern, lhs.getNzValuesTensor(), dense, prog, call)


def denseSparseMatMul(
    graph: Graph,
    lhs: Tensor,
    rhs: SparseTensor,
    prog: Sequence,
    transposeLHS: bool = False,
    transposeRHS: bool = False,
    debugContext: Context = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> Tensor:
    """dense [1][n][k] (transposed: [1][k][n]) * sparse [k][m]: [1][n][m]. Raises what `sparseDenseMatMul` raises."""
    pattern = _checked("denseSparseMatMul", rhs, transposeRHS, options)
    dense = lhs if transposeLHS or lhs.rank() != 3 else lhs.dimShuffle([0, 2, 1])
    call = operation(graph, debugContext, "popsparse", "denseSparseMatMul", lhs=lhs)
    return _product(graph, pattern, rhs.getNzValuesTensor(), dense, prog, call).dimShuffle([0, 2, 1])


# ---- patterns --------------------------------------------------------------------------------------------------------


def planned_pattern(
    target: Target,
    dtype: Type,
    params: MatMulParams,
    matrix: Matrix,
    options: MatMulOptions,
    cache: PlanningCache | None,
    transposed: bool,
) -> Pattern:
    """The pattern of a matrix as the left operand, with its plan. `transposed`: it is the right operand."""
    if dtype not in (FLOAT, HALF):
        raise poplibs_error(f"A sparse product is of FLOAT or HALF, not {dtype}.")
    if params.transposed != transposed:
        form = "createForDenseSparse" if transposed else "createForSparseDense"
        raise poplibs_error(f"The parameters are for the other product; make them with MatMulParams.{form}.")
    shape = (params.k, params.m) if transposed else (params.m, params.k)
    if (matrix.numRows, matrix.numColumns) != shape:
        raise poplibs_error(
            f"The sparse matrix is {matrix.numRows} x {matrix.numColumns}, the parameters say {shape[0]} x {shape[1]}."
        )
    height, width = matrix.blockDimensions
    if height != width or height not in (1, *BLOCK_LENGTHS):
        raise poplibs_error(f"Blocks of a static sparse product are 1, 4, 8 or 16 square, not {height} x {width}.")
    blocks = transposed_blocks(matrix.blocks()) if transposed else matrix.blocks()
    sizes = planner.sizes_of(target, dtype, height, (params.m, params.k, params.n), options)
    key = sizes, options, blocks.rows.tobytes(), blocks.columns.tobytes()
    plan = planned_by(cache, key, lambda: planner.planned(sizes, blocks, options))
    return Pattern(params, options, height, blocks, plan)


@dataclass(frozen=True)
class Order:
    """The blocks of a pattern in the order of the device: which block, and its row and column in planned order."""

    block: Int64Array
    rows: Int64Array
    columns: Int64Array


def device_order(pattern: Pattern) -> Order:
    """By band, then row, then column."""
    plan: Plan = pattern.plan
    rows, columns = _places(plan.row_order)[pattern.blocks.rows], _places(plan.column_order)[pattern.blocks.columns]
    band = np.searchsorted(plan.bands.bounds, columns, side="right")
    order = np.lexsort((columns, rows, band))
    return Order(order, rows[order], columns[order])


def _places(order: Int64Array) -> Int64Array:
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def shares_of(plan: Plan) -> list[Share]:
    """What each tile multiplies: bands one after another, each on its tiles, for each part of the dense operand."""
    shares = []
    for part, (left, right) in enumerate(plan.parts):
        tile, first = plan.tiles[part][0], 0
        for blocks, tiles in zip(plan.bands.blocks.tolist(), plan.tiles_of_bands(part), strict=True):
            each = -(-blocks // tiles)
            for number, begin in enumerate(range(first, first + blocks, each)):
                shares.append(Share(tile + number, begin, min(begin + each, first + blocks), left, right))
            tile, first = tile + tiles, first + blocks
    return shares


def _sparse_tensor(graph: Graph, dtype: Type, pattern: Pattern, context: Context) -> SparseTensor:
    call = operation(graph, context, "popsparse", "createSparseTensor", params=str(pattern.params))
    area, plan = pattern.block**2, pattern.plan
    values = graph.addVariable(dtype, [len(pattern.blocks.rows) * area], (call, "nz"))
    if len(plan.parts) > 1:
        mapTensorLinearly(graph, values, 0, int(np.lcm(plan.sizes.vector, pattern.block)))
    else:
        shares = shares_of(plan)
        bounds = np.array([(share.first, share.last) for share in shares], np.int64).reshape(-1, 2) * area
        graph.setTileMappingIntervals(values, bounds[:, 0], bounds[:, 1], np.array([s.tile for s in shares], np.int64))
    return SparseTensor(values, pattern)


def _dense(graph: Graph, dtype: Type, pattern: Pattern, columns: int, name: Context) -> Tensor:
    """[1, k, columns], laid out as [row of blocks][column][row within the block]."""
    sizes, block = pattern.plan.sizes, pattern.block
    made = graph.addVariable(dtype, [sizes.columns, columns, block], name)
    mapTensorLinearly(graph, made, 0, sizes.vector * (sizes.vector if block > 1 else 1))
    return made.dimShuffle([0, 2, 1]).reshape([1, sizes.columns * block, columns])


def _checked(function: str, sparse: SparseTensor, transposed: bool, options: Options) -> Pattern:
    pattern = sparse.getOpMetaData()
    if not isinstance(pattern, Pattern):
        raise poplibs_error(f"{function}: the sparse operand has no meta data; give what getOpMetaData of one returns.")
    if transposed:
        raise poplibs_error(
            f"{function}: a transposed sparse operand is not supported; make it from the transposed matrix."
        )
    if parsed_options(options) != pattern.options:
        raise poplibs_error(f"{function}: the options differ from those that the sparse operand was made with.")
    return pattern


# ---- the product -----------------------------------------------------------------------------------------------------


def _product(graph: Graph, pattern: Pattern, values: Tensor, dense: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """[1, m, n]: the product of the left operand with a dense [1, k, n]."""
    params, plan, block = pattern.params, pattern.plan, pattern.block
    if dense.shape() != [1, params.k, params.n] or dense.elementType() is not values.elementType():
        raise poplibs_error(
            f"A sparse product of {values.elementType()} needs a dense operand of shape [1, {params.k}, {params.n}], "
            f"not {dense.elementType()} of shape {dense.shape()}."
        )
    if values.numElements() != len(pattern.blocks.rows) * block**2:
        raise poplibs_error(f"The sparse operand has {values.numElements()} values, not those of its blocks.")
    programs = Sequence()
    padded = _padded(graph, pattern, dense, programs, call)
    order, shares = device_order(pattern), shares_of(plan)
    out = graph.addVariable(values.elementType(), [plan.sizes.rows, plan.sizes.padded, block], (call, "out"))
    mapTensorLinearly(graph, out, 0, plan.sizes.vector * (plan.sizes.vector if block > 1 else 1))
    filled = np.zeros(0, np.int64)
    if shares:
        tasks = [_tile_work(plan, order, share) for share in shares]
        partials = _multiply(graph, pattern, tasks, (values, padded), programs, call)
        filled = _gather_partials(graph, plan, partials, out, programs, call)
    empty = np.setdiff1d(np.arange(plan.sizes.rows), filled)
    if len(empty):
        zero(graph, concat([out[int(row)] for row in empty], 0), programs, (call, "zero"))
    inverse = _places(plan.row_order)
    result = concat([out[int(place)].expand([0]) for place in inverse], 0).dimShuffle([0, 2, 1])
    result = result.reshape([1, params.m, plan.sizes.padded]).slice(0, params.n, 2)
    attributes = {
        "rows": pattern.blocks.rows[order.block].tolist(),
        "columns": pattern.blocks.columns[order.block].tolist(),
        "block": block,
    }
    prog.add(LibraryGroup(programs.programs, "popsparse.staticMatMul", [values, dense], [result], attributes))
    return result


def _padded(graph: Graph, pattern: Pattern, dense: Tensor, programs: Sequence, call: DebugInfo) -> Tensor:
    """The dense operand as rows of blocks [rows, columns, block], in planned order, with whole vectors of columns."""
    plan, block = pattern.plan, pattern.block
    n = pattern.params.n
    if plan.sizes.padded != n:
        whole = _dense(graph, dense.elementType(), pattern, plan.sizes.padded, (call, "padded"))
        zero(graph, whole.slice(n, plan.sizes.padded, 2).flatten(), programs, (call, "padding"))
        programs.add(Copy(dense, whole.slice(0, n, 2), False, (call, "padded")))
        dense = whole
    return dense.reshape([plan.sizes.columns, block, plan.sizes.padded]).dimShuffle([0, 2, 1])


class Partials(NamedTuple):
    """Partial results: a vector, and for each row of each share the row, its columns and where it begins."""

    values: Tensor
    rows: Int64Array
    lefts: Int64Array
    rights: Int64Array
    begins: Int64Array


class TileWork(NamedTuple):
    """Rows and columns of blocks that a share touches, in planned order, and the work of its vertex."""

    share: Share
    rows: Int64Array
    columns: Int64Array
    work: Work

    @property
    def n(self) -> int:
        return self.share.right - self.share.left


def _tile_work(plan: Plan, order: Order, share: Share) -> TileWork:
    rows, row_places = np.unique(order.rows[share.first : share.last], return_inverse=True)
    columns, column_places = np.unique(order.columns[share.first : share.last], return_inverse=True)
    work = work_of(plan.sizes, row_places, column_places, share.right - share.left)
    return TileWork(share, rows, columns, work)


def _multiply(
    graph: Graph,
    pattern: Pattern,
    tasks: list[TileWork],
    operands: tuple[Tensor, Tensor],
    programs: Sequence,
    call: DebugInfo,
) -> Partials:
    """Add the compute set of all products."""
    plan, block, values = pattern.plan, pattern.block, operands[0]
    tiles = np.array([task.share.tile for task in tasks], np.int64)
    partials, ends = _partials(graph, tasks, values, block, (call, "partials"))
    bounds = np.array([(task.share.first, task.share.last) for task in tasks], np.int64) * block**2
    edges = [
        _dense_edges(plan, operands[1].flatten(), tasks),
        vector_edges(int(partials.values.regions()[0][0]) + ends[:-1], np.diff(ends)),
        _edges(values, bounds[:, 0], bounds[:, 1], np.arange(len(tasks)), len(tasks)),
        _list_edges(graph, [task.work.numbers for task in tasks], tiles, call),
    ]
    spent = np.array([task.work.cycles for task in tasks], np.int64)
    columns = np.array([task.n for task in tasks], np.int64)
    vertex = product_vertex(plan.sizes.dtype, block, spent, (bounds[:, 1] - bounds[:, 0]) * columns)
    names = [field.name for field in vertex.fields]
    state = columns if block == 1 else np.diff(ends)
    cs = graph.addComputeSet((call, "multiply"))
    connected = dict(zip(names, edges, strict=False))
    graph.addVertices(cs, vertex, tiles, connected, {names[-1]: state.astype(np.uint32)})
    programs.add(Execute(cs, (call, "multiply")))
    return partials


def _partials(
    graph: Graph, tasks: list[TileWork], values: Tensor, block: int, name: Context
) -> tuple[Partials, Int64Array]:
    """The partial results of all tiles, each on its tile, and where those of each begin, with the end."""
    counts = np.array([len(task.rows) for task in tasks], np.int64)
    left = np.repeat(np.array([task.share.left for task in tasks], np.int64), counts)
    right = np.repeat(np.array([task.share.right for task in tasks], np.int64), counts)
    row_ends = np.append(0, np.cumsum((right - left) * block))
    ends = row_ends[np.append(0, np.cumsum(counts))]
    made = graph.addVariable(values.elementType(), [int(ends[-1])], name)
    tiles = np.array([task.share.tile for task in tasks], np.int64)
    graph.setTileMappingIntervals(made, ends[:-1], ends[1:], tiles)
    return Partials(made, np.concatenate([task.rows for task in tasks]), left, right, row_ends[:-1]), ends


def _dense_edges(plan: Plan, dense: Tensor, tasks: list[TileWork]) -> FieldEdges:
    """The rows of the dense operand that meet the columns of each tile's blocks."""
    block, width = plan.sizes.block, plan.sizes.padded * plan.sizes.block
    begins = [plan.column_order[task.columns] * width + task.share.left * block for task in tasks]
    ends = [begin + task.n * block for begin, task in zip(begins, tasks, strict=True)]
    of = np.repeat(np.arange(len(tasks)), [len(task.columns) for task in tasks])
    return _edges(dense, np.concatenate(begins), np.concatenate(ends), of, len(tasks))


def _edges(tensor: Tensor, begins: Int64Array, ends: Int64Array, of: Int64Array, count: int) -> FieldEdges:
    """One vector for each vertex: its intervals of a flat tensor, one after another."""
    starts, lengths, interval = regions.cuts(*tensor.regions(), begins, ends)
    offsets = np.searchsorted(of[interval], np.arange(count + 1), side="left").astype(np.int64)
    return vector_edges(starts, lengths, offsets)


def _list_edges(graph: Graph, lists: list[list[int]], tiles: Int64Array, call: DebugInfo) -> FieldEdges:
    """The lists as constants on the tiles of their vertices."""
    ends = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    numbers = np.concatenate([np.asarray(one, np.int64) for one in lists])
    if numbers.max(initial=0) >= 1 << 16:
        raise poplibs_error(
            "The list of a tile's blocks does not fit into numbers of 16 bits; give a larger nSplit or numBands."
        )
    constant = graph.addConstant(UNSIGNED_SHORT, [len(numbers)], numbers, (call, "workLists"))
    graph.setTileMappingIntervals(constant, ends[:-1], ends[1:], tiles)
    return vector_edges(int(constant.regions()[0][0]) + ends[:-1], np.diff(ends))


def _gather_partials(
    graph: Graph, plan: Plan, partials: Partials, out: Tensor, programs: Sequence, call: DebugInfo
) -> Int64Array:
    """Add up the partial results of each row, those of as many tiles together, and copy those of rows that lie on one
    tile; returns the rows that have any, in planned order."""
    flat = out.flatten()
    reductions, sums = [], []
    for count, (terms, places) in sorted(_by_count(plan, partials).items()):
        added, results = taken(partials.values, np.concatenate(terms, 1)), taken(flat, np.concatenate(places))
        if count == 1:
            programs.add(Copy(added[0], results, False, (call, "result")))
        else:
            reductions.append(SingleReduceOp(added, [0], ReduceParams(Operation.ADD), out.elementType()))
            sums.append(results)
    if reductions:
        reduceMany(graph, reductions, sums, programs, (call, "reduce"))
    return np.unique(partials.rows)


def _by_count(plan: Plan, partials: Partials) -> dict[int, tuple[list[Int64Array], list[Int64Array]]]:
    """By the number of tiles that a row lies on: (places of partial results [tiles, elements], those in the result)."""
    found: dict[int, tuple[list[Int64Array], list[Int64Array]]] = {}
    block = plan.sizes.block
    for left, right in plan.parts:
        elements = np.arange((right - left) * block)
        mine = np.flatnonzero(partials.lefts == left)
        order = mine[np.argsort(partials.rows[mine], kind="stable")]
        rows, first, counts = np.unique(partials.rows[order], return_index=True, return_counts=True)
        for count in np.unique(counts).tolist():
            of = counts == count
            begins = partials.begins[order[first[of] + np.arange(count)[:, None]]]
            places = ((rows[of] * plan.sizes.padded + left) * block)[:, None] + elements
            terms, results = found.setdefault(count, ([], []))
            terms.append((begins[..., None] + elements).reshape(count, -1))
            results.append(places.reshape(-1))
    return found
