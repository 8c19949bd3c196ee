"""Steps of models under POPVISION_CHECK, and what it says of them."""

from __future__ import annotations

from typing import Any

import torch

from simulator.frontends import poptorch
from tests.frontends.poptorch.gradient_twins import Forward, Net
from tests.frontends.poptorch.model_options import options


def step(net: Any, *inputs: Any, chosen: Any = None) -> Any:
    """The first step of a training model."""
    model = poptorch.trainingModel(net, chosen or options(), torch.optim.SGD(net.parameters(), lr=0.1))
    try:
        return model(*inputs)
    finally:
        model.destroy()


def line_of(capsys: Any) -> str:
    """What the check says of the one model that ran."""
    lines = [one for one in capsys.readouterr().err.splitlines() if one.startswith("popvision check: ")]
    assert len(lines) == 1, lines
    return str(lines[0]).removeprefix("popvision check: ")


def checked(function: Forward, capsys: Any) -> str:
    """What the check says of a step with this forward."""
    step(Net(function), torch.randn(5, 3), torch.randn(5, 4))
    return line_of(capsys)
