"""The update step: one rule per kind of optimizer, built from the description of its parameter groups.

States ("Accl1___w", "Accl2___w", "Step") stay on the device, under PopART's names (tensornames.hpp): the velocity of
SGD is "Accl___w" where it is the accumulator too; an accumulator apart is "Accum___w". Values that may change are
scalars which optimizerFromHost fills; constants are compiled into the expressions. The formulas are those of
`simulator.frontends.optimizer.Rule`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.loss_scaling import RATE
from simulator.frontends.lowering.update_steps import Update, Updated
from simulator.frontends.optimizer import Optimizer, Rule
from simulator.poplar import FLOAT, HALF, Tensor, Type
from simulator.poplar import program as programs
from simulator.poplibs import popops

e = popops.expr
#: an expression, a number or a tensor
Term = Any
_ADD = popops.ReduceParams(popops.Operation.ADD)
_SQUARES = popops.ReduceParams(popops.Operation.SQUARE_ADD)
_TYPES = {"float32": FLOAT, "float16": HALF}


@dataclass
class _Step:
    """One update step while it is built."""

    at: Building
    optimizer: Optimizer
    states: dict[str, Tensor] = field(default_factory=dict)
    first_values: dict[str, float] = field(default_factory=dict)
    rates: dict[str, Tensor] = field(default_factory=dict)
    steps: Tensor | None = None

    def value(self, name: str) -> Tensor | float:
        """A number of the optimizer by its name in `Optimizer.settings`: a scalar tensor if it may change."""
        if name == RATE and isinstance(self.at.loss_scaling, Tensor):
            return self.at.loss_scaling
        setting = dict(self.optimizer.settings())[name]
        if setting.is_constant:
            return setting.value
        if name not in self.rates:
            self.rates[name] = self.at.scalar(name)
        return self.rates[name]

    def state(self, name: str, like: Tensor, dtype: str, first: float = 0.0) -> Tensor:
        """A tensor that lasts from step to step, laid out like another one."""
        made = self.at.graph.clone(_TYPES[dtype], like, name)
        self.states[name] = made
        self.first_values[name] = first
        return made

    def step_count(self) -> Tensor:
        """The number of this step, from 1."""
        if self.steps is None:
            self.steps = self.at.scalar("Step")
            self.states["Step"] = self.steps
            self.first_values["Step"] = 0.0
            with self.at.part("Step", "Increment"):
                popops.addInPlace(self.at.graph, self.steps, 1.0, self.at.program, "Step/next")
        return self.steps

    def apply(self, term: Term, tensors: Sequence[Tensor | float], name: str) -> Tensor:
        """`term(*operands)` of tensors and numbers, as one expression. Among halves and floats it is computed in float
        and has the first tensor's type."""
        expression, real = _placed(term, tensors)
        return popops.map(self.at.graph, expression, real, self.at.program, name)

    def assign(self, term: Term, tensors: Sequence[Tensor | float], name: str) -> None:
        """The same, written to the first tensor."""
        expression, real = _placed(term, tensors)
        popops.mapInPlace(self.at.graph, expression, real, self.at.program, name)

    def widest_state_type(self) -> str:
        """That of the moments; of descent and RMSprop, whose states share a type, that."""
        types = [self.optimizer.first_state_type]
        if self.optimizer.rule in (Rule.ADAM, Rule.ADAMW, Rule.LAMB):
            types.append(self.optimizer.second_state_type)
        return "float32" if "float32" in types else "float16"

    def cast(self, tensor: Tensor, type_: Type, name: str) -> Tensor:
        """A tensor in another type; itself where it has that type."""
        if tensor.elementType() == type_:
            return tensor
        return popops.cast(self.at.graph, tensor, type_, self.at.program, name)

    def subtract(self, weight: Tensor, change: Tensor, factor: Tensor | float, name: str) -> None:
        """weight -= factor * change, whatever their types."""
        if weight.elementType() != change.elementType():
            scaled = self.apply(lambda c, f: c * f, [change, factor], f"{name}/scale")
            scaled = self.cast(scaled, weight.elementType(), f"{name}/cast")
            popops.subInPlace(self.at.graph, weight, scaled, self.at.program, name)
            return
        popops.scaledSubtractFrom(self.at.graph, weight, change, factor, self.at.program, name)

    def kind(self, weight: str) -> str:
        """PopART's name of the operation that updates a weight."""
        rule = self.optimizer.rule
        if rule is not Rule.SGD:
            return "RMSPropVarUpdate" if rule is Rule.RMSPROP else "AdamVarUpdate"
        momentum = self.value(f"{self.optimizer.group_of(weight)}.momentum")
        return "SGD0VarUpdate" if isinstance(momentum, float) and momentum == 0.0 else "SGD1VarUpdate"

    def updating(self, weight: str) -> AbstractContextManager[None]:
        """All that is made inside belongs to the update of a weight."""
        return self.at.weight_part(weight, self.kind(weight))


def _placed(term: Term, tensors: Sequence[Tensor | float]) -> tuple[Term, list[Tensor]]:
    """The expression of place holders for tensors and constants for numbers, and its tensors."""
    real = [one for one in tensors if isinstance(one, Tensor)]
    is_mixed = len({one.elementType() for one in real}) > 1
    operands: list[Term] = []
    number = 0
    for one in tensors:
        if not isinstance(one, Tensor):
            operands.append(e.Const(float(one)))
            continue
        number += 1
        holder = e.PlaceHolder(number)
        operands.append(e.Cast(holder, FLOAT) if is_mixed and one.elementType() == HALF else holder)
    expression = term(*operands)
    return (e.Cast(expression, HALF) if is_mixed and real[0].elementType() == HALF else expression), real


class UpdateRule(Update):
    """The step of an optimizer, for one `ModuleLowering`. Weights in none of its groups stay as they are."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._step: _Step | None = None
        self._combined: set[str] = set()  #: weights whose velocity is the accumulator

    def __call__(self, at: Building, weights: Mapping[str, tuple[Tensor, Tensor]]) -> Updated:
        step, optimizer = self._begun(at), self._optimizer
        stepped = {name: pair for name, pair in weights.items() if optimizer.group_of(name) is not None}
        gradients = {}
        for name, (_, slope) in stepped.items():
            with step.updating(name):
                gradients[name] = slope if name in self._combined else _unscaled(step, name, slope)
        if math.isfinite(optimizer.max_grad_norm):
            with at.part("gradients", "ClipNorm"):
                _clip(step, gradients)
        for name, (weight, _) in stepped.items():
            prefix = f"{optimizer.group_of(name)}."
            with step.updating(name):
                if name in self._combined:
                    _descend(step, name, prefix, weight, gradients[name])
                else:
                    _RULES[optimizer.rule](step, name, prefix, weight, gradients[name])
        return Updated(step.states, step.rates, step.first_values)

    def accumulated(
        self, at: Building, name: str, weight: Tensor, slope: Tensor, before: programs.Sequence, share: float
    ) -> Tensor | None:
        """PopART's SGD1 (sgd.hpp): v = v * momentum + weight decay before the micro-batches, each of which adds its
        gradient to v. Changed numbers hold from the next step on; in PopART momentum and decay a step later. Clipping
        takes the norm of the gradients, which therefore add up apart from v."""
        chosen = self._optimizer
        prefix = f"{chosen.group_of(name)}."
        if not chosen.combined_accumulator or chosen.group_of(name) is None or math.isfinite(chosen.max_grad_norm):
            return None
        step = self._begun(at)
        momentum, decay = step.value(f"{prefix}momentum"), step.value(f"{prefix}weight_decay")
        scaling, loss_scaling = step.value(f"{prefix}velocity_scaling"), step.value("loss_scaling")
        if isinstance(momentum, float) and momentum == 0.0:
            return None
        self._combined.add(name)
        velocity = step.state(f"Accl___{name}", weight, chosen.first_state_type)
        with at.inside(before), at.over_all_ipus():
            damping = _damping(step, prefix)
            if isinstance(decay, float) and decay == 0.0:
                step.assign(lambda v, m: v * m, [velocity, momentum], f"{name}/SGD1AcclUpdate")
            else:
                step.assign(
                    lambda v, w, m, d, s, *t: _damped(v * m, w * d * s, t),
                    [velocity, weight, momentum, decay, scaling, *damping],
                    f"{name}/SGD1AcclUpdate",
                )
        with at.over_all_ipus():
            step.assign(
                lambda v, g, s, ls, *t: _damped(v, g * (s * e.Const(share) / ls), t),
                [velocity, slope, scaling, loss_scaling, *damping],
                f"{name}/SGD1Accumulate",
            )
        return velocity

    def _begun(self, at: Building) -> _Step:
        """The step, with all numbers that the host sends."""
        if self._step is None:
            self._step = _Step(at, self._optimizer)
            for name, setting in self._optimizer.settings():
                if not setting.is_constant:
                    self._step.value(name)
        return self._step


def update_rule(optimizer: Optimizer) -> UpdateRule:
    """The step of an optimizer, for one `ModuleLowering`."""
    return UpdateRule(optimizer)


def _unscaled(step: _Step, name: str, slope: Tensor) -> Tensor:
    """The gradient divided by the loss scaling, in the widest type of the optimizer's states."""
    scaling = step.value("loss_scaling")
    slope = step.cast(slope, _TYPES[step.widest_state_type()], f"{name}/gradient")
    if isinstance(scaling, float) and scaling == 1.0:
        return slope
    return step.apply(lambda g, s: g / s, [slope, scaling], f"{name}/unscale")


def _clip(step: _Step, gradients: dict[str, Tensor]) -> None:
    """Scale all gradients so that their common norm is at most max_grad_norm."""
    total = None
    for name, slope in gradients.items():
        part = _square_sum(step, slope, f"{name}/squares")
        total = part if total is None else popops.add(step.at.graph, total, part, step.at.program, "gradNorm/add")
    if total is None:
        return
    limit = step.optimizer.max_grad_norm
    factor = step.apply(lambda t, m: m / e.Max(e.Sqrt(t), m), [total, limit], "gradNorm/factor")
    for name, slope in gradients.items():
        gradients[name] = step.apply(lambda g, f: g * f, [slope, factor], f"{name}/clip")


def _square_sum(step: _Step, tensor: Tensor, name: str) -> Tensor:
    return popops.reduce(step.at.graph, tensor.flatten(), FLOAT, [0], _SQUARES, step.at.program, name)


def _decayed(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> Tensor:
    """The gradient plus weight decay."""
    decay = step.value(f"{prefix}weight_decay")
    if isinstance(decay, float) and decay == 0.0:
        return slope
    weight = step.cast(weight, slope.elementType(), f"{name}/weight")
    return step.apply(lambda g, w, d: g + d * w, [slope, weight, decay], f"{name}/weightDecay")


def _sgd(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> None:
    momentum, dampening = step.value(f"{prefix}momentum"), step.value(f"{prefix}dampening")
    rate, scaling = step.value(f"{prefix}learning_rate"), step.value(f"{prefix}velocity_scaling")
    slope = _decayed(step, name, prefix, weight, slope)
    if isinstance(momentum, float) and momentum == 0.0:
        kept: Tensor = slope
        if not (isinstance(dampening, float) and dampening == 0.0):
            # The velocity of the first step is the whole gradient.
            kept = step.apply(
                lambda g, d, t: g * (e.Const(1.0) - d * e.Min(t - e.Const(1.0), e.Const(1.0))),
                [slope, dampening, step.step_count()],
                f"{name}/dampen",
            )
        step.subtract(weight, kept, rate, f"{name}/SGD0VarUpdate")
        return
    prefix_of_state = "Accl" if step.optimizer.combined_accumulator else "Accl1"
    velocity = step.state(f"{prefix_of_state}___{name}", weight, step.optimizer.first_state_type)
    step.assign(
        lambda v, g, m, s, *t: _damped(v * m, g * s, t),
        [velocity, slope, momentum, scaling, *_damping(step, prefix)],
        f"{name}/SGD1AcclUpdate",
    )
    _descend(step, name, prefix, weight, velocity)


def _damping(step: _Step, prefix: str) -> list[Tensor | float]:
    """The dampening and the number of the step; nothing where there is no dampening."""
    dampening = step.value(f"{prefix}dampening")
    return [] if isinstance(dampening, float) and dampening == 0.0 else [dampening, step.step_count()]


def _damped(velocity: Term, added: Term, damping: Sequence[Term]) -> Term:
    """What is added is damped from the second step on: the velocity of the first is the whole gradient."""
    if not damping:
        return velocity + added
    dampening, count = damping
    return velocity + added * (e.Const(1.0) - dampening * e.Min(count - e.Const(1.0), e.Const(1.0)))


def _descend(step: _Step, name: str, prefix: str, weight: Tensor, velocity: Tensor) -> None:
    """weight -= velocity * learning rate / velocity scaling."""
    rate, scaling = step.value(f"{prefix}learning_rate"), step.value(f"{prefix}velocity_scaling")
    factor: Tensor | float = rate
    if not (isinstance(scaling, float) and scaling == 1.0):
        both = [rate, scaling]
        if all(isinstance(one, float) for one in both):
            factor = float(both[0]) / float(both[1])  # type: ignore[arg-type]
        else:
            factor = step.apply(lambda r, s: r / s, both, f"{name}/rate")
    step.subtract(weight, velocity, factor, f"{name}/SGD1VarUpdate")


def _moments(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> Tensor:
    """The update of Adam: corrected first moment over the root of the corrected second."""
    chosen = step.optimizer
    beta1, beta2, eps = (step.value(f"{prefix}{one}") for one in ("beta1", "beta2", "eps"))
    first = step.state(f"Accl1___{name}", weight, chosen.first_state_type)
    second = step.state(f"Accl2___{name}", weight, chosen.second_state_type)
    one = e.Const(1.0)
    slope1 = step.cast(slope, first.elementType(), f"{name}/gradient1")
    step.assign(lambda m, g, b: m * b + g * (one - b), [first, slope1, beta1], f"{name}/AdamAccl1")
    slope2 = step.cast(slope, second.elementType(), f"{name}/gradient2")
    step.assign(lambda s, g, b: s * b + g * g * (one - b), [second, slope2, beta2], f"{name}/AdamAccl2")
    if first.elementType() != second.elementType():
        first = step.cast(first, FLOAT, f"{name}/moment1")
        second = step.cast(second, FLOAT, f"{name}/moment2")
    if not chosen.bias_correction:
        return step.apply(lambda m, s, p: m / (e.Sqrt(s) + p), [first, second, eps], f"{name}/AdamUpdater")
    count = step.step_count()
    correct1 = step.apply(lambda t, b: one - e.Pow(b, t), [count, beta1], f"{name}/correction1")
    correct2 = step.apply(lambda t, b: e.Sqrt(one - e.Pow(b, t)), [count, beta2], f"{name}/correction2")
    return step.apply(
        lambda m, s, c, d, p: (m / c) / (e.Sqrt(s) / d + p),
        [first, second, correct1, correct2, eps],
        f"{name}/AdamUpdater",
    )


def _adam(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> None:
    slope = _decayed(step, name, prefix, weight, slope)
    change = _moments(step, name, prefix, weight, slope)
    step.subtract(weight, change, step.value(f"{prefix}learning_rate"), f"{name}/AdamVarUpdate")


def _adamw(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> None:
    change = _moments(step, name, prefix, weight, slope)
    change = _decayed(step, name, prefix, weight, change)
    step.subtract(weight, change, step.value(f"{prefix}learning_rate"), f"{name}/AdamVarUpdate")


def _rmsprop(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> None:
    chosen, one = step.optimizer, e.Const(1.0)
    alpha, eps, rate = (step.value(f"{prefix}{key}") for key in ("alpha", "eps", "learning_rate"))
    momentum = step.value(f"{prefix}momentum")
    slope = _decayed(step, name, prefix, weight, slope)
    second = step.state(f"Accl1___{name}", weight, chosen.first_state_type, 1.0 if chosen.tensorflow_variant else 0.0)
    step.assign(lambda s, g, a: s * a + g * g * (one - a), [second, slope, alpha], f"{name}/RMSPropAccl1")
    spread: Tensor = second
    if chosen.centered:
        mean = step.state(f"Accl2___{name}", weight, chosen.first_state_type)
        step.assign(lambda m, g, a: m * a + g * (one - a), [mean, slope, alpha], f"{name}/RMSPropAccl2")
        spread = step.apply(lambda s, m: s - m * m, [second, mean], f"{name}/centre")
    if chosen.tensorflow_variant:
        change = step.apply(lambda g, s, p: g / e.Sqrt(s + p), [slope, spread, eps], f"{name}/RMSPropUpdater")
    else:
        change = step.apply(lambda g, s, p: g / (e.Sqrt(s) + p), [slope, spread, eps], f"{name}/RMSPropUpdater")
    factor: Tensor | float = rate
    if not (isinstance(momentum, float) and momentum == 0.0):
        velocity = step.state(f"Accl3___{name}", weight, chosen.first_state_type)
        scale: Tensor | float = rate if chosen.tensorflow_variant else 1.0
        step.assign(lambda v, u, m, s: v * m + u * s, [velocity, change, momentum, scale], f"{name}/RMSPropAccl3")
        change, factor = velocity, 1.0 if chosen.tensorflow_variant else rate
    step.subtract(weight, change, factor, f"{name}/RMSPropVarUpdate")


def _lamb(step: _Step, name: str, prefix: str, weight: Tensor, slope: Tensor) -> None:
    limit, rate = step.value(f"{prefix}max_weight_norm"), step.value(f"{prefix}learning_rate")
    change = _decayed(step, name, prefix, weight, _moments(step, name, prefix, weight, slope))
    weights = _square_sum(step, weight, f"{name}/LambSquare")
    changes = _square_sum(step, change, f"{name}/LambSquare")
    zero, one = e.Const(0.0), e.Const(1.0)
    top = 3.0e38 if isinstance(limit, float) and not math.isfinite(limit) else limit
    ratio = step.apply(
        lambda w, u, m, r: e.Select(e.Min(e.Sqrt(w), m) / e.Sqrt(u), one, e.And(e.Gt(w, zero), e.Gt(u, zero))) * r,
        [weights, changes, top, rate],
        f"{name}/trustRatio",
    )
    step.subtract(weight, change, ratio, f"{name}/AdamVarUpdate")


_RULES: Mapping[Rule, Callable[[_Step, str, str, Tensor, Tensor], None]] = {
    Rule.SGD: _sgd,
    Rule.ADAM: _adam,
    Rule.ADAMW: _adamw,
    Rule.RMSPROP: _rmsprop,
    Rule.LAMB: _lamb,
}
