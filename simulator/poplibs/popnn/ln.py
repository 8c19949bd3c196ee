"""popnn.ln: normalisation of each batch element over all its channels, which is group norm with one group."""

from __future__ import annotations

from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popnn import gn


def layerNormStatistics(
    graph: Graph,
    acts: Tensor,
    eps: float,
    prog: Sequence,
    unbiasedVarEstimate: bool,
    stableAlgo: bool = False,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
    options: gn.Options = None,
) -> tuple[Tensor, Tensor]:
    """(mean, 1 / standard deviation) of each batch element."""
    return gn.groupNormStatistics(
        graph, acts, eps, prog, 1, unbiasedVarEstimate, stableAlgo, partialsType, debugContext, options
    )


layerNormWhiten = gn.groupNormWhiten
layerNormalise = gn.groupNormalise
layerNormParamGradients = gn.groupNormParamGradients
layerNormGradients = gn.groupNormGradients
layerNormParamUpdate = gn.groupNormParamUpdate
