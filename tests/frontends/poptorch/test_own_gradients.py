"""torch.autograd.Function and hooks of tensors, weights and modules: as in eager torch, or refused by one sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from simulator.frontends import poptorch
from tests.frontends.poptorch.gradient_twins import Forward, Net, check_equal, training, twin_losses

pytestmark = pytest.mark.usefixtures("few_tiles")

Setup = Callable[[Any], Any]


class Rounded(torch.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        return slope


class Reversed(torch.autograd.Function):
    """Identity whose gradient turns round."""

    @staticmethod
    def forward(ctx: Any, x: Any, strength: float) -> Any:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        return slope.neg() * ctx.strength, None


class Product(torch.autograd.Function):
    """Saves its operands, and asks which gradients are needed. The gradient of the bias has the slope's shape."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return x.sigmoid() @ weight.t() + bias

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        x, weight = ctx.saved_tensors
        out = x.sigmoid()
        before = slope @ weight * out * (1 - out) if ctx.needs_input_grad[0] else None
        return before, slope.t() @ out, slope


class Several(torch.autograd.Function):
    """Three results, of which one has no gradient; written with setup_context."""

    @staticmethod
    def forward(x: Any, factor: float) -> Any:
        return x * factor, x.abs().argmax(1), x.relu()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, slope: Any, _: Any, other: Any) -> Any:
        (x,) = ctx.saved_tensors
        return slope * ctx.factor * 0.5 + torch.where(x > 0, other, torch.zeros_like(other)), None


class Nested(torch.autograd.Function):
    """Uses another function in both directions, and writes to what it has made."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return rounded(x * 2).clamp_(-1, 1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Any) -> Any:
        slope = slope.clone()
        slope.clamp_(-0.05, 0.05)
        return rounded(slope * 100) / 100


class Writing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        return slope * 2


rounded = Rounded.apply

FUNCTIONS: dict[str, Forward] = {
    "straight through": lambda net, x: rounded(net.a(x) * 3),
    "gradient reversal": lambda net, x: net.c(Reversed.apply(net.a(x), 0.5)),
    "saved tensors": lambda net, x: Product.apply(net.a(x), net.c.weight, net.c.bias),
    "gradients of weights only": lambda net, x: Product.apply(x[:, [0, 1, 2, 0]], net.c.weight, net.c.bias),
    "several results": lambda net, x: sum(Several.apply(net.a(x), 3.0)[::2]),
    "a result of several": lambda net, x: Several.apply(net.a(x), 3.0)[0],
    "nested": lambda net, x: Nested.apply(net.a(x)),
    "reentrant checkpoint": lambda net, x: checkpoint(lambda h: net.c(h).tanh(), net.a(x), use_reentrant=True),
}


def halved(slope: Any) -> Any:
    return slope * 0.5


def clipped(slope: Any) -> Any:
    return slope * torch.clamp(0.1 / (slope.norm() + 1e-6), max=1.0)


def hooked_after_use(net: Any, x: Any) -> Any:
    out = net.a(x)
    after = net.c(out)
    out.register_hook(lambda slope: slope.clamp(-0.01, 0.01))
    out.register_hook(lambda slope: slope * 3)
    out.register_hook(lambda slope: None)
    return after + out


def on_weights(net: Any) -> None:
    for weight in net.parameters():
        weight.register_hook(clipped)


def masked(net: Any) -> None:
    net.c.weight.register_hook(lambda slope: slope * (net.c.weight.detach() > 0))


def on_modules(net: Any) -> None:
    net.c.register_full_backward_pre_hook(lambda module, slopes: (slopes[0] * 0.5,))
    net.c.register_full_backward_hook(lambda module, before, after: (before[0] * 0.5 + after[0].clamp(-0.1, 0.1),))
    net.c.register_full_backward_hook(lambda module, before, after: (before[0] * 3,))
    net.a.register_full_backward_hook(lambda module, before, after: None)


def layers(net: Any, x: Any) -> Any:
    return net.c(net.a(x).tanh())


HOOKS: dict[str, tuple[Forward, Setup]] = {
    "tensor": (hooked_after_use, lambda net: None),
    "weights": (layers, on_weights),
    "mask of a weight": (layers, masked),
    "modules": (layers, on_modules),
}


def keeping(net: Any, x: Any) -> Any:
    out = net.a(x)
    out.register_hook(KEPT.append)
    return out


def hook_of_a_weight(net: Any, x: Any) -> Any:
    net.a.weight.register_hook(halved)
    return net.a(x)


def removed_hook(net: Any, x: Any) -> Any:
    out = net.a(x)
    out.register_hook(halved).remove()
    return out


KEPT: list[Any] = []
REFUSED: dict[str, tuple[Forward, Setup, str]] = {
    "mark_dirty": (lambda net, x: Writing.apply(net.a(x) * 1), lambda net: None, "Writing: .*mark_dirty"),
    "a kept gradient": (keeping, lambda net: None, "hook append keeps the gradient"),
    "a hook of a weight in forward": (hook_of_a_weight, lambda net: None, "one more with each step"),
    "a hook that is removed": (removed_hook, lambda net: None, "cannot be removed in forward"),
    "post accumulate": (
        layers,
        lambda net: net.a.weight.register_post_accumulate_grad_hook(lambda weight: None),
        "a.weight has a hook of register_post_accumulate_grad_hook",
    ),
    "register_backward_hook": (
        layers,
        lambda net: net.c.register_backward_hook(lambda module, before, after: None),
        "module 'c' has a hook of register_backward_hook",
    ),
}


def made(forward: Forward, setup: Setup = lambda net: None) -> Any:
    """A network with hooks, which torch does not copy."""
    torch.manual_seed(1)
    net = Net(forward)
    setup(net)
    return net


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_brings_its_gradient_along(name: str) -> None:
    check_equal(Net(FUNCTIONS[name]))


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # eager torch says it of the first layer
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_change_gradients(name: str) -> None:
    check_equal(made(*HOOKS[name]), made(*HOOKS[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_functions_and_hooks_that_are_refused(name: str) -> None:
    forward, setup, words = REFUSED[name]
    with pytest.raises(poptorch.Error, match=words):
        training(made(forward, setup))(torch.randn(5, 3), torch.randn(5, 4))


def test_hooks_see_gradients_without_the_scaling_of_the_loss() -> None:
    x, y = torch.randn(5, 3), torch.randn(5, 4)
    net, twin = made(layers, on_weights), made(layers, on_weights)
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.1, loss_scaling=128.0, use_combined_accum=False)
    model = poptorch.trainingModel(net, poptorch.Options().showCompilationProgressBar(False), optimizer)
    assert [float(model(x, y)) for _ in range(2)] == pytest.approx(twin_losses(twin, x, y, 2), rel=1e-4)


def test_functions_and_hooks_in_the_stages_of_a_pipeline() -> None:
    def staged(net: Any, x: Any) -> Any:
        with poptorch.Block("first", ipu_id=0):
            out = Reversed.apply(net.a(x), 0.5)
            out.register_hook(lambda slope: slope.clamp(-0.01, 0.01))
        with poptorch.Block("second", ipu_id=1):
            return net.c(out)

    class Staged(Net):
        def forward(self, x: Any, y: Any) -> Any:
            out = self.function(self, x)
            with poptorch.Block("second", ipu_id=1):
                return F.mse_loss(out, y)

    net = Staged(staged)
    twin, x, y = copy.deepcopy(net), torch.randn(4, 3), torch.randn(4, 4)
    options = poptorch.Options().showCompilationProgressBar(False)
    options.Training.gradientAccumulation(4)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for part, wanted in zip(x.split(1), y.split(1), strict=True):
        (twin(part, wanted) / 4).backward()
    optimizer.step()
    poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.1))(x, y)
    for name, weight in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], weight, rtol=1e-4, atol=1e-5, msg=name)
