"""Small programs of six kinds, as people write them, trained beside eager torch: losses and weights are equal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simulator.frontends import poptorch

STEPS = 3


@pytest.fixture(autouse=True)
def _few_tiles(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "4")
    torch.manual_seed(0)


def on_device(step: Any, optimizer: Any) -> Any:
    return poptorch.trainingModel(step, poptorch.Options().showCompilationProgressBar(False), optimizer)


def in_eager(step: Any, optimizer: Any) -> Callable[..., Any]:
    """A step in eager torch that is called as a training model is."""

    def run(*inputs: Any) -> Any:
        optimizer.zero_grad()
        results = step(*inputs)
        loss = results[-1] if isinstance(results, tuple) else results
        loss.backward()
        optimizer.step()
        return results

    return run


def check_equal(step: Any, batches: Sequence[tuple[Any, ...]], rate: float = 0.05) -> None:
    """Adam trains both alike; `step` returns its loss last."""
    twin = copy.deepcopy(step)
    trained = [one for one in step.parameters() if one.requires_grad]
    model = on_device(step, torch.optim.Adam(trained, lr=rate))
    eager = in_eager(twin, torch.optim.Adam([one for one in twin.parameters() if one.requires_grad], lr=rate))
    for batch in batches:
        torch.testing.assert_close(model(*batch), eager(*batch), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dict(step.state_dict()), dict(twin.state_dict()), rtol=1e-3, atol=1e-4)
    model.destroy()


def layers(*sizes: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for width, next_width in pairwise(sizes):
        parts += [nn.Linear(width, next_width), nn.Tanh()]
    return nn.Sequential(*parts[:-1])


class _Distillation(nn.Module):
    """A student learns labels, and the softened scores of a teacher that stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher, self.student = layers(6, 12, 4), layers(6, 5, 4)

    def forward(self, x: Any, labels: Any) -> Any:
        with torch.no_grad():
            taught = F.softmax(self.teacher(x) / 2, 1)
        scores = self.student(x)
        soft = F.kl_div(F.log_softmax(scores / 2, 1), taught, reduction="batchmean") * 4
        return poptorch.identity_loss(0.7 * soft + 0.3 * F.cross_entropy(scores, labels), reduction="none")


def test_distillation() -> None:
    check_equal(_Distillation(), [(torch.randn(5, 6), torch.randint(4, (5,))) for _ in range(STEPS)])


class _Variational(nn.Module):
    """An autoencoder whose code is drawn: the draw comes in, scaled and moved by what the encoder says."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = layers(6, 8, 6), layers(3, 8, 6)

    def forward(self, x: Any, noise: Any) -> Any:
        mean, log_variance = self.encoder(x).chunk(2, 1)
        image = self.decoder(mean + noise * torch.exp(0.5 * log_variance))
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
        loss = F.binary_cross_entropy_with_logits(image, x, reduction="sum") / len(x) + divergence
        return torch.sigmoid(image), poptorch.identity_loss(loss, reduction="none")


def test_a_variational_autoencoder() -> None:
    check_equal(_Variational(), [(torch.rand(5, 6), torch.randn(5, 3)) for _ in range(STEPS)])


class _Quantised(nn.Module):
    """An autoencoder with a code book: gradients pass the nearest entry straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = layers(6, 8, 3), layers(3, 8, 6)
        self.book = nn.Embedding(5, 3)

    def forward(self, x: Any) -> Any:
        code = self.encoder(x)
        nearest = torch.cdist(code, self.book.weight).argmin(1)
        entry = self.book(nearest)
        image = self.decoder(code + (entry - code).detach())
        loss = (image - x).pow(2).mean() + (entry - code.detach()).pow(2).mean()
        loss = loss + 0.25 * (code - entry.detach()).pow(2).mean()
        return nearest.int(), poptorch.identity_loss(loss, reduction="none")


def test_an_autoencoder_with_a_code_book() -> None:
    check_equal(_Quantised(), [(torch.randn(5, 6),) for _ in range(STEPS)])


class _Speech(nn.Module):
    """Frames to labels without their alignment."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.scores = nn.Conv1d(4, 6, 3, padding=1), nn.Linear(6, 4)
        self.loss = nn.CTCLoss()

    def forward(self, frames: Any, labels: Any, lengths: Any) -> Any:
        encoded = torch.relu(self.encoder(frames)).permute(2, 0, 1)
        steps = torch.full((frames.shape[0],), frames.shape[2], dtype=torch.int32)
        return self.loss(F.log_softmax(self.scores(encoded), 2), labels, steps, lengths)


@pytest.mark.long
def test_speech() -> None:
    lengths = torch.tensor([2, 1], dtype=torch.int32)
    check_equal(_Speech(), [(torch.randn(2, 4, 4), torch.randint(1, 4, (2, 2)), lengths) for _ in range(2)])


class _Critic(nn.Module):
    """A step of the discriminator: the generator stays as it is."""

    def __init__(self, generator: Any, discriminator: Any) -> None:
        super().__init__()
        self.generator, self.discriminator = generator, discriminator

    def forward(self, real: Any, noise: Any) -> Any:
        with torch.no_grad():
            false = self.generator(noise)
        scores = torch.cat((self.discriminator(real), self.discriminator(false)))
        wanted = torch.cat((torch.ones(len(real), 1), torch.zeros(len(real), 1)))
        return F.binary_cross_entropy_with_logits(scores, wanted)


class _Forger(_Critic):
    """A step of the generator through the discriminator."""

    def forward(self, noise: Any) -> Any:
        scores = self.discriminator(self.generator(noise))
        return F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))


def test_two_networks_against_each_other() -> None:
    networks = layers(3, 8, 6), layers(6, 8, 1)
    twins = copy.deepcopy(networks)
    losses = []
    for wrap, (generator, discriminator) in ((on_device, networks), (in_eager, twins)):
        critic = wrap(_Critic(generator, discriminator), torch.optim.Adam(discriminator.parameters(), lr=0.02))
        forger = wrap(_Forger(generator, discriminator), torch.optim.Adam(generator.parameters(), lr=0.02))
        torch.manual_seed(1)
        seen = []
        for _ in range(STEPS):
            seen.append(critic(torch.randn(5, 6), torch.randn(5, 3)).item())
            seen.append(forger(torch.randn(5, 3)).item())
        losses.append(seen)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for network, twin in zip(networks, twins, strict=True):
        torch.testing.assert_close(dict(network.state_dict()), dict(twin.state_dict()), rtol=1e-3, atol=1e-4)


class _Regression(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = layers(6, 8, 2)

    def forward(self, x: Any, y: Any = None) -> Any:
        scores = self.body(x)
        return scores if y is None else (scores, F.mse_loss(scores, y))


def test_a_moving_average_of_weights() -> None:
    net = _Regression()
    twin = copy.deepcopy(net)
    averages = copy.deepcopy(net), copy.deepcopy(twin)
    model = on_device(net, torch.optim.SGD(net.parameters(), lr=0.1))
    eager = in_eager(twin, torch.optim.SGD(twin.parameters(), lr=0.1))
    for _ in range(STEPS):
        batch = torch.randn(5, 6), torch.randn(5, 2)
        torch.testing.assert_close(model(*batch), eager(*batch), rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            for average, trained in zip(averages, (net, twin), strict=True):
                for mean, weight in zip(average.parameters(), trained.parameters(), strict=True):
                    mean.mul_(0.9).add_(weight, alpha=0.1)
    x = torch.randn(4, 6)
    smooth = poptorch.inferenceModel(averages[0], poptorch.Options().showCompilationProgressBar(False))
    torch.testing.assert_close(smooth(x), averages[1](x), rtol=1e-4, atol=1e-5)
    smooth.destroy()
    model.destroy()
