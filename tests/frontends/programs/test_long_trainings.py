"""Long trainings of the MNIST network on synthetic digits, beside torch; and memory over many steps."""

from __future__ import annotations

import copy
import gc
from pathlib import Path
from typing import Any

import pytest
import torch

from examples.pytorch.mnist_network import Network, WithLoss
from simulator.frontends import poptorch
from simulator.frontends.synthetic_images import DIGITS, synthetic_images

BATCH, RATE, STEPS, UNSEEN = 8, 0.05, 50, 400


def quiet() -> poptorch.Options:
    return poptorch.Options().showCompilationProgressBar(False)


def digits(count: int, seed: int) -> tuple[Any, Any]:
    """Images as the example normalises them, and their labels."""
    images, labels = synthetic_images(DIGITS, count, seed)
    return ((torch.from_numpy(images).float() / 255 - 0.1307) / 0.3081)[:, None], torch.from_numpy(labels).long()


def trained_on_device(network: Any, images: Any, labels: Any, seed: int) -> list[float]:
    options = quiet().deviceIterations(STEPS).outputMode(poptorch.OutputMode.All).randomSeed(seed)
    model = poptorch.trainingModel(WithLoss(network), options, torch.optim.SGD(network.parameters(), lr=RATE))
    losses: list[float] = []
    for part, wanted in zip(images.split(BATCH * STEPS), labels.split(BATCH * STEPS), strict=True):
        losses += model(part, wanted)[1].tolist()
    model.detachFromDevice()
    model.destroy()
    return losses


def trained_in_torch(network: Any, images: Any, labels: Any) -> list[float]:
    model, optimizer, losses = WithLoss(network), torch.optim.SGD(network.parameters(), lr=RATE), []
    for part, wanted in zip(images.split(BATCH), labels.split(BATCH), strict=True):
        optimizer.zero_grad()
        _, loss = model(part, wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def accuracy_on_device(network: Any, images: Any, labels: Any) -> float:
    """Percent; the inner module infers without eval(), as the example does."""
    model = poptorch.inferenceModel(network, quiet())
    right = torch.cat([model(part).argmax(1) for part in images.split(80)]) == labels
    model.destroy()
    return 100 * float(right.float().mean())


def accuracy_in_torch(network: Any, images: Any, labels: Any) -> float:
    with torch.no_grad():
        return 100 * float((network.eval()(images).argmax(1) == labels).float().mean())


def test_accuracy_without_dropout_is_that_of_torch() -> None:
    torch.manual_seed(1)
    network = Network(dropout=0.0)
    twin, (images, labels), unseen = copy.deepcopy(network), digits(STEPS * BATCH, 0), digits(UNSEEN, 1)
    losses = trained_on_device(network, images, labels, 1)
    assert losses == pytest.approx(trained_in_torch(twin, images, labels), rel=1e-3)
    expected = accuracy_in_torch(twin, *unseen)
    assert expected > 20  # ten classes: it has learnt
    assert accuracy_on_device(network, *unseen) == pytest.approx(expected, abs=0.5)


@pytest.mark.long
def test_accuracy_with_dropout_is_that_of_torch() -> None:
    images, labels = digits(2000, 0)
    unseen = digits(960, 1)
    on_device, in_torch = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        network, order = Network(dropout=0.5), torch.randperm(2000)
        twin = copy.deepcopy(network)
        trained_on_device(network, images[order], labels[order], seed)
        trained_in_torch(twin.train(), images[order], labels[order])
        on_device.append(accuracy_on_device(network, *unseen))
        in_torch.append(accuracy_in_torch(twin, *unseen))
    print(f"Accuracy on the device {on_device}, in torch {in_torch}")
    expected = sum(in_torch) / 3
    assert 95 < expected < 99.5
    assert sum(on_device) / 3 == pytest.approx(expected, abs=1.0)


class Regression(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))

    def forward(self, x: Any, y: Any) -> Any:
        return torch.nn.functional.mse_loss(self.layers(x), y)


def resident_bytes() -> int:
    """Memory of this process in use (proc(5))."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("Linux says how much memory a process has.")


@pytest.mark.long
@pytest.mark.parametrize("reports", [False, True])
def test_memory_stays_over_ten_thousand_steps(reports: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "16")
    module, options = Regression(), quiet().outputMode(poptorch.OutputMode.All)
    if reports:
        options.enableProfiling(tmp_path)
    model = poptorch.trainingModel(module, options, torch.optim.Adam(module.parameters(), lr=0.01))
    x, sizes = torch.randn(8, 8), {}
    for step in range(1, 10_001):
        model(x, x[:, :1])
        if step in (1_000, 10_000):
            sizes[step] = resident_bytes()
    model.destroy()
    growth = (sizes[10_000] - sizes[1_000]) / 2**20
    print(f"Reports {reports}: {sizes[1_000] / 2**20:.1f} MiB after 1,000 steps, {growth:.2f} MiB more after 10,000")
    assert growth < 4
