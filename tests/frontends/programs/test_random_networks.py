"""Random networks train on the device as in torch: losses, results, weights and buffers of three steps.

The twin is the same module in float64. Where float32 torch itself is far from it (a norm of nearly equal numbers), the
device may be as far times a factor."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import event, given

from simulator.frontends import poptorch
from tests.example_profiles import costly
from tests.frontends.programs.random_networks import OPTIMIZERS, Case, cases, network_and_data

STEPS = 3
RTOL = 2e-4
#: float32 torch may be this many times nearer to float64 than the device
WORSE_THAN_TORCH = 32
TILES = "16"


@pytest.fixture(autouse=True, scope="module")
def _few_tiles() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPVISION_TILES", TILES)
        yield


def trained_on_device(case: Case, network: Any, x: Any, y: Any) -> list[Any]:
    """Results and losses of all micro-batches."""
    calls = 1 if case.one_call else STEPS
    options = poptorch.Options().showCompilationProgressBar(False).deviceIterations(STEPS // calls)
    options.outputMode(poptorch.OutputMode.All).Training.gradientAccumulation(case.micro_batches)
    model = poptorch.trainingModel(network, options, OPTIMIZERS[case.optimizer](network.parameters()))
    results = []
    for part, wanted in zip(x.chunk(calls), y.chunk(calls), strict=True):
        out, losses = model(part, wanted)
        results.append((out, losses.reshape(-1)))
    model.destroy()
    return [torch.cat(one) for one in zip(*results, strict=True)]


def trained_in_torch(case: Case, network: Any, x: Any, y: Any) -> list[Any]:
    """The same by torch in the network's own type."""
    optimizer = OPTIMIZERS[case.optimizer](network.parameters())
    kind = next(network.parameters()).dtype
    results = []
    wide = [one.to(kind) if one.is_floating_point() else one for one in (x, y)]
    for part, wanted in zip(*(one.chunk(STEPS) for one in wide), strict=True):
        optimizer.zero_grad()
        pairs = zip(part.chunk(case.micro_batches), wanted.chunk(case.micro_batches), strict=True)
        for micro, targets in pairs:
            out, loss = network(micro, targets)
            (loss / case.micro_batches).backward()
            results.append((out.detach(), loss.detach().reshape(1)))
        optimizer.step()
    return [torch.cat(one) for one in zip(*results, strict=True)]


def check_near(got: Any, expected: Any, near: Any, what: str) -> None:
    expected, near = expected.double(), near.double()
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    error = float((near - expected).abs().max()) if expected.numel() else 0.0
    bound = RTOL * max(largest, 1e-2) + WORSE_THAN_TORCH * error
    torch.testing.assert_close(got.double(), expected, rtol=RTOL, atol=bound, msg=lambda text: f"{what}: {text}")


def check(case: Case) -> None:
    network, x, y = network_and_data(case, STEPS)
    network.train()
    near, twin = copy.deepcopy(network), copy.deepcopy(network).double()
    try:
        expected, close = trained_in_torch(case, twin, x, y), trained_in_torch(case, near, x, y)
    except ValueError:  # a norm over one value
        event("torch refuses")
        return
    got = trained_on_device(case, network, x, y)
    for what, *values in zip(("results", "losses"), got, expected, close, strict=True):
        check_near(*values, what)
    for name, value in twin.state_dict().items():
        check_near(network.state_dict()[name], value, near.state_dict()[name], name)


@costly()
@given(case=cases())
def test_random_networks(case: Case) -> None:
    check(case)
