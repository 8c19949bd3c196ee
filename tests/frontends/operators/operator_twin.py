"""Run a torch function on the simulated IPU and beside torch in float64: results and gradients of every operand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import simulator.frontends.lowering  # noqa: F401  # registers the rules
from simulator.frontends.capture.modules import CapturedModule, capture
from simulator.frontends.lowering.lowered import Entry, Lowered, Outputs, Settings
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.poplar import Engine, IPUModel
from tests.frontends.sgd_without_state import sgd_without_state

TILES = 16


class _Twin(torch.nn.Module):
    """Calls a function on parameters and other tensors; the last output is the sum of its results times fixed random
    numbers, so that every element has a gradient of its own. A factor of another shape counts as 1."""

    def __init__(self, function: Callable[..., Any], tensors: Sequence[Any], factors: Sequence[Any] | None) -> None:
        super().__init__()
        self.function = function
        self.tensors: list[Any] = []
        for number, tensor in enumerate(tensors):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                self.register_parameter(f"operand{number}", torch.nn.Parameter(tensor.detach().clone()))
                self.tensors.append(f"operand{number}")
            elif isinstance(tensor, torch.Tensor):
                self.register_buffer(f"operand{number}", tensor.clone())
                self.tensors.append(f"operand{number}")
            else:
                self.tensors.append(("plain", tensor))
        self.factors = factors

    def operands(self) -> list[Any]:
        return [getattr(self, one) if isinstance(one, str) else one[1] for one in self.tensors]

    def forward(self, start: torch.Tensor) -> Any:
        """`start` is a 0: an input, which every program of ours has."""
        made = self.function(*self.operands())
        results = list(made) if isinstance(made, tuple | list) else [made]
        if self.factors is None:
            return (*results, start + 0.0)
        total = start + 0.0
        for result, factor in zip([one for one in results if one.is_floating_point()], self.factors, strict=True):
            # Without a factor for each element the slope is one number, broadcast.
            weighted = result * factor.to(result.dtype) if factor.shape == result.shape else result
            total = total + weighted.sum().to(total.dtype)
        return (*results, total)


@functools.cache
def device() -> Any:
    model = IPUModel()
    model.tilesPerIPU = TILES
    return model.createDevice()


def _connect(engine: Engine, handle: str, buffer: Any) -> None:
    if buffer.size:
        engine.connectStream(handle, buffer)


def run_lowered(lowered: Lowered, captured: CapturedModule, inputs: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Outputs of one run, and the weights after it."""
    weights = {}
    with Engine(lowered.graph, list(lowered.programs)) as engine:
        engine.load(device())
        for name, pair in lowered.interface.weights.items():
            values = np.ascontiguousarray(captured.data[name].detach().numpy())
            weights[name] = values.astype(pair.from_host.dtype).copy()
            _connect(engine, pair.from_host.handle, weights[name])
            _connect(engine, pair.to_host.handle, weights[name])
        kept = []
        for stream, given in zip(lowered.interface.inputs.values(), inputs, strict=True):
            kept.append(np.ascontiguousarray(given.numpy()).astype(stream.dtype))
            _connect(engine, stream.handle, kept[-1])
        outputs = [np.zeros(one.stream.shape, one.stream.dtype) for one in lowered.interface.outputs]
        for one, buffer in zip(lowered.interface.outputs, outputs, strict=True):
            _connect(engine, one.stream.handle, buffer)
        engine.run(Entry.WEIGHTS_FROM_HOST)
        engine.run(Entry.MAIN)
        engine.run(Entry.WEIGHTS_TO_HOST)
    return outputs, weights


def on_ipu(function: Callable[..., Any], tensors: Sequence[Any], factors: Any) -> tuple[list[Any], dict[str, Any]]:
    """Results of `function` on the device, and the gradient of each floating operand by its name (none without
    factors: inference)."""
    twin = _Twin(function, tensors, factors)
    training = factors is not None
    captured = capture(twin, (torch.zeros(()),), {}, training, loss_output=-1 if training else None)
    update = sgd_without_state(1.0) if training else None
    settings = Settings(outputs=Outputs.ALL)
    lowered = ModuleLowering(device().getTarget(), captured.program, settings, update).lower()
    outputs, after = run_lowered(lowered, captured, [torch.zeros(())])
    gradients = {}
    if training:
        for name, parameter in twin.named_parameters():
            gradients[name] = parameter.detach().numpy().astype(np.float64) - after[name]
    return outputs[: len(outputs) - 1], gradients


def as_array(tensor: Any) -> Any:
    """A tensor's values; bfloat16, which NumPy lacks, as float32."""
    plain = tensor.detach().resolve_conj()
    return (plain.float() if plain.dtype is torch.bfloat16 else plain).numpy()


def in_torch(function: Callable[..., Any], tensors: Sequence[Any], factors: Any) -> tuple[list[Any], dict[str, Any]]:
    """The same by torch in float64."""
    wide = [one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in tensors]
    twin = _Twin(function, wide, None if factors is None else [one.double() for one in factors])
    made = twin(torch.zeros((), dtype=torch.float64))
    gradients = {}
    if factors is not None:
        made[-1].backward()
        for name, parameter in twin.named_parameters():
            gradient = parameter.grad
            gradients[name] = np.zeros(parameter.shape) if gradient is None else gradient.numpy()
    return [as_array(one) for one in made[:-1]], gradients


def check_operator(
    function: Callable[..., Any], *tensors: Any, rtol: float = 1e-4, training: bool = True, length: int = 1
) -> None:
    """Compare results, and in training gradients, of `function(*tensors)` with float64 torch. `rtol` is of the largest
    element times the square root of `length`, the number of terms that are summed. Gradients are read off a step of
    size 1, so they carry the rounding of the operands too."""
    factors = None
    if training:
        made = function(*tensors)
        floating = [one for one in (made if isinstance(made, tuple | list) else [made]) if one.is_floating_point()]
        generator = torch.Generator().manual_seed(7)
        factors = [torch.randn(one.shape, generator=generator) for one in floating]
    got, got_gradients = on_ipu(function, tensors, factors)
    expected, expected_gradients = in_torch(function, tensors, factors)
    bound = rtol * length**0.5
    for number, (one, other) in enumerate(zip(got, expected, strict=True)):
        assert one.shape == other.shape
        if other.dtype.kind in "bi":
            np.testing.assert_array_equal(one, other, err_msg=f"result {number}")
        else:
            _assert_near(one, other, bound, f"result {number}")
    assert set(got_gradients) == set(expected_gradients)
    for name, other in expected_gradients.items():
        operand = tensors[int(name.removeprefix("operand"))].detach().double().numpy()
        scale = np.abs(operand).max(initial=0.0)
        _assert_near(got_gradients[name], other, bound, f"gradient of {name}", scale)


def _assert_near(got: Any, expected: Any, bound: float, what: str, more: float = 0.0) -> None:
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0) + more
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * max(largest, 1e-6), err_msg=what)
