"""Called functions, loops and branches. A called function is captured where it is called, a branch that is known too.

A loop has a state for each tensor that its body changes, for each list that it writes and each variable that it
assigns. What it assigns, and the shape of lists that it begins empty, come to light in a first pass over the body,
whose operators are thrown away. Keras' LSTM, a loop in TensorFlow, is one operator in a trace for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

from simulator.frontends.captured import Body, Operator, Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.converters.tensor_lists import storage
from simulator.frontends.tensorflow.capture.device_tracing import LSTM, LSTM_GRADIENT, SAVED
from simulator.frontends.tensorflow.capture.entries import (
    CaptureError,
    Computed,
    Entry,
    Known,
    ListHandle,
    RandomKey,
    Variable,
)
from simulator.frontends.tensorflow.capture.loop_counts import count_of_passes, passed_on
from simulator.frontends.tensorflow.capture.tracing import reachable

_OPERANDS = ("self", "output", "cell", "kernel", "recurrent", "bias")
_OF_GRADIENT = ("outputs", "saved", "slope", "last_output_slope", "last_cell_slope")


def layer(call: Call, implements: str) -> Sequence[Entry] | None:
    """The results of a called function that stands for a layer; None for another one."""
    if implements == LSTM:
        return _lstm(call)
    if implements == LSTM_GRADIENT:
        return _lstm_gradient(call)
    return None


def _lstm(call: Call) -> Sequence[Entry]:
    given = {name: call.value(index) for index, name in enumerate(_OPERANDS)}
    batch, steps, _ = given["self"].shape
    units, dtype = given["recurrent"].shape[0], given["self"].dtype
    shapes = [(batch, steps, units), (batch, units), (steps, SAVED, batch, units)]
    results = [call.tracer.new_value(shape, dtype) for shape in shapes]
    call.tracer.add("tf.Lstm", given, results, call.place)
    return [Computed(value, dtype) for value in results]


def _lstm_gradient(call: Call) -> Sequence[Entry]:
    given = {name: call.value(index) for index, name in enumerate((*_OPERANDS, *_OF_GRADIENT))}
    results = [call.tracer.new_value(given[name].shape, given[name].dtype) for name in _OPERANDS]
    call.tracer.add("tf.LstmGrad", given, results, call.place)
    return [Computed(value, value.dtype) for value in results]


def graph_of(call: Call, name: str) -> Any:
    """The graph of a function in the library of the operator's graph."""
    function = call.op.graph._get_function(name)
    own = getattr(function, "graph", None)
    if own is not None:
        return own
    library = call.op.graph.as_graph_def().library.function
    (definition,) = (one for one in library if one.signature.name == name)
    return function_def_to_graph(definition)


def _scope(call: Call) -> str:
    """The scopes that the operator's name stands in."""
    name: str = call.op.name
    own = name.rpartition("/")[0]
    return "/".join(part for part in (call.path, own) if part)


@converts("PartitionedCall", "StatefulPartitionedCall", eager=True)
def called(call: Call) -> Sequence[Entry]:
    name = call.attribute("f").name
    whole = layer(call, _implemented(call, name))
    if whole is not None:
        return whole
    return call.tracer.call_function(graph_of(call, name), call.inputs, _scope(call), call.place)


def _implemented(call: Call, name: str) -> str:
    """What a function says that it implements."""
    function = call.op.graph._get_function(name)
    definition = getattr(function, "cached_definition", None)
    return "" if definition is None else definition.attr["_implements"].s.decode()


# Branches


def _branches(call: Call, names: Sequence[str], inputs: Sequence[Entry], rule: str, **chooser: Any) -> list[Entry]:
    """One of several functions by a value on the device."""
    tracer, variables = call.tracer, list(call.tracer.variables.values())
    before = [one.current for one in variables]
    bodies: list[tuple[list[Operator], list[Entry], list[Value]]] = []
    for name in names:
        with tracer.apart() as operators:
            results = tracer.call_function(graph_of(call, name), inputs, _scope(call), call.place)
            values = [_on_device(call, one) for one in results]
        bodies.append((operators, results, [*values, *(one.current for one in variables)]))
        for variable, value in zip(variables, before, strict=True):
            variable.current = value
    count = len(call.op.outputs)
    chosen = list(range(count)) + [
        count + number
        for number, value in enumerate(before)
        if any(body[2][count + number] is not value for body in bodies)
    ]
    for number in chosen:
        shapes = {body[2][number].shape for body in bodies}
        if len(shapes) > 1:
            raise CaptureError(
                f"The branches of {call.described} give results of the shapes {sorted(shapes)}; programs on the IPU "
                "have fixed shapes."
            )
    made = [_body(operators, (), [values[number] for number in chosen]) for operators, _, values in bodies]
    outputs = [tracer.new_value(value.shape, value.dtype) for value in made[0].outputs]
    branches = {"yes": made[0], "no": made[1]} if rule == "control.If" else {"bodies": made}
    tracer.add(rule, {**chooser, **branches}, outputs, call.place)
    for number, value in zip(chosen[count:], outputs[count:], strict=True):
        variables[number - count].current, variables[number - count].is_written = value, True
    return [_result(call, index, bodies[0][1][index], outputs[index]) for index in range(count)]


def _on_device(call: Call, entry: Entry) -> Value:
    return storage(call, entry) if isinstance(entry, ListHandle) else call.tracer.on_device(entry, call)


def _result(call: Call, index: int, entry: Entry, value: Value) -> Entry:
    if isinstance(entry, ListHandle):
        return ListHandle(entry.shape, value, entry.count)
    return Computed(value, call.result_dtype(index))


def _body(operators: Sequence[Operator], inputs: Sequence[Value], outputs: Sequence[Value]) -> Body:
    return Body(tuple(inputs), tuple(reachable(operators, outputs)), tuple(outputs))


@converts("If", "StatelessIf", eager=True)
def if_(call: Call) -> Sequence[Entry]:
    names = [call.attribute(f"{side}_branch").name for side in ("then", "else")]
    condition = call.inputs[0]
    if isinstance(condition, Known):
        graph = graph_of(call, names[0] if condition.array.all() and condition.array.size else names[1])
        return call.tracer.call_function(graph, call.inputs[1:], _scope(call), call.place)
    return _branches(call, names, call.inputs[1:], "control.If", condition=call.value(0))


@converts("Case", "StatelessCase", eager=True)
def case(call: Call) -> Sequence[Entry]:
    names, index = [one.name for one in call.attribute("branches")], call.inputs[0]
    if isinstance(index, Known):
        place = int(index.array)
        graph = graph_of(call, names[place if 0 <= place < len(names) else -1])
        return call.tracer.call_function(graph, call.inputs[1:], _scope(call), call.place)
    return _branches(call, names, call.inputs[1:], "control.Switch", index=call.value(0))


# Loops


@dataclass
class _Pass:
    """One capture of a loop's body. `initial` and `states` are values before the loop and within it."""

    entries: list[Entry]  #: of the body's inputs
    initial: list[Value] = field(default_factory=list)
    states: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)  #: of the body, one per state
    operators: list[Operator] = field(default_factory=list)
    outputs: list[Entry] = field(default_factory=list)  #: of the body
    written: list[Variable] = field(default_factory=list)


class _Loop:
    """One loop while it is captured."""

    def __init__(self, call: Call) -> None:
        self.call, self.tracer = call, call.tracer
        self.condition = graph_of(call, call.attribute("cond").name)
        self.body = graph_of(call, call.attribute("body").name)
        self.fixed = passed_on(self.body)
        self.count = count_of_passes(self.condition, self.body, call.inputs)
        self.is_trial = False  #: whether the pass at hand only finds out what the loop writes

    def captured(self) -> list[Entry]:
        if self.count == 0:
            return self.call.inputs
        self._give_room()
        self.is_trial = True
        trial = self._pass(())
        self.is_trial = False
        return self._finished(self._pass(trial.written))

    def _give_room(self) -> None:
        """Lists that grow by the loop have room for an element of each pass."""
        for entry in self.call.inputs:
            if isinstance(entry, ListHandle) and entry.shape.length is None and entry.value is None:
                entry.shape.length = self.count

    def _pass(self, written: Sequence[Variable]) -> _Pass:
        """Capture the body, with a state for each of the variables that it assigns."""
        own = _Pass([])
        counts: dict[Any, Value] = {}
        for number, entry in enumerate(self.call.inputs):
            own.entries.append(entry if number in self.fixed else self._state_of(own, number, entry, counts))
        variables = list(self.tracer.variables.values())
        before = [(one.current, one.is_written) for one in variables]
        for one in written:
            one.current = self._state(own, one.current)
        started = [one.current for one in variables]
        with self.tracer.apart() as operators:
            own.outputs = self.tracer.call_function(self.body, own.entries, _scope(self.call), self.call.place)
            own.results = self._results(own, counts)
            own.results += [one.current for one in written]
        own.operators = operators
        own.written = [
            one for one, value in zip(variables, started, strict=True) if one.current is not value or one in written
        ]
        for variable, (value, is_written) in zip(variables, before, strict=True):
            variable.current, variable.is_written = value, is_written
        return own

    def _state(self, own: _Pass, initial: Value) -> Value:
        state = self.tracer.new_value(initial.shape, initial.dtype)
        own.initial.append(initial)
        own.states.append(state)
        return state

    def _state_of(self, own: _Pass, number: int, entry: Entry, counts: dict[Any, Value]) -> Entry:
        """The entry of a body's input that the body changes. Counts that begin alike have one state."""
        if isinstance(entry, ListHandle):
            shape, count = entry.shape, entry.count
            is_open = shape.element is None or shape.length is None or not shape.needs_storage
            is_open = is_open or (self.is_trial and entry.value is None)
            value = None if is_open else self._state(own, storage(self.call, entry))
            if count is not None:
                key = count if isinstance(count, int) else ("value", count.number)
                if key not in counts:
                    counts[key] = self._state(own, self._count(count))
                count = counts[key]
            return ListHandle(shape, value, count)
        if isinstance(entry, Known | Computed):
            dtype = self.call.op.inputs[number].dtype.name
            return Computed(self._state(own, self.tracer.on_device(entry, self.call)), dtype)
        if isinstance(entry, RandomKey):
            raise CaptureError(
                f"The loop {self.call.described} changes the key of random draws; change the seed instead."
            )
        return entry

    def _count(self, count: Value | int) -> Value:
        if isinstance(count, Value):
            return count
        return self.tracer.constant(np.array(count, np.int32), self.call)

    def _results(self, own: _Pass, counts: dict[Any, Value]) -> list[Value]:
        """The new value of each state but those of variables."""
        results: dict[int, Value] = {}
        for number, (given, out) in enumerate(zip(own.entries, own.outputs, strict=True)):
            if number in self.fixed:
                continue
            if isinstance(given, ListHandle) and isinstance(out, ListHandle):
                if given.value is not None:
                    results[given.value.number] = storage(self.call, out)
                self._note_count(results, given, out)
            elif isinstance(given, Computed):
                results[given.value.number] = self.tracer.on_device(out, self.call)
        chosen = [results[state.number] for state in own.states if state.number in results]
        for state, result in zip((one for one in own.states if one.number in results), chosen, strict=True):
            if state.shape != result.shape:
                raise CaptureError(
                    f"A tensor of the loop {self.call.described} has the shape {state.shape} before a pass and "
                    f"{result.shape} after it; programs on the IPU have fixed shapes."
                )
        return chosen

    def _note_count(self, results: dict[int, Value], given: ListHandle, out: ListHandle) -> None:
        if not isinstance(given.count, Value):
            return
        assert isinstance(out.count, Value), "a count that a state began with stays one"
        other = results.setdefault(given.count.number, out.count)
        if other.number != out.count.number:
            raise CaptureError(
                f"Lists of the loop {self.call.described} grow by different numbers of elements; write them by index."
            )

    def _finished(self, own: _Pass) -> list[Entry]:
        """Add the loop; gives the entries of its results."""
        body = _body(own.operators, own.states, own.results)
        outputs = [self.tracer.new_value(value.shape, value.dtype) for value in own.states]
        if self.count is None:
            condition = self._condition(own)
            arguments = {"initial": own.initial, "condition": condition, "body": body}
            self.tracer.add("control.While", arguments, outputs, self.call.place)
        else:
            arguments = {"initial": own.initial, "body": body, "count": self.count}
            self.tracer.add("control.Repeat", arguments, outputs, self.call.place)
        after = {state.number: output for state, output in zip(own.states, outputs, strict=True)}
        for variable, state in zip(own.written, own.states[len(own.states) - len(own.written) :], strict=True):
            variable.current, variable.is_written = after[state.number], True
        return [self._after(number, own, after) for number in range(len(self.call.inputs))]

    def _condition(self, own: _Pass) -> Body:
        variables = list(self.tracer.variables.values())
        before = [one.current for one in variables]
        states = own.states[len(own.states) - len(own.written) :]
        for one, state in zip(own.written, states, strict=True):
            one.current = state
        with self.tracer.apart() as operators:
            (flag,) = self.tracer.call_function(self.condition, own.entries, _scope(self.call), self.call.place)
            result = self.tracer.on_device(flag, self.call)
        for one, value in zip(variables, before, strict=True):
            one.current = value
        return _body(operators, own.states, [result])

    def _after(self, number: int, own: _Pass, after: dict[int, Value]) -> Entry:
        given, entry = own.entries[number], self.call.inputs[number]
        if number in self.fixed:
            return entry
        if isinstance(given, ListHandle):
            value = None if given.value is None else after[given.value.number]
            return ListHandle(given.shape, value, self._count_after(given, own.outputs[number], entry, after))
        if isinstance(given, Computed):
            return Computed(after[given.value.number], given.dtype)
        return entry

    def _count_after(self, given: ListHandle, out: Entry, entry: Entry, after: dict[int, Value]) -> Value | int | None:
        """The count of a list after the loop: a number where the number of passes is known."""
        if not isinstance(given.count, Value):
            return given.count
        assert isinstance(out, ListHandle)
        assert isinstance(out.count, Value)
        assert isinstance(entry, ListHandle)
        change = self.tracer.change_of_count(given.count, out.count)
        if isinstance(entry.count, int) and change is not None and self.count is not None:
            return entry.count + change * self.count
        return after[given.count.number]


@converts("While", "StatelessWhile", eager=True)
def while_(call: Call) -> Sequence[Entry]:
    return _Loop(call).captured()
