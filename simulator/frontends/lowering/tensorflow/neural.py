"""Poolings, losses of scores and the fused batch norm, with their gradients as operators of their own."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, Type
from simulator.poplibs import poplin, popnn, popops
from simulator.poplibs.popnn import bn
from simulator.poplibs.popnn.pooling import PoolingType, PoolParams, pool, poolInputGradient
from simulator.poplibs.popops import expr as e

_ADD = popops.ReduceParams(popops.Operation.ADD)
#: kernel, stride, padding before and after of each dimension of the field
Windows = Sequence[Sequence[int]]


def channels_first(acts: Tensor, channels_last: bool) -> Tensor:
    return acts.dimRoll(acts.rank() - 1, 1) if channels_last else acts


def channels_back(acts: Tensor, channels_last: bool) -> Tensor:
    return acts.dimRoll(1, acts.rank() - 1) if channels_last else acts


def _params(kind: str, shape: Sequence[int], windows: Windows, type_: Type) -> PoolParams:
    batch, channels, *field = shape
    kernel, stride, before, after = (list(one) for one in windows)
    return PoolParams(PoolingType[kind], field, kernel, stride, before, after, channels, batch, type_)


@lowers("tf.Pool", kind="Pool", call="popnn.pooling.pool")
def pooled(at: Building, input: Tensor, kind: str, windows: Windows, channels_last: bool) -> Tensor:
    acts = channels_first(input, channels_last)
    params = _params(kind, acts.shape(), windows, acts.elementType())
    return channels_back(pool(at.graph, params, acts, at.program, at.name("pool")), channels_last)


@lowers("tf.MaxPoolGrad", kind="MaxPoolGrad", call="popnn.pooling.poolInputGradient")
def max_pool_gradient(
    at: Building, input: Tensor, out: Tensor, slope: Tensor, windows: Windows, channels_last: bool
) -> Tensor:
    acts, largest, given = (channels_first(one, channels_last) for one in (input, out, slope))
    params = _params("MAX", acts.shape(), windows, acts.elementType())
    name = at.name("poolGrad")
    back = poolInputGradient(at.graph, params, acts, largest, given, False, at.program, name)
    return channels_back(back, channels_last)


@lowers("tf.AvgPoolGrad", kind="AveragePoolGrad", call="popnn.pooling.poolInputGradient")
def average_pool_gradient(
    at: Building, slope: Tensor, input_shape: Sequence[int], windows: Windows, channels_last: bool
) -> Tensor:
    """`input_shape` is [batch, channels, *field]."""
    given = channels_first(slope, channels_last)
    params = _params("AVG", input_shape, windows, given.elementType())
    back = poolInputGradient(at.graph, params, 1, given, at.program, at.name("poolGrad"))
    return channels_back(back, channels_last)


# Losses


@lowers(
    "tf.SparseSoftmaxCrossEntropyWithLogits",
    kind="Nll",
    call="popnn.logSoftmax, popops.encodeOneHot, reduce, map",
)
def sparse_softmax_cross_entropy(at: Building, input: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """[rows], the loss of each row, and [rows, classes], its gradient."""
    logs = popnn.logSoftmax(at.graph, input, at.program, at.name("LogSoftmax"))
    encoded = at.graph.clone(logs, at.name("oneHot"))
    popops.encodeOneHot(at.graph, labels, encoded, at.program, at.name("oneHot"))
    return _loss_of(at, logs, encoded)


@lowers("tf.SoftmaxCrossEntropyWithLogits", kind="Nll", call="popnn.logSoftmax, popops.reduce, map")
def softmax_cross_entropy(at: Building, input: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    logs = popnn.logSoftmax(at.graph, input, at.program, at.name("LogSoftmax"))
    return _loss_of(at, logs, labels)


def _loss_of(at: Building, logs: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """-sum(shares * log p) of each row, and p - shares."""
    picked = popops.map(at.graph, -(e._1 * e._2), [logs, shares], at.program, at.name("pick"))
    loss = popops.reduce(at.graph, picked, [1], _ADD, at.program, at.name("pick"))
    back = popops.map(at.graph, e.Exp(e._1) - e._2, [logs, shares], at.program, at.name("NlllWithSoftmaxGradDirect"))
    return loss, back


# Batch norm


@lowers(
    "tf.FusedBatchNorm",
    kind="BatchNormalization",
    call="popnn.bn.batchNormStatistics, batchNormWhiten; poplin.normalise; popops.map",
)
def fused_batch_norm(
    at: Building,
    input: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
    factor: float,
    training: bool,
    channels_last: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(result, moved mean, moved variance, the mean of the batch, 1 / its standard deviation)."""
    acts = channels_first(input, channels_last)
    type_ = acts.elementType()
    if not training:
        given, inverse = mean, popops.varianceToInvStdDev(at.graph, variance, epsilon, at.program, at.name("invStdDev"))
        out = _normalised(at, acts, given, inverse, scale, offset)
        return channels_back(out, channels_last), mean, variance, mean, inverse
    stable, name = at.precision.stable_norms, at.name("statistics")
    given, inverse = bn.batchNormStatistics(at.graph, acts, epsilon, at.program, False, stable, debugContext=name)
    out = _normalised(at, acts, given, inverse, scale, offset)
    count = acts.numElements() // max(1, acts.dim(1))
    wide_mean, wide_inverse = at.cast(given, scale.elementType()), at.cast(inverse, scale.elementType())
    unbiased = (1.0 / e.Square(e._1) - epsilon) * (count / max(1, count - 1))
    new = popops.map(at.graph, unbiased, [wide_inverse], at.program, at.name("variance"))
    assert type_ is input.elementType()
    if factor == 1.0:
        return channels_back(out, channels_last), wide_mean, new, wide_mean, wide_inverse
    moved = [
        popops.map(at.graph, e._1 * (1.0 - factor) + e._2 * factor, pair, at.program, at.name("running"))
        for pair in ([mean, wide_mean], [variance, new])
    ]
    return channels_back(out, channels_last), moved[0], moved[1], wide_mean, wide_inverse


def _normalised(at: Building, acts: Tensor, mean: Tensor, inverse: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    type_ = acts.elementType()
    statistics = at.cast(mean, type_), at.cast(inverse, type_)
    whitened = bn.batchNormWhiten(at.graph, acts, *statistics, at.program, at.name("whiten"))
    factors = at.cast(scale, type_), at.cast(offset, type_)
    return poplin.normalise(at.graph, whitened, *factors, at.program, at.name("normalise"))


@lowers(
    "tf.FusedBatchNormGrad",
    kind="BatchNormalizationGrad",
    call="popnn.bn.batchNormWhiten, batchNormParamGradients, batchNormGradients",
)
def fused_batch_norm_gradient(
    at: Building,
    slope: Tensor,
    input: Tensor,
    scale: Tensor,
    mean: Tensor,
    spread: Tensor,
    epsilon: float,
    training: bool,
    channels_last: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the activations, of the scale and of the offset. `spread` is 1 / the standard deviation of the
    batch; without training the variance that the norm was given."""
    inverse = spread
    if not training:
        inverse = popops.varianceToInvStdDev(at.graph, spread, epsilon, at.program, at.name("invStdDev"))
    acts, given = channels_first(input, channels_last), channels_first(slope, channels_last)
    type_ = acts.elementType()
    statistics = at.cast(mean, type_), at.cast(inverse, type_)
    whitened = bn.batchNormWhiten(at.graph, acts, *statistics, at.program, at.name("whiten"))
    parameters = bn.batchNormParamGradients(
        at.graph, whitened, given, at.program, debugContext=at.name("paramGradients")
    )
    by_scale, by_offset = (at.cast(one, scale.elementType()) for one in parameters)
    gamma = at.cast(scale, type_)
    if training:
        back = bn.batchNormGradients(
            at.graph, whitened, given, statistics[1], gamma, at.program, debugContext=at.name("inputGradient")
        )
    else:
        both = popops.mul(at.graph, gamma, statistics[1], at.program, at.name("factor"))
        back = poplin.normGradients(at.graph, given, both, at.program, at.name("inputGradient"))
    return channels_back(back, channels_last), by_scale, by_offset
