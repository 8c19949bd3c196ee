"""Tensors of both sides, pair by pair, and how far apart they may be.

Both sides compute the same sums in another order. A pair agrees within a share of its largest element: 1e-4 in float32
(some 800 roundings), 1e-2 where the program has float16 (10 roundings). What is further apart in float32 is compared
once more with eager torch in float64: it agrees where the device is at most 16 times as far from that as eager torch
itself, as the gradient of a bias before a norm is, which is nothing but rounding. Integers and truth values are equal
or not. NaN agrees with NaN, and an infinity with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.frontends.lowering.lowered import Outputs, Settings
from simulator.frontends.poptorch.beside_torch.device_step import DeviceStep
from simulator.frontends.poptorch.beside_torch.eager_step import EagerStep

#: of the largest element of a tensor
FLOAT_SHARE, HALF_SHARE = 1e-4, 1e-2
#: of the largest element of all gradients: less is rounding (16 roundings of that element)
_LEAST = 2e-6
#: of the largest element of all gradients: a smaller one may be rounding
NOISE = 1e-4
#: times that the device may be as far from float64 as eager torch is
ROUNDINGS = 16.0


@dataclass(frozen=True)
class Pair:
    """One tensor on both sides, its micro-batches stacked. `kind` is "output", "input" (that forward wrote to),
    "loss", "gradient", "state", "update" (of a weight by the optimizer), or of the executable that ran, whose other
    side is the device's second one, "result" or "change" (of a weight)."""

    kind: str
    name: str
    device: Any
    eager: Any
    least: float = 0.0  #: size of a difference that is rounding in any case

    def __str__(self) -> str:
        return {
            "output": f"output {self.name}",
            "input": f"input {self.name}",
            "loss": "the loss",
            "gradient": f"the gradient of {self.name}",
            "state": self.name,
            "update": f"the optimizer's step of {self.name}",
            "result": f"output {self.name}",
            "change": f"the change of {self.name}",
        }[self.kind]


@dataclass(frozen=True)
class Difference:
    """A pair that does not agree."""

    pair: Pair
    size: float  #: largest difference of an element; infinite where one side has NaN or another shape
    largest: float  #: element of the pair in torch
    allowed: float

    def __str__(self) -> str:
        device, eager = np.asarray(self.pair.device), np.asarray(self.pair.eager)
        there = "in the program" if self.pair.kind in ("result", "change") else "in torch"
        if device.shape != eager.shape:
            return f"{self.pair} has the shape {list(device.shape[1:])}, {there} {list(eager.shape[1:])}"
        if not np.isfinite(self.size):
            return f"{self.pair} is NaN or infinite at other elements than {there}"
        return (
            f"{self.pair} by {self.size:.3g} (largest element {there} {self.largest:.3g}, allowed {self.allowed:.2g})"
        )


@dataclass(frozen=True)
class CallResults:
    """What the user's executable gave in its first call: buffers of its outputs, and weights and buffers afterwards."""

    outputs: list[Any]
    weights: Mapping[str, Any]


def pairs_of(device: DeviceStep, eager: EagerStep) -> list[Pair]:
    """What is compared. Raises LookupError where the number of outputs is not the same."""
    counts = {len(made) for made in eager.outputs}
    if counts != {len(device.outputs)}:
        raise LookupError(
            f"eager torch returns {' or '.join(map(str, sorted(counts)))} tensors, the device {len(device.outputs)}"
        )
    names = device.program.output_names
    pairs = [
        Pair("output", name, np.stack(values), stacked([made[number] for made in eager.outputs]))
        for number, (name, values) in enumerate(zip(names, device.outputs, strict=True))
    ]
    numbers = {one.name: number for number, one in enumerate(device.program.inputs)}
    pairs += [
        Pair("input", name, np.stack(values), stacked([made[numbers[name]] for made in eager.inputs]))
        for name, values in device.inputs.items()
    ]
    loss = device.program.loss
    if loss is not None and loss not in device.program.outputs and eager.losses:
        pairs.append(Pair("loss", "", np.stack(device.values[loss.number]), stacked(eager.losses)))
    pairs += _gradients(device, eager)
    pairs += [
        Pair("state", name, values[None], stacked([eager.state[name]]))
        for name, values in device.state.items()
        if name in eager.state
    ]
    return pairs


def _gradients(device: DeviceStep, eager: EagerStep) -> list[Pair]:
    if device.program.loss is None:
        return []
    found = [abs(one).max().item() for one in eager.gradients.values() if one is not None and one.numel()]
    least = _LEAST * max((one for one in found if np.isfinite(one)), default=0.0)
    pairs = []
    for weight in device.program.weights:
        if weight.name not in eager.gradients:
            continue
        there, here = device.gradients.get(weight.name), eager.gradients[weight.name]
        if there is None and here is None:
            continue
        zeros = np.zeros(weight.value.shape)
        filled = zeros if there is None else there, zeros if here is None else here.cpu().numpy()
        pairs.append(Pair("gradient", weight.name, filled[0][None], filled[1][None], least))
    return pairs


def executable_pairs(device: DeviceStep, results: CallResults, settings: Settings) -> list[Pair]:
    """The executable's results beside those of the program compiled now. Weights whose gradient is nothing but
    rounding count as equal, since an optimizer may move them either way."""
    pairs = []
    if not settings.synthetic_data:
        for number, (name, buffer) in enumerate(zip(device.program.output_names, results.outputs, strict=True)):
            sent = np.stack([values for part in (device.outputs, *device.later_outputs) for values in part[number]])
            turns = sent.reshape(len(sent) // settings.replicas, settings.replicas, *sent.shape[1:])
            pairs.append(Pair("result", name, buffer, _sent_turns(turns, settings).reshape(buffer.shape)))
    largest = max((abs(one).max() for one in device.gradients.values() if one.size), default=0.0)
    for name, values in results.weights.items():
        before, after = device.weights[name].astype(np.float64), device.last[name].astype(np.float64)
        changed = values.astype(np.float64)
        if name in device.gradients:
            changed = np.where(abs(device.gradients[name]) <= NOISE * largest, after, changed)
        pairs.append(Pair("change", name, (changed - before)[None], (after - before)[None], rounding_of(values)))
    return pairs


def _sent_turns(turns: Any, settings: Settings) -> Any:
    """Those of all micro-batches, [turns, replicas, ...], that the user's settings send."""
    if settings.outputs is Outputs.FINAL:
        return turns[-1:]
    if settings.outputs is Outputs.EVERY_N:
        step = settings.accumulation * settings.period
        return turns[step - 1 :: step]
    return turns.sum(0, keepdims=True) if settings.outputs is Outputs.SUM else turns


def rounding_of(weight: Any) -> float:
    """The size of a change of a weight that is rounding in its type."""
    values = np.asarray(weight)
    if not values.size or values.dtype.kind != "f":
        return 0.0
    return 2 * float(np.finfo(values.dtype).eps) * float(np.abs(values.astype(np.float64)).max())


def differences(pairs: Sequence[Pair], share: float) -> list[Difference]:
    """The pairs that differ."""
    return [apart for pair in pairs if (apart := difference(pair, share)) is not None]


def stacked(tensors: Sequence[Any]) -> Any:
    """Tensors of torch as one array with a dimension more."""
    plain = [one.detach().cpu() for one in tensors]
    return np.stack([(one.double() if one.is_floating_point() else one).numpy() for one in plain])


def difference(pair: Pair, share: float) -> Difference | None:
    """How a pair differs, None where it agrees within a share of its largest element."""
    device, eager = np.asarray(pair.device), np.asarray(pair.eager)
    if device.shape != eager.shape:
        return Difference(pair, np.inf, 0.0, 0.0)
    size, largest = apart(device, eager), _largest(eager)
    is_exact = eager.dtype.kind in "biu"
    allowed = 0.0 if is_exact else max(share * largest, pair.least)
    return Difference(pair, size, largest, allowed) if size > allowed else None


def relative(pair: Pair) -> float:
    """The difference of a pair as a share of its largest element; of the largest of all gradients where it is nothing
    but rounding beside that."""
    size, largest = apart(np.asarray(pair.device), np.asarray(pair.eager)), _largest(np.asarray(pair.eager))
    whole = pair.least / _LEAST if size <= pair.least else largest
    return size / whole if size and whole else 0.0


def is_rounding(found: Difference, precise: Pair) -> bool:
    """Whether the device is about as far from float64, the eager side of `precise`, as eager torch is in float32."""
    device, eager, exact = (np.asarray(one) for one in (found.pair.device, found.pair.eager, precise.eager))
    if not device.shape == eager.shape == exact.shape or eager.dtype.kind in "biu":
        return False
    allowed = max(ROUNDINGS * apart(eager, exact), found.allowed)
    return apart(device, exact) <= allowed


def apart(first: Any, second: Any) -> float:
    """The largest difference of two elements; infinite where only one is NaN, or an infinity stands against another
    number."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    if not a.size:
        return 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        sizes = np.where(same, 0.0, abs(a - b))
    return float(np.where(np.isnan(sizes), np.inf, sizes).max())


def _largest(values: Any) -> float:
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return float(abs(finite.astype(np.float64)).max()) if finite.size else 0.0
