"""Under POPVISION_CHECK eager torch takes what the device draws, in float32 and in float16; CTC loss beside it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simulator.frontends.poptorch.beside_torch import attempt
from tests.frontends.poptorch import test_ctc_loss as ctc
from tests.frontends.poptorch.checking.checked_steps import checked, line_of, step
from tests.frontends.poptorch.gradient_twins import Net

pytestmark = pytest.mark.usefixtures("under_check")

DRAWS: dict[str, Any] = {
    "exponential": lambda h: h + torch.empty_like(h).exponential_(2.0),
    "log_normal and geometric": lambda h: h + torch.empty_like(h).log_normal_() + torch.empty_like(h).geometric_(0.3),
    "multinomial": lambda h: h * torch.multinomial(torch.ones(6), 4, True),
    "distributions": lambda h: (
        torch.distributions.Normal(h, 1.0).rsample() + torch.distributions.Gumbel(h, 1).rsample()
    ),
}

#: those of one operator, whose float32 other tests have
SIMPLE_DRAWS: dict[str, Any] = {
    "normal_ and uniform_": lambda h: h + torch.empty_like(h).normal_(0.1, 2.0) + torch.empty_like(h).uniform_(-1, 1),
    "rand and normal": lambda h: h + torch.rand_like(h) + torch.normal(h.detach(), torch.ones_like(h)),
    "bernoulli and dropout": lambda h: F.dropout(h * torch.bernoulli(torch.full_like(h, 0.5)), 0.3),
    "alpha_dropout": lambda h: F.alpha_dropout(h, 0.3, True),
    "gumbel_softmax": lambda h: F.gumbel_softmax(h, 0.5),
    "draws of both types": lambda h: F.dropout(h.float(), 0.3) + torch.randn_like(h, dtype=torch.float32),
}


def said_of_halves(function: Any, capsys: Any) -> str:
    """What the check says of a step in float16."""
    step(Net(lambda net, x: function(net.a(x))).half(), torch.randn(5, 3).half(), torch.randn(5, 4).half())
    return line_of(capsys)


@pytest.mark.parametrize("hard", [False, True])
def test_draws_inside_gumbel_softmax_are_the_devices(hard: bool, capsys: Any) -> None:
    said = checked(lambda net, x: F.gumbel_softmax(net.a(x), 0.5, hard), capsys)
    assert "agrees with eager torch: 1 output, 2 gradients" in said


@pytest.mark.parametrize("name", DRAWS)
def test_draws_that_several_operators_make_are_the_devices(name: str, capsys: Any) -> None:
    assert "agrees with eager torch: 1 output, 2 gradients" in checked(lambda net, x: DRAWS[name](net.a(x)), capsys)


@pytest.mark.parametrize("name", DRAWS | SIMPLE_DRAWS)
def test_draws_in_float16_are_the_devices(name: str, capsys: Any) -> None:
    said = said_of_halves((DRAWS | SIMPLE_DRAWS)[name], capsys)
    assert "agrees with eager torch: 1 output, 2 gradients, 2 updates" in said
    assert "(1e-02 allowed)" in said, "in float16, without a second run in float32"


def test_other_draws_in_float16_than_the_devices_differ(monkeypatch: Any, capsys: Any) -> None:
    run = attempt.run_in_eager

    def with_zeros(plan: Any, numbers: Any, draws: Any, *rest: Any) -> Any:
        zeros = {call: replace(one, values=[values * 0 for values in one.values]) for call, one in draws.items()}
        return run(plan, numbers, zeros, *rest)

    monkeypatch.setattr(attempt, "run_in_eager", with_zeros)
    assert "differs from eager torch" in said_of_halves(SIMPLE_DRAWS["normal_ and uniform_"], capsys)


@pytest.mark.parametrize("draw", [np.random.rand, random.random], ids=["NumPy", "Python"])
def test_draws_of_the_host_which_the_device_keeps_differ(draw: Any, capsys: Any) -> None:
    """Forward is captured once, so such a number is a constant on the device."""
    assert "differs from eager torch: " in checked(lambda net, x: net.a(x) * (1 + draw()), capsys)


def test_draws_in_float16_inside_an_operator_are_left_out_by_name(capsys: Any) -> None:
    said = said_of_halves(lambda h: F.rrelu(h, 0.1, 0.3, True), capsys)
    assert "agrees with eager torch, without the random numbers of aten.rrelu.default (" in said


def speech_step(half: bool, capsys: Any) -> str:
    """What the check says of a step on one example of two steps and one label."""
    net, x = ctc.Speech(), torch.randn(1, 2, 6)
    lengths = torch.tensor([2]), torch.tensor([1])
    step(net.half() if half else net, x.half() if half else x, torch.tensor([[1]]), *lengths)
    return line_of(capsys)


@pytest.mark.parametrize("half", [False, True])
def test_ctc_loss_agrees(half: bool, capsys: Any) -> None:
    assert "agrees with eager torch: 2 outputs, 2 gradients, 2 updates" in speech_step(half, capsys)


def test_a_ctc_loss_with_another_blank_is_found(monkeypatch: Any, capsys: Any) -> None:
    run = attempt.run_in_eager

    def with_other_blank(plan: Any, *rest: Any) -> Any:
        plan.module.loss.blank = 3
        return run(plan, *rest)

    monkeypatch.setattr(attempt, "run_in_eager", with_other_blank)
    assert "differs from eager torch: output loss by" in speech_step(False, capsys)
