"""popops.scatter: update slices of a tensor at index vectors, with the semantics of XLA's Scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Program
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.loops import countedLoop
from simulator.poplibs.popops.slices.dynamic import dynamicSlice, dynamicUpdate
from simulator.poplibs.popops.slices.index_vectors import as_rows, index_matrix
from simulator.poplibs.popops.slices.multi_update import multiUpdate
from simulator.poplibs.poputil.exceptions import poplibs_error

UpdateComputationFunc = Callable[[Graph, Tensor, Tensor, ProgramSequence], Tensor]


@overload
def scatter(
    graph: Graph,
    operand: Tensor,
    indices: Tensor,
    updates: Tensor,
    indexVectorDim: int,
    updateWindowDims: Sequence[int],
    insertWindowDims: Sequence[int],
    scatterDimsToOperandDims: Sequence[int],
    prog: ProgramSequence,
    debugContext: Context = "",
) -> None: ...
@overload
def scatter(
    graph: Graph,
    operand: Tensor,
    indices: Tensor,
    updates: Tensor,
    indexVectorDim: int,
    updateWindowDims: Sequence[int],
    insertWindowDims: Sequence[int],
    scatterDimsToOperandDims: Sequence[int],
    updateComputation: UpdateComputationFunc,
    prog: ProgramSequence,
    debugContext: Context = "",
) -> None: ...
def scatter(graph: Graph, operand: Tensor, indices: Tensor, updates: Tensor, *rest: Any, **named: Any) -> None:
    """Write the windows of `updates` into `operand` at the index vectors, one after the other. With
    `updateComputation(graph, current, update, prog)` the tensor that it returns for the current window and the update
    is written instead.

    Raises `poplibs_error` for dimensions that do not fit."""
    names = ["indexVectorDim", "updateWindowDims", "insertWindowDims", "scatterDimsToOperandDims"]
    if len(rest) > 4 and not isinstance(rest[4], ProgramSequence):
        names.append("updateComputation")
    given = dict(zip([*names, "prog", "debugContext"], rest, strict=False)) | named
    dims = list(given["scatterDimsToOperandDims"])
    matrix, batch = index_matrix("scatter", indices, given["indexVectorDim"], len(dims))
    windows, shape = _windows(operand, updates, given, batch, matrix.dim(0))
    call = operation(graph, given.get("debugContext", ""), "popops", "scatter", operand=operand, indices=indices)
    target = operand
    for d, size in enumerate(shape):
        if d not in dims:
            target = target.slice(0, size, d)
    sizes = [shape[d] for d in dims]
    prog, combine = given["prog"], given.get("updateComputation")
    if combine is None and dims and all(s == 1 for s in sizes):
        others = [d for d in range(operand.rank()) if d not in dims]
        rows, index = as_rows(graph, target, matrix, dims, prog, call)
        flat = windows.dimShuffle([0, *[d + 1 for d in [*dims, *others]]]).reshape([matrix.dim(0), 1, rows.dim(1)])
        multiUpdate(graph, rows, flat, index, [0], [1], prog, debugContext=call)
        return

    def body(i: Tensor) -> Program:
        step = ProgramSequence()
        offset = dynamicSlice(graph, matrix, i, [0], [1], step, (call, "offset")).flatten()
        update = dynamicSlice(graph, windows, i, [0], [1], step, (call, "update")).squeeze([0])
        if combine is not None:
            current = dynamicSlice(graph, target, offset, dims, sizes, step, (call, "current"))
            update = combine(graph, current, update, step)
        dynamicUpdate(graph, target, update, offset, dims, sizes, step, (call, "store"))
        return step

    if matrix.dim(0):
        prog.add(countedLoop(graph, matrix.dim(0), body, (call, "loop")))


def _windows(
    operand: Tensor, updates: Tensor, given: dict[str, Any], batch: list[int], count: int
) -> tuple[Tensor, list[int]]:
    """([vectors, window], shape of the window with all dimensions of the operand)."""
    window_dims, inserted = list(given["updateWindowDims"]), list(given["insertWindowDims"])
    batch_dims = [d for d in range(updates.rank()) if d not in window_dims]
    fits = len(window_dims) + len(inserted) == operand.rank() and [updates.dim(d) for d in batch_dims] == batch
    if not fits or updates.elementType() is not operand.elementType():
        raise poplibs_error(
            f"scatter: updates of {updates.elementType()}, shape {updates.shape()}, updateWindowDims {window_dims} and "
            f"insertWindowDims {inserted} do not fit an operand of {operand.elementType()}, shape {operand.shape()}, "
            f"with indices of shape {batch}."
        )
    sizes = iter([updates.dim(d) for d in window_dims])
    shape = [1 if d in inserted else next(sizes) for d in range(operand.rank())]
    if any(size > n for size, n in zip(shape, operand.shape(), strict=True)):
        raise poplibs_error(f"scatter: a window of shape {shape} is larger than the operand {operand.shape()}.")
    ordered = updates.dimShuffle([*batch_dims, *window_dims])
    return ordered.reshape([count, *shape]), shape
