"""Dropout of every kind: how often elements stay, their scale, one mask for values and gradients, another each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch

P = 0.3
SCALE = 1 / (1 - P)
#: standard deviations of the number of kept elements: 1 in 150,000 draws lies outside
SIGMAS = 4.5


@pytest.fixture(autouse=True)
def _few_tiles(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "16")


class Dropped(nn.Module):
    """The loss is the sum of what a dropout makes of a weight."""

    def __init__(self, dropout: Callable[[Any], Any], *shape: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))
        self.dropout = dropout

    def forward(self, start: Any) -> Any:
        out = self.dropout(self.weight + start.sum())
        return out, poptorch.identity_loss(out, reduction="sum")


def options(seed: int, iterations: int = 1) -> poptorch.Options:
    made = poptorch.Options().showCompilationProgressBar(False).randomSeed(seed)
    return made.deviceIterations(iterations).outputMode(poptorch.OutputMode.All)


def step(module: Any, seed: int = 1) -> tuple[Any, Any]:
    """What the dropout makes of ones, and its gradient."""
    before = module.weight.detach().clone()
    model = poptorch.trainingModel(module, options(seed), torch.optim.SGD(module.parameters(), lr=1.0))
    out, _ = model(torch.zeros(1))
    model.destroy()
    return out, before - module.weight.detach()


def check_rate(kept: Any, p: float = P) -> None:
    count, deviation = kept.numel(), (p * (1 - p) / kept.numel()) ** 0.5
    assert abs(float(kept.float().mean()) - (1 - p)) < SIGMAS * deviation, f"{kept.sum()} of {count}"


@pytest.mark.parametrize("p", [0.1, P, 0.75])
def test_elements(p: float) -> None:
    out, gradient = step(Dropped(nn.Dropout(p), 4, 5000))
    kept = out != 0
    check_rate(kept, p)
    torch.testing.assert_close(out[kept], torch.full_like(out[kept], 1 / (1 - p)))
    torch.testing.assert_close(gradient, out)


def test_nothing_and_everything() -> None:
    for p, value in ((0.0, 1.0), (1.0, 0.0)):
        out, gradient = step(Dropped(nn.Dropout(p), 100))
        assert torch.equal(out, torch.full((100,), value))
        assert torch.equal(gradient, out)


@pytest.mark.parametrize(
    ("layer", "shape"), [(nn.Dropout1d, (50, 40, 3)), (nn.Dropout2d, (50, 40, 2, 3)), (nn.Dropout3d, (50, 40, 2, 1, 2))]
)
def test_channels(layer: Any, shape: Any) -> None:
    out, gradient = step(Dropped(layer(P), *shape))
    channels = out.flatten(2)
    assert torch.equal(channels, channels[:, :, :1].expand_as(channels))
    kept = channels[:, :, 0] != 0
    check_rate(kept)
    torch.testing.assert_close(channels[:, :, 0][kept], torch.full((int(kept.sum()),), SCALE))
    torch.testing.assert_close(gradient, out)


@pytest.mark.parametrize(("layer", "shape"), [(nn.AlphaDropout, (20_000,)), (nn.FeatureAlphaDropout, (50, 80, 2))])
def test_alpha(layer: Any, shape: Any) -> None:
    low = -1.7580993408473766
    a = ((1 - P) * (1 + P * low**2)) ** -0.5
    b = -a * low * P
    out, gradient = step(Dropped(layer(P), *shape))
    kept = gradient != 0
    check_rate(kept if len(shape) == 1 else kept[:, :, 0])
    torch.testing.assert_close(gradient[kept], torch.full_like(gradient[kept], a))
    torch.testing.assert_close(out, torch.where(kept, a + b, a * low + b), rtol=1e-5, atol=1e-5)
    if len(shape) > 1:
        assert torch.equal(out[:, :, 0], out[:, :, 1])


LENGTH, BATCH, WIDTH, SMALL = 20, 10, 50, 0.01


def nearly_linear(kind: str) -> nn.Module:
    """Two layers with dropout between them, each of which multiplies its operand by SMALL, nearly."""
    made: nn.Module = getattr(nn, kind)(WIDTH, WIDTH, 2, dropout=P)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            weight.zero_()
            if name.startswith("weight_ih"):
                new = {"LSTM": 2, "GRU": 2, "RNN": 0}[kind] * WIDTH  # the rows of the new value among those of gates
                weight[new : new + WIDTH] = SMALL * torch.eye(WIDTH)
            elif name.startswith("bias_ih") and kind == "LSTM":
                weight[:] = torch.tensor([20.0, -20.0, 0.0, 20.0]).repeat_interleave(WIDTH)
            elif name.startswith("bias_ih") and kind == "GRU":
                weight[:] = torch.tensor([20.0, -20.0, 0.0]).repeat_interleave(WIDTH)
    return made.requires_grad_(False)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_between_layers(kind: str) -> None:
    inner = nearly_linear(kind)

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x)[0]

    out, gradient = step(Dropped(Layers(), LENGTH, BATCH, WIDTH))
    kept = out.abs() > SMALL**2 / 2
    check_rate(kept)
    torch.testing.assert_close(out[kept], torch.full_like(out[kept], SCALE * SMALL**2), rtol=1e-2, atol=0)
    assert torch.equal(out[~kept], torch.zeros_like(out[~kept]))
    torch.testing.assert_close(gradient, out, rtol=1e-2, atol=1e-6)  # gradients are read off weights of 1


class Attending(nn.Module):
    """Values are the unit matrix, so that results are the probabilities after dropout."""

    def __init__(self, rows: int, size: int) -> None:
        super().__init__()
        self.query, self.key = (nn.Parameter(torch.randn(2, rows, size)) for _ in range(2))
        self.value = nn.Parameter(torch.eye(rows).repeat(2, 1, 1))
        self.factors = torch.randn(2, rows, rows)

    def forward(self, start: Any) -> Any:
        drop = nn.functional.scaled_dot_product_attention(self.query + start, self.key, self.value, dropout_p=P)
        return drop, poptorch.identity_loss(drop * self.factors, reduction="sum")


def test_attention() -> None:
    torch.manual_seed(0)
    module = Attending(70, 4)
    before = {name: value.detach().clone().requires_grad_() for name, value in module.named_parameters()}
    model = poptorch.trainingModel(module, options(1), torch.optim.SGD(module.parameters(), lr=1.0))
    out, _ = model(torch.zeros(1))
    model.destroy()
    query, key, value = before["query"], before["key"], before["value"]
    shares = torch.softmax(query @ key.transpose(1, 2) / 2, -1)
    kept = out != 0
    check_rate(kept)
    torch.testing.assert_close(out, (shares * kept * SCALE).detach(), rtol=1e-4, atol=1e-6)
    (((shares * kept * SCALE) @ value) * module.factors).sum().backward()
    for name, after in module.named_parameters():
        torch.testing.assert_close(before[name].detach() - after.detach(), before[name].grad, rtol=1e-3, atol=1e-5)


KINDS = {"elements": nn.Dropout(0.5), "channels": nn.Dropout1d(0.5), "alpha": nn.AlphaDropout(0.5)}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_seeds_and_steps(kind: str) -> None:
    def masks(seed: int) -> Any:
        module = Dropped(KINDS[kind], 8, 40, 2)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.0)
        model = poptorch.trainingModel(module, options(seed, iterations=2), optimizer)
        both = torch.cat([model(torch.zeros(2))[0] for _ in range(2)]).reshape(4, -1)
        model.destroy()
        return both > 0.8

    first, again, other = masks(1), masks(1), masks(2)
    assert torch.equal(first, again)
    rows = [*first, *other]
    for number, one in enumerate(rows):
        for another in rows[:number]:
            assert 0.3 < float((one == another).float().mean()) < 0.7


@pytest.mark.parametrize("layer", [nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_inference_keeps_everything(layer: Any) -> None:
    module = layer(P).train()
    model = poptorch.inferenceModel(module, options(1))
    x = torch.randn(3, 4, 5)
    assert torch.equal(model(x), x)
    model.destroy()


class Drawing(nn.Module):
    """Numbers that a module draws itself, each from another distribution."""

    def forward(self, x: Any) -> Any:
        return (
            torch.rand(4000),
            torch.rand_like(x),
            torch.randn(4000),
            torch.randn_like(x),
            torch.normal(2.0, 0.5, (4000,)),
            torch.empty(4000).uniform_(-1, 3),
            torch.randint(2, 7, (4000,)),
            torch.bernoulli(x * 0 + 0.2),
            torch.randint(1, (4000,)) + torch.bernoulli(x, 0.9),
        )


def test_distributions() -> None:
    model = poptorch.inferenceModel(Drawing(), options(3))
    drawn = model(torch.zeros(4000))
    model.destroy()
    third, fifth = 12**-0.5, (0.2 * 0.8) ** 0.5
    expected = [(0.5, third), (0.5, third), (0, 1), (0, 1), (2, 0.5), (1, 4 * third), (4, 2**0.5), (0.2, fifth)]
    for values, (mean, deviation) in zip(drawn, [*expected, (0.9, 0.3)], strict=True):
        values = values.double()
        assert float(values.mean()) == pytest.approx(mean, abs=SIGMAS * deviation / 4000**0.5)
        assert float(values.std()) == pytest.approx(deviation, rel=0.1)
    assert sorted(set(drawn[6].tolist())) == [2, 3, 4, 5, 6]
    assert set(drawn[7].tolist()) == {0.0, 1.0}


class Noisy(nn.Module):
    """A sample of a normal distribution whose mean and deviation are weights."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.deviation = nn.Parameter(torch.zeros(50)), nn.Parameter(torch.ones(50))

    def forward(self, start: Any) -> Any:
        noise = torch.randn_like(self.mean)
        return noise, poptorch.identity_loss(self.mean + start + noise * self.deviation, reduction="sum")


def test_drawn_numbers_are_constants_for_gradients() -> None:
    module = Noisy()
    model = poptorch.trainingModel(module, options(1), torch.optim.SGD(module.parameters(), lr=1.0))
    noise, _ = model(torch.zeros(1))
    model.destroy()
    assert torch.equal(module.mean.detach(), torch.full((50,), -1.0))
    torch.testing.assert_close(module.deviation.detach(), 1 - noise)
