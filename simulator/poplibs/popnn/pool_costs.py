"""What a pooling asks for, as PopLibs counts it."""

from __future__ import annotations

from math import prod

from simulator.poplibs.popnn.pool_params import PoolingType, PoolParams
from simulator.programming.graph import Graph


def asString(method: PoolingType) -> str:
    """The name of a kind: "max", "avg" or "sum"."""
    return method.value.lower()


def getOutputFieldShape(params: PoolParams) -> list[int]:
    """The field of the output."""
    return params.getOutputFieldShape()


def getFwdFlops(params: PoolParams) -> int:
    """One for each element of each window that is no padding; AVG one more for each output."""
    sizes = params.window_sizes()
    scaled = sizes.size if params.poolingType is PoolingType.AVG else 0
    return int(params.batchSize * params.numChannels * (int(sizes.sum()) + scaled))


def getBwdFlops(params: PoolParams) -> int:
    """As many meetings of inputs and outputs as forward; AVG one more for each input."""
    scaled = prod(params.inputFieldShape) if params.poolingType is PoolingType.AVG else 0
    return int(params.batchSize * params.numChannels * (int(params.window_sizes().sum()) + scaled))


def getFwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Cycles that the flops take with every tile doing a vector of them in each."""
    target = graph.getTarget()
    return getFwdFlops(params) / (target.getVectorWidth(params.dType) * target.getNumTiles())


def getBwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Twice those of the pooling: PopLibs' estimate of the gradient."""
    return 2 * getFwdPerfectCycleCount(graph, params)
