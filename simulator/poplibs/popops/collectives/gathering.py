"""Collectives that move parts between replicas: gather, scatter, all to all, broadcast.

Parts move along a ring, one replica further in each round. The part that replica r received in round s comes from
replica r - s; a slice at an offset that depends on the replica's index puts the parts in order. The order of rounds in
Graphcore's library is not published.
"""

from __future__ import annotations

import numpy as np

from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import AssumeEqualAcrossReplicas, Copy, CrossReplicaCopy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.collectives.all_reduce import (
    CollectiveOperator,
    Options,
    allReduceCrossReplica,
    check_options,
    take_on_replicas,
)
from simulator.poplibs.popops.elementwise import binary
from simulator.poplibs.popops.padding import pad
from simulator.poplibs.popops.slices.dynamic import dynamicSlice
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.programming.graph import Graph


def allGatherCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor:
    """[replicas, *shape]: the tensors of all replicas, equal on all of them. Raises `invalid_option` for options."""
    check_options(options)
    replicas = graph.getReplicationFactor()
    call = operation(graph, debugContext, "gcl", "allGatherCrossReplica", data=data)
    slots = [graph.clone(data, (call, f"slot{s}")) for s in range(replicas)]
    prog.add(Copy(data, slots[0], False, (call, "own")))
    for s in range(1, replicas):
        prog.add(CrossReplicaCopy(slots[s - 1], slots[s], _ring(replicas, 1), (call, f"round{s}")))
    out = _in_order(graph, slots, prog, call)
    prog.add(AssumeEqualAcrossReplicas(out, (call, "equal")))
    return out


def reduceScatterCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """[ceil(elements / replicas)]: replica r's share of the combination of all replicas' tensors, which have one
    dimension; zeros follow the end. It is an all-reduce of which each replica keeps its share.

    Raises `poplibs_error` for another rank, `invalid_option` for options."""
    if data.rank() != 1:
        raise poplibs_error(f"reduceScatterCrossReplica: the tensor has shape {data.shape()}; flatten it.")
    replicas = graph.getReplicationFactor()
    call = operation(graph, debugContext, "gcl", "reduceScatterCrossReplica", data=data, op=op.name)
    whole = allReduceCrossReplica(graph, data, op, prog, call, options)
    share = -(-data.numElements() // replicas)
    padded = pad(graph, whole, [0], [replicas * share - data.numElements()])
    return _row_at(graph, padded.reshape([replicas, share]), 0, prog, call)[0]


def allToAllCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor:
    """Row j of the result on replica r is row r of replica j's `data` ([replicas, ...]).

    Raises `poplibs_error` for another first dimension, `invalid_option` for options."""
    check_options(options)
    replicas = graph.getReplicationFactor()
    if data.rank() == 0 or data.dim(0) != replicas:
        raise poplibs_error(
            f"allToAllCrossReplica: the tensor has shape {data.shape()}; its first dimension must be the number of "
            f"replicas, {replicas}."
        )
    call = operation(graph, debugContext, "gcl", "allToAllCrossReplica", data=data)
    slots = []
    for s in range(replicas):
        row = _row_at(graph, data, s, prog, call)
        slot = row if s == 0 else graph.clone(row, (call, f"slot{s}"))
        if s:
            prog.add(CrossReplicaCopy(row, slot, _ring(replicas, s), (call, f"round{s}")))
        slots.append(slot[0])
    return _in_order(graph, slots, prog, call)


def broadcastCrossReplica(
    graph: Graph, data: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor:
    """Replica 0's tensor on all replicas. Raises `invalid_option` for options."""
    check_options(options)
    replicas = graph.getReplicationFactor()
    call = operation(graph, debugContext, "gcl", "broadcastCrossReplica", data=data)
    out, received = graph.clone(data, (call, "broadcast")), graph.clone(data, (call, "received"))
    prog.add(Copy(data, out, False, (call, "own")))
    numbers = np.arange(replicas)
    for distance in reversed([1 << k for k in range((replicas - 1).bit_length())]):
        prog.add(CrossReplicaCopy(out, received, _ring(replicas, distance), (call, f"hand{distance}")))
        take_on_replicas(graph, out, received, numbers % (2 * distance) == distance, prog, call, f"take{distance}")
    prog.add(AssumeEqualAcrossReplicas(out, (call, "equal")))
    return out


def _ring(replicas: int, distance: int) -> dict[int, int]:
    """Each replica sends to the replica `distance` further on."""
    return {replica: (replica + distance) % replicas for replica in range(replicas)}


def _in_order(graph: Graph, slots: list[Tensor], prog: Sequence, call: DebugInfo) -> Tensor:
    """Slots as rows by replica, where slot s comes from replica r - s: a slice from place n - 1 - r of the reversed
    slots, which are repeated once."""
    n = len(slots)
    twice = concat([slot.expand([0]) for slot in [*reversed(slots), *reversed(slots)]], 0)
    offset = binary(graph, "SUBTRACT", n - 1, _index(graph, call), prog, (call, "offset"), in_place=False)
    return dynamicSlice(graph, twice, offset.reshape([1]), [0], [n], prog, (call, "order"))


def _row_at(graph: Graph, rows: Tensor, further: int, prog: Sequence, call: DebugInfo) -> Tensor:
    """[1, ...]: row (r + `further`) modulo the number of rows, on replica r."""
    at = binary(graph, "ADD", _index(graph, call), further, prog, (call, "row"), in_place=False)
    twice = concat([rows, rows], 0)
    return dynamicSlice(graph, twice, at.reshape([1]), [0], [1], prog, (call, "row"))


def _index(graph: Graph, call: DebugInfo) -> Tensor:
    index = graph.addReplicationIndexConstant((call, "index"))
    graph.setTileMapping(index, 0)
    return index
