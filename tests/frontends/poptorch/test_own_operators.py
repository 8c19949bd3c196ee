"""PopTorch's own operators in PyTorch: values, gradients, and that a capture keeps them as nodes."""

from typing import Any

import pytest
import torch

from simulator.frontends import poptorch
from simulator.frontends.capture.modules import capture

IDENTITIES = {
    "nop": poptorch.nop,
    "recomputation_checkpoint": poptorch.recomputationCheckpoint,
    "set_available_memory": lambda x: poptorch.set_available_memory(x, 0.3),
    "ipu_print_tensor": lambda x: poptorch.ipu_print_tensor(x, "title"),
    "set_overlap_for_input": lambda x: poptorch.set_overlap_for_input(x, poptorch.OverlapMode.NoOverlap),
    "set_overlap_for_output": lambda x: poptorch.set_overlap_for_output(
        x, poptorch.OverlapMode.OverlapAccumulationLoop
    ),
}


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def operators(module, *inputs):
    return [one.name for one in capture(module, inputs, {}, training=False).program.operators]


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_pass_values_and_gradients_and_stay_in_the_graph(name):
    x = torch.randn(3, 2, requires_grad=True)
    result = IDENTITIES[name](x)
    assert torch.equal(result, x)
    slope = torch.randn(3, 2)
    result.backward(slope)
    assert torch.equal(x.grad, slope)
    assert operators(Calls(IDENTITIES[name]), x.detach()) == [f"poptorch.{name}.default"]


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 6.0), ("mean", 2.0), ("none", [1.0, 2.0, 3.0])])
def test_identity_loss_reduces_as_it_is_told(reduction, expected):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = poptorch.identity_loss(x, reduction)
    assert loss.tolist() == expected
    loss.sum().backward()
    assert x.grad.tolist() == pytest.approx([1 / 3 if reduction == "mean" else 1.0] * 3)
    assert operators(Calls(lambda t: poptorch.identity_loss(t, reduction)), x.detach()) == [
        "poptorch.identity_loss.default"
    ]


def test_gradients_of_identity_loss_agree_with_finite_differences():
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for reduction in ("sum", "mean", "none"):
        assert torch.autograd.gradcheck(lambda t, r=reduction: poptorch.identity_loss(t, r), (x,))


def test_checkpoints_keep_the_form_of_their_arguments():
    a, b = torch.ones(1), torch.zeros(2)
    assert isinstance(poptorch.recomputationCheckpoint(a, b), tuple)
    assert isinstance(poptorch.recomputationCheckpoint([a, b]), list)
    assert isinstance(poptorch.recomputationCheckpoint((a,)), tuple)
    with pytest.raises(ValueError, match="All inputs must be tensors"):
        poptorch.recomputationCheckpoint(a, 1)


def test_overlap_keeps_the_form_of_nested_tensors():
    nested = {"a": [torch.ones(1), (torch.zeros(2),)]}
    marked = poptorch.set_overlap_for_input(nested, poptorch.OverlapMode.NoOverlap)
    assert torch.equal(marked["a"][1][0], torch.zeros(2))


def test_wrong_arguments_are_refused():
    for call in (poptorch.nop, lambda x: poptorch.set_available_memory(x, 0.5), poptorch.ipu_print_tensor):
        with pytest.raises(poptorch.Error, match=r"must take a torch.tensor argument"):
            call(3)
    for proportion in (-0.1, 1.5, "half", True):
        with pytest.raises(ValueError, match="a proportion between 0 and 1"):
            poptorch.set_available_memory(torch.ones(1), proportion)
    with pytest.raises(AssertionError, match="Unsupported reduction type!"):
        poptorch.identity_loss(torch.ones(1), "max")
    with pytest.raises(ValueError, match="float_format"):
        poptorch.ipu_print_tensor(torch.ones(1), float_format="hex")
    with pytest.raises(ValueError, match=r"takes a poptorch\.OverlapMode"):
        poptorch.set_overlap_for_input(torch.ones(1), "no_overlap")


# Loops, conditions, products in parts


class Function(torch.nn.Module):
    """A function of a weight and the input; the loss is the sum of its squares."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(torch.randn(4, 4) / 2)

    def forward(self, x: Any) -> Any:
        made = self.function(x, self.weight)
        return made, poptorch.identity_loss((made.float() ** 2).sum(), "none")


def check_trains(function: Any, eager: Any, *inputs: Any) -> None:
    """Results, loss and the step of the weight are those of eager torch with `eager` in place of `function`."""
    net = Function(function)
    twin = Function(eager)
    twin.load_state_dict(net.state_dict())
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.01))
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.01)
    for x in inputs:
        made, loss = twin(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        got, got_loss = model(x)
        torch.testing.assert_close(got, made.detach(), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(got_loss, loss.detach(), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(net.weight.detach(), twin.weight.detach(), rtol=1e-4, atol=1e-4)
    model.destroy()


def test_a_loop_calls_its_body_on_its_results() -> None:
    def looped(x: Any, w: Any) -> Any:
        return poptorch.for_loop(3, lambda a, b: (torch.tanh(a @ w), b + a), [x, x])[1]

    def eager(x: Any, w: Any) -> Any:
        a, b = x, x
        for _ in range(3):
            a, b = torch.tanh(a @ w), b + a
        return b

    check_trains(looped, eager, torch.randn(2, 4), torch.randn(2, 4))
    assert poptorch.for_loop(0, lambda a: a + 1, [torch.ones(1)]) == [torch.ones(1)]


def test_a_condition_chooses_between_bodies() -> None:
    """The condition is data; gradients go through the chosen body."""

    def chosen(x: Any, w: Any) -> Any:
        return poptorch.cond(x[0, 0] > 0, lambda a: a @ w, [x], lambda a: (a + w[:2]).mul_(3), [x])[0]

    def eager(x: Any, w: Any) -> Any:
        return x @ w if x[0, 0] > 0 else (x + w[:2]) * 3

    x = torch.rand(2, 4) + 0.1
    check_trains(chosen, eager, x, -x)


@pytest.mark.parametrize("mode", ["InputChannels", "ReducingDim", "OutputChannels", "Disabled"])
def test_a_product_in_parts_is_the_product(mode: str) -> None:
    kind = poptorch.MatMulSerializationMode[mode]
    check_trains(lambda x, w: poptorch.serializedMatMul(x, w, kind, 2), lambda x, w: x @ w, torch.randn(2, 4))
    halves = torch.randn(2, 4).half()
    made = poptorch.serializedMatMul(halves, halves.T, kind, 2, keep_precision=True)
    assert made.dtype == torch.float16
    torch.testing.assert_close(made, halves @ halves.T, rtol=5e-3, atol=5e-3)


_X = torch.ones(2, 4)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: poptorch.for_loop(2.0, lambda a: a, [_X]), ValueError, "count is a whole number"),
        (lambda: poptorch.for_loop(2, lambda a: a, _X), ValueError, "expects inputs to be a list of tensors"),
        (lambda: poptorch.for_loop(2, lambda a: a, [3]), ValueError, "the one at index 0 is a int"),
        (lambda: poptorch.for_loop(2, lambda a: a[0], [_X]), poptorch.Error, r"it takes float32\[2, 4\] and returns"),
        (lambda: poptorch.cond(_X, lambda: _X, [], lambda: _X, []), ValueError, "condition is one element"),
        (
            lambda: poptorch.cond(_X[0, 0], lambda: _X, [], lambda: _X[0], []),
            poptorch.Error,
            "same shapes and types: then_body",
        ),
        (
            lambda: poptorch.cond(_X[0, 0], lambda: _X.add_(1), [], lambda: _X, []),
            poptorch.Error,
            "then_body writes to a tensor from outside",
        ),
        (
            lambda: poptorch.serializedMatMul(_X, _X.T, poptorch.MatMulSerializationMode.ReducingDim, 3),
            ValueError,
            "factor 3 does not divide the 4 of ReducingDim",
        ),
        (lambda: poptorch.serializedMatMul(_X, _X.T, "rows", 2), ValueError, "takes a poptorch.MatMul"),
    ],
)
def test_wrong_loops_conditions_and_products_are_one_sentence(call: Any, error: Any, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()
