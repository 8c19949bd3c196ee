"""Loss scaling that the host changes or that follows the gradients, and the types of accumulators and moments."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from simulator.frontends import poptorch


class _Line(torch.nn.Module):
    """loss = sum(w * x), whose gradient is x."""

    def __init__(self, first: float = 0.0, dtype: Any = torch.float32) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((1,), first, dtype=dtype))

    def forward(self, x: Any) -> Any:
        return poptorch.identity_loss(self.w * x, reduction="sum")


def options(accumulation: int = 1, mean: bool = True) -> poptorch.Options:
    chosen = poptorch.Options().showCompilationProgressBar(False)
    chosen.Training.gradientAccumulation(accumulation)
    kind = poptorch.ReductionType.Mean if mean else poptorch.ReductionType.Sum
    chosen.Training.accumulationAndReplicationReductionType(kind)
    return chosen


def test_another_loss_scaling_leaves_the_step_as_it_is() -> None:
    net = _Line()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=1.0, loss_scaling=4.0)
    model = poptorch.trainingModel(net, options(), optimizer)
    x = torch.tensor([3.0])
    model(x)
    assert net.w.item() == -3.0
    optimizer.loss_scaling = 32.0
    model.setOptimizer(optimizer)
    model(x)
    assert net.w.item() == -6.0
    model.destroy()


class _Half(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return poptorch.identity_loss(self.fc(x), reduction="sum")


def automatic(accumulation: int = 1) -> poptorch.Options:
    chosen = options(accumulation)
    chosen.Training.setAutomaticLossScaling(True)
    return chosen


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_scaling_follows_the_gradients(accumulation: int) -> None:
    """The gradient of the bias is the loss scaling times 2 rows: below 4,094 the scaling doubles, above it halves."""
    net = _Half().half()
    twin = copy.deepcopy(net).float()
    optimizer = poptorch.optim.SGD(net.parameters(), lr=2.0**-6, loss_scaling=512.0 * accumulation)
    model = poptorch.trainingModel(net, automatic(accumulation), optimizer)
    x = torch.ones(2 * accumulation, 4, dtype=torch.half)
    factors = []
    for _ in range(4):
        model(x)
        factors.append(float(optimizer.state_dict()["ipu_state"]["lossScaleUpdateFactor"]))
        twin(x[:2].float()).backward()
        for weight in twin.parameters():
            weight.data -= 2.0**-6 * weight.grad
            weight.grad = None
    # Gradients 1,024, 2,048, 4,096, 2,048.
    assert factors == [2.0, 4.0, 2.0, 4.0]
    torch.testing.assert_close(net.fc.weight.float(), twin.fc.weight, rtol=0, atol=2e-3)
    model.destroy()


def test_without_half_gradients_there_is_nothing_to_follow() -> None:
    net = _Half()
    model = poptorch.trainingModel(net, automatic(), poptorch.optim.SGD(net.parameters(), lr=0.1))
    with pytest.raises(poptorch.Error, match=r"No tracked gradient tensors of type fp16 were found.*call \.half\(\)"):
        model(torch.ones(2, 4))


@pytest.mark.parametrize(("dtype", "total"), [(torch.float32, 2049.0), (torch.float16, 2048.0)])
@pytest.mark.parametrize("kind", [poptorch.optim.SGD, poptorch.optim.RMSprop])
def test_gradients_are_added_up_in_the_type_of_accumulators(kind: Any, dtype: Any, total: float) -> None:
    """2,049 is no float16."""
    net = _Line()
    arguments = {"eps": 2.0**-20, "alpha": 0.0} if kind is poptorch.optim.RMSprop else {"momentum": 0.5}
    optimizer = kind(net.parameters(), lr=1.0, accum_type=dtype, **arguments)
    model = poptorch.trainingModel(net, options(2, mean=False), optimizer)
    model(torch.tensor([2048.0, 1.0]))
    state = float(optimizer.state_dict()["ipu_state"]["Accl1___model.w"])
    assert state == (total if kind is poptorch.optim.SGD else total * total)
    model.destroy()


@pytest.mark.parametrize("first", [torch.float32, torch.float16])
@pytest.mark.parametrize("second", [torch.float32, torch.float16])
def test_moments_have_their_types(first: Any, second: Any) -> None:
    """The square of 2**-10 by 1 - beta2 is below the smallest float16, half of it a float32."""
    net = _Line()
    optimizer = poptorch.optim.Adam(
        net.parameters(),
        lr=1.0,
        betas=(0.5, 1 - 2.0**-8),
        first_order_momentum_accum_type=first,
        second_order_momentum_accum_type=second,
    )
    model = poptorch.trainingModel(net, options(), optimizer)
    model(torch.tensor([2.0**-10]))
    state = optimizer.state_dict()["ipu_state"]
    moments = state["Accl1___model.w"], state["Accl2___model.w"]
    assert [one.dtype for one in moments] == [first, second]
    assert float(moments[0]) == 2.0**-11
    assert float(moments[1]) == (2.0**-28 if second is torch.float32 else 0.0)
    model.destroy()


@pytest.mark.parametrize("first", [torch.float32, torch.float16])
def test_a_small_gradient_reaches_a_wide_second_moment(first: Any) -> None:
    """2**-26 is no float16: the first moment loses it, the second does not."""
    net = _Line()
    optimizer = poptorch.optim.Adam(net.parameters(), lr=1.0, betas=(0.5, 0.5), first_order_momentum_accum_type=first)
    model = poptorch.trainingModel(net, options(), optimizer)
    model(torch.tensor([2.0**-26]))
    state = optimizer.state_dict()["ipu_state"]
    assert float(state["Accl1___model.w"]) == (2.0**-27 if first is torch.float32 else 0.0)
    assert float(state["Accl2___model.w"]) == 2.0**-53
    model.destroy()
