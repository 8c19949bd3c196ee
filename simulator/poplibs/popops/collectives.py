"""Collectives under the names that popops had for them before Graphcore's library of collectives; they are `gcl`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops.reduction import Operation
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.programming.graph import Graph

if TYPE_CHECKING:
    from simulator.poplibs.gcl import CollectiveOperator

Options = dict[str, str] | None


def _operator(op: Operation | CollectiveOperator) -> CollectiveOperator:
    """gcl's operator of the same name. Raises `poplibs_error` where it has none."""
    from simulator.poplibs.gcl import CollectiveOperator

    if isinstance(op, CollectiveOperator):
        return op
    if op.name not in CollectiveOperator.__members__:
        raise poplibs_error(
            f"Collectives cannot combine by {op.name}; they know {', '.join(CollectiveOperator.__members__)}."
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
    from simulator.poplibs import gcl

    return gcl.allReduceCrossReplica(graph, data, _operator(op), prog, debugContext, options)


def replicatedAllReduceInPlace(
    graph: Graph,
    data: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """`gcl.allReduceInPlaceCrossReplica`."""
    from simulator.poplibs import gcl

    gcl.allReduceInPlaceCrossReplica(graph, data, _operator(op), prog, debugContext, options)


def replicatedAllReduceWithOutput(
    graph: Graph,
    data: Tensor,
    output: Tensor,
    op: Operation | CollectiveOperator,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """The same into a tensor of the same shape and type."""
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
    from simulator.poplibs import gcl

    return gcl.reduceScatterCrossReplica(graph, toReduce, _operator(op), prog, debugContext, options)


def replicatedAllGather(
    graph: Graph, toGather: Tensor, prog: Sequence, debugContext: Context = "", options: Options = None
) -> Tensor:
    """`gcl.allGatherCrossReplica`."""
    from simulator.poplibs import gcl

    return gcl.allGatherCrossReplica(graph, toGather, prog, debugContext, options)
