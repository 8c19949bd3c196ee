"""Random operators through poprand: each has a seed modifier of its own, each micro-batch a seed of its own.

For inference every dropout is identity. Numbers that a module draws have no gradient; a gradient draws the mask of its
dropout again, as PopART does, so that no mask is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, FLOAT, INT, Tensor, Type
from simulator.poplibs import popops, poprand
from simulator.poplibs.popops import expr as e

Backward = Callable[[Building, Any, frozenset[str]], dict[str, Any]]

#: the value far below zero to which SELU goes, negated: what alpha dropout puts in place of a dropped element
_ALPHA = 1.7580993408473766


def _identity(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
    return {"input": slopes[0]}


def _dropout(at: Building, input: Tensor, p: float) -> tuple[Tensor, Backward]:
    if not at.training or p == 0:
        return input, _identity
    draw, scale = at.next_draw(), 1 / (1 - p) if p < 1 else 0.0

    def dropped(at: Building, tensor: Tensor) -> Tensor:
        return poprand.dropout(at.graph, at.seed, draw, tensor, input, 1 - p, scale, at.program, at.name("dropout"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": dropped(at, slopes[0])}

    return dropped(at, input), backward


@lowers("aten.dropout.default", kind="Dropout", call="poprand.dropout", own_backward=True)
def dropout(at: Building, input: Tensor, p: float, train: bool) -> Any:
    return _dropout(at, input, p if train else 0.0)


@lowers("aten.native_dropout.default", kind="Dropout", call="poprand.dropout", own_backward=True)
def native_dropout(at: Building, input: Tensor, p: float, train: bool | None) -> Any:
    """The second result, the mask, is for PyTorch's own gradient only."""
    out, backward = _dropout(at, input, p if train in (None, True) else 0.0)
    mask = at.constant(BOOL, input.shape(), True, "mask")
    return (out, mask), backward


@lowers("popvision.feature_dropout.default", kind="Dropout", call="poprand.shapedDropout", own_backward=True)
def feature_dropout(at: Building, input: Tensor, p: float, train: bool) -> Any:
    """One draw for each channel of each element of the batch."""
    if not at.training or not train or p == 0:
        return input, _identity
    draw, scale = at.next_draw(), 1 / (1 - p) if p < 1 else 0.0
    reference = at.variable(input.elementType(), _channels(input), "like")

    def dropped(at: Building, tensor: Tensor) -> Tensor:
        return poprand.shapedDropout(
            at.graph, at.seed, draw, tensor, reference, 1 - p, scale, at.program, at.name("dropout")
        )

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": dropped(at, slopes[0])}

    return dropped(at, input), backward


def _channels(input: Tensor) -> list[int]:
    return [*input.shape()[:2], *(1 for _ in input.shape()[2:])]


def _alpha_dropout(at: Building, input: Tensor, p: float, mask_shape: Sequence[int]) -> tuple[Tensor, Backward]:
    """Dropout that keeps mean and variance of SELU's results (arXiv:1706.02515, section 2)."""
    if not at.training or p == 0:
        return input, _identity
    draw, like = at.next_draw(), at.variable(input.elementType(), mask_shape, "like")
    scale = 1 / ((_ALPHA**2 * p + 1) * (1 - p)) ** 0.5 if p < 1 else 0.0
    low, shift = -_ALPHA * scale * (1 - p), _ALPHA * scale * p

    def mask(at: Building) -> Tensor:
        kind = input.elementType()
        drawn = poprand.bernoulli(at.graph, at.seed, draw, like, kind, 1 - p, at.program, at.name("mask"))
        for dim, size in enumerate(input.shape()):
            if drawn.dim(dim) != size:
                drawn = drawn.broadcast(size, dim)
        return drawn

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        changed = e._1 * e._2 * scale
        return {"input": popops.map(at.graph, changed, [slopes[0], mask(at)], at.program, at.name("dropout"))}

    kept = e.Select(e._1 * scale + shift, low, e.Gt(e._2, 0.0))
    return popops.map(at.graph, kept, [input, mask(at)], at.program, at.name("dropout")), backward


_ALPHA_CALL = "poprand.bernoulli; popops.map"


@lowers("popvision.alpha_dropout.default", kind="Dropout", call=_ALPHA_CALL, own_backward=True)
def alpha_dropout(at: Building, input: Tensor, p: float, train: bool) -> Any:
    return _alpha_dropout(at, input, p if train else 0.0, input.shape())


@lowers("popvision.feature_alpha_dropout.default", kind="Dropout", call=_ALPHA_CALL, own_backward=True)
def feature_alpha_dropout(at: Building, input: Tensor, p: float, train: bool) -> Any:
    return _alpha_dropout(at, input, p if train else 0.0, _channels(input))


def _no_gradient(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Any]:
    return dict.fromkeys(wanted)


def _uniform(at: Building, shape: Sequence[int], type_: Type, low: float, high: float) -> tuple[Tensor, Backward]:
    if low == high:
        return filled(at, type_, shape, low, "uniform"), _no_gradient
    like = at.variable(type_, shape, "like")
    drawn = poprand.uniform(at.graph, at.seed, at.next_draw(), like, type_, low, high, at.program, at.name("uniform"))
    return drawn, _no_gradient


def _normal(at: Building, shape: Sequence[int], type_: Type, mean: float, std: float) -> tuple[Tensor, Backward]:
    like = at.variable(type_, shape, "like")
    drawn = poprand.normal(at.graph, at.seed, at.next_draw(), like, type_, mean, std, at.program, at.name("normal"))
    return drawn, _no_gradient


def _type(dtype: str | None, input: Tensor | None = None) -> Type:
    if dtype is not None:
        return element_type(dtype)
    return FLOAT if input is None else input.elementType()


@lowers("aten.rand.default", kind="RandomUniform", call="poprand.uniform", own_backward=True)
def rand(at: Building, size: Sequence[int], dtype: str | None) -> Any:
    return _uniform(at, size, _type(dtype), 0.0, 1.0)


@lowers("aten.rand_like.default", kind="RandomUniformLike", call="poprand.uniform", own_backward=True)
def rand_like(at: Building, input: Tensor, dtype: str | None) -> Any:
    return _uniform(at, input.shape(), _type(dtype, input), 0.0, 1.0)


@lowers("aten.randn.default", kind="RandomNormal", call="poprand.normal", own_backward=True)
def randn(at: Building, size: Sequence[int], dtype: str | None) -> Any:
    return _normal(at, size, _type(dtype), 0.0, 1.0)


@lowers("aten.randn_like.default", kind="RandomNormalLike", call="poprand.normal", own_backward=True)
def randn_like(at: Building, input: Tensor, dtype: str | None) -> Any:
    return _normal(at, input.shape(), _type(dtype, input), 0.0, 1.0)


@lowers("aten.normal.float_float", kind="RandomNormal", call="poprand.normal", own_backward=True)
def normal(at: Building, mean: float, std: float, size: Sequence[int], generator: None, dtype: str | None) -> Any:
    return _normal(at, size, _type(dtype), mean, std)


@lowers("aten.normal_functional.default", kind="RandomNormalLike", call="poprand.normal", own_backward=True)
def normal_like(at: Building, input: Tensor, mean: float, std: float, generator: None) -> Any:
    return _normal(at, input.shape(), input.elementType(), mean, std)


def _uniform_between(at: Building, input: Tensor, generator: None, **ends: float) -> Any:
    return _uniform(at, input.shape(), input.elementType(), ends["from"], ends["to"])


lowers("aten.uniform.default", kind="RandomUniformLike", call="poprand.uniform", own_backward=True)(_uniform_between)


def _whole_numbers(
    at: Building, shape: Sequence[int], dtype: str | int | None, low: int, high: int
) -> tuple[Tensor, Backward]:
    """Whole numbers from `low` to `high` - 1. The schema writes its default type, int64, as a number."""
    kind = dtype if isinstance(dtype, str) else "int32"
    if high - 1 == low:
        return at.constant(kind, shape, low, "randint"), _no_gradient
    drawn, backward = _uniform(at, shape, INT, low, high - 1)
    return at.cast(drawn, kind), backward


@lowers("aten.randint.default", kind="RandomUniform", call="poprand.uniform, popops.cast", own_backward=True)
def randint(at: Building, high: int, size: Sequence[int], dtype: str | int | None) -> Any:
    return _whole_numbers(at, size, dtype, 0, high)


@lowers("aten.randint.low", kind="RandomUniform", call="poprand.uniform, popops.cast", own_backward=True)
def randint_from(at: Building, low: int, high: int, size: Sequence[int], dtype: str | int | None) -> Any:
    return _whole_numbers(at, size, dtype, low, high)


@lowers("aten.bernoulli.p", kind="RandomBernoulli", call="poprand.bernoulli", own_backward=True)
def bernoulli(at: Building, input: Tensor, p: float, generator: None) -> Any:
    like = at.variable(input.elementType(), input.shape(), "like")
    kind = input.elementType()
    drawn = poprand.bernoulli(at.graph, at.seed, at.next_draw(), like, kind, p, at.program, at.name("bernoulli"))
    return drawn, _no_gradient


@lowers("aten.bernoulli.default", kind="RandomBernoulli", call="poprand.uniform; popops.map", own_backward=True)
def bernoulli_of_each(at: Building, input: Tensor, generator: None) -> Any:
    """1 with the probability that the operand gives for each element."""
    drawn, backward = _uniform(at, input.shape(), FLOAT, 0.0, 1.0)
    below = popops.map(at.graph, e.Lt(e._1, e._2), [drawn, at.cast(input, FLOAT)], at.program, at.name("bernoulli"))
    return at.cast(below, input.elementType()), backward
