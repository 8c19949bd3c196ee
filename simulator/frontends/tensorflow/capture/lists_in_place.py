"""Which writes to lists may happen in place: those whose old version nobody reads afterwards.

A version belongs to the sequence of operators that made it; a branch or a loop copies a list from outside before it
writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simulator.frontends.captured import Body, Operator, Value, tensors_of


def lists_in_place(
    operators: Sequence[Operator], inputs: Sequence[Value], outputs: Sequence[Value]
) -> tuple[Operator, ...]:
    """The operators, with the writes marked that need no copy; those of bodies too."""
    own = {value.number for value in inputs}
    own.update(result.number for operator in operators for result in operator.results)
    readers: dict[int, list[tuple[int, str]]] = {}
    for place, operator in enumerate(operators):
        for value in operator.operands():
            readers.setdefault(value.number, []).append((place, operator.name))
    kept = {value.number for value in outputs}
    made = []
    for place, operator in enumerate(operators):
        arguments: dict[str, Any] = {name: _argument(one) for name, one in operator.arguments.items()}
        if operator.name == "tf.ListSet":
            number = next(tensors_of(operator.arguments["self"])).number
            others = [one for one in readers[number] if one[0] != place]
            arguments["in_place"] = (
                number in own
                and number not in kept
                and all(where < place and name == "tf.ListGet" for where, name in others)
            )
        made.append(replace(operator, arguments=arguments))
    return tuple(made)


def _argument(argument: Any) -> Any:
    if isinstance(argument, Body):
        return replace(argument, operators=lists_in_place(argument.operators, argument.inputs, argument.outputs))
    if isinstance(argument, list | tuple):
        return [_argument(one) for one in argument]
    return argument
