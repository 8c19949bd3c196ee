"""Normalisations on the device beside float64 torch: results, gradients and running statistics."""

from typing import Any

import numpy as np
import pytest
import torch

from simulator.base.errors import poplar_error
from simulator.frontends.capture.modules import capture
from simulator.frontends.lowering.lowered import Outputs, Settings
from simulator.frontends.lowering.programs import ModuleLowering
from tests.frontends.operators.operator_twin import check_operator, device, run_lowered
from tests.frontends.sgd_without_state import sgd_without_state

F = torch.nn.functional


def parameters(channels: int, affine: bool) -> list[torch.Tensor]:
    return [torch.randn(channels), torch.randn(channels)] if affine else []


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(5, 3, 4, 2), (7, 1), (2, 6, 5), (2, 2, 2, 3, 2)])
def test_batch_norm_by_the_batch(shape: tuple[int, ...], affine: bool) -> None:
    check_operator(
        lambda x, *given: F.batch_norm(x, None, None, *given, training=True),
        torch.randn(*shape) + 0.5,
        *parameters(shape[1], affine),
        length=10,
    )


@pytest.mark.parametrize("given", [(), ("weight",), ("weight", "bias")])
def test_batch_norm_by_fixed_statistics(given: tuple[str, ...]) -> None:
    mean, variance = torch.randn(3), torch.rand(3) + 0.5
    # The statistics are no operands of the gradient.
    check_operator(
        lambda x, *rest: F.batch_norm(x, mean.to(x.dtype), variance.to(x.dtype), *rest),
        torch.randn(4, 3, 2, 5),
        *(torch.randn(3) for _ in given),
        length=10,
    )


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 3, 2), 3), ((1, 4, 5), 1), ((3, 8), 2), ((2, 3, 2, 2), 3)])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(shape: tuple[int, ...], groups: int, affine: bool) -> None:
    check_operator(
        lambda x, *given: F.group_norm(x, groups, *given),
        torch.randn(*shape),
        *parameters(shape[1], affine),
        length=12,
    )


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("shape", "last"), [((3, 5), 1), ((2, 3, 4), 2), ((7,), 1), ((2, 1, 3), 1)])
def test_layer_norm(shape: tuple[int, ...], last: int, affine: bool) -> None:
    size = shape[-last:]
    given = [torch.randn(size), torch.randn(size)] if affine else []
    check_operator(lambda x, *rest: F.layer_norm(x, size, *rest), torch.randn(*shape), *given, length=12)


def test_layer_norm_of_halves() -> None:
    operands = (torch.randn(4, 8).half(), torch.randn(8).half(), torch.randn(8).half())
    check_operator(lambda x, w, b: F.layer_norm(x, (8,), w, b), *operands, rtol=2e-2)


@pytest.mark.parametrize("affine", [True, False])
def test_instance_norm(affine: bool) -> None:
    check_operator(
        lambda x, *given: F.instance_norm(x, None, None, *given),
        torch.randn(2, 3, 4, 2),
        *parameters(3, affine),
        length=8,
    )


@pytest.mark.parametrize(("shape", "last", "eps"), [((3, 5), 1, None), ((2, 3, 4), 2, 1e-2), ((1, 1), 1, 1e-5)])
def test_rms_norm(shape: tuple[int, ...], last: int, eps: float | None) -> None:
    size = shape[-last:]
    check_operator(lambda x, w: F.rms_norm(x, size, w, eps), torch.randn(*shape), torch.randn(size), length=12)
    check_operator(lambda x: F.rms_norm(x, size, eps=eps), torch.randn(*shape), length=12)


def test_squares_of_large_halves_do_not_overflow() -> None:
    operands = ((torch.randn(3, 8) * 500).half(), torch.randn(8).half())
    check_operator(lambda x, w: F.rms_norm(x, (8,), w), *operands, rtol=2e-2)
    check_operator(lambda x: F.layer_norm(x, (8,)), operands[0], rtol=2e-2)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weight_norm(dim: int) -> None:
    v = torch.randn(3, 2, 4)
    lengths = torch.randn([size if one == dim else 1 for one, size in enumerate(v.shape)] if dim >= 0 else ())
    check_operator(lambda v, g: torch._weight_norm(v, g, dim), v, lengths, length=12)


def test_norms_with_their_statistics() -> None:
    x, w, b = torch.randn(2, 4, 3), torch.randn(4), torch.randn(4)
    check_operator(lambda x: torch.native_layer_norm(x, (4, 3), None, None, 1e-3), x, training=False, length=12)
    check_operator(
        lambda x, w, b: torch.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-3), x, w, b, training=False, length=6
    )
    check_operator(lambda x, w, b: torch.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-3)[0], x, w, b, length=6)
    with pytest.raises(poplar_error, match="native_layer_norm has no gradient of its mean"):
        check_operator(lambda x: torch.native_layer_norm(x, (4, 3), None, None, 1e-3), x)


def run_step(layer: Any, batch: torch.Tensor, training: bool) -> tuple[list[Any], dict[str, Any]]:
    """Outputs and weights after one step of the sum of a layer's squares."""

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> Any:
            out = self.layer(x)
            return out, (out**3).sum()

    captured = capture(Step(), (batch,), {}, training, loss_output=1 if training else None)
    update = sgd_without_state(0.0) if training else None
    lowered = ModuleLowering(device().getTarget(), captured.program, Settings(outputs=Outputs.ALL), update).lower()
    return run_lowered(lowered, captured, [batch])


@pytest.mark.parametrize("momentum", [0.1, 0.3])
@pytest.mark.parametrize(
    "make",
    [
        lambda momentum: torch.nn.BatchNorm2d(3, momentum=momentum),
        lambda momentum: torch.nn.InstanceNorm2d(3, momentum=momentum, affine=True, track_running_stats=True),
    ],
)
def test_running_statistics_move_as_in_torch(make: Any, momentum: float) -> None:
    layer = make(momentum)
    layer.running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
    layer.running_var.copy_(torch.tensor([1.5, 0.5, 2.0]))
    batch = torch.randn(4, 3, 2, 3) * 2 + 1
    _, after = run_step(layer, batch, training=True)
    layer(batch)
    np.testing.assert_allclose(after["layer.running_mean"], layer.running_mean, rtol=1e-5)
    np.testing.assert_allclose(after["layer.running_var"], layer.running_var, rtol=1e-4)
    assert after["layer.num_batches_tracked"] == layer.num_batches_tracked


@pytest.mark.parametrize("kind", [torch.nn.BatchNorm1d, torch.nn.InstanceNorm1d])
def test_inference_uses_running_statistics_even_of_a_module_in_training_mode(kind: Any) -> None:
    layer = kind(3, affine=True, track_running_stats=True)
    layer.running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
    layer.running_var.copy_(torch.tensor([1.5, 0.5, 2.0]))
    batch = torch.randn(4, 3, 5)
    before = {name: one.clone() for name, one in layer.named_buffers()}
    outputs, after = run_step(layer.train(), batch, training=False)
    expected = layer.eval()(batch).detach()
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-5)
    for name in ("running_mean", "running_var"):
        np.testing.assert_array_equal(after[f"layer.{name}"], before[name])


def test_a_frozen_batch_norm_passes_gradients_and_keeps_its_statistics() -> None:
    layer = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.BatchNorm1d(3).eval())
    layer[1].running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
    batch = torch.randn(2, 2, 5)
    outputs, after = run_step(layer, batch, training=True)
    np.testing.assert_allclose(outputs[0], layer(batch).detach(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(after["layer.1.running_mean"], layer[1].running_mean)
