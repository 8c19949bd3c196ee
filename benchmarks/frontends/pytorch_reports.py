"""Training steps of PyTorch programs with autoReport.all, once the recorded runs are over, beside those without.

    .venv-frontends/bin/python -m benchmarks.frontends.pytorch_reports [steps]

Two equal models train in turns, who begins alternates; a turn is one call. One iteration a call shows what each
`Engine.run` costs, 20 a call what each step does. Given are the medians of processor time of a step over `steps` (200)
steps after the runs that the report keeps, and the median of the turns' ratios. Needs the extra [torch].
"""

from __future__ import annotations

import copy
import statistics
import sys
import tempfile
import time
from typing import Any

import torch

from benchmarks.frontends.pytorch_steps import cases
from examples.pytorch.transformer_network import Encoder
from simulator.frontends import poptorch
from simulator.poplibs.poplin.products.blas_threads import in_one_thread

#: calls before the first that counts: more than the runs that a report keeps, and some that fill caches
_EARLIER = 5


def ratios(model: Any, inputs: tuple[Any, Any], per_call: int, calls: int) -> tuple[list[float], list[float]]:
    """(seconds of processor time of a step without reports, the same with them), a value for each turn."""
    many = [torch.cat([one] * per_call) for one in inputs]
    with tempfile.TemporaryDirectory() as folder:
        plain, reporting = (_training(copy.deepcopy(model), per_call, where) for where in ("", folder))
        both: tuple[list[float], list[float]] = [], []
        for number in range(_EARLIER + calls):
            order = (0, 1) if number % 2 else (1, 0)
            for side in order:
                began = time.process_time()
                (plain, reporting)[side](*many)
                if number >= _EARLIER:
                    both[side].append((time.process_time() - began) / per_call)
        plain.destroy()
        reporting.destroy()
    return both


def _training(model: Any, per_call: int, folder: str) -> Any:
    options = poptorch.Options().deviceIterations(per_call).showCompilationProgressBar(False)
    if folder:
        options.enableProfiling(folder)
    return poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), lr=0.01))


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    torch.set_num_threads(1)
    programs = {name: case for name, case in cases().items() if name.startswith("MNIST")}
    programs["transformer encoder, 1 x 64, batch 2 x 32"] = (
        Encoder(1, 64, 2),
        (torch.randn(2, 32), torch.randint(0, 2, (2,))),
    )
    print(f"{'program':<46} {'steps a call':>12} {'without':>10} {'with':>10} {'ratio':>7}")
    for name, (model, inputs, _) in programs.items():
        for per_call in (1, 20):
            with in_one_thread():
                plain, reporting = ratios(model, inputs, per_call, max(9, steps // per_call))
            each = statistics.median(with_ / without for without, with_ in zip(plain, reporting, strict=True))
            shown = [f"{1e3 * statistics.median(seconds):>7.2f} ms" for seconds in (plain, reporting)]
            print(f"{name:<46} {per_call:>12} {shown[0]} {shown[1]} {each:>6.2f}x", flush=True)


if __name__ == "__main__":
    main()
