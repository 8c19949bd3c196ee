"""All-reduce over replicas by swapping with partners."""

from __future__ import annotations

from enum import Enum

from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_replication_error, invalid_option
from simulator.poplar.graph import Graph
from simulator.poplar.program import AssumeEqualAcrossReplicas, Copy, CrossReplicaCopy, Sequence
from simulator.poplar.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.debug import operation

Options = dict[str, str] | None


class CollectiveOperator(Enum):
    """How values of replicas are combined. MEAN is the sum divided by the number of replicas."""

    ADD = "add"
    MEAN = "mean"
    MUL = "mul"
    MIN = "min"
    MAX = "max"


_COMBINE = {
    CollectiveOperator.ADD: popops.addInPlace,
    CollectiveOperator.MEAN: popops.addInPlace,
    CollectiveOperator.MUL: popops.mulInPlace,
    CollectiveOperator.MIN: popops.minInPlace,
    CollectiveOperator.MAX: popops.maxInPlace,
}


def allReduceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """Append a reduction over all replicas to `prog`; returns a new tensor shaped and mapped as `data`, equal on all
    replicas. Raises what `allReduceInPlaceCrossReplica` raises."""
    call = operation(graph, debugContext, "gcl", "allReduceCrossReplica", data=data, op=op.name)
    out = graph.clone(data, (call, "reduced"))
    prog.add(Copy(data, out, False, (call, "copy")))
    allReduceInPlaceCrossReplica(graph, out, op, prog, call, options)
    return out


def allReduceInPlaceCrossReplica(
    graph: Graph,
    data: Tensor,
    op: CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """Append a reduction over all replicas into `data` itself. With one replica there is nothing to do.

    Raises `graph_replication_error` for a number of replicas that is no power of two, `invalid_option` for options
    (none is defined), and `graph_connection_error` for data that cannot be written."""
    for name in options or {}:
        raise invalid_option(f"Collectives have no option '{name}'; leave the options out.")
    replicas = graph.getReplicationFactor()
    if replicas & (replicas - 1):
        raise graph_replication_error(
            f"An all-reduce over {replicas} replicas is not supported; the number must be a power of two."
        )
    call = operation(graph, debugContext, "gcl", "allReduceInPlaceCrossReplica", data=data, op=op.name)
    if replicas == 1:
        return
    received = graph.clone(data, (call, "received"))
    for distance in (1 << k for k in range(replicas.bit_length() - 1)):
        partners = {replica: replica ^ distance for replica in range(replicas)}
        prog.add(CrossReplicaCopy(data, received, partners, (call, f"swap{distance}")))
        _COMBINE[op](graph, data, received, prog, (call, f"combine{distance}"))
    if op is CollectiveOperator.MEAN:
        popops.mulInPlace(graph, data, 1 / replicas, prog, (call, "mean"))
    prog.add(AssumeEqualAcrossReplicas(data, (call, "equal")))
