"""Random networks: sequences of layers of any kind that fit together, with a loss, an optimizer and data.

A network is a tuple of layers, each a plain tuple, so that a failing one is printed whole. Values between layers are
images [batch, channels, height, width], signals [batch, channels, length], sequences [batch, length, features] or
rows [batch, features].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import nn

#: a kind of layer, and its arguments
Layer = tuple[Any, ...]
Shape = tuple[int, ...]  #: without the batch

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "ReLU": nn.ReLU,
    "GELU": nn.GELU,
    "Tanh": nn.Tanh,
    "Sigmoid": nn.Sigmoid,
    "SiLU": nn.SiLU,
    "ELU": nn.ELU,
    "LeakyReLU": nn.LeakyReLU,
    "Softplus": nn.Softplus,
    "Hardswish": nn.Hardswish,
    "Mish": nn.Mish,
    "PReLU": nn.PReLU,
    "SELU": nn.SELU,
    "LogSigmoid": nn.LogSigmoid,
    "Softsign": nn.Softsign,
}
LOSSES: dict[str, Callable[[], nn.Module]] = {
    "cross entropy": nn.CrossEntropyLoss,
    "nll": nn.NLLLoss,
    "mse": nn.MSELoss,
    "l1": nn.L1Loss,
    "smooth l1": nn.SmoothL1Loss,
    "huber": nn.HuberLoss,
    "bce": nn.BCEWithLogitsLoss,
    "kl": lambda: nn.KLDivLoss(reduction="batchmean"),
}
#: eps is large: an update must not depend on the sign of a gradient that is rounding noise
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda weights: torch.optim.SGD(weights, lr=0.05),
    "momentum": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=0.01),
    "dampening": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.8, dampening=0.3),
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.01, eps=1e-2),
    "adam with decay": lambda weights: torch.optim.Adam(weights, lr=0.01, eps=1e-2, weight_decay=0.1),
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.01, eps=1e-2, betas=(0.8, 0.95)),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, lr=0.01, eps=1e-2),
    "centred rmsprop": lambda weights: torch.optim.RMSprop(weights, lr=0.01, eps=1e-1, momentum=0.5, centered=True),
}


@dataclass(frozen=True)
class Case:
    """One training: `micro_batches` of `batch` elements make a step; three steps are one call or three."""

    start: tuple[str, Shape]  #: "tokens" with (length,), or a kind of value
    layers: tuple[Layer, ...]
    loss: str
    optimizer: str
    batch: int
    micro_batches: int
    one_call: bool
    seed: int


class Residual(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return x + self.inner(x)


class Doubled(nn.Module):
    """A layer's result beside its operand."""

    def __init__(self, inner: nn.Module, dim: int) -> None:
        super().__init__()
        self.inner, self.dim = inner, dim

    def forward(self, x: Any) -> Any:
        return torch.cat([self.inner(x), x], self.dim)


class Recurrent(nn.Module):
    def __init__(self, kind: str, inputs: int, hidden: int, layers: int, both_ways: bool) -> None:
        super().__init__()
        self.inner = getattr(nn, kind)(inputs, hidden, layers, batch_first=True, bidirectional=both_ways)

    def forward(self, x: Any) -> Any:
        return self.inner(x)[0]


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.inner(x, x, x, need_weights=False)[0]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "transpose": lambda x: x.transpose(1, 2),
    "mean": lambda x: x.mean(1),
    "last": lambda x: x[:, -1],
    "places": lambda x: x.flatten(2).transpose(1, 2),
    "halves": lambda x: torch.cat([part * (number + 1) for number, part in enumerate(x.chunk(2, 1))], 1),
    "scaled": lambda x: x / (1 + x.abs().amax(1, keepdim=True)),
    "softmax": lambda x: torch.softmax(x, -1),
}


class Applied(nn.Module):
    """A function without weights."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Any) -> Any:
        return FUNCTIONS[self.name](x)


def module_of(layer: Layer) -> nn.Module:
    """The module of a layer."""
    kind, *arguments = layer
    if kind in ACTIVATIONS:
        return ACTIVATIONS[kind]()
    if kind == "residual":
        return Residual(module_of(arguments[0]))
    if kind == "doubled":
        return Doubled(module_of(arguments[0]), arguments[1])
    if kind in ("LSTM", "GRU"):
        return Recurrent(kind, *arguments)
    if kind == "attention":
        return Attention(*arguments)
    if kind in FUNCTIONS:
        return Applied(kind)
    named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    made: nn.Module = getattr(nn, kind)(*arguments, **named)
    return made


class Network(nn.Module):
    """Layers, a last linear layer and a loss. Returns the last layer's result, and the loss where there are targets."""

    def __init__(self, case: Case, rows: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(module_of(layer) for layer in case.layers))
        self.head = nn.Linear(rows, outputs)
        self.loss = LOSSES[case.loss]()
        self.log = case.loss in ("nll", "kl")

    def forward(self, x: Any, targets: Any = None) -> Any:
        out = self.head(self.layers(x).flatten(1))
        if self.log:
            out = torch.log_softmax(out, 1)
        return out if targets is None else (out, self.loss(out, targets))


OUTPUTS = 3


def network_and_data(case: Case, steps: int) -> tuple[nn.Module, Any, Any]:
    """The network, inputs and targets of all steps."""
    torch.manual_seed(case.seed)
    rows = case.batch * case.micro_batches * steps
    kind, shape = case.start
    x = torch.randint(0, case.layers[0][1], (rows, *shape)) if kind == "tokens" else torch.randn(rows, *shape)
    layers = nn.Sequential(*(module_of(layer) for layer in case.layers)).eval()
    network = Network(case, layers(x[:1]).flatten(1).shape[1], OUTPUTS)
    if case.loss in ("cross entropy", "nll"):
        return network, x, torch.randint(0, OUTPUTS, (rows,))
    targets = torch.randn(rows, OUTPUTS)
    if case.loss == "bce":
        targets = torch.sigmoid(targets)
    elif case.loss == "kl":
        targets = torch.softmax(targets, 1)
    return network, x, targets


Step = tuple[Layer, str, Shape]  #: a layer, and the kind and shape of its result


def _pooled(size: int, kernel: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - kernel) // stride + 1


@st.composite
def _convolution(draw: Any, shape: Shape) -> Step:
    channels, *sizes = shape
    dims = len(sizes)
    groups = draw(st.sampled_from([one for one in (1, 2, 3) if channels % one == 0]))
    out = groups * draw(st.integers(1, 4))
    kernel, strides, paddings, dilations, after = [], [], [], [], []
    for size in sizes:
        padding, dilation = draw(st.integers(0, 2)), draw(st.integers(1, 2))
        most = min(3, (size + 2 * padding - 1) // dilation + 1)
        width, stride = draw(st.integers(1, most)), draw(st.integers(1, 2))
        kernel.append(width)
        strides.append(stride)
        paddings.append(padding)
        dilations.append(dilation)
        after.append((size + 2 * padding - dilation * (width - 1) - 1) // stride + 1)
    named = {
        "stride": tuple(strides),
        "padding": tuple(paddings),
        "dilation": tuple(dilations),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    kind = "image" if dims == 2 else "signal"
    return (f"Conv{dims}d", channels, out, tuple(kernel), named), kind, (out, *after)


@st.composite
def _pooling(draw: Any, shape: Shape) -> Step:
    channels, *sizes = shape
    name = draw(st.sampled_from(["MaxPool", "AvgPool", "AdaptiveAvgPool"]))
    kind, dims = ("image" if len(sizes) == 2 else "signal"), len(sizes)
    if name == "AdaptiveAvgPool":
        after = tuple(draw(st.integers(1, size)) for size in sizes)
        return (f"{name}{dims}d", after), kind, (channels, *after)
    kernel = tuple(draw(st.integers(1, min(3, size))) for size in sizes)
    stride = tuple(draw(st.integers(1, 2)) for _ in sizes)
    padding = tuple(draw(st.integers(0, width // 2)) for width in kernel)
    after = tuple(_pooled(*one) for one in zip(sizes, kernel, stride, padding, strict=True))
    return (f"{name}{dims}d", kernel, stride, padding), kind, (channels, *after)


@st.composite
def _norm(draw: Any, kind: str, shape: Shape) -> Step:
    if kind == "sequence" or (kind == "rows" and draw(st.booleans())):
        return ("LayerNorm", shape[-1]), kind, shape
    if kind == "rows":
        return ("BatchNorm1d", shape[0]), kind, shape
    dims = len(shape) - 1
    names = [f"BatchNorm{dims}d", "GroupNorm", "LayerNorm"]
    places = 1
    for size in shape[1:]:
        places *= size
    if places > 1:
        names.append(f"InstanceNorm{dims}d")
    name = draw(st.sampled_from(names))
    if name == "GroupNorm":
        groups = draw(st.sampled_from([one for one in (1, 2, 3, 4) if shape[0] % one == 0]))
        if shape[0] // groups * places > 1:
            return (name, groups, shape[0]), kind, shape
        return (f"BatchNorm{dims}d", shape[0]), kind, shape
    if name == "LayerNorm":
        return (name, shape), kind, shape
    named = {"affine": True} if name.startswith("Instance") else {}
    return (name, shape[0], named), kind, shape


@st.composite
def _dense(draw: Any, kind: str, shape: Shape) -> Step:
    width = draw(st.integers(1, 9))
    form = draw(st.sampled_from(["plain", "residual", "doubled"]))
    if form == "residual":
        return ("residual", ("Linear", shape[-1], shape[-1])), kind, shape
    if form == "doubled":
        return ("doubled", ("Linear", shape[-1], width), -1), kind, (*shape[:-1], width + shape[-1])
    return ("Linear", shape[-1], width, {"bias": draw(st.booleans())}), kind, (*shape[:-1], width)


@st.composite
def _recurrent(draw: Any, shape: Shape) -> Step:
    length, features = shape
    hidden, both = draw(st.integers(1, 6)), draw(st.booleans())
    layer = (draw(st.sampled_from(["LSTM", "GRU"])), features, hidden, draw(st.integers(1, 2)), both)
    return layer, "sequence", (length, hidden * (2 if both else 1))


@st.composite
def _of_sequences(draw: Any, shape: Shape) -> Step:
    length, features = shape
    name = draw(st.sampled_from(["dense", "recurrent", "attention", "transpose", "mean", "last", "scaled", "softmax"]))
    if name == "dense":
        return draw(_dense("sequence", shape))
    if name == "recurrent":
        return draw(_recurrent(shape))
    if name == "attention":
        heads = draw(st.sampled_from([one for one in (1, 2, 3) if features % one == 0]))
        layer: Layer = ("attention", features, heads)
        return (("residual", layer) if draw(st.booleans()) else layer), "sequence", shape
    if name == "transpose":
        return (name,), "signal", (features, length)
    if name in ("scaled", "softmax"):
        return (name,), "sequence", shape
    return (name,), "rows", (features,)


@st.composite
def _of_rows(draw: Any, shape: Shape) -> Step:
    features = shape[0]
    name = draw(st.sampled_from(["dense", "dense", "dense", "unflatten", "halves", "softmax"]))
    if name == "unflatten":
        channels = draw(st.sampled_from([one for one in (1, 2, 3, 5) if features % one == 0]))
        return ("Unflatten", 1, (channels, features // channels)), "signal", (channels, features // channels)
    if name in ("halves", "softmax"):
        return (name,), "rows", shape
    return draw(_dense("rows", shape))


@st.composite
def _of_pictures(draw: Any, kind: str, shape: Shape) -> Step:
    """Images and signals."""
    channels, *sizes = shape
    name = draw(st.sampled_from(["convolution", "convolution", "pooling", "residual", "flatten", "places", "halves"]))
    if name == "convolution":
        return draw(_convolution(shape))
    if name == "pooling":
        return draw(_pooling(shape))
    if name == "residual":
        inner = (f"Conv{len(sizes)}d", channels, channels, 3, {"padding": 1})
        return ("residual", inner), kind, shape
    if name == "flatten":
        features = channels
        for size in sizes:
            features *= size
        return ("Flatten",), "rows", (features,)
    if name == "places" and kind == "image":
        return (name,), "sequence", (sizes[0] * sizes[1], channels)
    if name == "halves":
        return (name,), kind, shape
    return ("transpose",), ("sequence" if kind == "signal" else "image"), (sizes[0], channels, *sizes[1:])


@st.composite
def _step(draw: Any, kind: str, shape: Shape) -> Step:
    form = draw(st.sampled_from(["kind", "kind", "kind", "norm", "activation", "dropout"]))
    if form == "activation":
        return (draw(st.sampled_from(sorted(ACTIVATIONS))),), kind, shape
    if form == "dropout":
        return ("Dropout", 0.0), kind, shape
    if form == "norm":
        return draw(_norm(kind, shape))
    if kind == "sequence":
        return draw(_of_sequences(shape))
    return draw(_of_rows(shape) if kind == "rows" else _of_pictures(kind, shape))


_STARTS = {"image": 3, "signal": 2, "sequence": 2, "rows": 1, "tokens": 1}


@st.composite
def cases(draw: Any) -> Case:
    """A network of up to eight layers and how it is trained."""
    start = draw(st.sampled_from(sorted(_STARTS)))
    first = tuple(draw(st.integers(1, 7)) for _ in range(_STARTS[start]))
    layers: list[Layer] = []
    kind, shape = start, first
    if start == "tokens":
        tokens, width = draw(st.integers(2, 11)), draw(st.integers(1, 8))
        layers.append(("Embedding", tokens, width))
        kind, shape = "sequence", (first[0], width)
    for _ in range(draw(st.integers(1, 8))):
        layer, kind, shape = draw(_step(kind, shape))
        layers.append(layer)
    return Case(
        (start, first),
        tuple(layers),
        draw(st.sampled_from(sorted(LOSSES))),
        draw(st.sampled_from(sorted(OPTIMIZERS))),
        draw(st.integers(3, 5)),
        draw(st.sampled_from([1, 1, 2])),
        draw(st.booleans()),
        draw(st.integers(0, 1000)),
    )
