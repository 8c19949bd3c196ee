"""Collectives that move parts between replicas: gather, scatter, all to all, broadcast.

Parts move along a ring, one replica further in each round. The part that replica r received in round s comes from
replica r - s; a slice at an offset that depends on the replica's index puts the parts in order. The order of rounds in
Graphcore's library is not published.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import AssumeEqualAcrossReplicas, Copy, CrossReplicaCopy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.collectives.all_reduce import (
    CollectiveOperator,
    CommGroup,
    CommGroupType,
    Options,
    allReduceCrossReplica,
    rest_of,
    take_on_replicas,
)
from simulator.poplibs.popops.elementwise import binary
from simulator.poplibs.popops.padding import pad
from simulator.poplibs.popops.slices.dynamic import dynamicSlice
from simulator.poplibs.poputil.exceptions import poplibs_error


@overload
def allGatherCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor: ...
@overload
def allGatherCrossReplica(
    graph: Graph,
    data: Tensor,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def allGatherCrossReplica(graph: Graph, data: Tensor, prog: Sequence, *arguments: Any, **names: Any) -> Tensor:
    """[replicas, *shape]: the tensors of all replicas, or [size of a group, *shape]: those of the group, equal on all.

    Raises `invalid_option` for options, `poplibs_error` for groups that do not divide the replicas."""
    group, context, _ = rest_of("allGatherCrossReplica", arguments, names)
    replicas = graph.getReplicationFactor()
    size = group.size(replicas)
    call = operation(graph, context, "gcl", "allGatherCrossReplica", data=data)
    slots = [graph.clone(data, (call, f"slot{s}")) for s in range(size)]
    prog.add(Copy(data, slots[0], False, (call, "own")))
    for s in range(1, size):
        prog.add(CrossReplicaCopy(slots[s - 1], slots[s], group.ring(replicas, 1), (call, f"round{s}")))
    out = _in_order(graph, slots, group, prog, call)
    if size == replicas:
        prog.add(AssumeEqualAcrossReplicas(out, (call, "equal")))
    return out


@overload
def reduceScatterCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
@overload
def reduceScatterCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def reduceScatterCrossReplica(
    graph: Graph, data: Tensor, op: CollectiveOperator, prog: Sequence, *arguments: Any, **names: Any
) -> Tensor:
    """[ceil(elements / replicas)]: replica r's share of the combination of all replicas' tensors, or of those of its
    group, which have one dimension; zeros follow the end. It is an all-reduce of which each replica keeps its share.

    Raises `poplibs_error` for another rank and for groups that do not divide the replicas, `invalid_option` for
    options."""
    group, context, _ = rest_of("reduceScatterCrossReplica", arguments, names)
    if data.rank() != 1:
        raise poplibs_error(f"reduceScatterCrossReplica: the tensor has shape {data.shape()}; flatten it.")
    size = group.size(graph.getReplicationFactor())
    call = operation(graph, context, "gcl", "reduceScatterCrossReplica", data=data, op=op.name)
    whole = allReduceCrossReplica(graph, data, op, prog, group, call)
    share = -(-data.numElements() // size)
    padded = pad(graph, whole, [0], [size * share - data.numElements()])
    return _row_at(graph, padded.reshape([size, share]), 0, group, prog, call)[0]


@overload
def allToAllCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor: ...
@overload
def allToAllCrossReplica(
    graph: Graph,
    data: Tensor,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def allToAllCrossReplica(graph: Graph, data: Tensor, prog: Sequence, *arguments: Any, **names: Any) -> Tensor:
    """Row j of the result on replica r is row r of replica j's `data` ([replicas, ...]); within groups both count the
    members of the group.

    Raises `poplibs_error` for another first dimension and for groups that do not divide the replicas, `invalid_option`
    for options."""
    group, context, _ = rest_of("allToAllCrossReplica", arguments, names)
    replicas = graph.getReplicationFactor()
    size = group.size(replicas)
    if data.rank() == 0 or data.dim(0) != size:
        of = "replicas" if size == replicas else "replicas in a group"
        raise poplibs_error(
            f"allToAllCrossReplica: the tensor has shape {data.shape()}; its first dimension must be the number of "
            f"{of}, {size}."
        )
    call = operation(graph, context, "gcl", "allToAllCrossReplica", data=data)
    slots = []
    for s in range(size):
        row = _row_at(graph, data, s, group, prog, call)
        slot = row if s == 0 else graph.clone(row, (call, f"slot{s}"))
        if s:
            prog.add(CrossReplicaCopy(row, slot, group.ring(replicas, s), (call, f"round{s}")))
        slots.append(slot[0])
    return _in_order(graph, slots, group, prog, call)


@overload
def broadcastCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor: ...
@overload
def broadcastCrossReplica(
    graph: Graph,
    data: Tensor,
    prog: Sequence,
    group: CommGroup,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def broadcastCrossReplica(graph: Graph, data: Tensor, prog: Sequence, *arguments: Any, **names: Any) -> Tensor:
    """Replica 0's tensor on all replicas, or that of the first of each group on its members.

    Raises `invalid_option` for options, `poplibs_error` for groups that do not divide the replicas."""
    group, context, _ = rest_of("broadcastCrossReplica", arguments, names)
    replicas = graph.getReplicationFactor()
    size, places = group.size(replicas), np.array(group.places(replicas))
    call = operation(graph, context, "gcl", "broadcastCrossReplica", data=data)
    out, received = graph.clone(data, (call, "broadcast")), graph.clone(data, (call, "received"))
    prog.add(Copy(data, out, False, (call, "own")))
    for distance in reversed([1 << k for k in range((size - 1).bit_length())]):
        prog.add(CrossReplicaCopy(out, received, group.ring(replicas, distance), (call, f"hand{distance}")))
        take_on_replicas(graph, out, received, places % (2 * distance) == distance, prog, call, f"take{distance}")
    if size == replicas:
        prog.add(AssumeEqualAcrossReplicas(out, (call, "equal")))
    return out


def _in_order(graph: Graph, slots: list[Tensor], group: CommGroup, prog: Sequence, call: DebugInfo) -> Tensor:
    """Slots as rows by place in the group, where slot s comes from place p - s: a slice from place n - 1 - p of the
    reversed slots, which are repeated once."""
    n = len(slots)
    twice = concat([slot.expand([0]) for slot in [*reversed(slots), *reversed(slots)]], 0)
    place = _place(graph, group, prog, call)
    offset = binary(graph, "SUBTRACT", n - 1, place, prog, (call, "offset"), in_place=False)
    return dynamicSlice(graph, twice, offset.reshape([1]), [0], [n], prog, (call, "order"))


def _row_at(graph: Graph, rows: Tensor, further: int, group: CommGroup, prog: Sequence, call: DebugInfo) -> Tensor:
    """[1, ...]: row (p + `further`) modulo the number of rows, on the replica at place p of its group."""
    at = binary(graph, "ADD", _place(graph, group, prog, call), further, prog, (call, "row"), in_place=False)
    twice = concat([rows, rows], 0)
    return dynamicSlice(graph, twice, at.reshape([1]), [0], [1], prog, (call, "row"))


def _place(graph: Graph, group: CommGroup, prog: Sequence, call: DebugInfo) -> Tensor:
    """The place of each replica in its group."""
    index = graph.addReplicationIndexConstant((call, "index"))
    graph.setTileMapping(index, 0)
    replicas = graph.getReplicationFactor()
    size = group.size(replicas)
    if size == replicas:
        return index
    operator, by = ("DIVIDE", replicas // size) if group.type is CommGroupType.ORTHOGONAL else ("REMAINDER", size)
    return binary(graph, operator, index, by, prog, (call, "place"), in_place=False)
