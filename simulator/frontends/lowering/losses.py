"""Losses, lowered whole with their own gradients. Cross entropy is log softmax and negative log likelihood in one; its
gradient is a subtraction: PopART's pattern NlllWithSoftmaxGradDirect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popnn, popops

#: of aten's reductions
NONE, MEAN, SUM = 0, 1, 2
_ADD = popops.ReduceParams(popops.Operation.ADD)
e = popops.expr


@dataclass
class _Classes:
    """Rows of classes: [rows, classes] encodings of the target, and which rows count ([rows], 1 or 0). `weights` are
    the rows' own factors, None for 1."""

    encoded: Tensor
    valid: Tensor
    weights: Tensor | None


def _rows(tensor: Tensor) -> Tensor:
    """[N, C, field] (or [C]) as [rows, C]."""
    if tensor.rank() == 1:
        return tensor.expand([0])
    moved = tensor.dimRoll(1, tensor.rank() - 1)
    return moved.reshape([moved.numElements() // max(1, tensor.dim(1)), tensor.dim(1)])


def _from_rows(rows: Tensor, like: Tensor) -> Tensor:
    if like.rank() == 1:
        return rows.reshape(like.shape())
    shape = like.shape()
    return rows.reshape([shape[0], *shape[2:], shape[1]]).dimRoll(len(shape) - 1, 1)


def _encode(at: Building, target: Tensor, like: Tensor, weight: Tensor | None, ignored: int) -> _Classes:
    labels = target.flatten()
    encoded = at.graph.clone(like, at.name("oneHot"))
    popops.encodeOneHot(at.graph, labels, encoded, at.program, at.name("oneHot"))
    type_ = like.elementType()
    valid = at.cast(popops.neq(at.graph, labels, ignored, at.program, at.name("isValid")), type_, "valid")
    if 0 <= ignored < like.dim(1):
        popops.mulInPlace(at.graph, encoded, valid.expand([1]), at.program, at.name("ignore"))
    weights = None
    if weight is not None:
        each = popops.mul(at.graph, encoded, weight.expand([0]), at.program, at.name("weights"))
        weights = popops.reduce(at.graph, each, [1], _ADD, at.program, at.name("weights"))
    return _Classes(encoded, valid, weights)


def _likelihood(at: Building, logs: Tensor, classes: _Classes, reduction: int) -> tuple[Tensor, Tensor | None]:
    """The loss of [rows, classes] logarithms, and for the mean the factor by which each row's gradient is divided."""
    picked = popops.mul(at.graph, logs, classes.encoded, at.program, at.name("pick"))
    each = popops.neg(
        at.graph, popops.reduce(at.graph, picked, [1], _ADD, at.program, at.name("pick")), at.program, at.name("neg")
    )
    if classes.weights is not None:
        popops.mulInPlace(at.graph, each, classes.weights, at.program, at.name("weight"))
    if reduction == NONE:
        return each, None
    total = popops.reduce(at.graph, each, [0], _ADD, at.program, at.name("toScalar"))
    if reduction == SUM:
        return total, None
    parts = classes.valid if classes.weights is None else classes.weights
    count = popops.reduce(at.graph, parts, [0], _ADD, at.program, at.name("count"))
    return popops.div(at.graph, total, count, at.program, at.name("mean")), count


def _row_slopes(at: Building, slope: Tensor, classes: _Classes, count: Tensor | None) -> Tensor:
    """The gradient of each row's own loss, [rows, 1]."""
    factor = classes.valid if classes.weights is None else classes.weights
    if count is not None:
        slope = popops.div(at.graph, slope, count, at.program, at.name("mean"))
    scaled = popops.mul(at.graph, factor, slope.flatten(), at.program, at.name("rowSlopes"))
    return scaled.expand([1])


@lowers(
    "aten.cross_entropy_loss.default",
    kind="Nll",
    call="popnn.logSoftmax, popops.encodeOneHot, reduce, map",
    own_backward=True,
)
def cross_entropy_loss(
    at: Building,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Any:
    rows = _rows(input)
    logs = popnn.logSoftmax(at.graph, rows, at.program, at.name("LogSoftmax"))
    has_shares = target.elementType() == input.elementType()
    if has_shares or label_smoothing:
        classes = None if has_shares else _encode(at, target, logs, weight, ignore_index)
        shares = _rows(target) if classes is None else classes.encoded
        return _cross_entropy_of_shares(at, input, logs, shares, classes, weight, reduction, label_smoothing, target)
    classes = _encode(at, target, logs, weight, ignore_index)
    out, count = _likelihood(at, logs, classes, reduction)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        each = _row_slopes(at, slopes[0], classes, count)
        back = popops.map(
            at.graph,
            (e.Exp(e._1) - e._2) * e._3,
            [logs, classes.encoded, each],
            at.program,
            at.name("NlllWithSoftmaxGradDirect"),
        )
        return {"input": _from_rows(back, input)}

    return _shaped(out, target, reduction), backward


def _cross_entropy_of_shares(
    at: Building,
    input: Tensor,
    logs: Tensor,
    shares: Tensor,
    classes: _Classes | None,
    weight: Tensor | None,
    reduction: int,
    smoothing: float,
    target: Tensor,
) -> Any:
    """The loss -sum(w T log p) of each row, where T are shares of classes: given ones, or labels that are smoothed. The
    mean is over rows; of labels, over the weights of those that count."""
    count = max(1, logs.dim(1))
    wanted = shares
    if smoothing:
        smooth = e._1 * (1.0 - smoothing) + smoothing / count
        wanted = popops.map(at.graph, smooth, [shares], at.program, at.name("smooth"))
    if weight is not None:
        wanted = popops.mul(at.graph, wanted, weight.expand([0]), at.program, at.name("weights"))
    if classes is not None:
        wanted = popops.mul(at.graph, wanted, classes.valid.expand([1]), at.program, at.name("valid"))
    each = popops.reduce(
        at.graph,
        popops.map(at.graph, -(e._1 * e._2), [wanted, logs], at.program, at.name("pick")),
        [1],
        _ADD,
        at.program,
        at.name("pick"),
    )
    divisor: Tensor | float = 1.0
    out = each
    if reduction != NONE:
        out = popops.reduce(at.graph, each, [0], _ADD, at.program, at.name("toScalar"))
    if reduction == MEAN:
        divisor = float(max(1, logs.dim(0)))
        if classes is not None:
            parts = classes.valid if classes.weights is None else classes.weights
            divisor = popops.reduce(at.graph, parts, [0], _ADD, at.program, at.name("count"))
        out = popops.div(at.graph, out, divisor, at.program, at.name("mean"))
    rows = each.numElements()

    def backward(at: Building, slopes: Any, given: frozenset[str]) -> dict[str, Tensor]:
        slope = popops.div(at.graph, slopes[0].flatten(), divisor, at.program, at.name("slope"))
        if reduction != NONE:
            slope = slope.broadcast(rows, 0)
        slope = slope.expand([1])
        total = popops.reduce(at.graph, wanted, [1], _ADD, at.program, at.name("shares")).expand([1])
        body = (e.Exp(e._1) * e._2 - e._3) * e._4
        back = popops.map(at.graph, body, [logs, total, wanted, slope], at.program, at.name("CrossEntropyGrad"))
        gradients = {"input": _from_rows(back, input)}
        if "target" in given:
            factor = popops.map(
                at.graph, -e._1 * e._2 * (1.0 - smoothing), [logs, slope], at.program, at.name("target")
            )
            if weight is not None:
                factor = popops.mul(at.graph, factor, weight.expand([0]), at.program, at.name("weights"))
            gradients["target"] = _from_rows(factor, target)
        return gradients

    if reduction != NONE:
        return out.reshape([]), backward
    shape = input.shape()
    return out.reshape([shape[0], *shape[2:]] if len(shape) > 1 else []), backward


@lowers(
    "aten.nll_loss.default",
    "aten.nll_loss2d.default",
    "aten.nll_loss_nd.default",
    kind="Nll",
    call="popops.encodeOneHot, reduce, map",
    own_backward=True,
)
def nll_loss(
    at: Building, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Any:
    rows = _rows(input)
    classes = _encode(at, target, rows, weight, ignore_index)
    out, count = _likelihood(at, rows, classes, reduction)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        each = _row_slopes(at, slopes[0], classes, count)
        back = popops.map(at.graph, -e._1 * e._2, [classes.encoded, each], at.program, at.name("NllGrad"))
        return {"input": _from_rows(back, input)}

    return _shaped(out, target, reduction), backward


def _shaped(out: Tensor, target: Tensor, reduction: int) -> Tensor:
    return out.reshape(target.shape()) if reduction == NONE else out.reshape([])


@lowers("poptorch.identity_loss.default", kind="IdentityLoss", call="popops.reduce", own_backward=True)
def identity_loss(at: Building, x: Tensor, reduction: int) -> Any:
    """PopTorch's numbers of reductions: 0 sum, 1 mean, 2 none."""
    scale = 1.0 / max(1, x.numElements()) if reduction == 1 else 1.0
    out = x
    if reduction != 2:
        out = popops.reduce(at.graph, x.flatten(), [0], _ADD, at.program, at.name("reduce"))
        if reduction == 1:
            out = popops.mul(at.graph, out, scale, at.program, at.name("mean"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = slopes[0]
        if reduction == 2:
            return {"x": slope}
        if reduction == 1:
            slope = popops.mul(at.graph, slope, scale, at.program, at.name("mean"))
        spread = slope.reshape([1]).broadcast(x.numElements(), 0)
        return {"x": spread.reshape(x.shape())}

    return out, backward


@lowers("aten.mse_loss.default", kind="MseLoss", call="popops.map, reduce", own_backward=True)
def mse_loss(at: Building, input: Tensor, target: Tensor, reduction: int) -> Any:
    difference = popops.sub(at.graph, input, target, at.program, at.name("sub"))
    out = popops.square(at.graph, difference, at.program, at.name("square"))
    scale = 1.0 / max(1, input.numElements()) if reduction == MEAN else 1.0
    if reduction != NONE:
        out = popops.reduce(at.graph, out.flatten(), [0], _ADD, at.program, at.name("reduce"))
        if reduction == MEAN:
            out = popops.mul(at.graph, out, scale, at.program, at.name("mean"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = popops.map(
            at.graph, e._1 * e._2 * e.Const(2 * scale), [difference, slopes[0]], at.program, at.name("MseLossGrad")
        )
        gradients = {"input": back}
        if "target" in wanted:
            gradients["target"] = popops.neg(at.graph, back, at.program, at.name("neg"))
        return gradients

    return out, backward
