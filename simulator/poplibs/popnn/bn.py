"""popnn.bn: normalisation of each channel over the batch, under PopLibs' names.

Activations are [batch, channels, field] or [batch, channels]; statistics, gamma and beta have one value per channel."""

from __future__ import annotations

from typing import Any

from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import Form, Parameter, match, operation
from simulator.poplibs.poplin import norms
from simulator.poplibs.popnn.gn import GRADIENTS, PARAM_GRADIENTS, update_parameters

Pair = tuple[Tensor, Tensor]

_LAST = (Parameter("prog", Sequence), Parameter("debugContext", default=""))
_NORMALISE = (
    (
        Parameter("gamma", Tensor),
        Parameter("beta", Tensor),
        Parameter("mean", Tensor),
        Parameter("invStdDev", Tensor),
        *_LAST,
    ),
    (Parameter("combinedMultiplicand", Tensor), Parameter("addend", Tensor), *_LAST),
)


def _without_options(forms: tuple[Form, ...]) -> tuple[Form, ...]:
    return tuple(form[:-1] for form in forms)


def batchNormStatistics(
    graph: Graph,
    acts: Tensor,
    eps: float,
    prog: Sequence,
    unbiasedVarEstimate: bool,
    stableAlgo: bool = False,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
) -> Pair:
    """(mean, 1 / standard deviation) of each channel over batch and field."""
    call = operation(graph, debugContext, "popnn", "batchNormStatistics", acts=acts)
    return norms.normStatistics(graph, acts, eps, prog, unbiasedVarEstimate, stableAlgo, partialsType, call)


def batchNormWhiten(
    graph: Graph, acts: Tensor, mean: Tensor, invStdDev: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A new tensor: each channel less its mean, times 1 / its deviation."""
    call = operation(graph, debugContext, "popnn", "batchNormWhiten", acts=acts)
    return norms.normWhiten(graph, acts, mean, invStdDev, prog, call)


def batchNormalise(graph: Graph, acts: Tensor, *arguments: Any, **named: Any) -> Any:
    """(graph, acts, gamma, beta, mean, invStdDev, prog, debugContext="") -> (gamma * whitened + beta, whitened);
    (graph, acts, combinedMultiplicand, addend, prog, debugContext="") -> acts * combinedMultiplicand + addend, for
    inference, with gamma / deviation and beta - gamma * mean / deviation."""
    given = match("batchNormalise", _NORMALISE, arguments, named)
    prog = given["prog"]
    call = operation(graph, given["debugContext"], "popnn", "batchNormalise", acts=acts)
    if "addend" in given:
        factor = norms.per_channel(acts, given["combinedMultiplicand"])
        out = popops.mul(graph, acts, factor, prog, (call, "BN/batchNormaliseInference"))
        addend = norms.per_channel(acts, given["addend"])
        popops.addInPlace(graph, out, addend, prog, (call, "BN/batchNormaliseInference"))
        return out
    whitened = norms.normWhiten(graph, acts, given["mean"], given["invStdDev"], prog, call)
    return norms.normalise(graph, whitened, given["gamma"], given["beta"], prog, call), whitened


def batchNormParamGradients(graph: Graph, *arguments: Any, **named: Any) -> Pair:
    """(gradient of gamma, gradient of beta): (graph, acts, gradsIn, mean, iStdDev, prog, partialsType=FLOAT,
    debugContext=""), or (graph, actsWhitened, gradsIn, prog, ...)."""
    given = match("batchNormParamGradients", _without_options(PARAM_GRADIENTS), arguments, named)
    prog, grads = given["prog"], given["gradsIn"]
    call = operation(graph, given["debugContext"], "popnn", "batchNormParamGradients", gradsIn=grads)
    whitened = given.get("actsWhitened")
    if whitened is None:
        whitened = norms.normWhiten(graph, given["acts"], given["mean"], given["iStdDev"], prog, call)
    return norms.normParamGradients(graph, whitened, grads, prog, given["partialsType"], call)


def batchNormGradients(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """The gradient of the activations through the whole layer: (graph, acts, gradsIn, mean, invStdDev, gamma, prog,
    partialsType=FLOAT, debugContext=""), or (graph, actsWhitened, gradsIn, invStdDev, gamma, prog, ...)."""
    given = match("batchNormGradients", _without_options(GRADIENTS), arguments, named)
    prog, deviation = given["prog"], given["invStdDev"]
    call = operation(graph, given["debugContext"], "popnn", "batchNormGradients", gradsIn=given["gradsIn"])
    whitened = given.get("actsWhitened")
    if whitened is None:
        whitened = norms.normWhiten(graph, given["acts"], given["mean"], deviation, prog, call)
    scaled = norms.normGradients(graph, given["gradsIn"], given["gamma"], prog, call)
    return norms.normStatisticsGradients(graph, whitened, scaled, deviation, prog, given["partialsType"], call)


def batchNormParamUpdate(
    graph: Graph,
    gammaDelta: Tensor,
    betaDelta: Tensor,
    scale: float | Tensor,
    gamma: Tensor,
    beta: Tensor,
    prog: Sequence,
    debugContext: Context = "",
) -> None:
    """gamma += scale * gammaDelta and beta += scale * betaDelta in one operation (a negative scale descends)."""
    update_parameters(graph, (gammaDelta, betaDelta), scale, (gamma, beta), prog, debugContext, "BN/paramUpdate")
