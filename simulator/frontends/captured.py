"""A captured program: a static single-assignment form of one step of a user's module, whatever framework wrote it.

Operators stand in the order in which the user's code called them. Each names the framework's operator and carries the
module and the source line that it came from. An operator that is lowered piece by piece brings the pieces of its
gradient along (`Recorded`); one that is lowered whole does not. A model has hundreds of operators: each is an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Value:
    """One tensor of the program: its number, shape and element type ("float32", "float16", "int32", "bool", ...), as
    the device stores it (64-bit types are narrowed to 32)."""

    number: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_floating(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count


#: key of a place's annotations: the user's program computes it without gradients
WITHOUT_GRADIENT = "without_gradient"
#: a tensor, a list, a number, a truth value, a text or nothing
Argument = Any


@dataclass(frozen=True)
class Frame:
    """One call on the way to an operator, outermost first."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Place:
    """Where the user's program asked for an operator. `annotations` are what the front end hung on it (its block)."""

    module: str = ""  #: path of the module, "layer1.conv"; "" is the outermost module
    file: str = ""  #: of the innermost frame outside the framework
    line: int = 0
    stack: tuple[Frame, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Module, file and line, for a message."""
        module = f"module '{self.module}'" if self.module else "the outermost module"
        return f"{module}, {self.file}:{self.line}" if self.file else module


@dataclass(frozen=True)
class Operator:
    """One call of an operator. `arguments` are by the names of its schema, defaults included."""

    name: str  #: "aten.conv2d.default"
    arguments: Mapping[str, Argument]
    results: tuple[Value, ...]
    place: Place
    recorded: Recorded | None = None

    @property
    def stops_gradients(self) -> bool:
        """Whether no gradient passes, by the user's wish."""
        return self.name == "aten.detach.default" or WITHOUT_GRADIENT in self.place.annotations

    def operands(self) -> Iterator[Value]:
        """Every tensor among the arguments, in their order."""
        for argument in self.arguments.values():
            yield from tensors_of(argument)


@dataclass(frozen=True)
class Body:
    """Operators that a loop or a branch runs: an argument of the operator that has it. They may read values from
    outside; `inputs` are those that the operator gives."""

    inputs: tuple[Value, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[Value, ...]

    def outer_values(self) -> Iterator[Value]:
        """Values from outside, in the order of their reading."""
        own = {value.number for value in self.inputs}
        for operator in self.operators:
            yield from (value for value in operator.operands() if value.number not in own)
            own.update(result.number for result in operator.results)
        yield from (value for value in self.outputs if value.number not in own)


@dataclass(frozen=True)
class Recorded:
    """The pieces of an operator without a rule of its own, as the framework's differentiation gives them. `forward`
    computes the operator's results, `backward` the gradients of its operands from `slopes`, the gradients of those
    results that have one."""

    forward: tuple[Operator, ...]
    results: tuple[Value, ...]  #: of the pieces, in the order of the operator's results
    backward: tuple[Operator, ...] = ()
    slopes: tuple[Value | None, ...] = ()  #: one per result
    gradients: tuple[tuple[Value, Value], ...] = ()  #: (operand, its gradient)


class WeightKind(Enum):
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Weight:
    """A tensor that stays on the device between runs, under the name that the user's module gives it. `aliases` are
    other names of the same tensor."""

    name: str
    value: Value
    kind: WeightKind
    trained: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """A tensor that the host sends for each micro-batch."""

    name: str
    value: Value


@dataclass(frozen=True)
class Hook:
    """Changes gradients: when those of `values`, results of one operator, are complete, the body makes new ones of
    them."""

    values: tuple[Value, ...]
    body: Body
    place: Place


@dataclass(frozen=True)
class Program:
    """One step of a module: operators from weights and inputs to outputs. `updates` are buffers that the step
    writes."""

    weights: tuple[Weight, ...]
    inputs: tuple[Input, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[Value, ...]
    output_names: tuple[str, ...]
    updates: tuple[tuple[str, Value], ...] = ()  #: (name of the weight, its new value)
    loss: Value | None = None
    hooks: tuple[Hook, ...] = ()  #: of gradients, in the order in which they run
    written_inputs: tuple[tuple[str, Value], ...] = ()  #: (name of the input, what the step writes to it)

    def results(self) -> Iterator[Value]:
        """What the host gets of a step: outputs and written inputs."""
        yield from self.outputs
        yield from (value for _, value in self.written_inputs)


def tensors_of(argument: Argument) -> Iterator[Value]:
    """The values in an argument, lists within lists included; of a body those from outside."""
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, Body):
        yield from argument.outer_values()
    elif isinstance(argument, Sequence) and not isinstance(argument, str):
        for part in argument:
            yield from tensors_of(part)


def operators_within(operators: Iterable[Operator]) -> Iterator[Operator]:
    """These operators, and those of the loops and branches among them."""
    for operator in operators:
        yield operator
        for argument in operator.arguments.values():
            for part in argument if isinstance(argument, list | tuple) else [argument]:
                if isinstance(part, Body):
                    yield from operators_within(part.operators)


def with_pieces_changed(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """An operator whose pieces, and those of its loops, branches and backward passes, are changed."""
    recorded = operator.recorded
    if recorded is not None:
        forward, backward = (tuple(map(change, pieces)) for pieces in (recorded.forward, recorded.backward))
        recorded = replace(recorded, forward=forward, backward=backward)
    arguments = {name: _changed(argument, change) for name, argument in operator.arguments.items()}
    return replace(operator, arguments=arguments, recorded=recorded)


def _changed(argument: Argument, change: Callable[[Operator], Operator]) -> Argument:
    if isinstance(argument, Body):
        return replace(argument, operators=tuple(map(change, argument.operators)))
    if isinstance(argument, tuple | list):
        return type(argument)(_changed(part, change) for part in argument)
    return argument


def values_with_gradient(program: Program) -> set[int]:
    """Numbers of the values that depend on a trained weight by floating-point operators."""
    reached = {weight.value.number for weight in program.weights if weight.trained}
    for operator in program.operators:
        if not operator.stops_gradients and any(operand.number in reached for operand in operator.operands()):
            reached.update(result.number for result in operator.results if result.is_floating)
    return reached
