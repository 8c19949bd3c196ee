"""Normalisations, lowered whole with their own gradients: popnn's batch, group, layer and instance norm; RMS norm from
reductions and expressions.

Variances come from the mean of squares, as PopART's do by default, or from differences to the mean (`stable_norms`). A
module that infers normalises by its running statistics, whatever its own flag says.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.reducing.reductions import reduced
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import FLOAT, HALF, Tensor
from simulator.poplar.program import Copy
from simulator.poplibs import poplin, popops
from simulator.poplibs.popnn import bn, gn
from simulator.poplibs.popops import expr as e

Backward = Callable[[Building, Any, frozenset[str]], dict[str, Tensor]]

_BATCH_CALL = "popnn.bn.batchNormStatistics, batchNormWhiten, batchNormGradients, batchNormParamGradients; popops.map"
_GROUP_CALL = "popnn.gn.groupNormStatistics, groupNormWhiten, groupNormGradients, groupNormParamGradients"
#: of the type that RMS norm computes in, where the module gives no epsilon
_MACHINE_EPSILON = {4: 1.1920928955078125e-07, 2: 0.0009765625}


def _per_channel(values: Tensor, like: Tensor) -> Tensor:
    """One value for each channel as a view that is broadcast over batch and field."""
    return values.reshape([1, like.dim(1), *[1] * (like.rank() - 2)])


def _scaled(at: Building, whitened: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """weight * whitened + bias, by channel."""
    type_ = whitened.elementType()
    if weight is not None and bias is not None:
        factors = at.cast(weight, type_), at.cast(bias, type_)
        return poplin.normalise(at.graph, whitened, *factors, at.program, at.name("normalise"))
    if weight is not None:
        return poplin.normGradients(at.graph, whitened, at.cast(weight, type_), at.program, at.name("normalise"))
    if bias is not None:
        addend = _per_channel(at.cast(bias, type_), whitened)
        return popops.add(at.graph, whitened, addend, at.program, at.name("normalise"))
    return whitened


def _parameter_gradients(
    at: Building, whitened: Tensor, slope: Tensor, weight: Tensor | None, bias: Tensor | None, wanted: frozenset[str]
) -> dict[str, Tensor]:
    gradients: dict[str, Tensor] = {}
    if wanted & {"weight", "bias"}:
        pair = gn.groupNormParamGradients(at.graph, whitened, slope, at.program, debugContext=at.name("paramGradients"))
        for name, parameter, gradient in zip(("weight", "bias"), (weight, bias), pair, strict=True):
            if name in wanted and parameter is not None:
                gradients[name] = at.cast(gradient.reshape(parameter.shape()), parameter.elementType())
    return gradients


def _by_input(at: Building, acts: Tensor, weight: Tensor | None, slope: Tensor) -> Tensor:
    """The gradient of the whitened activations."""
    if weight is None:
        return slope
    factor = at.cast(weight, acts.elementType())
    return poplin.normGradients(at.graph, slope, factor, at.program, at.name("whitenedGradients"))


# Batch norm


def _by_batch(
    at: Building, input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Backward]:
    """Normalised by the statistics of the batch: (result, mean, 1 / standard deviation, gradients)."""
    stable, name = at.precision.stable_norms, at.name("statistics")
    mean, deviation = bn.batchNormStatistics(at.graph, input, eps, at.program, False, stable, debugContext=name)
    whitened = bn.batchNormWhiten(at.graph, input, mean, deviation, at.program, at.name("whiten"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        gradients = _parameter_gradients(at, whitened, slopes[0], weight, bias, wanted)
        if "input" in wanted:
            gradients["input"] = poplin.normStatisticsGradients(
                at.graph,
                whitened,
                _by_input(at, input, weight, slopes[0]),
                deviation,
                at.program,
                debugContext=at.name("inputGradient"),
            )
        return gradients

    return _scaled(at, whitened, weight, bias), mean, deviation, backward


def _by_running(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running: tuple[Tensor, Tensor],
    eps: float,
) -> tuple[Tensor, Backward]:
    """Normalised by fixed statistics, mean and variance of each channel."""
    type_ = input.elementType()
    mean = at.cast(running[0], type_)
    inverse = popops.varianceToInvStdDev(at.graph, running[1], eps, at.program, at.name("invStdDev"))
    deviation = at.cast(inverse, type_)
    factor = deviation
    if weight is not None:
        factor = popops.mul(at.graph, at.cast(weight, type_), deviation, at.program, at.name("multiplicand"))
    terms: list[Tensor] = [mean, factor]
    shift: Any = -e._1 * e._2
    if bias is not None:
        terms.append(at.cast(bias, type_))
        shift = e._3 + shift
    addend = popops.map(at.graph, shift, terms, at.program, at.name("addend"))
    out = bn.batchNormalise(at.graph, input, factor, addend, at.program, at.name("normalise"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        gradients: dict[str, Tensor] = {}
        if wanted & {"weight", "bias"}:
            whitened = bn.batchNormWhiten(at.graph, input, mean, deviation, at.program, at.name("whiten"))
            gradients = _parameter_gradients(at, whitened, slopes[0], weight, bias, wanted)
        if "input" in wanted:
            gradients["input"] = poplin.normGradients(at.graph, slopes[0], factor, at.program, at.name("inputGradient"))
        return gradients

    return out, backward


def _moved(
    at: Building, running: Tensor, mean: Tensor, momentum: float, deviation: tuple[float, int] | None = None
) -> Tensor:
    """A running mean moved towards a new one by `momentum`. For a running variance `mean` is 1 / standard deviation
    and `deviation` (epsilon, elements of a channel): the unbiased variance counts. A float32, as torch has it."""
    new: Any = e._2
    if deviation is not None:
        eps, count = deviation
        unbiased = count / max(1, count - 1)
        new = (e.Const(1.0) / (e._2 * e._2) - eps) * unbiased
    return popops.map(
        at.graph,
        e._1 * (1 - momentum) + new * momentum,
        [at.cast(running, FLOAT), at.cast(mean, FLOAT)],
        at.program,
        at.name("running"),
    )


@lowers(
    "aten._native_batch_norm_legit_functional.default", kind="BatchNormalization", call=_BATCH_CALL, own_backward=True
)
def batch_norm(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if not (training and at.training):
        out, backward = _by_running(at, input, weight, bias, (running_mean, running_var), eps)
        return (out, None, None, at.cast(running_mean, FLOAT), at.cast(running_var, FLOAT)), backward
    out, mean, deviation, backward = _by_batch(at, input, weight, bias, eps)
    count = input.numElements() // input.dim(1)
    moved = (
        _moved(at, running_mean, mean, momentum),
        _moved(at, running_var, deviation, momentum, (eps, count)),
    )
    return (out, None, None, *moved), backward


@lowers(
    "aten._native_batch_norm_legit_no_training.default", kind="BatchNormalization", call=_BATCH_CALL, own_backward=True
)
def batch_norm_without_training(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    out, backward = _by_running(at, input, weight, bias, (running_mean, running_var), eps)
    return (out, None, None), backward


@lowers("aten._native_batch_norm_legit.no_stats", kind="BatchNormalization", call=_BATCH_CALL, own_backward=True)
def batch_norm_without_running_statistics(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    out, _, _, backward = _by_batch(at, input, weight, bias, eps)
    return (out, None, None), backward


# Group, layer and instance norm


def _by_group(
    at: Building, acts: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Backward]:
    """[batch, channels, field] normalised over each group of channels and the field: (result, mean, 1 / standard
    deviation, gradients under the names "input", "weight", "bias")."""
    if not acts.numElements():
        return _of_nothing(at, acts, groups)
    stable, name = at.precision.stable_norms, at.name("statistics")
    mean, deviation = gn.groupNormStatistics(at.graph, acts, eps, at.program, groups, False, stable, debugContext=name)
    whitened = gn.groupNormWhiten(at.graph, acts, mean, deviation, at.program, at.name("whiten"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = slopes[0].reshape(acts.shape())
        gradients = _parameter_gradients(at, whitened, slope, weight, bias, wanted)
        if "input" in wanted:
            gradients["input"] = _group_input_gradient(at, whitened, _by_input(at, acts, weight, slope), deviation)
        return gradients

    return _scaled(at, whitened, weight, bias), mean, deviation, backward


def _of_nothing(at: Building, acts: Tensor, groups: int) -> tuple[Tensor, Tensor, Tensor, Backward]:
    """The norm of a batch without elements."""
    type_, channels = acts.elementType(), acts.dim(1)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        zeros = {name: at.constant(type_, [channels], 0.0, "zeros") for name in wanted - {"input"}}
        return {**zeros, "input": slopes[0].reshape(acts.shape())}

    statistics = at.constant(type_, [acts.dim(0) * groups], 0.0, "statistics")
    return acts, statistics, statistics, backward


def _group_input_gradient(at: Building, whitened: Tensor, slope: Tensor, deviation: Tensor) -> Tensor:
    """Through mean and deviation of each group: a norm by channel, where groups of the batch are the channels."""
    batch, channels, field = whitened.dim(0), whitened.dim(1), prod(whitened.shape()[2:])
    groups = deviation.numElements() // batch

    def grouped(one: Tensor) -> Tensor:
        return one.reshape([batch * groups, channels // groups, field]).dimRoll(0, 1)

    name = at.name("inputGradient")
    back = poplin.normStatisticsGradients(
        at.graph, grouped(whitened), grouped(slope), deviation, at.program, debugContext=name
    )
    return back.dimRoll(1, 0).reshape(whitened.shape())


@lowers("aten.group_norm.default", kind="GroupNormalization", call=_GROUP_CALL, own_backward=True)
def group_norm(
    at: Building,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    out, _, _, backward = _by_group(at, input, num_groups, weight, bias, eps)
    return out, backward


def _by_last_dimensions(
    at: Building, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Backward]:
    """`_by_group` over the last dimensions: rows are batch elements of one group."""
    size = prod(normalized_shape)
    rows = input.reshape([input.numElements() // size, size])
    flat_weight, flat_bias = (None if one is None else one.flatten() for one in (weight, bias))
    out, mean, deviation, rows_backward = _by_group(at, rows, 1, flat_weight, flat_bias, eps)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        gradients = rows_backward(at, slopes, wanted)
        shapes = {"input": input.shape(), "weight": list(normalized_shape), "bias": list(normalized_shape)}
        return {name: one.reshape(shapes[name]) for name, one in gradients.items()}

    return out.reshape(input.shape()), mean, deviation, backward


@lowers("aten.layer_norm.default", kind="LayerNormalization", call=_GROUP_CALL, own_backward=True)
def layer_norm(
    at: Building,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    cudnn_enable: bool,
) -> Any:
    out, _, _, backward = _by_last_dimensions(at, input, normalized_shape, weight, bias, eps)
    return out, backward


def _without_gradients_of_statistics(backward: Backward, name: str) -> Backward:
    """Gradients of a norm whose further results, mean and 1 / deviation, are read without gradients only."""

    def checked(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        if any(one is not None for one in slopes[1:]):
            raise poplar_error(f"{name} has no gradient of its mean and deviation on the IPU; detach them.")
        return backward(at, slopes, wanted)

    return checked


@lowers("aten.native_group_norm.default", kind="GroupNormalization", call=_GROUP_CALL, own_backward=True)
def native_group_norm(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    group: int,
    eps: float,
    **sizes: int,
) -> Any:
    """`sizes` are N, C and HxW, which the input's shape tells too."""
    out, mean, deviation, backward = _by_group(at, input, group, weight, bias, eps)
    shape = [input.dim(0), group]
    results = (out, mean.reshape(shape), deviation.reshape(shape))
    return results, _without_gradients_of_statistics(backward, "native_group_norm")


@lowers("aten.native_layer_norm.default", kind="LayerNormalization", call=_GROUP_CALL, own_backward=True)
def native_layer_norm(
    at: Building, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Any:
    out, mean, deviation, backward = _by_last_dimensions(at, input, normalized_shape, weight, bias, eps)
    last = len(normalized_shape)
    shape = [*input.shape()[: input.rank() - last], *[1] * last]
    results = (out, mean.reshape(shape), deviation.reshape(shape))
    return results, _without_gradients_of_statistics(backward, "native_layer_norm")


@lowers("aten.instance_norm.default", kind="InstanceNormalization", call=_GROUP_CALL, own_backward=True)
def instance_norm(
    at: Building,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """The captured graph does not show that torch moves the running statistics in place, so the rule writes them."""
    if running_mean is not None and running_var is not None and not (use_input_stats and at.training):
        return _by_running(at, input, weight, bias, (running_mean, running_var), eps)
    out, mean, deviation, backward = _by_group(at, input, input.dim(1), weight, bias, eps)
    if running_mean is not None and running_var is not None:
        _move_over_instances(
            at, (running_mean, running_var), (mean, deviation), momentum, (eps, prod(input.shape()[2:]))
        )
    return out, backward


def _move_over_instances(
    at: Building,
    running: tuple[Tensor, Tensor],
    statistics: tuple[Tensor, Tensor],
    momentum: float,
    deviation: tuple[float, int],
) -> None:
    """Move running statistics towards the mean of those of the instances, in place."""
    channels = running[0].numElements()
    for target, values, how in zip(running, statistics, (None, deviation), strict=True):
        batch = values.numElements() // channels
        own = _moved(at, target.expand([0]).broadcast(batch, 0), values.reshape([batch, channels]), momentum, how)
        mean = reduced(at, own, [0], False, popops.Operation.ADD, 1.0 / batch)
        at.program.add(Copy(at.cast(mean, target.elementType()), target, False, at.name("running")))


# RMS norm


@lowers("aten.rms_norm.default", kind="RMSNorm", call="popops.reduce, map", own_backward=True)
def rms_norm(at: Building, input: Tensor, normalized_shape: Any, weight: Tensor | None, eps: float | None) -> Any:
    """x / sqrt(mean of squares + epsilon) * weight, over rows of the last dimensions."""
    size = prod(normalized_shape)
    rows = input.reshape([input.numElements() // size, size])
    if eps is None:
        eps = _MACHINE_EPSILON[2 if rows.elementType() is HALF else 4]
    square = popops.Operation.SQUARE_ADD
    total = popops.reduce(at.graph, rows, FLOAT, [1], square, at.program, at.name("reduce")).expand([1])
    root = popops.map(at.graph, e.Rsqrt(e._1 * (1.0 / size) + eps), [total], at.program, at.name("invRms"))
    inverse = at.cast(root, rows.elementType())  # squares of halves are summed as floats
    whitened = popops.mul(at.graph, rows, inverse, at.program, at.name("whiten"))
    factor = None if weight is None else weight.reshape([1, size])
    out = whitened if factor is None else popops.mul(at.graph, whitened, factor, at.program, at.name("scale"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(rows.shape()), {}
        add = popops.Operation.ADD
        if "weight" in wanted:
            parts = popops.mul(at.graph, slope, whitened, at.program, at.name("weightGradient"))
            gradients["weight"] = reduced(at, parts, [0], False, add).reshape(list(normalized_shape))
        if "input" in wanted:
            inner = (
                slope if factor is None else popops.mul(at.graph, slope, factor, at.program, at.name("whitenedGrad"))
            )
            along = popops.mul(at.graph, inner, whitened, at.program, at.name("along"))
            mean = reduced(at, along, [1], True, add, 1.0 / size)
            terms = [inner, whitened, mean, inverse]
            back = popops.map(at.graph, (e._1 - e._2 * e._3) * e._4, terms, at.program, at.name("inputGradient"))
            gradients["input"] = back.reshape(input.shape())
        return gradients

    return out.reshape(input.shape()), backward


# Weight norm


@lowers("aten._weight_norm.default", kind="WeightNorm", call="popops.reduce, map", own_backward=True)
def weight_norm(at: Building, v: Tensor, g: Tensor, dim: int = 0) -> Any:
    """g * v / |v|, where |v| is the length over all dimensions but one, or over all of them for -1."""
    rows = (v.expand([0]) if dim == -1 else v.dimRoll(dim, 0)).flatten(1, v.rank() + (dim == -1))
    lengths = g.reshape([rows.dim(0), 1])
    power = reduced(at, rows, [1], True, popops.Operation.SQUARE_ADD)
    out = popops.map(at.graph, e._1 * e._2 * e.Rsqrt(e._3), [rows, lengths, power], at.program, at.name("weightNorm"))

    def shaped(one: Tensor) -> Tensor:
        if dim == -1:
            return one.reshape(v.shape())
        return one.reshape([v.dim(dim), *v.shape()[:dim], *v.shape()[dim + 1 :]]).dimRoll(0, dim)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = (slopes[0].expand([0]) if dim == -1 else slopes[0].dimRoll(dim, 0)).reshape(rows.shape())
        along = popops.mul(at.graph, slope, rows, at.program, at.name("along"))
        total = reduced(at, along, [1], True, popops.Operation.ADD)
        gradients = {}
        if "g" in wanted:
            name = at.name("lengthGradient")
            by_length = popops.map(at.graph, e._1 * e.Rsqrt(e._2), [total, power], at.program, name)
            gradients["g"] = by_length.reshape(g.shape())
        if "v" in wanted:
            terms = [slope, rows, total, power, lengths]
            change: Any = (e._1 - e._2 * e._3 / e._4) * e._5 * e.Rsqrt(e._4)
            gradients["v"] = shaped(popops.map(at.graph, change, terms, at.program, at.name("directionGradient")))
        return gradients

    return shaped(out), backward
