"""Programs that users write: state saved and loaded in mid-training, shared weights, nested and named arguments,
results that are no tensors, buffers that come back."""

from __future__ import annotations

import copy
import io
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("few_tiles")


class Tied(nn.Module):
    """Two layers with one weight, and a norm whose buffers count."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.norm, self.up = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 6)
        self.up.weight = self.down.weight

    def forward(self, x: Any) -> Any:
        return nn.functional.mse_loss(self.up(torch.tanh(self.norm(self.down(x)))), x)


def twin_steps(twin: Any, optimizer: Any, x: Any, count: int) -> list[float]:
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = twin(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def momentum(weights: Any) -> Any:
    return torch.optim.SGD(weights, lr=0.1, momentum=0.9)


def test_shared_weights_and_buffers_train_as_in_torch() -> None:
    net, x = Tied(), torch.randn(8, 6)
    twin = copy.deepcopy(net)
    model = poptorch.trainingModel(net, options(), momentum(net.parameters()))
    losses = [float(model(x)) for _ in range(4)]
    assert losses == pytest.approx(twin_steps(twin, momentum(twin.parameters()), x, 4), rel=1e-4)
    assert net.up.weight is net.down.weight
    for name, value in twin.state_dict().items():  # buffers too: running statistics and the number of batches
        torch.testing.assert_close(net.state_dict()[name], value, rtol=1e-4, atol=1e-6)
    assert int(net.norm.num_batches_tracked) == 4
    model.destroy()


def test_a_state_dict_in_mid_training() -> None:
    net, x = Tied(), torch.randn(8, 6)
    plain = torch.optim.SGD(net.parameters(), lr=0.1)
    model = poptorch.trainingModel(net, options(), plain)
    for _ in range(3):
        model(x)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    first = [float(model(x)) for _ in range(3)]
    file.seek(0)
    saved = torch.load(file)
    assert int(saved["norm.num_batches_tracked"]) == 3
    model.load_state_dict(saved)
    assert [float(model(x)) for _ in range(3)] == pytest.approx(first, rel=1e-6)
    model.destroy()
    other = Tied()
    other.load_state_dict(saved)  # a module that never was on a device takes it too
    assert twin_steps(other, torch.optim.SGD(other.parameters(), lr=0.1), x, 3) == pytest.approx(first, rel=1e-4)


class Pair(NamedTuple):
    left: Any
    right: Any


class Nested(nn.Module):
    """Takes and returns all forms of arguments."""

    def forward(self, pair: Any, table: Any, scale: float = 1.0, *, shift: Any = None, mode: str = "add") -> Any:
        total = pair[0] + pair[1][0] if mode == "add" else pair[0] * pair[1][0]
        total = total * scale + (0 if shift is None else shift)
        return {
            "total": total,
            "rows": [row * 2 for row in table["rows"]],
            "pair": Pair(total.sum(1), (table["rows"][0], None)),
            "mode": mode,
            "sizes": (total.shape[1], 2.5, True),
            "nothing": None,
        }


def same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key, value in expected.items():
            same(got[key], value)
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        assert got == expected


@pytest.mark.parametrize("iterations", [1, 2])
def test_nested_and_named_arguments(iterations: int) -> None:
    def rows(*more: int) -> Any:
        return torch.randn(2 * iterations, *more)

    pair, table = (rows(3), [rows(3)]), {"rows": [rows(1), rows(2)]}
    named = {"shift": rows(3), "mode": "multiply"}
    model = poptorch.inferenceModel(Nested(), options().deviceIterations(iterations))
    for again in range(2):  # the second call has other tensors under the same names
        named["shift"] = named["shift"] + again
        same(model(pair, table, 0.5, **named), Nested()(pair, table, 0.5, **named))
    with pytest.raises(poptorch.Error, match="was compiled for"):
        model(pair, table, 0.25, **named)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        model(pair, table, other=1)
    model.destroy()


class Counting(nn.Module):
    """Writes its buffers, one of which is no part of its state."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("last", torch.zeros(2, 3), persistent=False)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.mean.mul_(0.5).add_(0.5 * x.mean(0))
        self.last.copy_(x)
        return x + self.mean


def test_buffers_come_back() -> None:
    net, twin = Counting(), Counting()
    model = poptorch.inferenceModel(net, options())
    for step in range(3):
        x = torch.randn(2, 3)
        torch.testing.assert_close(model(x), twin(x))
        assert net.calls.dtype is torch.int64
        assert int(net.calls) == step + 1
        for name, value in twin.named_buffers():
            torch.testing.assert_close(dict(net.named_buffers())[name], value, check_dtype=True)
    assert list(net.state_dict()) == ["calls", "mean"]
    model.destroy()
    assert int(net.calls) == 3


def clamp_data(net: Any) -> None:
    for weight in net.down.parameters():
        weight.data.clamp_(-0.2, 0.2)


def follow_by_data(net: Any) -> None:
    net.norm.weight.data.mul_(0.9).add_(net.norm.bias.data, alpha=0.1)


def write_array(net: Any) -> None:
    net.down.weight.detach().numpy()[0] *= 0.5


def assign_data(net: Any) -> None:
    net.norm.running_mean.data = net.norm.running_mean.data * 0.5


def copy_and_change_the_copy(net: Any) -> None:
    twin = copy.deepcopy(net)
    assert {type(tensor) for tensor in twin.buffers()} == {torch.Tensor}
    assert twin.state_dict().keys() == net.state_dict().keys()
    torch.testing.assert_close(twin.norm.running_mean, net.norm.running_mean)
    twin.norm.running_mean.zero_()
    twin.down.weight.data.zero_()


@pytest.mark.parametrize(
    "change",
    [clamp_data, follow_by_data, write_array, assign_data, copy_and_change_the_copy],
    ids=lambda one: one.__name__,
)
def test_what_the_host_changes_between_steps_reaches_the_device(change: Any) -> None:
    net, x = Tied(), torch.randn(8, 6)
    twin = copy.deepcopy(net)
    optimizer = momentum(twin.parameters())
    model = poptorch.trainingModel(net, options(), momentum(net.parameters()))
    for _ in range(3):
        assert float(model(x)) == pytest.approx(twin_steps(twin, optimizer, x, 1)[0], rel=1e-4)
        change(net)
        change(twin)
    for name, weight in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], weight, rtol=1e-4, atol=1e-5, msg=name)


def test_one_constant_in_two_models() -> None:
    """A tensor that is neither parameter nor buffer, which both models have on their devices."""
    rows = torch.tensor([2, 0])

    class Choosing(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[rows] + 1

    x = torch.randn(3, 2)
    for _ in range(2):
        torch.testing.assert_close(poptorch.inferenceModel(Choosing(), options())(x), x[rows] + 1)
