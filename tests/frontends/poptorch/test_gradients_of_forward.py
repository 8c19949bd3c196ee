"""What autograd does in a forward that torch.export does not show: each construct trains as in eager torch, or is
refused by one sentence. The decorators say which."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from simulator.frontends import poptorch
from tests.frontends.poptorch.gradient_twins import Forward, Net, check_equal, training, twin_losses

pytestmark = pytest.mark.usefixtures("few_tiles")

EQUAL: dict[str, Forward] = {}
REFUSED: dict[str, tuple[Forward, str]] = {}


def equal(forward: Forward) -> Forward:
    """The forward trains as in eager torch."""
    EQUAL[forward.__name__.strip("_")] = forward
    return forward


def refused(words: str) -> Callable[[Forward], Forward]:
    """The forward is refused by a sentence with these words."""

    def register(forward: Forward) -> Forward:
        REFUSED[forward.__name__.strip("_")] = forward, words
        return forward

    return register


# Grad modes


@equal
def no_grad(net: Any, x: Any) -> Any:
    with torch.no_grad():
        target = net.b(x)
    return net.a(x) - target


@equal
def no_grad_as_decorator(net: Any, x: Any) -> Any:
    @torch.no_grad()
    def teacher() -> Any:
        return net.b(x) * 2

    return net.a(x) - teacher()


@equal
def enable_grad_in_no_grad(net: Any, x: Any) -> Any:
    with torch.no_grad():
        target = net.b(x)
        with torch.enable_grad():
            return net.a(x) * target


@equal
def set_grad_enabled(net: Any, x: Any) -> Any:
    with torch.set_grad_enabled(False):
        target = net.b(x).tanh()
    with torch.set_grad_enabled(True):
        return net.a(x) + target


@equal
def inference_mode(net: Any, x: Any) -> Any:
    with torch.inference_mode():
        target = net.b(x)
    return net.a(x) * target.clone()


@equal
def requires_grad_(net: Any, x: Any) -> Any:
    for weight in net.b.parameters():
        weight.requires_grad_(False)
    return net.a(x) * net.b(x)


@equal
def requires_grad_assigned(net: Any, x: Any) -> Any:
    for weight in net.b.parameters():
        weight.requires_grad = False
    return net.a(x) * net.b(x)


# Tensors off the way of the gradient


@equal
def detach(net: Any, x: Any) -> Any:
    return net.a(x) * net.b(x).detach()


@equal
def detach_(net: Any, x: Any) -> Any:
    target = net.b(x) * 1
    target.detach_()
    return net.a(x) * target


@equal
def data(net: Any, x: Any) -> Any:
    return net.a(x) * net.b(x).data


@equal
def data_of_a_weight(net: Any, x: Any) -> Any:
    return net.a(x) + F.linear(x, net.b.weight.data)


@equal
def straight_through_by_detach(net: Any, x: Any) -> Any:
    out = net.a(x) * 3
    return out + (out.round() - out).detach()


@equal
def data_of_a_weight_assigned(net: Any, x: Any) -> Any:
    for old, new in zip(net.b.parameters(), net.a.parameters(), strict=True):
        old.data = old.data * 0.9 + new.data * 0.1
    return net.a(x) * net.b(x).detach()


@refused("Tensor.data cannot be set")
def data_assigned(net: Any, x: Any) -> Any:
    out = net.a(x)
    out.data = out.data * 0.9
    return out


# Writes that autograd does not see: the gradient goes on as before


@equal
def write_in_no_grad(net: Any, x: Any) -> Any:
    out = net.a(x) + net.b(x)
    with torch.no_grad():
        out.mul_(2)
    return out * out


@equal
def write_to_a_view_in_no_grad(net: Any, x: Any) -> Any:
    out = net.a(x) + net.b(x)
    with torch.no_grad():
        out[0].mul_(2)
    return out * out


@equal
def write_by_data(net: Any, x: Any) -> Any:
    out = net.a(x) + net.b(x)
    out.data.mul_(2)
    return out * out


@equal
def write_to_a_detached_view(net: Any, x: Any) -> Any:
    out = net.a(x) + net.b(x)
    out.detach().clamp_(-0.1, 0.1)
    return out * out


@equal
def write_with_gradient(net: Any, x: Any) -> Any:
    out = net.a(x) + net.b(x)
    out[1].mul_(2)
    return out


@equal
def average_in_a_buffer(net: Any, x: Any) -> Any:
    out = net.a(x)
    with torch.no_grad():
        net.average.mul_(0.9).add_(out.mean(0), alpha=0.1)
    return out * net.average + net.b(x)


@equal
def teacher_that_follows_in_forward(net: Any, x: Any) -> Any:
    with torch.no_grad():
        for old, new in zip(net.b.parameters(), net.a.parameters(), strict=True):
            old.mul_(0.9).add_(new, alpha=0.1)
        target = net.b(x)
    return net.a(x) - target


@equal
def weights_clamped_in_forward(net: Any, x: Any) -> Any:
    with torch.no_grad():
        net.a.weight.clamp_(-0.3, 0.3)
    return net.a(x)


@equal
def weights_clamped_by_data(net: Any, x: Any) -> Any:
    net.a.weight.data.clamp_(-0.3, 0.3)
    return net.a(x) * net.b(x)


# Gradients inside forward, functional transforms, checkpoints


@equal
def gradient_in_forward(net: Any, x: Any) -> Any:
    out = net.a(x)
    (slope,) = torch.autograd.grad(out.pow(2).sum(), net.a.weight, create_graph=True)
    return out + 0.01 * slope.sum()


@equal
def gradient_in_forward_without_its_own(net: Any, x: Any) -> Any:
    out = net.a(x)
    (slope,) = torch.autograd.grad(out.pow(2).sum(), net.a.weight, retain_graph=True)
    return out + 0.01 * slope.sum()


@refused("torch.autograd.grad in forward")
def gradient_in_forward_through_tanh(net: Any, x: Any) -> Any:
    (slope,) = torch.autograd.grad(torch.tanh(net.a(x)).sum(), net.a.weight, create_graph=True)
    return net.b(x) + slope.sum()


@refused("Tensor.backward")
def backward_in_forward(net: Any, x: Any) -> Any:
    out = net.a(x)
    out.sum().backward()
    return out


@refused("Tensor.retain_grad")
def retain_grad(net: Any, x: Any) -> Any:
    out = net.a(x)
    out.retain_grad()
    return out


@refused("Tensor.grad ")
def grad_of_a_weight(net: Any, x: Any) -> Any:
    return net.a(x) if net.a.weight.grad is None else net.b(x)


@refused("torch.func.grad")
def func_grad(net: Any, x: Any) -> Any:
    return net.b(x) + torch.func.grad(lambda weight: F.linear(x, weight).tanh().sum())(net.a.weight).sum()


@refused("torch.func.grad")
def func_vjp(net: Any, x: Any) -> Any:
    out, pull = torch.func.vjp(net.a, x)
    return net.b(x) + pull(out)[0].sum()


@equal
def func_jvp(net: Any, x: Any) -> Any:
    out, tangent = torch.func.jvp(lambda values: net.a(values).tanh(), (x,), (x,))
    return out + tangent + net.b(x)


@equal
def func_vmap(net: Any, x: Any) -> Any:
    return torch.func.vmap(net.a)(x) + net.b(x)


@equal
def functional_call(net: Any, x: Any) -> Any:
    weights = {name: weight * 2 for name, weight in net.a.named_parameters()}
    return net.b(x) + torch.func.functional_call(net.a, weights, (x,))


@equal
def checkpoint_(net: Any, x: Any) -> Any:
    return net.b(x) + checkpoint(lambda values: torch.tanh(net.a(values)), x, use_reentrant=False)


@equal
def checkpoint_of_a_sequence(net: Any, x: Any) -> Any:
    return net.b(x) + checkpoint_sequential([net.a, torch.tanh], 2, x, use_reentrant=False)


@equal
def saved_on_the_host(net: Any, x: Any) -> Any:
    with torch.autograd.graph.save_on_cpu():
        return (net.a(x) + net.b(x)).tanh()


@refused("saved_tensors_hooks")
def saved_tensors_hooks(net: Any, x: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda saved: saved):
        return (net.a(x) + net.b(x)).tanh()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # eager torch.func.jvp calls it
@pytest.mark.parametrize("name", EQUAL)
def test_a_construct_trains_as_in_torch(name: str) -> None:
    check_equal(Net(EQUAL[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_a_construct_is_refused_by_name(name: str) -> None:
    forward, words = REFUSED[name]
    with pytest.raises(poptorch.Error, match=words):
        training(Net(forward))(torch.randn(5, 3), torch.randn(5, 4))


def test_a_call_in_no_grad_trains() -> None:
    net, x, y = Net(lambda net, x: net.a(x) + net.b(x)), torch.randn(5, 3), torch.randn(5, 4)
    expected = twin_losses(copy.deepcopy(net), x, y, 2)
    model = training(net)
    with torch.no_grad():
        assert [float(model(x, y)) for _ in range(2)] == pytest.approx(expected, rel=1e-4)


# PopTorch's rule: the gradient begins at the last loss operator


class Scaled(Net):
    """What follows the loss is `function`."""

    def forward(self, x: Any, y: Any) -> Any:
        return self.function(self, F.mse_loss(self.a(x), y))


AFTER_LOSS: dict[str, Forward] = {
    "aten.mul.Tensor": lambda net, loss: loss * 0.1,
    "aten.add.Tensor": lambda net, loss: loss + 0.1 * net.a.weight.pow(2).sum(),
    "aten.log.default": lambda net, loss: (loss, loss.reshape(1).log()),
}


@pytest.mark.parametrize("name", AFTER_LOSS)
def test_what_follows_the_last_loss_is_said_once(name: str, caplog: Any) -> None:
    net = Scaled(AFTER_LOSS[name])
    model = training(net)
    with caplog.at_level("WARNING", "poptorch::python"):
        for _ in range(2):
            model(torch.randn(5, 3), torch.randn(5, 4))
    said = [one.getMessage() for one in caplog.records if "not in the gradient" in one.getMessage()]
    assert len(said) == 1
    assert said[0].startswith("The loss is the result of aten.mse_loss.default (the outermost module, ")
    line = Scaled.forward.__code__.co_firstlineno + 1  # torch names the line of forward
    assert f"{name} (the outermost module, {__file__}:{line}) and what follows are not in the gradient" in said[0]
    assert "poptorch.identity_loss" in said[0]


IN_LOSS: dict[str, Forward] = {
    "identity_loss": lambda net, loss: poptorch.identity_loss(loss + net.a.weight.pow(2).sum(), "none"),
    "another form": lambda net, loss: loss.reshape(1).squeeze(),
    "detached": lambda net, loss: (loss.detach().exp(), loss),
}


@pytest.mark.parametrize("name", IN_LOSS)
def test_nothing_is_said_of_a_loss_that_is_whole(name: str, caplog: Any) -> None:
    with caplog.at_level("WARNING", "poptorch::python"):
        training(Scaled(IN_LOSS[name]))(torch.randn(5, 3), torch.randn(5, 4))
    assert not [one for one in caplog.records if "gradient" in one.getMessage()]
