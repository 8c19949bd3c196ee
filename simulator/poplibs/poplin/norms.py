"""Normalisation by channel, under PopLibs' names: statistics, whitening, scaling, and their gradients.

Activations are [batch, channels, field] (the field may have no dimension); statistics and parameters have one value per
channel. Sums are made in FLOAT whatever the type of the activations."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import graph_connection_error, poplar_error, type_error
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, Parameter, match, operation
from simulator.poplibs.poplin.std_deviation import inverse_std_deviation
from simulator.poplibs.poputil import clone_mapped

#: exponent of the part of 1 / count that scales gradients before the sum, so that halves do not overflow (as PopLibs)
_SCALE_SPLIT = 0.75

_PARAMETER_FORMS = (
    (Parameter("type", Type), Parameter("debugContext", default=None)),
    (Parameter("debugContext", default=None),),
)


def createNormGamma(graph: Graph, acts: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """One factor for each channel, each on the tile of the channel's first element: (..., [type,] debugContext)."""
    return _parameter(graph, acts, "gamma", arguments, named)


def createNormBeta(graph: Graph, acts: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """One addend for each channel, mapped like the factors."""
    return _parameter(graph, acts, "beta", arguments, named)


def createNormParams(graph: Graph, acts: Tensor, debugContext: Context = "") -> tuple[Tensor, Tensor]:
    """(gamma, beta) of the activations' type."""
    where = (debugContext,) if debugContext else ()
    return createNormGamma(graph, acts, *where), createNormBeta(graph, acts, *where)


def normStatistics(
    graph: Graph,
    actsUngrouped: Tensor,
    eps: float,
    prog: Sequence,
    unbiasedVarEstimate: bool,
    stableAlgo: bool = False,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
) -> tuple[Tensor, Tensor]:
    """(mean, 1 / standard deviation) of every channel, in the type of the activations.

    `eps` is added to the variance, which an unbiased estimate multiplies by n / (n - 1). `stableAlgo` subtracts the
    mean before squaring: one more step, but no cancellation. `partialsType` is the type of the mean square."""
    acts = actsUngrouped
    _check_acts("normStatistics", acts)
    if partialsType not in (FLOAT, HALF):
        raise type_error(f"normStatistics: partialsType is {partialsType}; FLOAT or HALF is needed.")
    count = acts.numElements() // acts.dim(1)
    if unbiasedVarEstimate and count < 2:
        raise poplar_error(
            "normStatistics: one element per channel has no unbiased variance; set unbiasedVarEstimate to False."
        )
    call = operation(graph, debugContext, "poplin", "normStatistics", acts=acts, eps=eps)
    name = (call, "Norm/statistics/mean")
    mean = _scaled_sum(graph, acts, 1 / count, False, acts.elementType(), prog, name)
    spread = acts
    if stableAlgo:
        spread = popops.sub(graph, acts, per_channel(acts, mean), prog, (call, "Norm/statistics/removeMean"))
    name = (call, "Norm/statistics/power")
    power = _scaled_sum(graph, spread, 1 / count, True, partialsType, prog, name)
    scale = count / (count - 1) if unbiasedVarEstimate else 1.0
    return mean, inverse_std_deviation(graph, mean, power, acts.elementType(), eps, scale, stableAlgo, prog, call)


def normWhiten(
    graph: Graph, acts: Tensor, mean: Tensor, iStdDev: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A new tensor (acts - mean) * iStdDev."""
    call = operation(graph, debugContext, "poplin", "normWhiten", acts=acts)
    out = popops.sub(graph, acts, per_channel(acts, mean), prog, (call, "Whiten/mean"))
    popops.mulInPlace(graph, out, per_channel(acts, iStdDev), prog, (call, "Whiten/istdDev"))
    return out


def normalise(
    graph: Graph, actsWhitened: Tensor, gamma: Tensor, beta: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A new tensor gamma * actsWhitened + beta."""
    call = operation(graph, debugContext, "poplin", "normalise", actsWhitened=actsWhitened)
    out = popops.mul(graph, actsWhitened, per_channel(actsWhitened, gamma), prog, (call, "Norm/normalise/gamma"))
    popops.addInPlace(graph, out, per_channel(actsWhitened, beta), prog, (call, "Norm/normalise/beta"))
    return out


def normParamGradients(
    graph: Graph,
    actsWhitened: Tensor,
    gradsIn: Tensor,
    prog: Sequence,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
) -> tuple[Tensor, Tensor]:
    """(gradient of gamma, gradient of beta): sums over batch and field of gradsIn * actsWhitened, and of gradsIn,
    accumulated in `partialsType`."""
    call = operation(graph, debugContext, "poplin", "normParamGradients", gradsIn=gradsIn)
    return _param_gradients(graph, actsWhitened, gradsIn, (1.0, partialsType), prog, call)


def normGradients(graph: Graph, gradsIn: Tensor, gamma: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """The gradient of the whitened activations, gradsIn * gamma."""
    call = operation(graph, debugContext, "poplin", "normGradients", gradsIn=gradsIn)
    return popops.mul(graph, gradsIn, per_channel(gradsIn, gamma), prog, (call, "NormGrad"))


def normStatisticsGradients(
    graph: Graph,
    actsWhitened: Tensor,
    gradsIn: Tensor,
    invStdDev: Tensor,
    prog: Sequence,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
) -> Tensor:
    """The gradient of the activations from that of the whitened ones, through mean and deviation: invStdDev * (gradsIn
    - mean(gradsIn) - actsWhitened * mean(gradsIn * actsWhitened)). Means are accumulated in `partialsType`."""
    call = operation(graph, debugContext, "poplin", "normStatisticsGradients", gradsIn=gradsIn)
    scale = actsWhitened.dim(1) / actsWhitened.numElements()
    first = scale**_SCALE_SPLIT
    rest = scale / first
    var_delta, mean_delta = _param_gradients(graph, actsWhitened, gradsIn, (-first, partialsType), prog, call)
    gradient = clone_mapped(graph, actsWhitened, actsWhitened.elementType(), (call, "Norm/gradients/gradsIn"))
    prog.add(Copy(gradsIn, gradient, False, call))
    var_grads = popops.mul(
        graph, actsWhitened, per_channel(actsWhitened, var_delta), prog, (call, "Norm/gradients/varGrads")
    )
    popops.mulInPlace(graph, mean_delta, rest, prog, (call, "Norm/gradients/scaleMeanDelta"))
    popops.addInPlace(graph, gradient, per_channel(gradient, mean_delta), prog, (call, "Norm/gradients/meanGrads"))
    popops.scaledAddTo(graph, gradient, var_grads, rest, prog, (call, "Norm/gradients/addGrads"))
    popops.mulInPlace(graph, gradient, per_channel(gradient, invStdDev), prog, (call, "Norm/gradients"))
    return gradient


def per_channel(acts: Tensor, values: Tensor) -> Tensor:
    """One value for each channel, as a view broadcast over batch and field."""
    if values.numElements() != acts.dim(1):
        raise graph_connection_error(
            f"Norm: {values.numElements()} values do not fit the {acts.dim(1)} channels of shape {acts.shape()}."
        )
    return values.flatten().reshape([1, acts.dim(1), *[1] * (acts.rank() - 2)])


def _param_gradients(
    graph: Graph, whitened: Tensor, grads: Tensor, how: tuple[float, Type], prog: Sequence, call: Any
) -> tuple[Tensor, Tensor]:
    if whitened.shape() != grads.shape():
        raise graph_connection_error(f"Norm: activations {whitened.shape()} and gradients {grads.shape()} differ.")
    product = popops.mul(graph, whitened, grads, prog, (call, "Norm/deltas"))
    both = concat([product, grads], 1)
    name = (call, "Norm/deltas/JointGammaDelta")
    sums = _scaled_sum(graph, both, how[0], False, grads.elementType(), prog, name, how[1])
    channels = grads.dim(1)
    return sums.slice(0, channels), sums.slice(channels, 2 * channels)


def _scaled_sum(
    graph: Graph,
    tensor: Tensor,
    scale: float,
    square: bool,
    type_: Type,
    prog: Sequence,
    name: Any,
    accumulated: Type = FLOAT,
) -> Tensor:
    """scale * the sum (of squares) over all dimensions but 1, accumulated and scaled in `accumulated`."""
    dims = [axis for axis in range(tensor.rank()) if axis != 1]
    op = popops.Operation.SQUARE_ADD if square else popops.Operation.ADD
    total = popops.reduce(graph, tensor, accumulated, dims, op, prog, name)
    if scale != 1:
        popops.mulInPlace(graph, total, scale, prog, name)
    return total if type_ is accumulated else popops.cast(graph, total, type_, prog, name)


def _parameter(graph: Graph, acts: Tensor, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    given = match(f"createNorm{name.capitalize()}", _PARAMETER_FORMS, arguments, named)
    _check_acts(f"createNorm{name.capitalize()}", acts)
    context = given["debugContext"]
    firsts = acts[0]
    while firsts.rank() > 1:
        firsts = firsts.slice(0, 1, firsts.rank() - 1).squeeze([firsts.rank() - 1])
    where = (graph.addDebugInfo(context, LAYER), name) if context else name
    return clone_mapped(graph, firsts, given.get("type", acts.elementType()), where)


def _check_acts(api: str, acts: Tensor) -> None:
    if acts.rank() < 2 or acts.elementType() not in (FLOAT, HALF):
        raise graph_connection_error(
            f"{api}: {acts.elementType()}{acts.shape()} are no activations; FLOAT or HALF [batch, channels, field] is "
            "needed."
        )
