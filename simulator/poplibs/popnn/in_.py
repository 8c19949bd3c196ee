"""popnn.in (`popnn.in_` in Python): normalisation of each channel of each batch element, which is group norm with as
many groups as channels."""

from __future__ import annotations

from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popnn import gn


def instanceNormStatistics(
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
    """(mean, 1 / standard deviation) of each channel of each batch element."""
    return gn.groupNormStatistics(
        graph, acts, eps, prog, acts.dim(1), unbiasedVarEstimate, stableAlgo, partialsType, debugContext, options
    )


instanceNormWhiten = gn.groupNormWhiten
instanceNormalise = gn.groupNormalise
instanceNormParamGradients = gn.groupNormParamGradients
instanceNormGradients = gn.groupNormGradients
instanceNormParamUpdate = gn.groupNormParamUpdate
