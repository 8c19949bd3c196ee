"""Forward writes to its inputs in place: the user's tensors have the values of eager torch after the call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from simulator.frontends import poptorch
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("few_tiles")


WRITES: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {}


def writes(make: Callable[[], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A forward and what makes its arguments, a list."""

    def register(forward: Callable[..., Any]) -> Callable[..., Any]:
        WRITES[forward.__name__] = forward, make
        return forward

    return register


class Module(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.line = function, nn.Linear(3, 3)
        self.register_buffer("kept", torch.ones(2, 3))

    def forward(self, *arguments: Any) -> Any:
        return self.function(self, *arguments)


def one() -> Any:
    return [torch.rand(2, 3)]


def two() -> Any:
    return [torch.rand(2, 3), torch.rand(2, 3)]


@writes(one)
def add_a_number(net: Any, x: Any) -> Any:
    x += 1


@writes(one)
def divide_and_return(net: Any, x: Any) -> Any:
    x /= 4
    return x, x + 1


@writes(lambda: [[torch.rand(2), torch.rand(3)]])
def multiply_in_a_list(net: Any, x: Any) -> Any:
    x[1] *= 3


@writes(lambda: [{"a": torch.rand(2), "b": torch.rand(3)}])
def subtract_in_a_dictionary(net: Any, x: Any) -> Any:
    x["b"].sub_(x["a"].sum())
    return x["a"] * 1


@writes(lambda: [((torch.rand(1), torch.rand(1)), torch.rand(2)), torch.rand(1)])
def second_of_nested_arguments(net: Any, x: Any, y: Any) -> Any:
    y += x[0][1]


@writes(one)
def fill_by_a_mask(net: Any, x: Any) -> Any:
    x.masked_fill_(x > 0.5, 1.0)


@writes(two)
def chain(net: Any, x: Any, y: Any) -> Any:
    x += y
    x *= 2.0
    y -= x
    return y.sum()


@writes(one)
def read_before_zero(net: Any, x: Any) -> Any:
    total = x.sum()
    x.zero_()
    x += total
    return total


@writes(one)
def write_a_slice_with_a_step(net: Any, x: Any) -> Any:
    x[:, ::2] = x[:, 1:2] * 2


@writes(one)
def write_through_a_view(net: Any, x: Any) -> Any:
    x.view(-1)[1:4].mul_(0)
    x.t()[0].fill_(7)


@writes(two)
def swap(net: Any, x: Any, y: Any) -> Any:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


@writes(one)
def input_and_buffer(net: Any, x: Any) -> Any:
    x.fill_(3)
    net.kept.copy_(net.kept + x)
    x += net.kept
    return net.kept * 1, x


@writes(one)
def become_a_weight(net: Any, x: Any) -> Any:
    with torch.no_grad():
        x.copy_(net.line.weight[:2])


@writes(lambda: [torch.randint(0, 9, (2, 3))])
def long_integers(net: Any, x: Any) -> Any:
    x += 2
    x[0, 0] = -5


@writes(lambda: [torch.rand(2, 3).half(), torch.rand(2, 3) > 0.5])
def halves_and_truths(net: Any, x: Any, y: Any) -> Any:
    x *= 2
    y.logical_not_()


@writes(lambda: [torch.rand(3, 2).t()])
def transposed_memory(net: Any, x: Any) -> Any:
    x += torch.arange(3)


@writes(one)
def out_of_an_operator(net: Any, x: Any) -> Any:
    torch.mul(x, 2, out=x)


@writes(two)
def after_broadcasting(net: Any, x: Any, y: Any) -> Any:
    wide, same = torch.broadcast_tensors(x[:1], y)
    y.sub_(1)
    return wide + same


@writes(two)
def after_conversions_that_change_nothing(net: Any, x: Any, y: Any) -> Any:
    same, also = x.type_as(y), y.sum_to_size(2, 3)
    x.sub_(1)
    also.mul_(2)
    return same + y


@writes(one)
def after_a_dropout_that_infers(net: Any, x: Any) -> Any:
    same = F.dropout(x, 0.5, training=False)
    x.mul_(3)
    return same + 1


@writes(one)
def a_buffer_after_broadcasting(net: Any, x: Any) -> Any:
    far = F.mse_loss(x, net.kept)
    net.kept.sub_(far)
    return net.kept + x


@pytest.mark.parametrize("name", WRITES)
def test_the_users_tensor_has_what_forward_wrote(name: str) -> None:
    function, make = WRITES[name]
    net = Module(function)
    twin, model, given = copy.deepcopy(net), poptorch.inferenceModel(net, options()), make()
    expected = copy.deepcopy(given)
    for _ in range(2):
        with torch.no_grad():
            wanted = twin(*expected)
        result = model(*given)
        for mine, theirs in zip(pytree.tree_leaves(result), pytree.tree_leaves(wanted), strict=True):
            torch.testing.assert_close(mine, theirs)
        for mine, theirs in zip(pytree.tree_leaves(given), pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(mine, theirs)
    model.destroy()


class Scaled(nn.Module):
    """Trains on its input and doubles it."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x: Any, y: Any) -> Any:
        loss = F.mse_loss(self.line(x), y)
        x.mul_(2)
        y.sub_(loss.detach())
        return loss


def test_written_inputs_of_a_training_step() -> None:
    net = Scaled()
    twin, x, y = copy.deepcopy(net), torch.rand(4, 3), torch.rand(4, 3)
    other_x, other_y = x.clone(), y.clone()
    model = poptorch.trainingModel(net, options(), torch.optim.SGD(net.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(twin.line(other_x), other_y)
        loss.backward()
        optimizer.step()
        assert float(model(x, y)) == pytest.approx(loss.item(), rel=1e-4)
        other_x, other_y = other_x * 2, other_y - loss.detach()
        torch.testing.assert_close(x, other_x)
        torch.testing.assert_close(y, other_y)


@pytest.mark.parametrize("size", [1, 2])
def test_every_micro_batch_of_every_replica_comes_back(size: int) -> None:
    """Outputs of the last iteration only; inputs of all."""
    chosen = options().deviceIterations(2).replicationFactor(4).outputMode(poptorch.OutputMode.Final)
    chosen.inputReplicaGrouping(size, poptorch.enums.CommGroupType.Orthogonal)
    chosen.Training.gradientAccumulation(3)
    net = Scaled()
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=0.0))
    x = torch.rand(2 * 3 * 4 // size * 2, 3)
    before, y = x.clone(), torch.zeros(len(x), 3)
    model(x, y)
    torch.testing.assert_close(x, before * 2)
    batches = before.reshape(-1, 2, 3)
    losses = torch.stack([(F.linear(part, net.line.weight, net.line.bias) ** 2).mean() for part in batches])
    torch.testing.assert_close(y, -losses.detach().repeat_interleave(2)[:, None].expand(-1, 3), rtol=1e-4, atol=1e-5)


def test_tensors_that_share_memory_are_refused() -> None:
    model, x = poptorch.inferenceModel(Module(chain), options()), torch.rand(2, 3)
    with pytest.raises(poptorch.Error, match=r"writes into its input .*shares its memory with the input"):
        model(x, x)


def test_synthetic_data_leave_the_tensor_alone() -> None:
    model, x = poptorch.inferenceModel(Module(add_a_number), options().enableSyntheticData(True)), torch.ones(2, 3)
    model(x)
    assert x.sum() == 6
