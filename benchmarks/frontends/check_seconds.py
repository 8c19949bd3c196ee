"""Seconds of a model's first call with POPVISION_CHECK and without it.

    .venv-frontends/bin/python -m benchmarks.frontends.check_seconds

Both calls capture, compile and run one training step of the same module, each a model of its own; a small model that
is trained before takes the imports along. Given are seconds of processor time with one thread, which hardly depend on
other processes. Needs the extra [torch].
"""

from __future__ import annotations

import copy
import io
import os
import time
from contextlib import redirect_stderr
from typing import Any, NamedTuple

import torch

from benchmarks.frontends.pytorch_steps import Mlp, cases
from simulator.frontends import poptorch
from simulator.poplibs.poplin.products.blas_threads import in_one_thread


class FirstCall(NamedTuple):
    """Seconds of processor time of a first call, and what the check said of it."""

    seconds: float
    said: str


class Speech(torch.nn.Module):
    """A gated recurrent unit with dropout before it, and CTC loss."""

    def __init__(self) -> None:
        super().__init__()
        self.drop, self.unit, self.line = torch.nn.Dropout(0.2), torch.nn.GRU(16, 32), torch.nn.Linear(32, 12)

    def forward(self, x: Any, labels: Any) -> Any:
        scores = self.line(self.unit(self.drop(x))[0]).log_softmax(2)
        times, counts = (x.shape[0],) * x.shape[1], (labels.shape[1],) * x.shape[1]
        return scores, torch.nn.functional.ctc_loss(scores, labels, times, counts)


def programs() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """A module and the inputs of a step, by the program's name."""
    known = {name: (case.model, case.inputs) for name, case in cases().items()}
    speech = Speech(), (torch.randn(20, 4, 16), torch.randint(1, 12, (4, 5)))
    images, labels = known["MNIST, batch 8"][1]
    halves = copy.deepcopy(known["MNIST, batch 8"][0]).half(), (images.half(), labels)
    return {**known, "MNIST, batch 8, float16": halves, "GRU with dropout and CTC loss": speech}


def first_call(module: Any, inputs: tuple[Any, ...], check: str) -> FirstCall:
    """Train a copy of a module for one step."""
    os.environ["POPVISION_CHECK"] = check
    module = copy.deepcopy(module)
    options = poptorch.Options().showCompilationProgressBar(False)
    training = poptorch.trainingModel(module, options, torch.optim.SGD(module.parameters(), lr=0.01))
    lines = io.StringIO()
    used = time.process_time()
    with redirect_stderr(lines):
        training(*inputs)
    seconds = time.process_time() - used
    training.destroy()
    return FirstCall(seconds, lines.getvalue())


def verdict(said: str) -> str:
    """Whether the line tells that both sides agree."""
    return "agrees" if "agrees with eager torch" in said else said.strip()


def main() -> None:
    os.environ["POPTORCH_IPU_MODEL"] = "1"
    torch.set_num_threads(1)
    with in_one_thread():
        first_call(Mlp(4, 4, 4), (torch.randn(2, 4), torch.zeros(2, dtype=torch.long)), "torch")
        print("| program | without (s) | with the check (s) | ratio | it says |\n| --- | ---: | ---: | ---: | --- |")
        for name, (module, inputs) in programs().items():
            plain, checked = (first_call(module, inputs, check) for check in ("", "torch"))
            ratio = checked.seconds / plain.seconds
            row = f"| {name} | {plain.seconds:.1f} | {checked.seconds:.1f} | {ratio:.1f} | {verdict(checked.said)} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
