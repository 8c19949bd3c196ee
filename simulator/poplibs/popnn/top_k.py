"""popnn.topK: the older form of popops.topK, for the largest elements of rows."""

from __future__ import annotations

from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.debug import operation
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.programming.graph import Graph


def topK(
    graph: Graph, input: Tensor, K: int, sort: bool, prog: Sequence, debugContext: Context = ""
) -> tuple[Tensor, Tensor]:
    """(the K largest elements of each row of [batch, values], their places in the row), each [batch, 1, K]; with
    `sort` the largest first, else in no order. C++ returns the places in an argument.

    Raises `poplibs_error` for another rank, more elements than a row has, and types that `popops.topK` refuses."""
    call = operation(graph, debugContext, "popnn", "topK", input=input, K=K, sort=sort)
    if input.rank() != 2:
        raise poplibs_error(f"topK: shape {input.shape()} is not [batch, values].")
    order = popops.SortOrder.DESCENDING if sort else popops.SortOrder.NONE
    values, places = popops.topKWithPermutation(graph, prog, input, popops.TopKParams(K, True, order), call)
    return values.expand([1]), places.expand([1])
