"""A function of TensorFlow as a captured program: one of its traces, with fixed shapes.

A write to a list happens in place where nobody reads the list's old version afterwards. A version belongs to the
sequence of operators that made it; a branch or a loop copies a list from outside before it writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

from simulator.arrays import AnyArray
from simulator.frontends.captured import Body, Input, Operator, Place, Program, Value, Weight, WeightKind, tensors_of
from simulator.frontends.lowering.element_types import NARROWED, is_known
from simulator.frontends.tensorflow.capture import converters as converters
from simulator.frontends.tensorflow.capture.entries import (
    CaptureError,
    Computed,
    Entry,
    Environment,
    Handle,
    HostResource,
    Known,
    Variable,
)
from simulator.frontends.tensorflow.capture.tracing import Tracer, reachable


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


_without_effect: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def note_without_effect(graph: Any, options: Mapping[str, str]) -> None:
    """The report of the program that a graph becomes shows these options, which change nothing."""
    _without_effect.setdefault(graph, {}).update(options)


@dataclass(frozen=True)
class CapturedFunction:
    """A captured function and how its arguments and results stand in the program. `inputs` has the name of the
    program's input for each argument, None for those that the device does not read. `results` has, for each result,
    the number of the program's output, or the array where the value is known already."""

    program: Program
    inputs: tuple[str | None, ...]
    results: tuple[int | AnyArray, ...]
    dtypes: tuple[str, ...]  #: TensorFlow's element type of each result
    variable_dtypes: Mapping[str, str]  #: TensorFlow's element type by the name of the weight
    variables: Mapping[str, Any] = field(default_factory=dict)  #: handles by the name of the weight
    host_ends: Mapping[str, Any] = field(default_factory=dict)  #: what the program's transfers reach, by their handle
    without_effect: Mapping[str, str] = field(default_factory=dict)  #: options that only the report shows

    def pack(self, outputs: Sequence[AnyArray]) -> list[AnyArray]:
        """The results of the function from the outputs of the program, in the element types of the function."""
        chosen = (outputs[one] if isinstance(one, int) else one for one in self.results)
        return [np.asarray(one).astype(dtype) for one, dtype in zip(chosen, self.dtypes, strict=True)]


def capture_function(concrete: Any, shapes: Sequence[Sequence[int]] | None = None) -> CapturedFunction:
    """Capture a ConcreteFunction. `shapes` are those of its arguments, where the trace leaves sizes open.

    Raises CaptureError for what has no fixed shape, and UnknownOperatorError for an operator without a rule."""
    graph, captured = concrete.graph, list(concrete.captured_inputs)
    arguments = list(graph.inputs)[: len(graph.inputs) - len(captured)]
    tracer, environment = Tracer(), Environment()
    given = _arguments(tracer, arguments, shapes)
    for tensor, entry in zip(arguments, given, strict=True):
        environment.entries[tensor.name] = entry
    names = _names(concrete.graph.variables)
    for tensor, one in zip(graph.inputs[len(arguments) :], captured, strict=True):
        environment.entries[tensor.name] = _captured(tracer, one, names)
    tracer.run(graph, environment, Place())
    results = [environment.entries[one.name] for one in graph.outputs]
    made = _finished(tracer, arguments, given, results, graph.outputs)
    return replace(made, without_effect=dict(_without_effect.get(graph, {})))


def _arguments(tracer: Tracer, tensors: Sequence[Any], shapes: Sequence[Sequence[int]] | None) -> list[Computed]:
    given = []
    for index, tensor in enumerate(tensors):
        shape = tensor.shape if shapes is None else tensor.shape.merge_with(list(shapes[index]))
        if not shape.is_fully_defined():
            raise CaptureError(
                f"The argument '{tensor.op.name}' has the shape {shape}; programs on the IPU have fixed shapes, so "
                "give all batches the same size (drop_remainder=True)."
            )
        dtype = str(tensor.dtype.name)
        if not is_known(dtype):
            raise CaptureError(
                f"The argument '{tensor.op.name}' has elements of type {dtype}, which the IPU does not have."
            )
        given.append(Computed(tracer.new_value(tuple(shape.as_list()), NARROWED.get(dtype, dtype)), dtype))
    return given


def _names(variables: Sequence[Any]) -> dict[int, str]:
    """Names of variables by the identity of their handles: the variable's own, numbered where several share it."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for variable in variables:
        base = variable.name.partition(":")[0] or "variable"
        name, number = base, 0
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[id(variable.handle)] = name
    return names


def _captured(tracer: Tracer, tensor: Any, names: Mapping[int, str]) -> Entry:
    """The entry of a tensor that the function captured: a constant, a variable's handle or another resource."""
    if tensor.dtype.name != "resource":
        return Known(np.asarray(tensor.numpy()))
    if id(tensor) not in tracer.variables:
        held = tensor._handle_data
        if held is None or not held.is_set or len(held.shape_and_type) != 1:
            return HostResource(tensor)
        known = held.shape_and_type[0]
        shape = tuple(dim.size for dim in known.shape.dim)
        name = names.get(id(tensor), f"variable_{len(tracer.variables)}")
        if known.shape.unknown_rank or min(shape, default=0) < 0:
            raise CaptureError(f"The variable '{name}' has no fixed shape.")
        dtype = _dtype_name(known.dtype)
        if not is_known(dtype):
            raise CaptureError(f"The variable '{name}' has elements of type {dtype}, which the IPU does not have.")
        value = tracer.new_value(shape, NARROWED.get(dtype, dtype))
        tracer.variables[id(tensor)] = Variable(name, value, dtype, tensor, value)
    return Handle(tracer.variables[id(tensor)])


def _dtype_name(number: int) -> str:
    return str(tf.as_dtype(number).name)


def _finished(
    tracer: Tracer,
    arguments: Sequence[Any],
    given: Sequence[Computed],
    results: Sequence[Entry],
    tensors: Sequence[Any],
) -> CapturedFunction:
    outputs: list[Value] = []
    chosen: list[int | AnyArray] = []
    for entry in results:
        if isinstance(entry, Known):
            chosen.append(entry.array)
        elif isinstance(entry, Computed):
            numbers = [one.number for one in outputs]
            if entry.value.number not in numbers:
                outputs.append(entry.value)
                numbers.append(entry.value.number)
            chosen.append(numbers.index(entry.value.number))
        else:
            raise CaptureError("A function that runs on the IPU returns tensors, not handles of resources or lists.")
    used = list(tracer.variables.values())  # in the order of the function's captures
    updates = [(one.name, one.current) for one in used if one.is_written and one.current is not one.value]
    operators = reachable(tracer.operators, [*outputs, *(value for _, value in updates)])
    operators = _without_saved(operators)
    read = {value.number for operator in operators for value in operator.operands()}
    read |= {value.number for value in outputs} | {value.number for _, value in updates}
    names = [f"arg{index}_{tensor.op.name}" for index, tensor in enumerate(arguments)]
    inputs = tuple(name if one.value.number in read else None for name, one in zip(names, given, strict=True))
    written = {name for name, _ in updates}
    weights = [one for one in used if one.value.number in read or one.name in written]
    _check_host_variables(tracer, weights)
    program = Program(
        tuple(Weight(one.name, one.value, WeightKind.PARAMETER) for one in weights),
        tuple(Input(name, one.value) for name, one in zip(inputs, given, strict=True) if name is not None),
        lists_in_place(operators, [], [*outputs, *(value for _, value in updates)]),
        tuple(outputs),
        tuple(f"result{number}" for number in range(len(outputs))),
        tuple(updates),
    )
    return CapturedFunction(
        program,
        inputs,
        tuple(chosen),
        tuple(str(one.dtype.name) for one in tensors),
        {one.name: one.dtype for one in weights},
        {one.name: one.handle for one in weights},
        tracer.host_ends,
    )


def _check_host_variables(tracer: Tracer, weights: Sequence[Variable]) -> None:
    """A variable is the host's or the device's while a program runs."""
    for one in weights:
        if one.name in tracer.host_variables:
            raise CaptureError(
                f"The variable '{one.name}' is used on the device and, by {tracer.host_variables[one.name]}, in "
                "outside_compilation_scope; read it before the scope, and assign it behind."
            )


def _without_saved(operators: Sequence[Operator]) -> list[Operator]:
    """Layers whose gradient nobody computes save nothing for it."""
    read = {value.number for operator in operators for value in operator.operands()}
    return [
        replace(one, name="tf.LstmInference", results=one.results[:2])
        if one.name == "tf.Lstm" and one.results[2].number not in read
        else one
        for one in operators
    ]
