"""popops::rearrange: give a tensor another order in memory, so that what reads it finds its elements in groups.

A tensor of which one dimension stands in groups is copied into small matrices, which are spread over the tiles of their
IPU and transposed there by one compute set. Smaller matrices keep more workers busy: groups are divided as long as that
makes the busiest worker's share smaller, by PopLibs' rule."""

from __future__ import annotations

from itertools import pairwise
from math import gcd

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import FLOAT, HALF, INT, SHORT, UNSIGNED_INT, UNSIGNED_SHORT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Execute, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.machine.cycles.movement import TRANSPOSE_BLOCK
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.transposes import add_transposes
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.tensor_structure import GroupingInfo, detectDimGroupings

_TRANSPOSED = (HALF, FLOAT, UNSIGNED_SHORT, UNSIGNED_INT, SHORT, INT)


def getMinimumRegroupGrainSize(type: Type) -> int:
    """The smallest groups between which elements of a type are transposed fast: 4 of 2 bytes, 2 of 4 bytes, else 1."""
    return TRANSPOSE_BLOCK[type.size] if type in _TRANSPOSED else 1


def regroupIfBeneficial(
    graph: Graph, in_: Tensor, ref: Tensor | int, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """The elements of `in_` in the groups of `ref`, a tensor of the same shape, or with groups of `ref` elements of the
    innermost dimension. `in_` itself where that does not help: its innermost groups are of the same dimension, either
    group is no multiple of the smallest one, or its type is not transposed.

    Raises `poplibs_error` for a tensor of another shape, and for groups that do not divide the dimension."""
    call = operation(graph, debugContext, "popops", "regroupIfBeneficial", **{"in": in_, "ref": ref})
    if in_.rank() <= 1 or in_.elementType() not in _TRANSPOSED or (isinstance(ref, Tensor) and ref.rank() <= 1):
        return in_
    wanted = _wanted(graph, in_, ref)
    groups = detectDimGroupings(graph, in_)
    least = getMinimumRegroupGrainSize(in_.elementType())
    if wanted is None or not groups or groups[0].dimension == wanted.dimension:
        return in_
    if groups[0].size % least or wanted.size % least:
        return in_
    return _regrouped(graph, in_, groups[0], wanted, prog, call)


def _wanted(graph: Graph, t: Tensor, ref: Tensor | int) -> GroupingInfo | None:
    """The groups to have; None where the reference has none."""
    if isinstance(ref, Tensor):
        if ref.shape() != t.shape():
            raise poplibs_error(f"regroupIfBeneficial: the shapes {t.shape()} and {ref.shape()} differ.")
        groups = detectDimGroupings(graph, ref)
        return groups[0] if groups else None
    last = t.rank() - 1
    if ref < 1 or t.dim(last) % ref:
        raise poplibs_error(f"regroupIfBeneficial: groups of {ref} do not divide a dimension of {t.dim(last)}.")
    return GroupingInfo(last, ref)


def _regrouped(
    graph: Graph, t: Tensor, before: GroupingInfo, after: GroupingInfo, prog: Sequence, call: DebugInfo
) -> Tensor:
    before, after = _divided(graph, t, before, after)
    split = _grouped(t, after, before)
    flat = split.flatten(0, split.rank() - 2)
    order, tiles = _places(graph, flat)
    shape = [len(order), after.size, before.size]
    regroup = graph.addVariable(t.elementType(), shape, (call, "preRegroup"))
    turned = graph.addVariable(t.elementType(), [shape[0], shape[2], shape[1]], (call, "partialTranspose"))
    begins = np.append(0, np.flatnonzero(np.diff(tiles)) + 1)
    ends, at = np.append(begins[1:], len(tiles)), tiles[begins]
    for tensor in (regroup, turned):
        graph.setTileMappingIntervals(tensor, begins * (shape[1] * shape[2]), ends * (shape[1] * shape[2]), at)
    cs = graph.addComputeSet((call, "Transpose"))
    add_transposes(graph, cs, regroup, turned, (begins, ends, at))
    prog.add(Copy(_in_order(flat, order), regroup, False, (call, "internal")))
    prog.add(Execute(cs))
    back = _in_order(turned, np.argsort(order))
    outer = split.shape()[:-2]
    return _joined(back.reshape([*outer, before.size, after.size]), before, after)


def _divided(graph: Graph, t: Tensor, before: GroupingInfo, after: GroupingInfo) -> tuple[GroupingInfo, GroupingInfo]:
    """Smaller groups, where they share out the transpositions better among the workers of an IPU."""
    least, target = getMinimumRegroupGrainSize(t.elementType()), graph.getTarget()
    size, workers = before.size * after.size, target.getTilesPerIPU() * WORKERS
    begins, ends, tiles = graph.getTileMappingIntervals(t.flatten())
    matrices = -(-int(np.bincount(tiles // target.getTilesPerIPU(), weights=ends - begins).max()) // size)
    most = size // (least * least)
    factors = [x for x in range(1, most + 1) if most % x == 0 and (x == 1 or matrices * x <= workers)]

    def share(factor: int) -> int:
        a_tile = -(-matrices * factor // target.getTilesPerIPU())
        return most // factor * -(-a_tile // WORKERS)

    factor = min(factors, key=share)
    of_before = gcd(factor, before.size // least)
    of_after = gcd(factor // of_before, after.size // least)
    return before._replace(size=before.size // of_before), after._replace(size=after.size // of_after)


def _places(graph: Graph, flat: Tensor) -> tuple[Int64Array, Int64Array]:
    """(the matrices by IPU; the tile of each, in that order). A matrix stays on the IPU of its first element and the
    matrices of an IPU are spread over all its tiles."""
    a_tile = graph.getTarget().getTilesPerIPU()
    begins, ends, tiles = graph.getTileMappingIntervals(flat.slice(0, 1, 1).slice(0, 1, 2).flatten())
    by_place = np.argsort(begins)
    ipus = np.repeat(tiles[by_place] // a_tile, (ends - begins)[by_place])
    order = np.argsort(ipus, kind="stable")
    counts = np.bincount(ipus)
    within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = np.repeat(-(-counts // a_tile), counts)
    return order, np.asarray(ipus[order] * a_tile + within // share, np.int64)


def _in_order(matrices: Tensor, order: Int64Array) -> Tensor:
    """The matrices of a [matrices, rows, columns] tensor in another order."""
    cuts = [0, *(np.flatnonzero(np.diff(order) != 1) + 1).tolist(), len(order)]
    runs = [matrices.slice(int(order[a]), int(order[b - 1]) + 1, 0) for a, b in pairwise(cuts)]
    return runs[0] if len(runs) == 1 else concat(runs, 0)


def _grouped(t: Tensor, *groups: GroupingInfo) -> Tensor:
    """The groups as dimensions of their own, behind all others."""
    for dimension, size in groups:
        split = t.reshapePartial(dimension, dimension + 1, [t.dim(dimension) // size, size])
        t = split.dimRoll(dimension + 1, t.rank())
    return t


def _joined(t: Tensor, *groups: GroupingInfo) -> Tensor:
    """What `_grouped` undoes: the last dimensions back into those that they are groups of."""
    behind = t.rank() - len(groups)
    for dimension, _ in groups:
        t = t.dimRoll(behind, dimension + 1).flatten(dimension, dimension + 2)
    return t
