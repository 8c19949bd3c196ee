"""An optimizer as lowering needs it: one rule, and per group of parameters the values of the rule.

A value is a constant, compiled into the program, or a variable, a tensor that `optimizerFromHost` streams, so that a
learning rate changes without a compilation. Frameworks describe their optimizers by these; nothing here knows one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum

#: types in which a state may be stored
STATE_TYPES = ("float32", "float16")


class Rule(Enum):
    """How a weight w follows from its gradient g. Values are those of `Group.values`; t counts steps from 1.

    g is the reduced gradient divided by the loss scaling, and clipped where `max_grad_norm` is finite:
    g *= max_grad_norm / max(norm, max_grad_norm), norm over all gradients of the optimizer."""

    #: g += weight_decay * w; v = momentum * v + (1 - dampening) * g, but v = g at t = 1; w -= learning_rate * v.
    #: Without momentum v is g.
    SGD = "sgd"
    #: g += weight_decay * w; m = beta1 * m + (1 - beta1) * g; s = beta2 * s + (1 - beta2) * g * g;
    #: w -= learning_rate * (m / (1 - beta1**t)) / (sqrt(s / (1 - beta2**t)) + eps). Without `bias_correction` the two
    #: divisors are 1.
    ADAM = "adam"
    #: w -= learning_rate * weight_decay * w; then ADAM without weight decay.
    ADAMW = "adamw"
    #: g += weight_decay * w; s = alpha * s + (1 - alpha) * g * g; d = s, less the square of the mean
    #: a = alpha * a + (1 - alpha) * g where `centered`; u = g / (sqrt(d) + eps). With momentum v = momentum * v + u;
    #: w -= learning_rate * v, else w -= learning_rate * u. `tensorflow_variant`: s starts at 1, eps stands under the
    #: root, and v = momentum * v + learning_rate * u; w -= v.
    RMSPROP = "rmsprop"
    #: m, s as ADAM; u = (m / (1 - beta1**t)) / (sqrt(s / (1 - beta2**t)) + eps) + weight_decay * w;
    #: w -= learning_rate * r * u, where r = min(norm(w), max_weight_norm) / norm(u), or 1 where either is 0.
    LAMB = "lamb"


#: values of each rule, in the order of the streams
VALUES: Mapping[Rule, tuple[str, ...]] = {
    Rule.SGD: ("learning_rate", "momentum", "dampening", "weight_decay", "velocity_scaling"),
    Rule.ADAM: ("learning_rate", "beta1", "beta2", "eps", "weight_decay"),
    Rule.ADAMW: ("learning_rate", "beta1", "beta2", "eps", "weight_decay"),
    Rule.RMSPROP: ("learning_rate", "alpha", "eps", "weight_decay", "momentum"),
    Rule.LAMB: ("learning_rate", "beta1", "beta2", "eps", "weight_decay", "max_weight_norm"),
}


@dataclass(frozen=True)
class Setting:
    """One number of an optimizer. `is_constant`: it is compiled in, and cannot change afterwards."""

    value: float
    is_constant: bool


@dataclass(frozen=True)
class Group:
    """Parameters that share their values. `parameters` are the names that the module gives them."""

    parameters: tuple[str, ...]
    values: Mapping[str, Setting]  #: by the names of VALUES

    def number(self, name: str) -> float:
        """One value. Raises KeyError for a name that is not of the rule."""
        return self.values[name].value


@dataclass(frozen=True)
class Optimizer:
    """A rule with its groups, and what holds for all groups."""

    rule: Rule
    groups: tuple[Group, ...]
    loss_scaling: Setting = Setting(1.0, True)
    max_grad_norm: float = math.inf
    bias_correction: bool = True  #: ADAM, ADAMW, LAMB
    centered: bool = False  #: RMSPROP
    tensorflow_variant: bool = False  #: RMSPROP
    combined_accumulator: bool = False  #: SGD: one tensor is accumulator and velocity
    accumulator_type: str = "float32"  #: of accumulated gradients
    first_state_type: str = "float32"  #: of the velocity, or of m
    second_state_type: str = "float32"  #: of s

    def __post_init__(self) -> None:
        for group in self.groups:
            if set(group.values) != set(VALUES[self.rule]):
                raise ValueError(f"A group of {self.rule.value} has values {sorted(group.values)}.")
        for name in ("accumulator_type", "first_state_type", "second_state_type"):
            if getattr(self, name) not in STATE_TYPES:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it is one of {STATE_TYPES}.")

    def group_of(self, parameter: str) -> int | None:
        """Index of the group of a parameter; None: no step changes it."""
        for index, group in enumerate(self.groups):
            if parameter in group.parameters:
                return index
        return None

    def settings(self) -> Iterator[tuple[str, Setting]]:
        """Every number by a unique name: "loss_scaling", and "0.learning_rate" for group 0."""
        yield "loss_scaling", self.loss_scaling
        for index, group in enumerate(self.groups):
            for name in VALUES[self.rule]:
                yield f"{index}.{name}", group.values[name]

    def variables(self) -> dict[str, float]:
        """The numbers that `optimizerFromHost` streams."""
        return {name: setting.value for name, setting in self.settings() if not setting.is_constant}


def refused_replacements(compiled: Optimizer, replacement: Optimizer) -> list[str]:
    """Why a program compiled for one optimizer cannot run another: a sentence each. Empty: its variables suffice."""
    if replacement.rule is not compiled.rule:
        return [f"The program was compiled for {compiled.rule.value}, the new optimizer is {replacement.rule.value}."]
    if [group.parameters for group in replacement.groups] != [group.parameters for group in compiled.groups]:
        return ["The new optimizer has other groups of parameters than the one that the program was compiled for."]
    refused = []
    for field in fields(Optimizer):
        before, after = getattr(compiled, field.name), getattr(replacement, field.name)
        if field.name not in ("rule", "groups", "loss_scaling") and before != after:
            refused.append(f"{field.name} is compiled in as {before} and cannot become {after}.")
    for (name, before), (_, after) in zip(compiled.settings(), replacement.settings(), strict=True):
        if before.is_constant and not after.is_constant:
            refused.append(f"{name} is compiled in as the constant {before.value:g} and cannot become a variable.")
        elif before.is_constant and before.value != after.value:
            refused.append(f"{name} is compiled in as the constant {before.value:g} and cannot become {after.value:g}.")
    return refused
