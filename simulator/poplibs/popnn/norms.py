"""Parameters of normalised layers, and the floating point operations of their passes (PopLibs' counts)."""

from __future__ import annotations

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.poplibs.poplin import norms


def createNormGamma(graph: Graph, acts: Tensor, debugContext: Context = "") -> Tensor:
    """One factor for each channel of [batch, channels, field] or [batch, channels] activations."""
    return norms.createNormGamma(graph, acts, *([debugContext] if debugContext else []))


def createNormBeta(graph: Graph, acts: Tensor, debugContext: Context = "") -> Tensor:
    """One addend for each channel."""
    return norms.createNormBeta(graph, acts, *([debugContext] if debugContext else []))


def createNormParams(graph: Graph, acts: Tensor, debugContext: Context = "") -> tuple[Tensor, Tensor]:
    """(gamma, beta)."""
    return norms.createNormParams(graph, acts, debugContext)


def getNormFwdFlops(statisticsSize: int, numActsElements: int, computeStats: bool = True) -> int:
    """2 for each element to scale it; with statistics 4 more, and 5 for each of them."""
    return 2 * numActsElements + (4 * numActsElements + 5 * statisticsSize if computeStats else 0)


def getNormBwdFlops(statisticsSize: int, numActsElements: int) -> int:
    """8 for each element and 2 for each statistic."""
    return 8 * numActsElements + 2 * statisticsSize


def getNormWuFlops(paramsSize: int, numActsElements: int) -> int:
    """3 for each element and 4 for each parameter."""
    return 3 * numActsElements + 4 * paramsSize
