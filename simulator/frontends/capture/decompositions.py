"""Operators that are written as others of torch before a program is read: distances, random numbers of further
distributions, places among boundaries. Their gradients follow from the parts.

Numbers are drawn from uniform and normal ones, by the inverse of the distribution function. Draws have no gradient, as
in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from simulator.frontends.capture.operators import CaptureError

_aten = torch.ops.aten
#: operator -> what gives its result
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {}

#: the least draw, since the logarithm of 0 is none: half the step of 24-bit fractions
_LEAST = 2.0**-25
#: whole numbers that a float32 tells apart
_FLOAT_INTEGERS = 2**24


def _replaces(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        DECOMPOSITIONS.update(dict.fromkeys(operators, function))
        return function

    return register


@_replaces(_aten.cdist.default)
def _distances(x1: Any, x2: Any, p: float = 2, compute_mode: int | None = None) -> Any:
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1)


@_replaces(_aten.pdist.default)
def _distances_of_pairs(self: Any, p: float = 2) -> Any:
    count = len(self)
    rows = [self[first] - self[first + 1 :] for first in range(count - 1)]
    return torch.linalg.vector_norm(torch.cat(rows), p, dim=-1) if rows else self.new_zeros([0])


@_replaces(_aten.embedding_bag.default, _aten.embedding_bag.padding_idx)
def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums (mode 0), means (1) or largest elements (2) of the rows of each bag; a bag begins at its offset. The other
    three results, which serve torch's own gradient, are empty."""
    if scale_grad_by_freq:
        raise CaptureError("embedding_bag with scale_grad_by_freq=True cannot run on the IPU; leave it False.")
    starts = offsets[:-1] if include_last_offset else offsets
    bags, size = starts.shape[0], weight.shape[1]
    numbers = torch.arange(indices.shape[0], dtype=offsets.dtype)
    bag = (starts <= numbers.unsqueeze(-1)).sum(-1) - 1
    rows = torch.embedding(weight, indices)
    if padding_idx is not None and padding_idx >= 0:  # to a bag that is cut off
        bag = torch.where(indices == padding_idx, bags, bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    whole = torch.zeros(bags + 1, size, dtype=rows.dtype)
    places = bag.unsqueeze(-1).expand(-1, size)
    kind = ("sum", "mean", "amax")[mode]
    bagged = whole.scatter_reduce(0, places, rows, kind, include_self=False)[:bags]
    empty = indices.new_zeros([0])
    return bagged, empty, empty, empty


@_replaces(_aten.bucketize.Tensor)
def _buckets(self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    return _places(boundaries, self, out_int32=out_int32, right=right)


@_replaces(_aten.searchsorted.Tensor)
def _places(
    sorted_sequence: Any,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """The number of boundaries before each value."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    ends = sorted_sequence if sorted_sequence.dim() == 1 else sorted_sequence.unsqueeze(-2)
    values = self.unsqueeze(-1)
    before = ends <= values if right or side == "right" else ends < values
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


# Random numbers


@_replaces(_aten.normal.Tensor_Tensor, _aten.normal.Tensor_float, _aten.normal.float_Tensor)
def _normal(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Any:
    mean, std = (one.detach() if isinstance(one, torch.Tensor) else one for one in (mean, std))
    like = mean + std * 0 if isinstance(mean, torch.Tensor) else std
    return torch.randn_like(like) * std + mean


def _exponential_draws(like: Any) -> Any:
    """Of rate 1, above 0."""
    drawn = torch.rand(like.shape, dtype=torch.float32)
    return -torch.log1p(-drawn).clamp_max(-_LEAST)


@_replaces(_aten.exponential.default)
def _exponential(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    return (_exponential_draws(self) / lambd).to(self.dtype)


@_replaces(_aten.geometric.default)
def _geometric(self: Any, p: float, *, generator: Any = None) -> Any:
    """The number of the first success, from 1."""
    draws = _exponential_draws(self)
    trials = torch.ceil(draws / -math.log1p(-p)) if p < 1 else torch.ones_like(draws)
    return trials.to(self.dtype)


@_replaces(_aten.log_normal.default)
def _log_normal(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    return torch.exp(torch.randn(self.shape, dtype=torch.float32) * std + mean).to(self.dtype)


@_replaces(_aten.cauchy.default)
def _cauchy(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    turns = torch.rand(self.shape, dtype=torch.float32) - 0.5
    return (torch.tan(turns * math.pi) * sigma + median).to(self.dtype)


@_replaces(_aten.random.to)
def _random_below(self: Any, to: int, *, generator: Any = None) -> Any:
    return _whole_numbers(self, 0, to)


@_replaces(_aten.random.default)
def _random(self: Any, *, generator: Any = None) -> Any:
    """All numbers that the type has without gaps, from 0."""
    if self.dtype == torch.bool:
        return _whole_numbers(self, 0, 2)
    if self.is_floating_point():
        return _whole_numbers(self, 0, 2**11 + 1 if self.dtype == torch.float16 else _FLOAT_INTEGERS + 1)
    return _whole_numbers(self, 0, min(torch.iinfo(self.dtype).max, 2**31 - 1))


@_replaces(_aten.randint_like.default)
def _randint_like(self: Any, high: int, *, dtype: Any = None, **storage: Any) -> Any:
    return _whole_numbers(self, 0, high, dtype)


@_replaces(_aten.randint_like.low_dtype)
def _randint_like_between(self: Any, low: int, high: int, *, dtype: Any = None, **storage: Any) -> Any:
    return _whole_numbers(self, low, high, dtype)


def _whole_numbers(like: Any, low: int, high: int, dtype: Any = None) -> Any:
    return torch.randint(low, high, like.shape, dtype=torch.int32).to(dtype or like.dtype)


@_replaces(_aten.bernoulli.Tensor)
def _bernoulli(self: Any, p: Any, *, generator: Any = None) -> Any:
    return (torch.rand(self.shape, dtype=torch.float32) < p.detach()).to(self.dtype)


@_replaces(_aten.randperm.default)
def _permutation(n: int, *, dtype: Any = None, **storage: Any) -> Any:
    return torch.argsort(torch.rand(n, dtype=torch.float32)).to(dtype or torch.int64)


@_replaces(_aten.multinomial.default)
def _multinomial(self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """The first of exponential clocks that run at the rates of the probabilities: without replacement the first
    `num_samples` of them, else a race for each sample."""
    weights = self.detach().float()
    if not replacement:
        return torch.topk(weights / _exponential_draws(weights), num_samples, dim=-1).indices
    rates = weights.unsqueeze(-2).expand(*weights.shape[:-1], num_samples, weights.shape[-1])
    return torch.argmax(rates / _exponential_draws(rates), dim=-1)
