"""The other side of the check: the same step in eager torch, on deep copies of the module.

Each replica has a copy; each runs its micro-batches one after the other. Random operators give what the device drew.
PopTorch's names are identities there (blocks, markers, prints), and the module's own flags count as on the device: what
infers has no dropout and takes running statistics.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from torch.utils import _pytree as pytree

from simulator.frontends.capture.conditions import conditions_in_eager
from simulator.frontends.capture.own_gradients import weight_hooks
from simulator.frontends.poptorch.beside_torch.calls import CallNumbers, Calls, Key, replaced, watching
from simulator.frontends.poptorch.beside_torch.device_step import Drawn

#: functions that compute something else while training: the argument that says so, its place, and the value without
_INFERRING: dict[str, tuple[str, int, Any]] = {
    **dict.fromkeys(("dropout", "alpha_dropout", "feature_alpha_dropout"), ("training", 2, False)),
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), ("training", 2, False)),
    "rrelu": ("training", 3, False),
    "batch_norm": ("training", 5, False),
    "instance_norm": ("use_input_stats", 5, False),
    "multi_head_attention_forward": ("training", 13, False),
    "scaled_dot_product_attention": ("dropout_p", 4, 0.0),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), ("train", 6, False)),
}
_NORMS = ("batch_norm", "instance_norm")
#: the value far below zero to which SELU goes, negated (arXiv:1706.02515)
_ALPHA = 1.7580993408473766


@dataclass
class Event:
    """The tensors that one call gave, with their gradients once these are known."""

    tensors: list[Any]
    needs_gradient: list[bool]
    gradients: list[Any]
    is_new: list[bool]  #: not one of the arguments


@dataclass
class EagerStep:
    """What eager torch computed in one step; lists have an entry for each micro-batch."""

    outputs: list[list[Any]] = field(default_factory=list)  #: by micro-batch, its tensors in order
    inputs: list[list[Any]] = field(default_factory=list)  #: by micro-batch, after forward
    losses: list[Any] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)  #: None where torch gives none
    state: dict[str, Any] = field(default_factory=dict)  #: weights and buffers after forward
    events: list[dict[int, Event]] = field(default_factory=list)  #: by micro-batch and number of the call


@dataclass(frozen=True)
class StepPlan:
    """What eager torch runs: the module with the arguments of each micro-batch, in the order of the device's buffers,
    and how the device reduces gradients."""

    module: Any
    micro_batches: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]]
    replicas: int
    training: bool
    mean_over_accumulation: bool = True
    mean_over_replicas: bool = True
    without_draws: bool = False  #: of functions that draw inside


@dataclass(frozen=True)
class LossPlace:
    """Where the loss is: an output by its number, or the result of a call."""

    output: int | None
    call: int | None


class _EagerCalls(Calls):
    """Draws what the device drew in one micro-batch, and keeps the results of the calls that are `wanted`."""

    def __init__(
        self, numbers: CallNumbers, draws: Mapping[int, tuple[Drawn, Any]], plan: StepPlan, wanted: Any, wide: Any
    ) -> None:
        super().__init__(wide, plan.without_draws)
        self._numbers, self._draws, self._training, self._wanted = numbers.numbers, draws, plan.training, wanted
        self.events: dict[int, Event] = {}
        self.live: dict[int, Any] = {}  #: the first tensor of each call, in its graph

    def call(self, key: Key, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not self._training:
            args, named = _inferring(key[0], args, named)
        number = self._numbers.get(key)
        draw = self._draws.get(number) if number is not None else None
        if draw is None:
            made = func(*args, **named)
        elif "dropout" in key[0]:
            made = _dropped(draw[0], torch.as_tensor(draw[1]), func, args, named)
        else:
            made = func(*args, **named)
            with torch.no_grad():
                made.detach().copy_(torch.as_tensor(draw[1]))
        if number is not None and (self._wanted is None or number in self._wanted):
            self._keep(number, made, args)
        return made

    def _keep(self, number: int, made: Any, args: tuple[Any, ...]) -> None:
        given = {id(one) for one in pytree.tree_leaves(args)}
        tensors = _tensors(made)
        if not tensors:
            return
        event = Event(
            [one.detach().clone() for one in tensors],
            [one.requires_grad for one in tensors],
            [None] * len(tensors),
            [id(one) not in given for one in tensors],
        )
        for index, one in enumerate(tensors):
            if one.requires_grad and event.is_new[index]:
                one.register_hook(_keeper(event, index))
        self.events[number] = event
        self.live[number] = tensors[0]


def _keeper(event: Event, index: int) -> Any:
    def keep(gradient: Any) -> None:
        event.gradients[index] = gradient.detach().clone()

    return keep


def _inferring(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as the device takes them for inference."""
    argument = _INFERRING.get(name)
    if argument is None or (name in _NORMS and (args[1] if len(args) > 1 else named.get("running_mean")) is None):
        return args, named
    return replaced(args, named, *argument)


def _dropped(drawn: Drawn, mask: Any, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A dropout with the device's mask: the factor of each element."""
    x = args[0] if args else named["input"]
    factors = mask.to(x.dtype)
    if drawn.operator.name == "aten.bernoulli.p":
        factors = factors / drawn.operator.arguments["p"]
    if factors.numel() == x.numel():
        factors = factors.reshape(x.shape)
    if "alpha" in drawn.operator.name:
        p = float(drawn.operator.arguments["p"])
        scale = 1 / ((_ALPHA**2 * p + 1) * (1 - p)) ** 0.5 if p < 1 else 0.0
        kept = (factors != 0).to(x.dtype)
        made = x * kept * scale + (kept - 1) * _ALPHA * scale + _ALPHA * scale * p
    else:
        made = x * factors
    if func.__name__ == "native_dropout":
        return made, factors != 0
    in_place = named.get("inplace") or (len(args) > 3 and args[3] is True) or func.__name__.endswith("_")
    return x.copy_(made) if in_place else made


def run_in_eager(
    plan: StepPlan,
    numbers: CallNumbers,
    calls_of_draws: Mapping[int, Drawn],
    loss: LossPlace | None,
    wide: Any = None,
    keeps_all: bool = False,
) -> EagerStep:
    """One step. `calls_of_draws` are the device's draws by the number of the call; `wide` is the element type in place
    of narrower ones; `keeps_all` keeps the tensors of every call with their gradients.

    Raises what the module raises."""
    step, default = EagerStep(), torch.get_default_dtype()
    wanted = None if keeps_all else {loss.call} if loss is not None else set()
    try:
        if wide is torch.float64:
            torch.set_default_dtype(wide)
        with torch.set_grad_enabled(plan.training), _stored_activations(), conditions_in_eager():
            modules = [copied(plan.module, wide) for _ in range(plan.replicas)]
            for index, (args, named) in enumerate(plan.micro_batches):
                draws = {call: (drawn, drawn.values[index]) for call, drawn in calls_of_draws.items()}
                calls = _EagerCalls(numbers, draws, plan, wanted, wide)
                args, named = pytree.tree_map(lambda one: _input(one, wide), (args, dict(named)))
                module = modules[index % plan.replicas]
                with watching(module, calls):
                    made = module(*args, **named)
                step.inputs.append([one.detach().clone() for one in _tensors((args, named))])
                _note(step, plan, made, calls, loss)
            _collect(step, plan, modules)
    finally:
        torch.set_default_dtype(default)
    return step


def _tensors(made: Any) -> list[Any]:
    return [one for one in pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]


def copied(module: Any, wide: Any = None) -> Any:
    """A deep copy of a module with the hooks of its weights, in another element type if `wide` names one."""
    made = copy.deepcopy(module, _computed_tensors(module))
    if wide is not None:
        made = made.to(wide)
    weights = dict(made.named_parameters())
    for name, hooks in weight_hooks(module).items():
        for hook in hooks:
            weights[name].register_hook(hook)
    for weight in weights.values():
        weight.grad = None
    return made


def _computed_tensors(module: Any) -> dict[int, Any]:
    """Copies of tensors that modules hold and that autograd made, which torch refuses to copy: what the old
    torch.nn.utils.weight_norm keeps as a weight. Each is computed again from its parts before it is read."""
    tensors = (tensor for part in module.modules() for tensor in _tensors(vars(part)))
    return {id(tensor): tensor.detach().clone() for tensor in tensors if tensor.requires_grad and not tensor.is_leaf}


def _input(leaf: Any, wide: Any) -> Any:
    """A copy of an input, which the module may write to."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    cloned = leaf.detach().clone()
    return cloned.to(wide) if wide is not None and cloned.is_floating_point() else cloned


def _note(step: EagerStep, plan: StepPlan, made: Any, calls: _EagerCalls, loss: LossPlace | None) -> None:
    tensors = _tensors(made)
    step.outputs.append([one.detach().clone() for one in tensors])
    step.events.append(calls.events)
    if not plan.training or loss is None:
        return
    steps = len(plan.micro_batches) // plan.replicas
    if loss.output is not None:
        chosen = tensors[loss.output] if loss.output < len(tensors) else None
    else:
        chosen = calls.live.get(-1 if loss.call is None else loss.call)
    if chosen is None:
        raise LookupError("eager torch does not compute the loss of the device")
    step.losses.append(chosen.detach().clone())
    if chosen.requires_grad:
        (chosen.sum() / (steps if plan.mean_over_accumulation else 1)).backward()


def _collect(step: EagerStep, plan: StepPlan, modules: Sequence[Any]) -> None:
    """Gradients over all replicas, and what the first one holds."""
    named = [dict(module.named_parameters(remove_duplicate=False)) for module in modules]
    for name in named[0]:
        found = [weights[name].grad for weights in named if weights[name].grad is not None]
        total = sum(one.detach().double() for one in found) if found else None
        step.gradients[name] = total if total is None or not plan.mean_over_replicas else total / plan.replicas
    tensors = {**named[0], **dict(modules[0].named_buffers(remove_duplicate=False))}
    step.state = {name: one.detach().clone() for name, one in tensors.items()}


@contextlib.contextmanager
def untouched_randomness() -> Iterator[None]:
    """The random states of torch, NumPy and Python afterwards are those of before."""
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


@contextlib.contextmanager
def _stored_activations() -> Iterator[None]:
    """Checkpoints keep their activations while this is open: what they run again would draw other numbers."""
    checkpoints = torch.utils.checkpoint
    before = checkpoints.CheckpointFunction, checkpoints._checkpoint_without_reentrant_generator

    def around(*_: Any, **__: Any) -> Iterator[None]:
        yield

    checkpoints.CheckpointFunction = _PlainFunction
    checkpoints._checkpoint_without_reentrant_generator = around
    try:
        yield
    finally:
        checkpoints.CheckpointFunction, checkpoints._checkpoint_without_reentrant_generator = before


class _PlainFunction:
    """In place of a checkpoint with use_reentrant=True."""

    @staticmethod
    def apply(function: Any, preserves_randomness: bool, *args: Any) -> Any:
        return function(*args)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the module prints is printed by the program's own run."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
