"""poptorch.optim: torch.optim's optimizers with PopTorch's arguments, and LAMB.

An argument that is given is a variable of the compiled program, one that is left out a constant;
`variable_attrs.markAsConstant` and `markAsVariable` say otherwise. On the host `step()` works as PyTorch's; loss
scaling, clipping and types of states belong to the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from simulator.frontends.poptorch.logging import logger

_STATE_TYPES = (torch.float32, torch.float16)


class VariableAttributes:
    """Which attributes of an optimizer are variables of the compiled program."""

    def __init__(self, variable_attributes: Sequence[str], allowed_attributes: Sequence[str]) -> None:
        self._variable, self._allowed = set(variable_attributes), list(allowed_attributes)

    def isConstant(self, attr: str) -> bool:
        """Whether an attribute is compiled in."""
        return attr not in self._variable

    def markAsConstant(self, attr: str) -> None:
        """Compile an attribute in."""
        self._check(attr)
        self._variable.discard(attr)

    def markAsVariable(self, attr: str) -> None:
        """Make an attribute a variable."""
        self._check(attr)
        self._variable.add(attr)

    def _check(self, attr: str) -> None:
        if attr not in self._allowed:
            raise AssertionError(f"Unknown attribute {attr}, allowed values: {self._allowed}")


class Optimizer:
    """State that a device keeps. `ipu_state` has its states by name, `ipu_param` PopTorch's numbers that change."""

    #: brings the device's newer states here; of the model that trains with this optimizer
    read_device: Callable[[], None] | None = None

    def __init__(self) -> None:
        self._state_dict: dict[str, Any] = {"ipu_state": None, "ipu_param": None}
        self.ipu_state_is_dirty = False  #: the host's state must go to the device
        self.host_state_is_dirty = False  #: the device's state is newer

    def state_dict(self) -> dict[str, Any]:
        """The device's state and PyTorch's. None stand for the device's before a model compiled for one."""
        if self.read_device is not None:
            self.read_device()
        return self.get_state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take both over. Raises RuntimeError for a state that no device saved."""
        if not state:
            raise RuntimeError("Cannot load optimizer state dictionary because it is empty.")
        if not {"ipu_state", "ipu_param"} <= set(state):
            raise RuntimeError("Only IPU optimizer states can be loaded onto the IPU.")
        torch.optim.Optimizer.load_state_dict(self, {name: state[name] for name in ("state", "param_groups")})
        self.set_state_dict(state)

    def get_state_dict(self) -> dict[str, Any]:
        """The state as the host has it."""
        return {**self._state_dict, **torch.optim.Optimizer.state_dict(self)}

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        """The device's state from a saved one; the device gets it before its next run."""
        self._state_dict = {name: state[name] for name in ("ipu_state", "ipu_param")}
        self.ipu_state_is_dirty, self.host_state_is_dirty = True, False

    def take_device_state(self, ipu_state: Mapping[str, Any], ipu_param: Mapping[str, Any]) -> None:
        """Remember what the device's states are now."""
        self._state_dict = {"ipu_state": dict(ipu_state), "ipu_param": dict(ipu_param)}
        self.ipu_state_is_dirty = self.host_state_is_dirty = False

    def has_state(self) -> bool:
        """Whether the host has a state of the device."""
        return all(part is not None for part in self._state_dict.values())

    def __getstate__(self) -> dict[str, Any]:
        if self.read_device is not None:
            self.read_device()
        # A scheduler hangs a function on the optimizer, which cannot be pickled.
        state = {name: value for name, value in vars(self).items() if not name.startswith("_") and not callable(value)}
        return {
            **state,
            "_state_dict": self._state_dict,
            "ipu_state_is_dirty": self.has_state(),
            "host_state_is_dirty": False,
        }


def _state_type(name: str, given: Any) -> Any:
    """The type of a state; float32 unless given. Raises AssertionError for other types."""
    if given is not None and given not in _STATE_TYPES:
        raise AssertionError(f"Accumulation types must be either torch.float32 or torch.float16; {name} is {given}.")
    return torch.float32 if given is None else given


def _groups_of(params: Iterable[Any]) -> list[Any]:
    """Parameters or groups of them; one group without any for a module that has none, which torch would refuse."""
    return list(params) or [{"params": []}]


def _given(**arguments: Any) -> dict[str, Any]:
    """The arguments that the user gave."""
    return {name: value for name, value in arguments.items() if value is not None}


class SGD(Optimizer, torch.optim.SGD):
    """torch.optim.SGD. `use_combined_accum` keeps accumulated gradient and velocity in one tensor, of
    velocity_accum_type; with max_grad_norm they stay apart, as the norm is that of the gradients."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float | None = None,
        dampening: float | None = None,
        weight_decay: float | None = None,
        nesterov: bool | None = None,
        maximize: bool | None = None,
        foreach: bool | None = None,
        differentiable: bool | None = None,
        loss_scaling: float | None = None,
        velocity_scaling: float | None = None,
        use_combined_accum: bool | None = None,
        accum_type: Any = None,
        velocity_accum_type: Any = None,
        max_grad_norm: float | None = None,
    ) -> None:
        parent = _given(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        modes = _given(maximize=maximize, foreach=foreach, differentiable=differentiable)
        own = _given(loss_scaling=loss_scaling, velocity_scaling=velocity_scaling)
        Optimizer.__init__(self)
        torch.optim.SGD.__init__(self, _groups_of(params), **parent, **modes)
        self.loss_scaling = 1.0 if loss_scaling is None else loss_scaling
        self.use_combined_accum = bool(use_combined_accum)
        self.accum_type = _state_type("accum_type", accum_type)
        self.velocity_accum_type = _state_type("velocity_accum_type", velocity_accum_type)
        self.max_grad_norm = math.inf if max_grad_norm is None else max_grad_norm
        if self.use_combined_accum:
            self.defaults["velocity_scaling"] = 1.0 if velocity_scaling is None else velocity_scaling
            for group in self.param_groups:
                group.setdefault("velocity_scaling", self.defaults["velocity_scaling"])
        elif velocity_scaling is not None:
            logger.warning(
                "velocity_scaling value ignored when using the separate variant (use_combined_accum=False). In "
                "future, this will lead to an error. Please update your code."
            )
        self.variable_attrs = VariableAttributes([*parent, *own], [*self.defaults, "loss_scaling"])


class _WithTwoMoments(Optimizer):
    """Optimizers with a first and a second state per weight."""

    def _take(
        self,
        loss_scaling: float | None,
        accum_type: Any,
        first_order_momentum_accum_type: Any,
        second_order_momentum_accum_type: Any,
    ) -> None:
        self.loss_scaling = 1.0 if loss_scaling is None else loss_scaling
        self.accum_type = _state_type("accum_type", accum_type)
        self.first_order_momentum_accum_type = _state_type(
            "first_order_momentum_accum_type", first_order_momentum_accum_type
        )
        self.second_order_momentum_accum_type = _state_type(
            "second_order_momentum_accum_type", second_order_momentum_accum_type
        )


class Adam(_WithTwoMoments, torch.optim.Adam):
    """torch.optim.Adam, without AMSGrad."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        amsgrad: bool | None = None,
        foreach: bool | None = None,
        maximize: bool | None = None,
        capturable: bool | None = None,
        differentiable: bool | None = None,
        fused: bool | None = None,
        loss_scaling: float | None = None,
        accum_type: Any = None,
        first_order_momentum_accum_type: Any = None,
        second_order_momentum_accum_type: Any = None,
        max_grad_norm: float | None = None,
    ) -> None:
        parent = _given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)
        modes = _given(
            foreach=foreach, maximize=maximize, capturable=capturable, differentiable=differentiable, fused=fused
        )
        Optimizer.__init__(self)
        torch.optim.Adam.__init__(self, _groups_of(params), **parent, **modes)
        self._take(loss_scaling, accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type)
        self.max_grad_norm = math.inf if max_grad_norm is None else max_grad_norm
        variable = [*parent, *_given(loss_scaling=loss_scaling)]
        self.variable_attrs = VariableAttributes(variable, [*self.defaults, "loss_scaling"])


class AdamW(_WithTwoMoments, torch.optim.AdamW):
    """torch.optim.AdamW, without AMSGrad. `bias_correction` False leaves the correction of the averages out."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        amsgrad: bool | None = None,
        maximize: bool | None = None,
        foreach: bool | None = None,
        capturable: bool | None = None,
        differentiable: bool | None = None,
        fused: bool | None = None,
        loss_scaling: float | None = None,
        bias_correction: bool | None = None,
        accum_type: Any = None,
        first_order_momentum_accum_type: Any = None,
        second_order_momentum_accum_type: Any = None,
        max_grad_norm: float | None = None,
    ) -> None:
        parent = _given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)
        modes = _given(
            foreach=foreach, maximize=maximize, capturable=capturable, differentiable=differentiable, fused=fused
        )
        Optimizer.__init__(self)
        torch.optim.AdamW.__init__(self, _groups_of(params), **parent, **modes)
        self._take(loss_scaling, accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type)
        self.bias_correction = True if bias_correction is None else bias_correction
        self.max_grad_norm = math.inf if max_grad_norm is None else max_grad_norm
        variable = [*parent, *_given(loss_scaling=loss_scaling)]
        self.variable_attrs = VariableAttributes(variable, [*self.defaults, "loss_scaling"])


class RMSprop(_WithTwoMoments, torch.optim.RMSprop):
    """torch.optim.RMSprop, or TensorFlow's where `use_tf_variant`."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        alpha: float | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        momentum: float | None = None,
        centered: bool | None = None,
        foreach: bool | None = None,
        maximize: bool | None = None,
        differentiable: bool | None = None,
        loss_scaling: float | None = None,
        accum_type: Any = None,
        first_order_momentum_accum_type: Any = None,
        second_order_momentum_accum_type: Any = None,
        use_tf_variant: bool | None = None,
    ) -> None:
        parent = _given(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered)
        modes = _given(foreach=foreach, maximize=maximize, differentiable=differentiable)
        Optimizer.__init__(self)
        torch.optim.RMSprop.__init__(self, _groups_of(params), **parent, **modes)
        self._take(loss_scaling, accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type)
        self.use_tf_variant = bool(use_tf_variant)
        variable = [*parent, *_given(loss_scaling=loss_scaling)]
        self.variable_attrs = VariableAttributes(variable, [*self.defaults, "loss_scaling"])


class LAMB(_WithTwoMoments, torch.optim.Optimizer):
    """Layer-wise adaptive moments (https://arxiv.org/abs/1904.00962) with phi(z) = min(z, max_weight_norm)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        bias_correction: bool | None = None,
        loss_scaling: float | None = None,
        max_weight_norm: float | None = None,
        accum_type: Any = None,
        first_order_momentum_accum_type: Any = None,
        second_order_momentum_accum_type: Any = None,
    ) -> None:
        given = _given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, max_weight_norm=max_weight_norm)
        defaults = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2, "max_weight_norm": 65500.0}
        Optimizer.__init__(self)
        torch.optim.Optimizer.__init__(self, _groups_of(params), {**defaults, **given})
        self._take(loss_scaling, accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type)
        self.bias_correction = True if bias_correction is None else bias_correction
        variable = [*given, *_given(loss_scaling=loss_scaling)]
        self.variable_attrs = VariableAttributes(variable, [*self.defaults, "loss_scaling"])

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of the host's weights."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group)
        return loss

    def _update(self, weight: Any, group: Mapping[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(weight), exp_avg_sq=torch.zeros_like(weight))
        state["step"] += 1
        beta1, beta2 = group["betas"]
        state["exp_avg"].lerp_(weight.grad, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(weight.grad, weight.grad, value=1 - beta2)
        first, second = state["exp_avg"], state["exp_avg_sq"]
        if self.bias_correction:
            first = first / (1 - beta1 ** state["step"])
            second = second / (1 - beta2 ** state["step"])
        update = first / (second.sqrt() + group["eps"]) + group["weight_decay"] * weight
        weight_norm = weight.norm().clamp(max=group["max_weight_norm"])
        update_norm = update.norm()
        is_scaled = bool(weight_norm > 0) and bool(update_norm > 0)
        trust = float(weight_norm / update_norm) if is_scaled else 1.0
        weight.sub_(update, alpha=group["lr"] * trust)
