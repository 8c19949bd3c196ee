"""popnn.gn: normalisation of each group of channels of each batch element, under PopLibs' names.

Activations are [batch, channels, field] or [batch, channels]; statistics are [batch x groups], those of a batch element
together; gamma and beta have one value per channel. With the option `groupNormStridedChannelGrouping` (true, false)
[false] group g is channels g, g + groups, ... instead of adjacent ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.base.errors import graph_connection_error, invalid_option
from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.library_calls import Parameter, match, operation
from simulator.poplibs.poplin import norms

Options = Mapping[str, Any] | None
Pair = tuple[Tensor, Tensor]

_LAST = (Parameter("debugContext", default=""), Parameter("options", dict, None))
_GRADIENT_LAST = (Parameter("prog", Sequence), Parameter("partialsType", Type, FLOAT), *_LAST)
#: arguments of normParamGradients and normGradients: activations with statistics, or whitened activations
PARAM_GRADIENTS = (
    (
        Parameter("acts", Tensor),
        Parameter("gradsIn", Tensor),
        Parameter("mean", Tensor),
        Parameter("iStdDev", Tensor),
        *_GRADIENT_LAST,
    ),
    (Parameter("actsWhitened", Tensor), Parameter("gradsIn", Tensor), *_GRADIENT_LAST),
)
GRADIENTS = (
    (
        Parameter("acts", Tensor),
        Parameter("gradsIn", Tensor),
        Parameter("mean", Tensor),
        Parameter("invStdDev", Tensor),
        Parameter("gamma", Tensor),
        *_GRADIENT_LAST,
    ),
    (
        Parameter("actsWhitened", Tensor),
        Parameter("gradsIn", Tensor),
        Parameter("invStdDev", Tensor),
        Parameter("gamma", Tensor),
        *_GRADIENT_LAST,
    ),
)


def groupNormStatistics(
    graph: Graph,
    acts: Tensor,
    eps: float,
    prog: Sequence,
    numGroups: int,
    unbiasedVarEstimate: bool,
    stableAlgo: bool = False,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
    options: Options = None,
) -> Pair:
    """(mean, 1 / standard deviation) of each group of each batch element."""
    grouped = _grouped(acts, numGroups, _strided(options))
    return norms.normStatistics(
        graph,
        grouped,
        eps,
        prog,
        unbiasedVarEstimate,
        stableAlgo,
        partialsType,
        operation(graph, debugContext, "popnn", "groupNormStatistics", acts=acts, numGroups=numGroups),
    )


def groupNormWhiten(
    graph: Graph,
    acts: Tensor,
    mean: Tensor,
    invStdDev: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """A new tensor: each group less its mean, times 1 / its deviation."""
    strided, groups = _strided(options), _groups(acts, mean)
    call = operation(graph, debugContext, "popnn", "groupNormWhiten", acts=acts)
    whitened = norms.normWhiten(graph, _grouped(acts, groups, strided), mean, invStdDev, prog, call)
    return _ungrouped(whitened, acts, strided)


def groupNormalise(
    graph: Graph,
    acts: Tensor,
    gamma: Tensor,
    beta: Tensor,
    mean: Tensor,
    invStdDev: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Pair:
    """(gamma * whitened + beta, whitened)."""
    call = operation(graph, debugContext, "popnn", "groupNormalise", acts=acts)
    whitened = groupNormWhiten(graph, acts, mean, invStdDev, prog, call, options)
    return norms.normalise(graph, whitened, gamma, beta, prog, call), whitened


def groupNormParamGradients(graph: Graph, *arguments: Any, **named: Any) -> Pair:
    """(gradient of gamma, gradient of beta): (graph, acts, gradsIn, mean, iStdDev, prog, partialsType=FLOAT,
    debugContext="", options={}), or (graph, actsWhitened, gradsIn, prog, ...)."""
    given = match("groupNormParamGradients", PARAM_GRADIENTS, arguments, named)
    prog, context = given["prog"], given["debugContext"]
    call = operation(graph, context, "popnn", "groupNormParamGradients", gradsIn=given["gradsIn"])
    whitened = given.get("actsWhitened")
    if whitened is None:
        statistics = (given["mean"], given["iStdDev"])
        whitened = groupNormWhiten(graph, given["acts"], *statistics, prog, call, given["options"])
    _strided(given["options"])
    return norms.normParamGradients(graph, whitened, given["gradsIn"], prog, given["partialsType"], call)


def groupNormGradients(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """The gradient of the activations through the whole layer: (graph, acts, gradsIn, mean, invStdDev, gamma, prog,
    partialsType=FLOAT, debugContext="", options={}), or (graph, actsWhitened, gradsIn, invStdDev, gamma, prog, ...)."""
    given = match("groupNormGradients", GRADIENTS, arguments, named)
    prog, deviation, grads = given["prog"], given["invStdDev"], given["gradsIn"]
    call = operation(graph, given["debugContext"], "popnn", "groupNormGradients", gradsIn=grads)
    strided = _strided(given["options"])
    whitened = given.get("actsWhitened")
    if whitened is None:
        whitened = groupNormWhiten(graph, given["acts"], given["mean"], deviation, prog, call, given["options"])
    scaled = norms.normGradients(graph, grads, given["gamma"], prog, call)
    groups = _groups(whitened, deviation)
    out = norms.normStatisticsGradients(
        graph,
        _grouped(whitened, groups, strided),
        _grouped(scaled, groups, strided),
        deviation,
        prog,
        given["partialsType"],
        call,
    )
    return _ungrouped(out, whitened, strided)


def groupNormParamUpdate(
    graph: Graph,
    gammaDelta: Tensor,
    betaDelta: Tensor,
    scale: float | Tensor,
    gamma: Tensor,
    beta: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """gamma += scale * gammaDelta and beta += scale * betaDelta in one operation (a negative scale descends)."""
    _strided(options)
    update_parameters(graph, (gammaDelta, betaDelta), scale, (gamma, beta), prog, debugContext, "GN/paramUpdate")


def update_parameters(
    graph: Graph, deltas: Pair, scale: float | Tensor, parameters: Pair, prog: Sequence, context: Context, name: str
) -> None:
    """parameters += scale * deltas, all in one operation."""
    call = operation(graph, context, "popnn", name, scale=scale)
    joined = [concat([t.flatten() for t in reversed(pair)]) for pair in (parameters, deltas)]
    popops.scaledAddTo(graph, joined[0], joined[1], scale, prog, (call, name))


def _strided(options: Options) -> bool:
    strided = False
    for name, value in (options or {}).items():
        if name != "groupNormStridedChannelGrouping" or str(value).lower() not in ("true", "false"):
            raise invalid_option(
                f"Group norm has no option '{name}' of value '{value}'; it has groupNormStridedChannelGrouping, true "
                "or false."
            )
        strided = str(value).lower() == "true"
    return strided


def _groups(acts: Tensor, statistics: Tensor) -> int:
    """Groups of each batch element, by the number of statistics."""
    groups, rest = divmod(statistics.numElements(), acts.dim(0))
    if rest or groups == 0:
        raise graph_connection_error(
            f"Group norm: {statistics.numElements()} statistics do not fit a batch of {acts.dim(0)}."
        )
    return groups


def _grouped(acts: Tensor, groups: int, strided: bool) -> Tensor:
    """[batch, channels, field] as [channels of a group, batch x groups, field]."""
    batch, channels, field = acts.dim(0), acts.dim(1), acts.shape()[2:]
    if groups < 1 or channels % groups:
        raise graph_connection_error(
            f"Group norm: {channels} channels cannot be divided into {groups} equal groups; give a divisor."
        )
    each = channels // groups
    apart = acts.reshape([batch, each, groups, *field] if strided else [batch, groups, each, *field])
    order = [1, 0, 2] if strided else [2, 0, 1]
    return apart.dimShuffle([*order, *range(3, apart.rank())]).reshape([each, batch * groups, *field])


def _ungrouped(grouped: Tensor, like: Tensor, strided: bool) -> Tensor:
    """The activations back in their shape."""
    batch, field = like.dim(0), like.shape()[2:]
    each = grouped.dim(0)
    apart = grouped.reshape([each, batch, like.dim(1) // each, *field])
    order = [1, 0, 2] if strided else [1, 2, 0]
    return apart.dimShuffle([*order, *range(3, apart.rank())]).reshape(like.shape())
