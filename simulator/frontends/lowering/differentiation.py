"""Forward and backward passes of a captured program: reverse-mode differentiation over a tape of operators.

Each operator is built once going forward; the tape remembers what its gradient needs. Going back, the gradients that
meet at one value are added ("GradSum", as PopART calls it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Argument, Body, Hook, Operator, Place, Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.index_reads import watch_operands
from simulator.frontends.lowering.rules import TABLE, Rule
from simulator.frontends.lowering.shards import Spot
from simulator.poplar import Tensor
from simulator.poplibs import popops

#: key of a place's annotations: the operator computes a gradient
IS_GRADIENT = "is_gradient"
Backward = Callable[[Building, Sequence[Tensor | None], frozenset[str]], Mapping[str, Any]]


class UnknownOperatorError(poplar_error):
    """The program calls an operator that has no rule, or uses a result that its rule does not compute."""


class RefusedOperandsError(poplar_error):
    """PopLibs refuse the operands of an operator."""


@dataclass
class Tape:
    """Tensors by the number of their value, and the operators that ran, with the function of each one's gradient.
    `place_value` makes the tensor of a weight or input when its first operator reads it. `homes` are the spots where
    values are made; a value's gradient is added up there."""

    at: Building
    place_value: Callable[[Value, Tensor | None], Tensor | None]
    name_of: Callable[[Value], str]  #: of a weight or input
    with_gradient: set[int]
    hooks: tuple[Hook, ...] = ()
    track: Callable[[Tensor], None] | None = None  #: is told of each gradient that an operator gives
    tensors: dict[int, Tensor] = field(default_factory=dict)
    homes: dict[int, Spot] = field(default_factory=dict)
    slopes: dict[int, Tensor] = field(default_factory=dict)
    ran: list[tuple[Operator, Backward | None]] = field(default_factory=list)
    missing: dict[int, tuple[Operator, int]] = field(default_factory=dict)  #: results that a rule does not compute

    def __post_init__(self) -> None:
        self.at.build_body = self._build_body

    def _build_body(self, body: Body, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Build the operators of a body where `at` stands; gives its outputs."""
        for value, tensor in zip(body.inputs, inputs, strict=True):
            self._set(value, tensor)
        for operator in body.operators:
            self._build(operator)
        return [self._local(value) for value in body.outputs]

    def forward(self, operators: Iterable[Operator]) -> None:
        for operator in operators:
            self._run(operator)

    def backward(self, loss: Value, slope: Tensor) -> None:
        """Gradients of everything the loss depends on, into `slopes`."""
        self.at.is_backward = True
        self.slopes[loss.number] = slope
        waiting = list(self.hooks)
        while self.ran:
            operator, backward = self.ran.pop()
            waiting = self._run_hooks(waiting, {result.number for result in operator.results})
            slopes = [self.slopes.get(result.number) for result in operator.results]
            if all(one is None for one in slopes):
                continue
            if operator.recorded is not None:
                self._run_back(operator, slopes)
            elif backward is not None:
                self._apply(operator, backward, slopes)

        self._run_hooks(waiting, {value.number for hook in waiting for value in hook.values})

    def _run_hooks(self, waiting: list[Hook], complete: set[int]) -> list[Hook]:
        """Run the hooks of values whose gradients are complete; the other hooks go on waiting."""
        for hook in waiting:
            if hook.values[0].number in complete and any(one.number in self.slopes for one in hook.values):
                self._run_hook(hook)
        return [hook for hook in waiting if hook.values[0].number not in complete]

    def _run_hook(self, hook: Hook) -> None:
        home = self.at.execution.slope_spot(self.homes[hook.values[0].number])
        with self.at.operator("popvision.hooked.default", "HookGrad", hook.place, home):
            slopes = [
                self.slopes[value.number] if value.number in self.slopes else self._zeros(value)
                for value in hook.values
            ]
            changed = self.at.build_body(hook.body, self.at.without_loss_scaling(slopes))
            for value, slope in zip(hook.values, self.at.with_loss_scaling(changed), strict=True):
                self.slopes[value.number] = slope

    def tensor(self, value: Value) -> Tensor:
        """The tensor of a value; a weight or input that nothing read so far is spread over the tiles in order."""
        if value.number not in self.tensors:
            home = self.at.execution.source_spot(self.at.spot)
            with self.at.at_spot(home):
                self._set(value, self._placed(value, None), home)
        return self.tensors[value.number]

    def _set(self, value: Value, tensor: Tensor, home: Spot | None = None) -> None:
        """Note the tensor of a value, made where the operator at hand runs or at `home`."""
        self.tensors[value.number] = tensor
        self.homes[value.number] = self.at.spot if home is None else home

    def _local(self, value: Value) -> Tensor:
        """The tensor of a value, or its copy on the IPU of the operator at hand."""
        tensor = self.tensor(value)
        return self.at.execution.moved(value.number, tensor, self.homes[value.number], self.at.spot, self.at.info)

    def _placed(self, value: Value, layout: Tensor | None) -> Tensor:
        tensor = self.place_value(value, layout)
        if tensor is None:
            operator, number = self.missing[value.number]
            raise UnknownOperatorError(
                f"The operator {operator.name} of {_where(operator.place)} gives no result {number} on the IPU; leave "
                "that result unused."
            )
        return tensor

    def _run(self, operator: Operator) -> None:
        self._make(operator)
        with self.at.at_spot(self.at.spot_of(operator.place)):
            watch_operands(operator, self._local, self.at.program)

    def _make(self, operator: Operator) -> None:
        if operator.recorded is not None:
            pieces = operator.recorded.forward
            alone = len(pieces) == 1
            with nullcontext() if alone else self.at.operator(operator.name, _kind(operator), operator.place):
                for piece in pieces:
                    self._build(piece)
            with self.at.at_spot(self.at.spot_of(operator.place)):
                for result, piece_result in zip(operator.results, operator.recorded.results, strict=True):
                    self._set(result, self._local(piece_result))
            self.ran.append((operator, None))
            return
        self.ran.append((operator, self._build(operator)))

    def _build(self, operator: Operator) -> Backward | None:
        rule = rule_of(operator)
        with self.at.operator(operator.name, _kind(operator), operator.place):
            self._create_operands(operator, rule)
            arguments = {_parameter(name): self._resolved(value) for name, value in operator.arguments.items()}
            with _refusals_of(operator):
                spot, built = self.at.spot, rule.build(self.at, **arguments)
            backward = None
            if rule.own_backward:
                built, backward = built
        results = built if isinstance(built, tuple) else (built,)
        assert len(results) == len(operator.results), f"{operator.name} gave {len(results)} results"
        for number, (result, tensor) in enumerate(zip(operator.results, results, strict=True)):
            assert tensor is None or tuple(tensor.shape()) == result.shape, (
                f"{operator.name}: {tensor.shape()} for {result}"
            )
            if tensor is None:
                self.missing[result.number] = operator, number
            else:
                assert tensor.elementType() is element_type(result.dtype), (
                    f"{operator.name}: {tensor.elementType()} for {result}"
                )
                self._set(result, tensor, spot)
        return backward

    def _create_operands(self, operator: Operator, rule: Rule) -> None:
        """Weights and inputs without a place get the one that this operator reads best."""
        for name, layout in rule.layouts.items():
            value = operator.arguments.get("self" if name == "input" else name)
            if not isinstance(value, Value) or value.number in self.tensors:
                continue
            home = self.at.execution.source_spot(self.at.spot)
            with self.at.at_spot(home):
                with self.at.naming(self.name_of(value)):
                    wanted = layout(self.at, **{_parameter(key): one for key, one in operator.arguments.items()})
                self._set(value, self._placed(value, wanted), home)

    def _resolved(self, argument: Argument) -> Any:
        if isinstance(argument, Value):
            return self._local(argument)
        if isinstance(argument, tuple | list):
            return [self._resolved(part) for part in argument]
        return argument

    def _run_back(self, operator: Operator, slopes: Sequence[Tensor | None]) -> None:
        recorded = operator.recorded
        assert recorded is not None
        with self.at.operator(operator.name, _gradient_kind(operator), operator.place):
            for value, slope in zip(recorded.slopes, slopes, strict=True):
                if value is not None:
                    self._set(value, slope if slope is not None else self._zeros(value))
            for piece in recorded.backward:
                self._build(piece)
        with self.at.at_spot(self.at.spot_of(operator.place)):
            gradients = [
                (operand, self._local(one))
                for operand, one in recorded.gradients
                if operand.number in self.with_gradient
            ]
        for operand, gradient in gradients:
            self._add(operator, operand, gradient)

    def _apply(self, operator: Operator, backward: Backward, slopes: Sequence[Tensor | None]) -> None:
        wanted = frozenset(
            _parameter(name) for name, argument in operator.arguments.items() if self._needs_gradient(argument)
        )
        if not wanted:
            return
        with self.at.operator(operator.name, _gradient_kind(operator), operator.place), _refusals_of(operator):
            gradients = backward(self.at, slopes, wanted)
        missing = sorted(wanted - gradients.keys())
        if missing:
            raise UnknownOperatorError(
                f"The operator {operator.name} of {_where(operator.place)} has no gradient of its argument "
                f"{missing[0]} on the IPU; detach that argument."
            )
        for name, argument in operator.arguments.items():
            self._add_all(operator, argument, gradients.get(_parameter(name)))

    def _needs_gradient(self, argument: Argument) -> bool:
        if isinstance(argument, Value):
            return argument.number in self.with_gradient
        return isinstance(argument, tuple | list) and any(self._needs_gradient(part) for part in argument)

    def _add_all(self, operator: Operator, argument: Argument, gradient: Any) -> None:
        if gradient is None:
            return
        if isinstance(argument, Value):
            if argument.number in self.with_gradient:
                self._add(operator, argument, gradient)
            return
        for part, one in zip(argument, gradient, strict=True):
            self._add_all(operator, part, one)

    def _add(self, operator: Operator, value: Value, slope: Tensor) -> None:
        assert tuple(slope.shape()) == value.shape, f"{operator.name}: gradient {slope.shape()} of {value}"
        self.tensor(value)  # an operand that nothing read gets its place
        if self.track is not None:
            with self.at.operator(operator.name, "Histogram", operator.place):
                self.track(slope)
        before, home = self.slopes.get(value.number), self.at.execution.slope_spot(self.homes[value.number])
        if (spot := self.at.spot_of(operator.place)) != home:
            with self.at.operator(operator.name, "IpuCopy", operator.place):
                slope = self.at.execution.moved_slope(slope, spot, home, self.at.info)
        if before is not None:
            with self.at.operator(operator.name, "GradSum", operator.place, home):
                slope = popops.add(self.at.graph, before, slope, self.at.program, self.at.name("add"))
        self.slopes[value.number] = slope

    def _zeros(self, value: Value) -> Tensor:
        return self.at.constant(element_type(value.dtype), value.shape, 0, "zeros")


def _kind(operator: Operator) -> str:
    """The kind in the name of an operator; that of a gradient which the program itself has ends in "Grad". One without
    a rule, which is lowered in pieces, has its framework's name: "Hardswish" for aten.hardswish.default."""
    if operator.name in TABLE:
        kind = TABLE[operator.name].kind
    else:
        kind = "".join(word.capitalize() for word in operator.name.split(".")[1].split("_"))
    is_gradient = operator.place.annotations.get(IS_GRADIENT, False)
    return f"{kind}Grad" if is_gradient and not kind.endswith("Grad") else kind


def _gradient_kind(operator: Operator) -> str:
    """The kind in the name of the gradient of an operator."""
    return f"{_kind(operator).removesuffix('Grad')}Grad"


@contextmanager
def _refusals_of(operator: Operator) -> Iterator[None]:
    """Name the operator, its module and its line in what PopLibs refuse."""
    try:
        yield
    except (UnknownOperatorError, RefusedOperandsError):
        raise
    except poplar_error as error:
        place = _where(operator.place)
        raise RefusedOperandsError(f"{operator.name} of {place} cannot be lowered to the IPU: {error}") from error


def rule_of(operator: Operator) -> Rule:
    """The rule of an operator. Raises UnknownOperatorError, naming operator, module, file and line."""
    if operator.name not in TABLE:
        raise UnknownOperatorError(
            f"The operator {operator.name} of {_where(operator.place)} cannot be lowered to the IPU; write it in "
            "operators that docs/poptorch.md lists, or call it on the host, outside the module."
        )
    return TABLE[operator.name]


def _where(place: Place) -> str:
    module = f"module '{place.module}'" if place.module else "the outermost module"
    return f"{module} ({place.file}:{place.line})" if place.file else module


def _parameter(name: str) -> str:
    """The name of an argument in a rule."""
    return "input" if name == "self" else name
