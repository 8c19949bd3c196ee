"""The device's side of the check: the step of the user's program once more, with all that is compared sent to the host.

The operators, the settings, the optimizer and the target are the user's; the program keeps the gradients that the
optimizer gets. It runs on simulated hardware of its own with memory to spare, and leaves no report. It costs one
compilation and one run; the other iterations of the user's first call run one by one, so that its results can be
compared with those of the executable that the user runs.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simulator.frontends.capture.modules import CapturedModule
from simulator.frontends.captured import Operator, Program, Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.loss_scaling import FACTOR
from simulator.frontends.lowering.lowered import Lowered, Observed, Outputs, Settings
from simulator.frontends.lowering.optimizers import update_rule
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.lowering.shards import Spot
from simulator.frontends.lowering.update_steps import Update, Updated
from simulator.frontends.poptorch.beside_torch.calls import CALL
from simulator.frontends.poptorch.compiled_model import ENGINE_OPTIONS, ModelRequest
from simulator.frontends.poptorch.host_inputs import send_inputs
from simulator.frontends.session.device_program import DeviceProgram
from simulator.poplar import Device, Target, Tensor, compileGraph
from simulator.poplibs import popops, poputil

_VARIABLE = "POPLAR_ENGINE_OPTIONS"
_PREFIX = "Gradient___"
#: of one tile: more than any chip has, so that what is kept for the comparison always fits
_BYTES_PER_TILE = 1 << 24

#: operators that multiply by a mask of random zeros: their gradient applies the mask to anything
DROPOUTS = frozenset(
    (
        "aten.dropout.default",
        "aten.native_dropout.default",
        "popvision.feature_dropout.default",
        "popvision.alpha_dropout.default",
        "popvision.feature_alpha_dropout.default",
    )
)
#: an operator whose result is the mask of a dropout, in a call that multiplies by it
_MASK = "aten.bernoulli.p"
#: operators whose result is what they draw
_DRAWING = ("rand", "normal", "uniform", "bernoulli", "exponential", "random", "cauchy", "geometric", "log_normal")


@dataclass
class Drawn:
    """The random numbers of one operator: what it gave, or the factors of a dropout. `values` has an array for each
    micro-batch."""

    operator: Operator
    values: list[Any] = field(default_factory=list)

    @property
    def is_mask(self) -> bool:
        return self.operator.name in DROPOUTS


@dataclass
class DeviceStep:
    """What the device computed in one step; lists have an array for each micro-batch."""

    program: Program
    outputs: list[list[Any]]
    gradients: dict[str, Any]
    state: dict[str, Any]  #: weights and buffers that forward wrote
    drawn: list[Drawn]
    values: dict[int, list[Any]]  #: by the number of the value: the loss, and what `observed` names
    slopes: dict[int, list[Any]]  #: gradients of these
    inputs: dict[str, list[Any]]  #: those that forward wrote to
    undrawn: list[Operator]  #: operators that draw inside, so that nobody can draw the same
    weights: dict[str, Any]  #: with buffers and the optimizer's states, as they were sent
    stepped: dict[str, Any]  #: the same after the optimizer's step
    later_outputs: list[list[list[Any]]]  #: of the call's further iterations
    last: dict[str, Any]  #: `weights` after these


class _CheckedLowering(ModuleLowering):
    """A lowering whose draws, and values and gradients of chosen numbers, go to the host."""

    def __init__(
        self, target: Target, program: Program, settings: Settings, update: Update | None, chosen: Sequence[Value]
    ) -> None:
        super().__init__(target, program, settings, update)
        self.chosen = list(chosen)
        self.drawn: list[Drawn] = []
        self.undrawn: list[Operator] = []
        self._masks: dict[int, Tensor] = {}

    def _operators(self) -> Iterable[Operator]:
        draws = self.at.draws
        for operator in super()._operators():
            yield operator
            if self.at.draws > draws:
                self._note_draw(operator)
            draws = self.at.draws
        self.chosen = [value for value in self.chosen if value.number in self.tape.tensors]
        names = [f"draw {number}" for number in range(len(self.drawn))]
        names += [f"{kind} {value.number}" for value in self.chosen for kind in ("value", "slope")]
        observed = tuple(Observed(name.replace(" ", "_"), name, Outputs.ALL) for name in names)
        self.settings = replace(self.settings, observed=observed)

    def _note_draw(self, operator: Operator) -> None:
        if operator.name in DROPOUTS:
            backward, result = self.tape.ran[-1][1], operator.results[0]
            assert backward is not None
            with self.at.operator(operator.name, "Mask", operator.place):
                ones = self.at.graph.clone(self.tape.tensor(result), "ones")
                popops.fill(self.at.graph, ones, self.at.program, 1.0, self.at.name("ones"))
                self._masks[len(self.drawn)] = backward(self.at, [ones, None], frozenset({"input"}))["input"]
            self.drawn.append(Drawn(operator))
        elif operator.recorded is None and operator.name.split(".")[1].startswith(_DRAWING):
            self.drawn.append(Drawn(operator))
        else:
            self.undrawn.append(operator)

    def _drawn_value(self, operator: Operator) -> Value:
        """What the call of an operator that draws gives: `exponential_` is a uniform draw and what is made of it."""
        call = operator.place.annotations.get(CALL)
        if operator.name in (*DROPOUTS, _MASK) or call is None:
            return operator.results[0]
        operators = [other for other in self.captured.operators if other.place.annotations.get(CALL) == call]
        return operators[-1].results[0]

    def _observed_tensor(self, one: Observed) -> tuple[Tensor, Value, Spot]:
        kind, _, number = one.tensor.partition(" ")
        if kind == "draw":
            value = self._drawn_value(self.drawn[int(number)].operator)
            tensor = self._masks.get(int(number))
            return self.tape.tensor(value) if tensor is None else tensor, value, self.tape.homes[value.number]
        value = next(chosen for chosen in self.chosen if chosen.number == int(number))
        home = self.tape.homes[value.number]
        if kind == "value":
            return self.tape.tensor(value), value, home
        slope = self.tape.slopes.get(value.number)
        if slope is None:
            with self.at.at_spot(home):
                slope = self.at.constant(value.dtype, value.shape, 0, "noGradient")
        return slope, value, self.execution.slope_spot(home)


class _KeepingGradients(Update):
    """An optimizer's step whose gradients, which add up apart from its states, become states too, which the host
    fetches."""

    def __init__(self, update: Update) -> None:
        self._update = update

    def __call__(self, at: Building, weights: Mapping[str, tuple[Tensor, Tensor]]) -> Updated:
        slopes = {
            f"{_PREFIX}{name}": poputil.duplicate(at.graph, slope, at.program, f"{name}/gradient")
            for name, (_, slope) in weights.items()
        }
        updated = self._update(at, weights)
        first_values = {**updated.first_values, **dict.fromkeys(slopes, 0.0)}
        return Updated({**updated.states, **slopes}, updated.rates, first_values)


def checked_settings(settings: Settings, training: bool) -> Settings:
    """Those of one step, with all outputs. A pipeline that infers needs all its micro-batches."""
    iterations = settings.iterations if settings.pipelined and not training else 1
    return replace(settings, iterations=iterations, outputs=Outputs.ALL, period=1, observed=(), synthetic_data=False)


@dataclass(frozen=True)
class Call:
    """A call of the user's model: the tensors of each iteration, flat over its micro-batches; for training the states
    and numbers of the optimizer."""

    groups: list[int]  #: of inputs, for each replica
    seed: int
    tensors: Sequence[Sequence[Any]]
    states: Mapping[str, Any] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


def run_on_device(
    request: ModelRequest, captured: CapturedModule, target: Target, call: Call, chosen: Sequence[Value] = ()
) -> DeviceStep:
    """The steps of a call. `chosen` values and their gradients are among what the first one gives."""
    program = captured.program
    loss = [program.loss] if program.loss is not None else []
    chosen = [*{value.number: value for value in (*chosen, *loss)}.values()]
    settings, target = checked_settings(request.settings, request.training), roomy(target)
    update = None if request.optimizer is None else _KeepingGradients(update_rule(request.optimizer))
    lowering = _CheckedLowering(target, program, settings, update, chosen)
    with _without_reports():
        lowered = lowering.lower()
        running = _compiled(lowered, request.engine_options)
    try:
        device = Device(target)  # of its own, which no other process can take
        device.attach()
        running.load(device)
        running.engine.setPrintTensorStream(io.StringIO())  # the program's own run prints
        return _run(running, lowering, captured, call)
    finally:
        running.close()


def _compiled(lowered: Lowered, engine_options: Mapping[str, Any]) -> DeviceProgram:
    options = {**ENGINE_OPTIONS, **engine_options}
    options = {name: value for name, value in options.items() if not name.startswith("autoReport.")}
    executable = compileGraph(lowered.graph, list(lowered.programs), options)
    return DeviceProgram(executable, lowered.interface, options)


def _run(running: DeviceProgram, lowering: _CheckedLowering, captured: CapturedModule, call: Call) -> DeviceStep:
    sent = {name: one.detach().cpu().contiguous().numpy().copy() for name, one in captured.data.items()}
    running.send_weights({**sent, **call.states})
    sent |= running.first_states()
    running.send_rates(call.rates)
    running.send_seed(call.seed)
    send_inputs(running, call.tensors[0], call.groups)
    outputs = _outputs(running)
    fetched = {name: values.copy() for name, values in running.fetch_weights().items()}
    observed = {name: list(running.observed(name).copy()) for name in running.interface.observed}
    inputs = {name: list(buffer.copy()) for name, buffer in running.written().items()}
    for number, drawn in enumerate(lowering.drawn):
        drawn.values = observed[f"draw_{number}"]
    scale = running.interface.settings.loss_scaling * float(call.states.get(FACTOR, 1.0))
    gradients = {
        name.removeprefix(_PREFIX): values.astype(np.float64) / scale
        for name, values in fetched.items()
        if name.startswith(_PREFIX)
    }
    written = {name for name, _ in captured.program.updates}
    later = []
    for tensors in call.tensors[1:]:
        send_inputs(running, tensors, call.groups)
        later.append(_outputs(running))
    last = {name: values.copy() for name, values in running.fetch_weights().items()} if later else fetched
    return DeviceStep(
        captured.program,
        outputs,
        gradients,
        {one.name: fetched[one.name] for one in captured.program.weights if written & {one.name, *one.aliases}},
        lowering.drawn,
        {value.number: observed[f"value_{value.number}"] for value in lowering.chosen},
        {value.number: [one / scale for one in observed[f"slope_{value.number}"]] for value in lowering.chosen},
        inputs,
        lowering.undrawn,
        sent,
        fetched,
        later,
        last,
    )


def _outputs(running: DeviceProgram) -> list[list[Any]]:
    return [list(buffer.copy()) for buffer in running.run("check")]


def roomy(target: Target) -> Target:
    """The same machine with more memory."""
    return replace(target, bytes_per_tile=max(_BYTES_PER_TILE, target.getBytesPerTile()))


@contextmanager
def _without_reports() -> Iterator[None]:
    """The environment asks for no reports while this is open."""
    before = os.environ.get(_VARIABLE)
    if before is None:
        yield
        return
    given = json.loads(before) if before.strip() else {}
    os.environ[_VARIABLE] = json.dumps({key: one for key, one in given.items() if not key.startswith("autoReport.")})
    try:
        yield
    finally:
        os.environ[_VARIABLE] = before
