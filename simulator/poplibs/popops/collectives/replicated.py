"""Older names of collectives: popops had them before Graphcore's library `gcl`."""

from __future__ import annotations

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops.collectives import all_reduce, gathering
from simulator.poplibs.popops.collectives.all_reduce import CollectiveOperator
from simulator.poplibs.popops.reductions.reduce import Operation
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = dict[str, str] | None


def _operator(op: Operation | CollectiveOperator) -> CollectiveOperator:
    """The operator of `gcl` with the same name. Raises `poplibs_error` where there is none."""
    if isinstance(op, CollectiveOperator):
        return op
    if op.name not in CollectiveOperator.__members__:
        raise poplibs_error(
            f"Collectives have no operator {op.name}; they have {', '.join(CollectiveOperator.__members__)}."
        )
    return CollectiveOperator[op.name]


def replicatedAllReduce(
    graph: Graph,
    data: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """`gcl.allReduceCrossReplica`; `op` may be an Operation of reductions."""
    return all_reduce.allReduceCrossReplica(graph, data, _operator(op), prog, debugContext, options)


def replicatedAllReduceInPlace(
    graph: Graph,
    data: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """`gcl.allReduceInPlaceCrossReplica`."""
    all_reduce.allReduceInPlaceCrossReplica(graph, data, _operator(op), prog, debugContext, options)


def replicatedAllReduceWithOutput(
    graph: Graph,
    data: Tensor,
    output: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """`replicatedAllReduce` into a tensor of the same shape and type."""
    prog.add(Copy(data, output, False, debugContext))
    replicatedAllReduceInPlace(graph, output, op, prog, debugContext, options)


def replicatedReduceScatter(
    graph: Graph,
    toReduce: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """`gcl.reduceScatterCrossReplica`."""
    return gathering.reduceScatterCrossReplica(graph, toReduce, _operator(op), prog, debugContext, options)


def replicatedAllGather(
    graph: Graph, toGather: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor:
    """`gcl.allGatherCrossReplica`."""
    return gathering.allGatherCrossReplica(graph, toGather, prog, debugContext, options)
