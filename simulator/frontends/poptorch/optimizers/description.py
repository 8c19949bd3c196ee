"""An optimizer of torch.optim or poptorch.optim as a description that lowering reads.

Supported are the optimizers that PopTorch documents: SGD, Adam, AdamW, RMSprop and LAMB. Without `variable_attrs` (an
optimizer of torch.optim) a value is a constant where it is PyTorch's default, and the learning rate never is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import torch

from simulator.frontends.optimizer import VALUES, Group, Optimizer, Rule, Setting
from simulator.frontends.poptorch import optim
from simulator.frontends.poptorch.logging import logger
from simulator.frontends.poptorch.option_group import OptionGroup

#: name of a value -> (attribute of a group, constant that an optimizer of torch.optim compiles in). nan: never
#: compiled in; None: always.
_ATTRIBUTES: Mapping[str, tuple[str, float | None]] = {
    "learning_rate": ("lr", math.nan),
    "momentum": ("momentum", 0.0),
    "dampening": ("dampening", 0.0),
    "weight_decay": ("weight_decay", 0.0),
    "velocity_scaling": ("velocity_scaling", 1.0),
    "eps": ("eps", 1e-8),
    "alpha": ("alpha", None),
    "max_weight_norm": ("max_weight_norm", 65500.0),
}
_BETAS = (0.9, 0.999)

#: attributes of groups that have no say on the device: how PyTorch computes on the host
_OF_THE_HOST = frozenset(
    {
        "params",
        "foreach",
        "differentiable",
        "fused",
        "capturable",
        "param_names",
        "decoupled_weight_decay",
    }
)
#: attributes of groups that must be False
_REFUSED = {
    "nesterov": "Nesterov momentum is currently not supported.",
    "amsgrad": "Only non-amsgrad Adam/AdamW optimizers are supported.",
    "maximize": "Only optimizers that minimise are supported; negate the loss instead of maximize=True.",
}


def describe_optimizer(
    optimizer: Any, params: Mapping[str, Any] | Iterable[tuple[str, Any]], automatic_loss_scaling: bool = False
) -> Optimizer:
    """The description of an optimizer for the parameters of a module, by name (`module.named_parameters()`). Its loss
    scaling varies where it is automatic.

    Parameters that the optimizer does not have are in no group: no step changes them. Raises ValueError for an
    optimizer of another kind or with attributes that PopTorch does not support, and for a number that is none."""
    rule = _rule(optimizer)
    named = dict(params)
    names = {id(parameter): name for name, parameter in named.items()}
    variables = getattr(optimizer, "variable_attrs", None)
    groups = tuple(_group(rule, group, names, variables) for group in optimizer.param_groups)
    centered = {bool(group.get("centered", False)) for group in optimizer.param_groups}
    if len(centered) > 1:
        raise ValueError("All parameter groups must have the same value for the 'centered' attribute.")
    scaling = _number("loss_scaling", getattr(optimizer, "loss_scaling", 1.0))
    is_constant = variables.isConstant("loss_scaling") if variables else scaling == 1.0
    is_constant = is_constant and not automatic_loss_scaling
    clipping = _number("max_grad_norm", getattr(optimizer, "max_grad_norm", math.inf))
    if math.isnan(clipping):
        raise ValueError("max_grad_norm must not be NaN")
    first = "velocity_accum_type" if rule is Rule.SGD else "first_order_momentum_accum_type"
    return Optimizer(
        rule,
        groups,
        Setting(scaling, is_constant),
        max_grad_norm=clipping,
        bias_correction=bool(getattr(optimizer, "bias_correction", True)),
        centered=centered == {True},
        tensorflow_variant=bool(getattr(optimizer, "use_tf_variant", False)),
        combined_accumulator=bool(getattr(optimizer, "use_combined_accum", False)),
        accumulator_type=_type_name(optimizer, "accum_type"),
        first_state_type=_type_name(optimizer, first),
        second_state_type=_type_name(optimizer, "second_order_momentum_accum_type"),
    )


class AttributeWatch:
    """Tells of attributes that an optimizer has and the first one did not: once each, as PopTorch does."""

    def __init__(self, options: OptionGroup) -> None:
        self._tell: Callable[[str], None] = logger.debug if options("relax_optimizer_checks") else logger.warning
        self._known: tuple[set[str], set[str]] | None = None  #: of the optimizer, and of its groups
        self._told: set[str] = set()

    def check(self, optimizer: Any) -> None:
        """Remember the first optimizer's attributes; tell of new ones of those that follow."""
        # A scheduler hangs a function on the optimizer.
        own = [name for name, value in vars(optimizer).items() if not callable(value)]
        groups = [list(group) for group in optimizer.param_groups]
        if self._known is None:
            self._known = set(own), set().union(*groups)
            return
        of_optimizer, of_groups = self._known
        rows = [("optimizer attribute", own, of_optimizer)]
        rows += [(f"group {index} attribute", names, of_groups) for index, names in enumerate(groups)]
        for kind, names, known in rows:
            extra = [name for name in names if name not in known | _OF_THE_HOST and not name.startswith("_")]
            message = f"Ignoring unexpected {kind} in {_popart_name(optimizer)} optimizer: {extra}"
            if extra and message not in self._told:
                self._told.add(message)
                self._tell(message)


def _popart_name(optimizer: Any) -> str:
    """PopART's name of an optimizer: SGD2 keeps accumulator and velocity apart."""
    rule = _rule(optimizer)
    if rule is Rule.SGD:
        return "SGD1" if getattr(optimizer, "use_combined_accum", False) else "SGD2"
    if rule is Rule.RMSPROP:
        is_centered = any(group.get("centered") for group in optimizer.param_groups)
        return "RMSPROP_CENTERED" if is_centered else "RMSPROP"
    return rule.name if getattr(optimizer, "bias_correction", True) else f"{rule.name}_NO_BIAS"


def _rule(optimizer: Any) -> Rule:
    """AdamW first: in PyTorch it is an Adam."""
    kinds = (
        (torch.optim.SGD, Rule.SGD),
        (torch.optim.AdamW, Rule.ADAMW),
        (torch.optim.Adam, Rule.ADAM),
        (torch.optim.RMSprop, Rule.RMSPROP),
        (optim.LAMB, Rule.LAMB),
    )
    for kind, rule in kinds:
        if isinstance(optimizer, kind):
            decoupled = rule is Rule.ADAM and any(
                group.get("decoupled_weight_decay") for group in optimizer.param_groups
            )
            return Rule.ADAMW if decoupled else rule
    raise ValueError(
        f"Unsupported optimizer type {type(optimizer).__name__}. Types supported: torch.optim's SGD, Adam, AdamW, "
        "RMSprop, and poptorch.optim's SGD, Adam, AdamW, RMSprop, LAMB."
    )


def _group(rule: Rule, group: Mapping[str, Any], names: Mapping[int, str], variables: Any) -> Group:
    for attribute, sentence in _REFUSED.items():
        if group.get(attribute):
            raise ValueError(sentence)
    parameters = tuple(names[id(one)] for one in group["params"] if id(one) in names)
    return Group(parameters, {name: _setting(rule, name, group, variables) for name in VALUES[rule]})


def _setting(rule: Rule, name: str, group: Mapping[str, Any], variables: Any) -> Setting:
    if name in ("beta1", "beta2"):
        index = int(name[-1]) - 1
        value = _number("betas", group["betas"][index])
        is_constant = variables.isConstant("betas") if variables else tuple(group["betas"]) == _BETAS
        return Setting(value, is_constant)
    attribute, constant = _ATTRIBUTES[name]
    if name == "weight_decay" and rule is Rule.ADAMW:
        constant = 1e-2
    if attribute not in group and name == "velocity_scaling":
        return Setting(1.0, True)
    value = _number(attribute, group[attribute])
    if variables:
        return Setting(value, variables.isConstant(attribute))
    return Setting(value, constant is None or value == constant)


def _number(name: str, value: Any) -> float:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"Expected a number for {name} but got {value!r} instead")
    return float(value)


def _type_name(optimizer: Any, name: str) -> str:
    given = getattr(optimizer, name, torch.float32)
    if given not in (torch.float32, torch.float16):
        raise ValueError(f"{name} must be set to either torch.float16 or torch.float32 not {given}")
    return str(given).removeprefix("torch.")
