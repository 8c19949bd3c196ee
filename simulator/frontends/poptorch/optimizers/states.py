"""States of a training model's optimizer in the forms in which users save and load them.

An optimizer of poptorch.optim has them as PopART names them, in `state_dict()["ipu_state"]`; one of torch.optim as
PyTorch names them, in `state_dict()["state"]`. A read fetches them from the device where they are newer there; a loaded
state goes to the device before the next run. States are copied whole: as many bytes as the optimizer has on the device.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from simulator.frontends.optimizer import VALUES, Group, Optimizer, Rule
from simulator.frontends.poptorch import optim
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.logging import logger

#: arrays by the names that the update step gives them: "Accl1___" and a weight, "Step"
DeviceStates = Mapping[str, Any]
_MOMENTS = {"Accl1": "exp_avg", "Accl2": "exp_avg_sq"}
#: prefix of a state on the device -> its name in torch.optim
_OF_TORCH: Mapping[Rule, Mapping[str, str]] = {
    Rule.SGD: {"Accl": "momentum_buffer", "Accl1": "momentum_buffer"},  # combined with the accumulator, or apart
    Rule.ADAM: _MOMENTS,
    Rule.ADAMW: _MOMENTS,
    Rule.LAMB: _MOMENTS,
    Rule.RMSPROP: {"Accl1": "square_avg", "Accl2": "grad_avg", "Accl3": "momentum_buffer"},
}
#: names of PopART's numbers of a weight (tensornames.hpp)
_NUMBERS = {
    "learning_rate": "learningRate",
    "weight_decay": "weightDecay",
    "beta1": "adamBeta1",
    "beta2": "adamBeta2",
    "eps": "adamEps",
    "alpha": "adaptiveAlpha",
    "momentum": "adaptiveMomentum",
    "max_weight_norm": "maxWeightNorm",
}
_SGD_NUMBERS = {
    "learning_rate": "learningRate",
    "momentum": "momentum",
    "dampening": "dampening",
    "weight_decay": "weightDecay",
    "velocity_scaling": "velocityScaling",
}
#: PopTorch holds the user's module in one of its own
_MODULE = "model."


class OptimizerStates:
    """Keeps an optimizer's `state_dict` and the device's states equal, for one executor at a time.

    `read` gives the device's newest states, None before there are any."""

    def __init__(self, read: Callable[[], DeviceStates | None]) -> None:
        self._read = read
        self._optimizer: Any = None
        self._described: Optimizer | None = None
        self._parameters: Mapping[str, Any] = {}
        self._handles: list[Any] = []
        self._steps = 0  #: of this optimizer on the device, or in what was loaded
        self._is_loaded = False
        self.rows: Mapping[str, int] = {}  #: of weights that differ between groups of replicas

    def follow(self, optimizer: Any, described: Optimizer, parameters: Mapping[str, Any]) -> None:
        """Answer for an optimizer from now on. States that it has already, of a checkpoint or of steps on the host, go
        to the device before the next run."""
        if optimizer is not self._optimizer:
            self.leave()
            self._watch(optimizer)
        self._described, self._parameters = described, parameters

    def leave(self) -> None:
        """Give the optimizer its last states and answer for it no more."""
        if self._optimizer is None:
            return
        self.bring()
        for handle in self._handles:
            handle.remove()
        if isinstance(self._optimizer, optim.Optimizer):
            del self._optimizer.read_device
        self._optimizer, self._handles, self._is_loaded = None, [], False

    def note_run(self, steps: int) -> None:
        """The device made steps."""
        self._steps += steps
        if isinstance(self._optimizer, optim.Optimizer):
            self._optimizer.host_state_is_dirty = True

    def bring(self) -> None:
        """Give the optimizer the device's states, if they are newer than what it has."""
        optimizer = self._optimizer
        if self.is_loaded() or self._described is None:
            return
        if isinstance(optimizer, optim.Optimizer):
            if optimizer.host_state_is_dirty or not optimizer.has_state():
                states = self._read()
                if states is not None:
                    named = popart_states(states, self._described, self.rows)
                    optimizer.take_device_state(named, popart_numbers(self._described))
            return
        states = self._read() if self._steps else None
        if states is not None:
            fill_torch(optimizer, states, self._described, self._parameters, self._steps)

    def is_loaded(self) -> bool:
        """Whether the optimizer has states that the device must get."""
        if isinstance(self._optimizer, optim.Optimizer):
            return self._optimizer.ipu_state_is_dirty and self._optimizer.has_state()
        return self._is_loaded

    def take_loaded(self, known: DeviceStates) -> DeviceStates:
        """The states that the device must get, in place of those that it has. Raises Error for states of another
        module."""
        assert self._described is not None
        if isinstance(self._optimizer, optim.Optimizer):
            saved = self._optimizer.get_state_dict()
            states = _from_popart(saved["ipu_state"], known, self._described)
            _tell_other_numbers(saved["ipu_param"], popart_numbers(self._described))
            self._optimizer.ipu_state_is_dirty, self._optimizer.host_state_is_dirty = False, True
        else:
            states = _from_torch(self._optimizer, known, self._described, self._parameters)
            self._is_loaded = False
        self._steps = max(self._steps, 1)
        return states

    def _watch(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        bring = weakref.WeakMethod(self.bring)
        if isinstance(optimizer, optim.Optimizer):
            optimizer.read_device = lambda: _call(bring)
            optimizer.ipu_state_is_dirty = optimizer.has_state()
            return
        self._is_loaded = bool(optimizer.state)
        loaded = weakref.WeakMethod(self._note_loaded)
        self._handles = [
            optimizer.register_state_dict_pre_hook(lambda _: _call(bring)),
            optimizer.register_load_state_dict_post_hook(lambda _: _call(loaded)),
        ]

    def _note_loaded(self) -> None:
        self._is_loaded = True


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    """Call a method if its object lives: an optimizer keeps no model alive."""
    call = method()
    if call is not None:
        call()


def popart_states(states: DeviceStates, described: Optimizer, rows: Mapping[str, int]) -> dict[str, Any]:
    """States as tensors by PopART's names, "Accl1___model.fc.weight"; each weight has a Step, and in each of its
    `rows` one."""
    named = {key: torch.from_numpy(np.array(states[name])) for name, key in _popart_names(states, described)}
    for weight, number in rows.items():
        key = f"Step___{_MODULE}{weight}"
        if key in named:
            named[key] = named[key].repeat(number)
    return named


def popart_numbers(described: Optimizer) -> dict[str, Any]:
    """What the device is told of each weight, by PopART's names: "learningRate___specific___model.fc.weight"."""
    numbers = {"lossScaling_FLOAT": torch.tensor(described.loss_scaling.value)}
    for group in described.groups:
        if described.rule is Rule.SGD:
            named = _sgd_numbers(described, group)
        else:
            named = {_NUMBERS[name]: group.number(name) for name in VALUES[described.rule]}
        for weight in group.parameters:
            for name, value in named.items():
                numbers[f"{name}___specific___{_MODULE}{weight}"] = torch.tensor(value)
    return numbers


def _sgd_numbers(described: Optimizer, group: Group) -> dict[str, float]:
    """PopART's combined numbers of descent without momentum (sgd.hpp), and the plain ones with it."""
    if group.number("momentum") == 0.0:
        rate = group.number("learning_rate") * (1.0 - group.number("dampening"))
        return {
            "scaledLearningRate0": rate / described.loss_scaling.value,
            "weightDecayScaleFactor0": 1.0 - rate * group.number("weight_decay"),
        }
    return {_SGD_NUMBERS[name]: group.number(name) for name in VALUES[Rule.SGD]}


def _popart_names(states: DeviceStates, described: Optimizer) -> Iterator[tuple[str, str]]:
    """Pairs of a device's name and PopART's."""
    for name in states:
        prefix, _, weight = name.partition("___")
        if not weight and prefix != "Step":  # of no weight
            yield name, name
            continue
        if prefix == "Step":
            for group in described.groups:
                yield from ((name, f"Step___{_MODULE}{one}") for one in group.parameters)
            continue
        yield name, f"{prefix}___{_MODULE}{weight}"


def _from_popart(saved: Mapping[str, Any], known: DeviceStates, described: Optimizer) -> dict[str, Any]:
    """The device's states with those of a saved dictionary; it keeps those that are missing there, as PopTorch does."""
    states = dict(known)
    steps: list[Any] = []
    names = list(_popart_names(known, described))
    for name, key in names:
        if key not in saved:
            logger.warning("writeOptimizerState: ignoring missing state %s", key)
        elif name == "Step":
            steps.append(saved[key])
        else:
            states[name] = _array(key, saved[key], known[name])
    if steps:
        states["Step"] = _common_step(steps)
    unknown = sorted(set(saved) - {key for _, key in names})
    if unknown:
        logger.warning("writeOptimizerState: ignoring states that the program does not have: %s", ", ".join(unknown))
    return states


def _tell_other_numbers(saved: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
    """Numbers come from the groups of the same dictionary; say where it has others too."""
    for key, value in numbers.items():
        if key in saved and not np.isclose(float(saved[key]), float(value), rtol=1e-6, atol=0.0):
            logger.warning(
                "writeOptimizerState: %s is %g in ipu_param and %g by param_groups, which the device gets",
                key,
                float(saved[key]),
                float(value),
            )


def fill_torch(
    optimizer: Any, states: DeviceStates, described: Optimizer, parameters: Mapping[str, Any], steps: int
) -> None:
    """Write the device's states to `optimizer.state`, under the names of torch.optim."""
    if not any(name.startswith("Accl") for name in states):
        return
    count = float(states.get("Step", steps))
    for weight, prefix, key in _torch_names(described):
        if weight in parameters and f"{prefix}___{weight}" in states:
            state = optimizer.state[parameters[weight]]
            if described.rule is not Rule.SGD:
                state["step"] = torch.tensor(count)
            state[key] = torch.from_numpy(np.array(states[f"{prefix}___{weight}"]))


def _from_torch(
    optimizer: Any, known: DeviceStates, described: Optimizer, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The device's states with those of `optimizer.state`. A weight without a state there keeps the device's."""
    states = dict(known)
    steps: list[Any] = []
    for weight, prefix, key in _torch_names(described):
        state = optimizer.state.get(parameters.get(weight), {})
        name = f"{prefix}___{weight}"
        if name in known and state.get(key) is not None:
            states[name] = _array(f"{key} of {weight}", state[key], known[name])
            # A velocity that is there was begun by a step before.
            steps.append(state.get("step", 1.0))
    if steps and "Step" in states:
        states["Step"] = _common_step(steps)
    return states


def _torch_names(described: Optimizer) -> Iterator[tuple[str, str, str]]:
    """Weight, prefix on the device and name in torch.optim of each state that the rule may have."""
    for group in described.groups:
        for weight in group.parameters:
            for prefix, key in _OF_TORCH[described.rule].items():
                yield weight, prefix, key


def _array(name: str, value: Any, like: Any) -> Any:
    """A saved state as the device's array. Raises Error for a state of another shape."""
    array = torch.as_tensor(value).detach().cpu().float().numpy()
    if array.shape != like.shape:
        raise Error(f"The saved state {name} has the shape {array.shape}; the optimizer's is {like.shape}.")
    return array.astype(like.dtype)


def _common_step(steps: list[Any]) -> Any:
    """The device counts the steps of all weights together. Raises Error where they differ."""
    counts = {float(one) for values in steps for one in np.ravel(values)}
    if len(counts) > 1:
        raise Error(
            f"The saved weights have made {min(counts):g} to {max(counts):g} steps; the device counts one number for "
            "all, so that such a state cannot be loaded."
        )
    return np.float32(counts.pop())
