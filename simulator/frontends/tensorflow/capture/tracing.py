"""Abstract interpretation of a TensorFlow graph: operators in their order, an entry for each tensor.

Operators whose inputs are known run on the host, so that the arithmetic of shapes leaves nothing on the device. Called
functions are interpreted where they are called. Assignments change what later reads of the variable see: the captured
program has values only, and says at its end which variables get a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from simulator.frontends.captured import Argument, Operator, Place, Value
from simulator.frontends.lowering.differentiation import UnknownOperatorError
from simulator.frontends.lowering.tensorflow.host_transfers import transfers
from simulator.frontends.tensorflow.capture.conversion import CONVERTERS, EAGER, Call
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
from simulator.frontends.tensorflow.capture.host_parts import HostPart, host_parts
from simulator.frontends.tensorflow.capture.ordering import in_order
from simulator.frontends.tensorflow.capture.places import described, place_of
from simulator.frontends.tensorflow.capture.shape_inference import ShapeInference, evaluate
from simulator.frontends.tensorflow.capture.sharding import Sharding

#: the most elements of a tensor that is computed on the host
_LARGEST_KNOWN = 1 << 20
_ARGUMENTS = frozenset({"Placeholder", "PlaceholderWithDefault", "_Arg", "NoOp", "Assert", "CheckNumerics", "_Retval"})


class Tracer:
    """The state of one capture: variables, operators so far, numbers of values."""

    def __init__(self) -> None:
        self.inference = ShapeInference()
        self.operators: list[Operator] = []
        self.variables: dict[int, Variable] = {}  #: by the identity of the handle
        self.host_ends: dict[str, Any] = {}  #: by the handle of the transfers that reach them
        self.iterators: dict[int, Any] = {}  #: what gives their elements, by the identity of the handle
        self.host_variables: dict[str, str] = {}  #: variables that parts on the host use, and what uses them
        self.sharding = Sharding()
        self._bodies = 0  #: bodies of loops and branches around what is captured now
        self._values = 0
        self._counts: dict[int, tuple[int, int]] = {}  #: counts by value: (the value that they begin with, the change)
        self._moved: dict[tuple[int, int], Value] = {}  #: (count, change) -> its value

    # The program

    def new_value(self, shape: tuple[int, ...], dtype: str) -> Value:
        value = Value(self._values, shape, dtype)
        self._values += 1
        return value

    def add(self, name: str, arguments: Mapping[str, Argument], results: Sequence[Value], place: Place) -> None:
        self.operators.append(Operator(name, dict(arguments), tuple(results), place))

    @contextmanager
    def apart(self) -> Iterator[list[Operator]]:
        """Collect the operators of a body in a list of their own."""
        before, self.operators = self.operators, []
        self._bodies += 1
        try:
            yield self.operators
        finally:
            self.operators = before
            self._bodies -= 1

    def on_device(self, entry: Entry, call: Call) -> Value:
        """The value of an entry; a known one becomes a constant."""
        if isinstance(entry, Computed):
            return entry.value
        if not isinstance(entry, Known):
            raise CaptureError(f"The operator {call.described} takes a handle that the IPU does not have.")
        return self.constant(entry.array, call)

    def constant(self, array: np.ndarray[Any, Any], call: Call) -> Value:
        value = self.new_value(array.shape, call.device_dtype(array.dtype.name))
        stored = np.ascontiguousarray(array.astype(value.dtype))
        self.add(
            "tf.Const",
            {"shape": list(array.shape), "dtype": value.dtype, "data": stored.tobytes()},
            [value],
            call.place,
        )
        return value

    def host_end(self, kind: str, end: Any) -> str:
        """The handle of transfers with this end on the host: its kind and a number, in the order of the capture."""
        for handle, other in self.host_ends.items():
            if other is end:
                return handle
        handle = f"{kind}{len(self.host_ends)}"
        self.host_ends[handle] = end
        return handle

    # Counts of elements, which lists of one length share

    def moved_count(self, count: Value | int, change: int, place: Place) -> Value | int:
        """A count of elements, changed by a number."""
        if isinstance(count, int):
            return count + change
        base, before = self._counts.get(count.number, (count.number, 0))
        key = base, before + change
        if key not in self._moved:
            value = self.new_value((), "int32")
            self.add("aten.add.Scalar", {"self": count, "other": change}, [value], place)
            self._moved[key] = value
            self._counts[value.number] = key
        return self._moved[key]

    def change_of_count(self, before: Value, after: Value) -> int | None:
        """The difference of two counts; None where they do not come from one another."""
        if after.number == before.number:
            return 0
        base, change = self._counts.get(after.number, (-1, 0))
        return change if base == before.number else None

    # Graphs

    def run(self, graph: Any, environment: Environment, outer: Place) -> None:
        """Capture the operators of a graph. The entries of its inputs are in the environment."""
        order = in_order(graph)
        parts = host_parts(graph, order)
        for op in order:
            if op.name in parts:
                if parts[op.name].operators[-1] is op:
                    self._call_host(parts[op.name], environment, place_of(op, environment.path, outer))
                continue
            if op.type in _ARGUMENTS:
                self._pass_by(op, environment)
                continue
            place = place_of(op, environment.path, outer)
            inputs = [environment.entries[one.name] for one in op.inputs]
            before = len(self.operators)
            results = self._convert(op, inputs, place, environment.path)
            self.sharding.place(op, place, self.operators, before, self._bodies > 0)
            for tensor, entry in zip(op.outputs, results, strict=True):
                environment.entries[tensor.name] = entry

    def _call_host(self, part: HostPart, environment: Environment, place: Place) -> None:
        """A part of the graph that runs on the host: what the device computes goes there, and results come back."""
        call = Call(self, part.operators[0], (), place, environment.path)
        entries = [environment.entries[one.name] for one in part.inputs]
        for entry in entries:
            if isinstance(entry, Handle):
                self.host_variables[entry.variable.name] = call.described
        sent = [one for one in entries if isinstance(one, Computed)]
        given = [one if isinstance(one, Computed) else self._on_host(one, call) for one in entries]
        results = [self.new_value(part.shape(one), call.device_dtype(one.dtype.name)) for one in part.results]
        arguments = {
            "handle": self.host_end("host", part.function(given)),
            "inputs": [one.value for one in sent],
            "shapes": [one.shape for one in results],
            "dtypes": [one.dtype for one in results],
        }
        self.add("tf.HostCall", arguments, results, place)
        for tensor, value in zip(part.results, results, strict=True):
            environment.entries[tensor.name] = Computed(value, tensor.dtype.name)

    def _on_host(self, entry: Entry, call: Call) -> Any:
        """What a part on the host takes that the device does not compute: an array, or a handle."""
        if isinstance(entry, Known):
            return entry.array
        if isinstance(entry, HostResource):
            return entry.tensor
        if isinstance(entry, Handle):
            return entry.variable.handle
        raise CaptureError(
            f"The operator {call.described} in outside_compilation_scope takes a list of tensors of the device; give "
            "it a tensor (stack())."
        )

    def _pass_by(self, op: Any, environment: Environment) -> None:
        """Checks give their operand; placeholders have their entries already."""
        if op.type in ("CheckNumerics", "PlaceholderWithDefault") and op.outputs[0].name not in environment.entries:
            environment.entries[op.outputs[0].name] = environment.entries[op.inputs[0].name]

    def _convert(self, op: Any, inputs: Sequence[Entry], place: Place, path: str) -> Sequence[Entry]:
        known = [one for one in inputs if isinstance(one, Known)]
        if op.type not in EAGER and len(known) == len(inputs) and self._is_small(op) and not op.op_def.is_stateful:
            return evaluate(op, known)
        if op.type not in CONVERTERS:
            raise UnknownOperatorError(
                f"The operator {described(op, place)} cannot be lowered to the IPU; docs/tensorflow.md lists the "
                "operators that can."
            )
        made = CONVERTERS[op.type](Call(self, op, inputs, place, path))
        return [made] if isinstance(made, Entry) else list(made)

    def _is_small(self, op: Any) -> bool:
        shapes = (one.shape for one in op.outputs)
        return all(not shape.is_fully_defined() or shape.num_elements() <= _LARGEST_KNOWN for shape in shapes)

    def call_function(self, function: Any, inputs: Sequence[Entry], path: str, place: Place) -> list[Entry]:
        """Capture the graph of a called function; gives the entries of its results."""
        environment = Environment(path)
        for tensor, entry in zip(function.inputs, inputs, strict=True):
            environment.entries[tensor.name] = entry
        self.run(function, environment, place)
        return [environment.entries[one.name] for one in function.outputs]


def reachable(operators: Sequence[Operator], results: Sequence[Value]) -> list[Operator]:
    """The operators that results depend on, and those that the host notices, in their order."""
    needed = {value.number for value in results}
    chosen = []
    for operator in reversed(operators):
        if any(result.number in needed for result in operator.results) or any(transfers([operator])):
            chosen.append(operator)
            needed.update(value.number for value in operator.operands())
    return chosen[::-1]
