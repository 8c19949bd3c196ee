"""Scaled dot-product attention: two grouped products around a softmax, with its own gradient.

Scores are [groups, queries, keys], where a group is one head of one sample. What the backward pass needs besides the
operands is the probabilities; dropout draws again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, HALF, Tensor
from simulator.poplibs import poplin, popnn, popops, poprand
from simulator.poplibs.popops import expr as e

_STABLE = popnn.NonLinearityType.SOFTMAX_STABLE
_ADD = popops.ReduceParams(popops.Operation.ADD)


@dataclass
class _Operand:
    """One of query, key and value as [groups, rows, columns]: heads repeated for grouped queries, batch dimensions
    broadcast. `repeats` is the number of query heads that share one head."""

    given: Tensor
    batch: list[int]
    repeats: int

    @property
    def grouped(self) -> Tensor:
        shape = self.given.shape()
        view = self.given
        if self.repeats > 1:
            view = view.expand([view.rank() - 2]).broadcast(self.repeats, view.rank() - 2)
            view = view.reshape([*shape[:-3], shape[-3] * self.repeats, *shape[-2:]])
        view = view.reshape([1] * (len(self.batch) + 2 - view.rank()) + view.shape())
        for dim, size in enumerate(self.batch):
            if view.dim(dim) != size:
                view = view.broadcast(size, dim)
        return view.reshape([prod(self.batch), *shape[-2:]])

    def gradient(self, at: Building, slope: Tensor) -> Tensor:
        """The sum of a grouped gradient over what the operand was repeated for."""
        slope = slope.reshape([*self.batch, *slope.shape()[1:]])
        shape = self.given.shape()
        if self.repeats > 1:
            heads = slope.rank() - 3
            slope = slope.reshapePartial(heads, heads + 1, [shape[-3], self.repeats])
            slope = popops.reduce(at.graph, slope, [heads + 1], _ADD, at.program, at.name("sharedHeads"))
        extra = slope.rank() - len(shape)
        wide = [dim for dim in range(slope.rank()) if dim < extra or (shape[dim - extra] == 1 and slope.dim(dim) > 1)]
        if wide:
            slope = popops.reduce(at.graph, slope, wide, _ADD, at.program, at.name("broadcast"))
        return slope.reshape(shape)


def _product(at: Building, left: Tensor, right: Tensor, name: str) -> Tensor:
    return poplin.matMulGrouped(
        at.graph, left, right, at.program, left.elementType(), at.name(name), at.product_options()
    )


def _turned(tensor: Tensor) -> Tensor:
    return tensor.dimShuffle([0, 2, 1])


def _wide_mask(mask: Tensor, batch: list[int], rows: int, columns: int) -> Tensor:
    """A mask broadcast to [groups, rows, columns]."""
    shape = [*batch, rows, columns]
    view = mask.reshape([1] * (len(shape) - mask.rank()) + mask.shape())
    for dim, size in enumerate(shape):
        if view.dim(dim) != size:
            view = view.broadcast(size, dim)
    return view.reshape([prod(batch), rows, columns])


def _probabilities(at: Building, scores: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """Softmax of scaled scores. A query that no key may answer gets zeros, as in torch."""
    if mask is None:
        scores = popops.mul(at.graph, scores, scale, at.program, at.name("scale"))
        return _softmax(at, scores)
    if mask.elementType() is not BOOL:
        scores = popops.map(at.graph, e._1 * scale + e._2, [scores, mask], at.program, at.name("mask"))
        return _softmax(at, scores)
    least = -6.0e4 if scores.elementType() is HALF else -3.0e38
    scores = popops.map(at.graph, e.Select(e._1 * scale, least, e._2), [scores, mask], at.program, at.name("mask"))
    shares = _softmax(at, scores)
    return popops.map(at.graph, e.Select(e._1, 0.0, e._2), [shares, mask], at.program, at.name("mask"))


def _softmax(at: Building, scores: Tensor) -> Tensor:
    shares: Tensor = popnn.nonLinearity(at.graph, _STABLE, scores, at.program, at.name("softmax"))
    return shares


def _drop(at: Building, like: Tensor, p: float) -> Callable[[Building, Tensor], Tensor]:
    if not at.training or p == 0:
        return lambda at, tensor: tensor
    draw, keep = at.next_draw(), 1 - p
    scale = 1 / keep if keep else 0.0
    return lambda at, tensor: poprand.dropout(
        at.graph, at.seed, draw, tensor, like, keep, scale, at.program, at.name("dropout")
    )


@lowers(
    "aten.scaled_dot_product_attention.default",
    kind="Attention",
    call="poplin.matMulGrouped, popnn.nonLinearity, popops.map",
    own_backward=True,
)
def scaled_dot_product_attention(
    at: Building,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    rows, columns, size = query.dim(query.rank() - 2), key.dim(key.rank() - 2), query.dim(query.rank() - 1)
    repeats = query.dim(query.rank() - 3) // key.dim(key.rank() - 3) if enable_gqa else 1
    shapes = [one.shape()[:-2] for one in (query, key, value)]
    if repeats > 1:
        shapes = [shapes[0]] + [[*shape[:-1], shape[-1] * repeats] for shape in shapes[1:]]
    batch = list(np.broadcast_shapes(*(tuple(shape) for shape in shapes)))
    q, k, v = _Operand(query, batch, 1), _Operand(key, batch, repeats), _Operand(value, batch, repeats)
    factor = 1 / size**0.5 if scale is None else scale
    mask = None
    if is_causal:
        allowed = at.constant(BOOL, [rows, columns], np.tri(rows, columns, dtype=bool), "causalMask")
        mask = _wide_mask(allowed, batch, rows, columns)
    elif attn_mask is not None:
        mask = _wide_mask(attn_mask, batch, rows, columns)
    scores = _product(at, q.grouped, _turned(k.grouped), "scores")
    shares = _probabilities(at, scores, factor, mask)
    drop = _drop(at, shares, dropout_p)
    dropped = drop(at, shares)
    out = _product(at, dropped, v.grouped, "values")

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(out.shape()), {}
        if "value" in wanted:
            gradients["value"] = v.gradient(at, _product(at, _turned(dropped), slope, "valueGrad"))
        if not wanted & {"query", "key", "attn_mask"}:
            return gradients
        back = drop(at, _product(at, slope, _turned(v.grouped), "sharesGrad"))
        back = popnn.nonLinearityInputGradient(at.graph, _STABLE, shares, back, at.program, at.name("softmaxGrad"))
        if "attn_mask" in wanted and attn_mask is not None:
            gradients["attn_mask"] = _mask_gradient(at, back, attn_mask, batch)
        scaled = popops.mul(at.graph, back, factor, at.program, at.name("scale"))
        if "query" in wanted:
            gradients["query"] = q.gradient(at, _product(at, scaled, k.grouped, "queryGrad"))
        if "key" in wanted:
            gradients["key"] = k.gradient(at, _product(at, _turned(scaled), q.grouped, "keyGrad"))
        return gradients

    return out.reshape([*batch, rows, value.dim(value.rank() - 1)]), backward


def _mask_gradient(at: Building, slope: Tensor, mask: Tensor, batch: list[int]) -> Tensor:
    return _Operand(mask, batch, 1).gradient(at, slope)
