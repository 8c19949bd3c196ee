"""Where the output of an element-wise operation lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.base.types import Type
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import clone_mapped
from simulator.programming.graph import Graph


def createOutputForElementWiseOp(
    graph: Graph, inputs: Sequence[Tensor], outputType: Type, debugContext: Context = ""
) -> Tensor:
    """A mapped tensor for the result of an element-wise operation on inputs of one shape: laid out as the input that
    is spread over most tiles among those that hold no element twice (the one in fewest regions where several are),
    linearly where there is none.

    Raises `poplibs_error` for no inputs and for inputs of different shapes."""
    if not inputs:
        raise poplibs_error("createOutputForElementWiseOp: there are no inputs.")
    if any(t.shape() != inputs[0].shape() for t in inputs):
        raise poplibs_error(
            f"createOutputForElementWiseOp: shapes {', '.join(str(t.shape()) for t in inputs)} must be equal."
        )
    whole = [t for t in inputs if t.isParallelWriteable()]
    model = max(whole, key=lambda t: (_tiles(graph, t), -len(t.regions()[0])), default=inputs[0])
    return clone_mapped(graph, model, outputType, debugContext)


def _tiles(graph: Graph, t: Tensor) -> int:
    return len(np.unique(graph.getTileMappingIntervals(t)[2]))
