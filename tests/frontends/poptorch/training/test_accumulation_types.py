"""Types of accumulators and states: each has PopART's name, and float16 takes half of its bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import popvision
from simulator.frontends import poptorch
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("few_tiles")

_SIDE = 24
_ELEMENTS = _SIDE * _SIDE
_FLOAT, _HALF = 4 * _ELEMENTS, 2 * _ELEMENTS


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(_SIDE, _SIDE, bias=False)

    def forward(self, x: Any) -> Any:
        return poptorch.identity_loss(self.line(x).square(), reduction="mean")


def sizes(folder: Path, optimizer: Callable[[Any], Any]) -> dict[str, int]:
    """Bytes of the accumulator and the states of a weight, by their prefix, after a step of two micro-batches."""
    net, chosen = _Net(), options()
    chosen.Training.gradientAccumulation(2)
    chosen.enableProfiling(str(folder))
    model = poptorch.trainingModel(net, chosen, optimizer(net.parameters()))
    model(torch.randn(4, _SIDE))
    model.destroy()
    (profile,) = folder.rglob("profile.pop")
    with popvision.open(profile.parent) as report:
        variables = report.variables()
        named = dict(zip(variables["name"], variables["total_bytes"], strict=True))
    suffix = "___line.weight"
    return {name.removesuffix(suffix): int(size) for name, size in named.items() if name.endswith(suffix)}


SGD, ADAM = poptorch.optim.SGD, poptorch.optim.Adam
MOMENTUM = {"lr": 0.1, "momentum": 0.9}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: SGD(p, lr=0.1), {"Accum": _FLOAT}),
        (lambda p: SGD(p, lr=0.1, accum_type=torch.float16), {"Accum": _HALF}),
        (lambda p: SGD(p, **MOMENTUM), {"Accum": _FLOAT, "Accl1": _FLOAT}),
        (lambda p: SGD(p, **MOMENTUM, accum_type=torch.float16), {"Accum": _HALF, "Accl1": _FLOAT}),
        (lambda p: SGD(p, **MOMENTUM, velocity_accum_type=torch.float16), {"Accum": _FLOAT, "Accl1": _HALF}),
        (lambda p: SGD(p, **MOMENTUM, use_combined_accum=True), {"Accl": _FLOAT}),
        (lambda p: SGD(p, **MOMENTUM, use_combined_accum=True, velocity_accum_type=torch.float16), {"Accl": _HALF}),
        (lambda p: ADAM(p, accum_type=torch.float16), {"Accum": _HALF, "Accl1": _FLOAT, "Accl2": _FLOAT}),
        (
            lambda p: ADAM(p, first_order_momentum_accum_type=torch.float16),
            {"Accum": _FLOAT, "Accl1": _HALF, "Accl2": _FLOAT},
        ),
        (
            lambda p: ADAM(p, second_order_momentum_accum_type=torch.float16),
            {"Accum": _FLOAT, "Accl1": _FLOAT, "Accl2": _HALF},
        ),
    ],
    ids=[
        *("SGD", "SGD accum", "momentum", "momentum accum", "momentum velocity", "combined", "combined velocity"),
        *("Adam accum", "Adam first", "Adam second"),
    ],
)
def test_each_tensor_takes_the_bytes_of_its_type(
    make: Callable[[Any], Any], expected: dict[str, int], tmp_path: Path
) -> None:
    assert sizes(tmp_path, make) == expected
