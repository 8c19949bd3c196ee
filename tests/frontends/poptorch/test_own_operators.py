"""PopTorch's own operators in PyTorch: values, gradients, and that a capture keeps them as nodes."""

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
