"""The first operator whose values, or else gradients, are not those of eager torch.

Forward goes through the operators in their order, backward from the loss: an operator is at fault where the gradients
of its results agree and those of its operands do not. A hash map tells which call of eager torch made a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.frontends.captured import Operator, Program, Value
from simulator.frontends.poptorch.beside_torch.calls import CALL
from simulator.frontends.poptorch.beside_torch.comparison import Pair, difference, is_rounding, stacked
from simulator.frontends.poptorch.beside_torch.device_step import DeviceStep
from simulator.frontends.poptorch.beside_torch.eager_step import EagerStep, Event


@dataclass(frozen=True)
class Location:
    """An operator and what is to be said of it."""

    operator: Operator
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.operator.name} ({self.operator.place.text()}){self.remark}"


def values_of_calls(program: Program) -> list[Value]:
    """Results of operators that a call made: those that have a twin in eager torch."""
    return [result for one in program.operators if CALL in one.place.annotations for result in one.results]


class Search:
    """Both sides of one step, with the tensors of all calls. `precise` is eager torch in float64, where that runs."""

    def __init__(
        self,
        device: DeviceStep,
        eager: EagerStep,
        precise: EagerStep | None,
        share: float,
        weights: Sequence[str],
        lines: Mapping[int, tuple[str, int]],
    ) -> None:
        self._device, self._eager, self._precise, self._share = device, eager, precise, share
        self._weights = set(weights)  #: whose gradients differ
        self._lines = lines  #: the user's file and line of each call
        self._twins = dict(self._find_twins())

    def _find_twins(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """The call and the position among its tensors that made a value, by the value's number."""
        groups: dict[int, list[Operator]] = {}
        for operator in self._device.program.operators:
            if CALL in operator.place.annotations:
                groups.setdefault(operator.place.annotations[CALL], []).append(operator)
        for call, operators in groups.items():
            event = self._eager.events[0].get(call)
            for position, tensor in enumerate(event.tensors if event is not None else ()):
                value = _result_like(operators, tensor, position)
                if value is not None and value.number in self._device.values:
                    yield value.number, (call, position)

    def forward(self) -> Location | None:
        """The first operator whose result differs."""
        for operator in self._device.program.operators:
            for result in operator.results:
                if self._value_differs(result):
                    return self._at(operator)
        return None

    def _at(self, operator: Operator, remark: str = "") -> Location:
        """The operator with the line of its call: torch.export knows only lines of functions named "forward"."""
        line = self._lines.get(operator.place.annotations.get(CALL, -1))
        if line is not None:
            operator = replace(operator, place=replace(operator.place, file=line[0], line=line[1]))
        return Location(operator, remark)

    def backward(self) -> Location | None:
        """The operator next to the loss that gives other gradients to its operands."""
        readers = self._device.program.operators
        makers = {result.number: one for one in readers for result in one.results}
        weights = {one.value.number: one.name for one in self._device.program.weights}
        loss = self._device.program.loss
        beyond = next((one for one in readers if loss is not None and loss in one.operands()), None)
        if loss is not None and beyond is not None and self._slope_differs(loss):
            return self._at(beyond, ": what follows the loss is not in the gradient of the device")
        for operator in reversed(readers):
            for operand in operator.operands():
                if weights.get(operand.number) in self._weights:
                    return self._at(operator)
                if self._slope_differs(operand):
                    if self._stops_in_torch(operand):
                        return self._at(makers[operand.number], ": torch takes no gradient of its result")
                    return self._at(operator)
        return None

    def maker(self, value: Value) -> Location | None:
        """The operator that made a value."""
        made = next((one for one in self._device.program.operators if value in one.results), None)
        return None if made is None else self._at(made)

    def _events(self, value: Value, side: EagerStep | None = None) -> tuple[list[Event], int] | None:
        """The calls that made a value, by micro-batch, and its position among their tensors."""
        twin = self._twins.get(value.number)
        if twin is None:
            return None
        events = [events[twin[0]] for events in (side or self._eager).events if twin[0] in events]
        return (events, twin[1]) if len(events) == len(self._device.values[value.number]) else None

    def _value_differs(self, value: Value) -> bool:
        found = self._events(value)
        if found is None:
            return False
        return self._differ(value, self._device.values[value.number], _tensors)

    def _slope_differs(self, value: Value) -> bool:
        found = self._events(value)
        if found is None or any(value in hook.values for hook in self._device.program.hooks):
            return False
        events, position = found
        if not all(one.is_new[position] for one in events):
            return False
        slopes = self._device.slopes[value.number]
        gradients = _gradients(events, position)
        if any(one is None for one in gradients):
            return bool(any(np.any(slope) for slope in slopes)) and all(one is None for one in gradients)
        return self._differ(value, slopes, _gradients)

    def _stops_in_torch(self, value: Value) -> bool:
        found = self._events(value)
        return found is not None and not any(one.needs_gradient[found[1]] for one in found[0])

    def _differ(self, value: Value, device: Sequence[Any], part: Callable[[list[Event], int], list[Any]]) -> bool:
        found = self._events(value)
        assert found is not None
        pair = Pair("output", "", np.stack(device), stacked(part(*found)))
        if pair.device.shape != pair.eager.shape:
            return False
        differing = difference(pair, self._share)
        precise = None if self._precise is None else self._events(value, self._precise)
        if differing is None or precise is None or any(one is None for one in part(*precise)):
            return differing is not None
        return not is_rounding(differing, Pair("output", "", pair.device, stacked(part(*precise))))


def _tensors(events: list[Event], position: int) -> list[Any]:
    return [one.tensors[position] for one in events]


def _gradients(events: list[Event], position: int) -> list[Any]:
    return [one.gradients[position] for one in events]


def _result_like(operators: Sequence[Operator], tensor: Any, position: int) -> Value | None:
    """The result of the last operator that has the form of a call's tensor."""
    for operator in reversed(operators):
        alike = [
            one
            for one in operator.results
            if one.shape == tensor.shape and one.is_floating == tensor.is_floating_point()
        ]
        if len(operator.results) > position and operator.results[position] in alike:
            return operator.results[position]
        if alike:
            return alike[0]
    return None
