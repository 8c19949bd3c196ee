"""How often a loop runs, where that depends on nothing but numbers that are known: the loop is run on the host without
its data. Such a loop becomes a Repeat; others test a condition on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.frontends.tensorflow.capture.entries import Entry, Known
from simulator.frontends.tensorflow.capture.ordering import in_order
from simulator.frontends.tensorflow.capture.shape_inference import evaluate

#: passes after which the loop counts as one of unknown length
_MOST = 50_000
_SAME = frozenset({"Identity", "StopGradient"})


def passed_on(graph: Any) -> set[int]:
    """The inputs of a loop's body that come out as they went in."""
    return {
        number
        for number, (given, result) in enumerate(zip(graph.inputs, graph.outputs, strict=True))
        if _origin(result) is given
    }


def _origin(tensor: Any) -> Any:
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return tensor


class _HostPart:
    """The operators of a graph that some of its results need."""

    def __init__(self, graph: Any, results: Sequence[Any]) -> None:
        self.results = list(results)
        self.numbers = {tensor.name: number for number, tensor in enumerate(graph.inputs)}
        needed = {one.op.name for one in self.results}
        self.operators = []
        for op in reversed(in_order(graph)):
            if op.name in needed:
                self.operators.append(op)
                needed.update(one.op.name for one in op.inputs)
        self.operators.reverse()
        self.inputs = {
            self.numbers[one.name] for op in self.operators for one in op.outputs if one.name in self.numbers
        }

    def run(self, given: Mapping[int, Known]) -> list[Known] | None:
        """The results; None where one depends on data."""
        known: dict[str, Known] = {}
        for op in self.operators:
            number = self.numbers.get(op.outputs[0].name) if op.outputs else None
            if number is not None:
                if number not in given:
                    return None
                known[op.outputs[0].name] = given[number]
            elif op.type in _SAME:
                known[op.outputs[0].name] = known[op.inputs[0].name]
            elif op.op_def.is_stateful or "Call" in op.type or not op.outputs:
                return None
            else:
                values = evaluate(op, [known[one.name] for one in op.inputs])
                known.update({one.name: value for one, value in zip(op.outputs, values, strict=True)})
        return [known[one.name] for one in self.results]


def count_of_passes(condition: Any, body: Any, entries: Sequence[Entry]) -> int | None:
    """The number of passes of a loop that begins with these entries; None where it depends on data."""
    asked = _HostPart(condition, condition.outputs)
    needed = set(asked.inputs)
    while True:
        chosen = sorted(needed)
        step = _HostPart(body, [body.outputs[number] for number in chosen])
        if step.inputs <= needed:
            break
        needed |= step.inputs
    state = {number: entry for number in chosen if isinstance(entry := entries[number], Known)}
    if len(state) < len(chosen):
        return None
    for count in range(_MOST):
        answer = asked.run(state)
        if answer is None:
            return None
        if not answer[0].array:
            return count
        results = step.run(state)
        if results is None:
            return None
        state = dict(zip(chosen, results, strict=True))
    return None
