"""A case of each operation that PopTorch lists: how it is called, and on what.

Numbers are those of float16, so that both precisions get the same. A case is a function or a module, and its operands:
tensors of floats are trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Case:
    """`make` gives the function or module, after the seed is set."""

    make: Callable[[], Callable[..., Any]]
    operands: tuple[Any, ...]
    in_half: bool = True  #: whether upstream's statement on float16 is about it


def _words(text: str) -> list[str]:
    return text.split()


_numbers = torch.Generator().manual_seed(11)


def _any(*shape: int) -> torch.Tensor:
    """Numbers from -1 to 1, apart from each other, from whole numbers and from 0."""
    count = torch.Size(shape).numel()
    steps = torch.randperm(count, generator=_numbers) + 0.5
    return ((2 * steps / count - 1) * 0.9).half().float().reshape(shape)


def _positive(*shape: int) -> torch.Tensor:
    return (_any(*shape).abs() * 1.5 + 0.25).half().float()


def _whole(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, generator=_numbers)


def _function(name: str) -> Callable[[], Callable[..., Any]]:
    return lambda: getattr(torch, name)


def _call(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    return lambda: function


def _pointwise() -> Iterator[tuple[str, Case]]:
    x, y, positive = _any(3, 4), _positive(3, 4), _positive(3, 4)
    for name in [
        "abs",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "exp",
        "expm1",
        "floor",
        "frac",
        "neg",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ]:
        yield f"torch.{name}", Case(_function(name), (x,))
    for name in ("round", "trunc", "square"):
        yield f"torch.{name}", Case(_function(name), (x * 3,))
    yield "torch.acos", Case(_function("acos"), (x,))
    for name in _words("log log10 log1p log2 reciprocal rsqrt sqrt"):
        yield f"torch.{name}", Case(_function(name), (positive,))
    yield "torch.acosh", Case(_function("acosh"), (positive + 1,))
    for name in ("add", "div", "mul", "sub", "true_divide", "pow"):
        yield f"torch.{name}", Case(_function(name), (y if name == "pow" else x, positive))
    steps = torch.full((3, 4), 0.75)
    yield "torch.floor_divide", Case(_call(lambda a, b: torch.floor_divide(a.detach(), b.detach())), (x * 4, steps))
    for name in ("fmod", "remainder"):
        yield f"torch.{name}", Case(_function(name), (x * 4, steps))
    yield "torch.addcdiv", Case(_call(lambda a, b, c: torch.addcdiv(a, b, c, value=0.5)), (x, y, positive))
    for name in ("amax", "amin"):
        yield f"torch.{name}", Case(_call(lambda a, name=name: getattr(torch, name)(a, 1)), (x,))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield f"torch.{name}", Case(_function(name), (_whole(16, 3, 4).int(), _whole(16, 3, 4).int()))
    yield "torch.bitwise_not", Case(_function("bitwise_not"), (_whole(16, 3, 4).int(),))
    for name in ("logical_and", "logical_or"):
        yield f"torch.{name}", Case(_function(name), (_whole(2, 3, 4).bool(), _whole(2, 3, 4).bool()))
    yield "torch.clamp", Case(_call(lambda a: torch.clamp(a, -0.4, 0.3)), (x,))
    yield "torch.clamp_max", Case(_call(lambda a: torch.clamp_max(a, 0.3)), (x,))
    yield "torch.clamp_min", Case(_call(lambda a: torch.clamp_min(a, -0.4)), (x,))
    yield "torch.cdist", Case(_call(torch.cdist), (_any(3, 4), _any(2, 4)))
    yield "torch.norm", Case(_call(lambda a: torch.norm(a, dim=1)), (x,))


def _creation() -> Iterator[tuple[str, Case]]:
    x = _any(3, 4)
    yield "torch.arange", Case(_call(lambda a: a + torch.arange(4, dtype=a.dtype)), (x,))
    yield "tensor.fill", Case(_call(lambda a: a * torch.fill(a, 2.0)), (x,))
    yield "torch.full", Case(_call(lambda a: a + torch.full((3, 4), 0.5, dtype=a.dtype)), (x,))
    for name in ("ones", "zeros"):
        yield f"torch.{name}", Case(_call(lambda a, name=name: a + getattr(torch, name)(3, 4, dtype=a.dtype)), (x,))
        yield f"torch.{name}_like", Case(_call(lambda a, name=name: a + getattr(torch, f"{name}_like")(a)), (x,))
        yield f"torch.Tensor.new_{name}", Case(_call(lambda a, name=name: a + getattr(a, f"new_{name}")(4)), (x,))
    yield "torch.full_like", Case(_call(lambda a: a + torch.full_like(a, 0.25)), (x,))


def _indexing() -> Iterator[tuple[str, Case]]:
    x, index = _any(3, 4), torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
    y, rows = _any(2, 4), torch.tensor([0, 2])
    yield "torch.bucketize", Case(_call(lambda a: torch.bucketize(a, torch.tensor([-0.5, 0.0, 0.5]))), (x,), False)
    yield "torch.cat", Case(_call(lambda a, b: torch.cat((a, b))), (x, y))
    yield "torch.chunk", Case(_call(lambda a: torch.chunk(a, 2, 1)), (x,))
    yield "torch.gather", Case(_call(lambda a: a.gather(0, index)), (x,))
    yield "torch.index_select", Case(_call(lambda a: torch.index_select(a, 0, rows)), (x,))
    yield "torch.index_reduce", Case(_call(lambda a, b: a.index_reduce(0, rows, b, "amax")), (x, y))
    yield "torch.reshape", Case(_call(lambda a: torch.reshape(a, (2, 6))), (x,))
    yield "torch.roll", Case(_call(lambda a: torch.roll(a, 1, 0)), (x,))
    places = torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
    yield "torch.scatter", Case(_call(lambda a, b: torch.scatter(a, 0, places, b)), (x, y))
    yield "torch.scatter_add", Case(_call(lambda a, b: torch.scatter_add(a, 0, places, b)), (x, y))
    yield "torch.scatter_reduce", Case(_call(lambda a, b: torch.scatter_reduce(a, 0, places, b, "amax")), (x, y))
    yield "torch.stack", Case(_call(lambda a, b: torch.stack((a, b), 1)), (y, _any(2, 4)))
    yield "torch.split", Case(_call(lambda a: torch.split(a, 2, 1)), (x,))
    yield "torch.squeeze", Case(_call(lambda a: torch.squeeze(a, 1)), (_any(3, 1, 2),))
    yield "torch.t", Case(_call(torch.t), (x,))
    yield "torch.transpose", Case(_call(lambda a: torch.transpose(a, 0, 1)), (x,))
    yield "torch.unbind", Case(_call(torch.unbind), (x,))
    yield "torch.unsqueeze", Case(_call(lambda a: torch.unsqueeze(a, 1)), (x,))
    yield "torch.where", Case(_call(lambda a: torch.where(a > 0, a, -2 * a)), (x,))
    yield "tensor.expand", Case(_call(lambda a: a.expand(2, 3, 4)), (x,))
    yield "tensor.expand_as", Case(_call(lambda a, b: a.expand_as(b)), (_any(1, 4), x))
    yield "tensor.masked_fill", Case(_call(lambda a: a.masked_fill(a > 0.2, -1.0)), (x,))
    yield "tensor.index_fill_", Case(_call(lambda a: a.clone().index_fill_(0, rows, 3.0)), (x,))


def _reductions() -> Iterator[tuple[str, Case]]:
    x, flags = _any(3, 5), _whole(2, 3, 5).bool()
    for name in ("all", "any"):
        yield f"torch.{name}", Case(_call(lambda a, name=name: getattr(torch, name)(a, 1)), (flags,))
    for name in _words("argmax argmin mean prod logsumexp std std_mean sum var var_mean"):
        yield f"torch.{name}", Case(_call(lambda a, name=name: getattr(torch, name)(a, 1)), (x,))
    yield "torch.count_nonzero", Case(_call(lambda a: torch.count_nonzero(a > 0, 1)), (x,))
    yield "torch.median", Case(_call(lambda a: torch.median(a, 1)[0]), (x,))


def _comparisons() -> Iterator[tuple[str, Case]]:
    x, y = _any(3, 4), _any(3, 4)
    for name in ("eq", "ge", "gt", "le", "lt", "ne"):
        yield f"torch.{name}", Case(_function(name), (x, torch.where(x > 0, x, y)))
    for name in ("max", "min"):
        yield f"torch.{name}", Case(_function(name), (x, y))
    yield "torch.isnan", Case(_call(lambda a: torch.isnan(torch.log(a))), (x,))
    yield "torch.topk", Case(_call(lambda a: torch.topk(a, 2, 1)), (x,))
    yield "torch.argsort", Case(_call(lambda a: torch.argsort(a, 1)), (x,))
    yield "torch.sort", Case(_call(lambda a: torch.sort(a, 1)), (x,))


def _products() -> Iterator[tuple[str, Case]]:
    x, y = _any(3, 4), _any(4, 3)
    yield "torch.linalg.norm", Case(_call(lambda a: torch.linalg.norm(a, dim=1)), (x,))
    yield "torch.linalg.matrix_norm", Case(_call(torch.linalg.matrix_norm), (x,))
    yield "torch.linalg.vector_norm", Case(_call(lambda a: torch.linalg.vector_norm(a, 3.0, 1)), (x,))
    yield "torch.cumsum", Case(_call(lambda a: torch.cumsum(a, 1)), (x,))
    yield "torch.cross", Case(_call(lambda a, b: torch.cross(a, b, 1)), (_any(2, 3), _any(2, 3)))
    yield "torch.meshgrid", Case(_call(lambda a, b: torch.meshgrid(a, b, indexing="ij")), (_any(3), _any(2)))
    yield "torch.cartesian_prod", Case(_call(torch.cartesian_prod), (_any(3), _any(2)))
    yield "torch.tensordot", Case(_call(lambda a, b: torch.tensordot(a, b, ([1], [0]))), (x, y))
    yield "torch.addmm", Case(_call(torch.addmm), (_any(3, 3), x, y))
    yield "torch.matmul", Case(_call(torch.matmul), (x, y))
    yield "torch.bmm", Case(_call(torch.bmm), (_any(2, 3, 4), _any(2, 4, 2)))


def _layers() -> Iterator[tuple[str, Case]]:
    fields = {1: (6,), 2: (5, 4), 3: (4, 3, 4)}
    for dims, field in fields.items():
        images = _any(2, 4, *field)
        for name, made in (("Conv", (4, 2, 2)), ("ConvTranspose", (4, 2, 2))):
            kind = getattr(nn, f"{name}{dims}d")
            yield f"torch.nn.{name}{dims}d", Case(lambda kind=kind, made=made: kind(*made), (images,))
        for name, size in (("MaxPool", 2), ("AvgPool", 2), ("AdaptiveAvgPool", 2)):
            kind = getattr(nn, f"{name}{dims}d")
            yield f"torch.nn.{name}{dims}d", Case(lambda kind=kind, size=size: kind(size), (images,))
        yield f"torch.nn.ConstantPad{dims}d", Case(_padding(f"ConstantPad{dims}d", 1, 0.5), (images,))
        yield f"torch.nn.ReplicationPad{dims}d", Case(_padding(f"ReplicationPad{dims}d", 1), (images,))
        norms = (getattr(nn, f"BatchNorm{dims}d"), getattr(nn, f"InstanceNorm{dims}d"))
        yield f"torch.nn.BatchNorm{dims}d", Case(lambda norms=norms: norms[0](4), (images,))
        yield f"torch.nn.InstanceNorm{dims}d", Case(lambda norms=norms: norms[1](4, affine=True), (images,))
    for name in ("ReflectionPad1d", "ReflectionPad2d", "ZeroPad2d"):
        yield f"torch.nn.{name}", Case(_padding(name, 1), (_any(2, 2, *fields[int(name[-2])]),))
    yield "torch.nn.LayerNorm", Case(lambda: nn.LayerNorm(5), (_any(3, 5),))
    yield "torch.nn.GroupNorm", Case(lambda: nn.GroupNorm(2, 4), (_any(2, 4, 3),))
    yield "torch.nn.Upsample", Case(lambda: nn.Upsample(scale_factor=2, mode="bicubic"), (_any(1, 2, 3, 3),))
    for name, layer in (
        ("Identity", nn.Identity),
        ("Linear", lambda: nn.Linear(4, 3)),
        ("Module", lambda: nn.Linear(4, 2)),
        ("Sequential", lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))),
        ("utils.weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    ):
        yield f"torch.nn.{name}", Case(layer, (_any(3, 4),))
    yield "torch.nn.Bilinear", Case(lambda: nn.Bilinear(3, 4, 2), (_any(2, 3), _any(2, 4)))
    for name in ("RNN", "GRU", "LSTM"):
        kind = getattr(nn, name)
        yield f"torch.nn.{name}", Case(lambda kind=kind: _First(kind(3, 4, batch_first=True)), (_any(2, 3, 3),))
    yield "torch.nn.Embedding", Case(lambda: nn.Embedding(6, 4), (_whole(6, 3, 2),))
    yield "torch.nn.EmbeddingBag", Case(lambda: nn.EmbeddingBag(6, 4), (_whole(6, 3, 2),))
    yield "torch.nn.functional.one_hot", Case(_call(lambda index: F.one_hot(index, 5)), (_whole(5, 4),))


def _padding(name: str, *arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(nn, name)(*arguments)


class _First(nn.Module):
    """The sequence of a recurrent layer, without its last state."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]


def _activations() -> Iterator[tuple[str, Case]]:
    x = 2 * _any(3, 4)
    for name in [
        "ELU",
        "CELU",
        "GELU",
        "Hardshrink",
        "LeakyReLU",
        "ReLU",
        "SELU",
        "SiLU",
        "Sigmoid",
        "Softplus",
        "Softsign",
        "Softshrink",
        "Tanh",
        "PReLU",
        "Hardtanh",
    ]:
        yield f"torch.nn.{name}", Case(getattr(nn, name), (x,))
    yield "torch.nn.LogSoftmax", Case(lambda: nn.LogSoftmax(1), (x,))
    yield "torch.nn.Softmax", Case(lambda: nn.Softmax(1), (x,))
    yield "torch.nn.Threshold", Case(lambda: nn.Threshold(0.1, -2.0), (x,))
    yield "torch.nn.RReLU", Case(lambda: nn.RReLU(0.25, 0.25), (x,))
    yield "torch.nn.functional.glu", Case(_call(F.glu), (x,))


def _losses() -> Iterator[tuple[str, Case]]:
    x, y, share = _any(3, 4), _any(3, 4), (_positive(3, 4) / 2).half().float()
    labels, signs = _whole(4, 3), torch.tensor([1, -1, 1])
    for name in ("L1Loss", "MSELoss", "SmoothL1Loss"):
        yield f"torch.nn.{name}", Case(getattr(nn, name), (x, y))
    yield "torch.nn.CrossEntropyLoss", Case(nn.CrossEntropyLoss, (x, labels))
    yield "torch.nn.NLLLoss", Case(nn.NLLLoss, (x, labels))
    probability = (share * 0.4 + 0.1).half().float()
    target = _whole(2, 3, 4)
    yield "torch.nn.BCELoss", Case(_call(lambda a, b: F.binary_cross_entropy(a, b.to(a.dtype))), (probability, target))
    yield (
        "torch.nn.BCEWithLogitsLoss",
        Case(_call(lambda a, b: F.binary_cross_entropy_with_logits(a, b.to(a.dtype))), (x, target)),
    )
    yield "torch.nn.KLDivLoss", Case(lambda: nn.KLDivLoss(reduction="batchmean"), (x, share))
    yield "torch.nn.PoissonNLLLoss", Case(nn.PoissonNLLLoss, (x, share))
    yield "torch.nn.HingeEmbeddingLoss", Case(nn.HingeEmbeddingLoss, (_any(3), signs))
    yield "torch.nn.SoftMarginLoss", Case(_call(lambda a, b: F.soft_margin_loss(a, b.to(a.dtype))), (_any(3), signs))
    yield "torch.nn.CosineEmbeddingLoss", Case(nn.CosineEmbeddingLoss, (x, y, signs))
    yield "torch.nn.MarginRankingLoss", Case(nn.MarginRankingLoss, (_any(3), _any(3), signs))
    yield "torch.nn.TripletMarginLoss", Case(nn.TripletMarginLoss, (x, y, _any(3, 4)))


def all_cases() -> dict[str, Case]:
    """By the name in PopTorch's list."""
    parts = (_creation, _indexing, _pointwise, _reductions, _comparisons, _products, _layers, _activations, _losses)
    return {name: case for part in parts for name, case in part()}


_DRAWS = "operators/test_random_numbers.py::test_draws_have_mean_and_variance_of_their_distribution"
_DISTRIBUTIONS = "operators/test_dropout.py::test_distributions"
#: operations whose results are drawn, or that are no function of their operands -> the test of each
ELSEWHERE = {
    "torch.bernoulli": _DISTRIBUTIONS,
    "torch.randn": _DISTRIBUTIONS,
    "torch.normal": _DRAWS,
    "torch.rand": _DISTRIBUTIONS,
    "torch.uniform": _DISTRIBUTIONS,
    "torch.exponential": _DRAWS,
    "torch.distributions.Bernoulli": _DRAWS,
    "torch.distributions.Normal": _DRAWS,
    "torch.distributions.Uniform": _DRAWS,
    "torch.distributions.Exponential": _DRAWS,
    "torch.randperm": "operators/test_random_numbers.py::test_a_permutation_has_each_number_once",
    "torch.nn.dropout": "operators/test_dropout.py::test_elements",
    "torch.nn.CTCLoss": "poptorch/test_ctc_loss.py::test_values_and_gradients",
    "torch.no_grad": "poptorch/test_gradients_of_forward.py::test_a_construct_trains_as_in_torch",
}
