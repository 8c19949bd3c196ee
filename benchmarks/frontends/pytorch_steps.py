"""Training steps of PyTorch programs on the simulated IPU beside eager torch on the same cores.

    .venv-frontends/bin/python -m benchmarks.frontends.pytorch_steps [steps]

Both sides take turns, 20 steps each, with one thread and then with two; the simulated side runs its 20 iterations in a
call, as programs do, but of the small MLPs one in a call: there the call itself counts. Of `steps` (200) steps after 20
each side's median is given. The ratio of one thread is the median of the turns' ratios of processor time, which hardly
depends on other processes. The ratio of two threads is that of the medians of wall time, the simulated side's by the
better of eager torch's with one thread and with two. POPTORCH_IPU_MODEL=1 runs what does not fit a chip. Needs the
extra [torch].
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch

from examples.pytorch.mnist_network import Network, WithLoss
from examples.pytorch.transformer_network import Encoder
from simulator.frontends import poptorch
from simulator.poplibs.poplin.products.blas_threads import in_one_thread

STEPS = 20  #: of a turn


class Mlp(torch.nn.Module):
    """Two linear layers and a loss."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        layers = torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes)
        self.layers, self.loss = torch.nn.Sequential(*layers), torch.nn.CrossEntropyLoss()

    def forward(self, x: Any, y: Any) -> Any:
        out = self.layers(x)
        return out, self.loss(out, y)


class Case(NamedTuple):
    """A model, the inputs of a step, and steps of one call of the simulated side."""

    model: Any
    inputs: tuple[Any, Any]
    per_call: int = STEPS


class Turns(NamedTuple):
    """Seconds of a step, a value for each turn."""

    eager: list[float]
    simulated: list[float]
    ratios: list[float]  #: of processor time, simulated by eager
    first: float  #: the first call, compilation included


def take_turns(case: Case, steps: int) -> Turns:
    """Train a model and its copy on both sides, turn by turn."""
    model, inputs, per_call = case
    peer = copy.deepcopy(model)
    rates = {"lr": 0.01}
    peers = torch.optim.SGD(peer.parameters(), **rates)

    def eager() -> None:
        for _ in range(STEPS):
            peers.zero_grad()
            peer(*inputs)[1].backward()
            peers.step()

    options = poptorch.Options().deviceIterations(per_call).showCompilationProgressBar(False)
    training = poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), **rates))
    many = [torch.cat([one] * per_call) for one in inputs]
    first, _ = _timed(lambda: training(*many))

    def simulated() -> None:
        for _ in range(STEPS // per_call):
            training(*many)

    turns = Turns([], [], [], first)
    for number in range(1 + max(3, steps // STEPS)):
        wall, processor = _timed(eager)
        ours, our_processor = _timed(simulated)
        if number:
            turns.eager.append(wall / STEPS)
            turns.simulated.append(ours / STEPS)
            turns.ratios.append(our_processor / processor)
    training.destroy()
    return turns


def _timed(turn: Callable[[], Any]) -> tuple[float, float]:
    """(seconds, seconds of processor time) of a turn."""
    began, used = time.perf_counter(), time.process_time()
    turn()
    return time.perf_counter() - began, time.process_time() - used


def cases() -> dict[str, Case]:
    """By the program's name."""
    torch.manual_seed(0)
    images = {size: (torch.randn(size, 1, 28, 28), torch.randint(0, 10, (size,))) for size in (8, 64)}
    encoder = Case(Encoder(4, 256, 4), (torch.randn(2, 128), torch.randint(0, 2, (2,))))
    mlps = {(64, 784, 128): 10, (16, 32, 64): 10}
    return {
        **{f"MNIST, batch {size}": Case(WithLoss(Network(dropout=0.0)), inputs) for size, inputs in images.items()},
        "transformer encoder, 4 x 256, batch 2 x 128": encoder,
        **{
            f"MLP {size} x {inputs} x {hidden}, a call a step": Case(
                Mlp(inputs, hidden, classes), (torch.randn(size, inputs), torch.randint(0, classes, (size,))), 1
            )
            for (size, inputs, hidden), classes in mlps.items()
        },
    }


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    best: dict[str, float] = {}
    print(f"{'program':<46} {'threads':>7} {'eager':>10} {'simulated':>10} {'ratio':>7} {'first call':>11}")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, case in cases().items():
            try:
                with in_one_thread() if threads == 1 else nullcontext():
                    turns = take_turns(case, steps)
            except poptorch.Error as error:
                print(f"{name:<46} {error}")
                continue
            peer, ours = (1e3 * statistics.median(seconds) for seconds in (turns.eager, turns.simulated))
            best[name] = min(best.get(name, peer), peer)
            ratio = statistics.median(turns.ratios) if threads == 1 else ours / best[name]
            line = f"{name:<46} {threads:>7} {peer:>7.1f} ms {ours:>7.1f} ms {ratio:>6.2f}x {turns.first:>9.1f} s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
