"""Training steps of PyTorch programs on the simulated IPU beside eager torch on the same cores.

    .venv-frontends/bin/python -m benchmarks.pytorch_steps [steps]

Each side is timed with one thread; the median of `steps` (200) steps after 20. The simulated side runs 20 iterations in
a call, as programs do. Needs the extra [torch].
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from examples.pytorch.mnist_network import Network, WithLoss
from examples.pytorch.transformer_network import Encoder
from simulator.frontends import poptorch

WARM, PER_CALL = 20, 20


def eager(model: Any, inputs: tuple[Any, Any], steps: int) -> float:
    """Median seconds of a step of plain torch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(*inputs)[1].backward()
        optimizer.step()

    return _median(step, steps, WARM)


def simulated(model: Any, inputs: tuple[Any, Any], steps: int) -> tuple[float, float]:
    """Median seconds of a step on the simulated IPU, and seconds of the first call, compilation included."""
    options = poptorch.Options().deviceIterations(PER_CALL).showCompilationProgressBar(False)
    training = poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), lr=0.01))
    many = [torch.cat([one] * PER_CALL) for one in inputs]
    began = time.perf_counter()
    training(*many)
    first = time.perf_counter() - began
    median = _median(lambda: training(*many), max(3, steps // PER_CALL), 1) / PER_CALL
    training.destroy()
    return median, first


def _median(step: Callable[[], Any], steps: int, warm: int) -> float:
    seconds = []
    for number in range(warm + steps):
        began = time.perf_counter()
        step()
        if number >= warm:
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images = {size: (torch.randn(size, 1, 28, 28), torch.randint(0, 10, (size,))) for size in (8, 64)}
    cases: dict[str, tuple[Any, tuple[Any, Any]]] = {
        f"MNIST, batch {size}": (WithLoss(Network(dropout=0.0)), inputs) for size, inputs in images.items()
    }
    cases["transformer encoder, 2 x 256, batch 2 x 128"] = (
        Encoder(2, 256, 4),
        (torch.randn(2, 128), torch.randint(0, 2, (2,))),
    )
    print(f"{'program':<46} {'eager':>10} {'simulated':>10} {'ratio':>7} {'first call':>11}")
    for name, (model, inputs) in cases.items():
        peer = eager(copy.deepcopy(model), inputs, steps)
        ours, first = simulated(model, inputs, steps)
        print(f"{name:<46} {1e3 * peer:>7.1f} ms {1e3 * ours:>7.1f} ms {ours / peer:>6.1f}x {first:>9.1f} s")


if __name__ == "__main__":
    main()
