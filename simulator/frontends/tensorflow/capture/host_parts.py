"""Parts of a graph that run on the host: the operators that were made in one `outside_compilation_scope`.

Operators of a scope bear its number as an attribute, which also functions of a library keep. A part runs as a whole, in
the place of its last operator: a function of TensorFlow that takes what others computed and gives what others read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.eager import context

from simulator.arrays import AnyArray
from simulator.frontends.tensorflow.capture.entries import CaptureError, Computed

_ATTRIBUTE = "_outside_compilation_scope"
_numbers = count()


@contextmanager
def marked_for_host(graph: Any) -> Iterator[None]:
    """Operators that are made within belong to one part on the host."""
    number = attr_value_pb2.AttrValue(i=next(_numbers))
    with graph._attr_scope({_ATTRIBUTE: number}):
        yield


def is_marked_for_host(graph: Any) -> bool:
    """Whether an operator that is made now belongs to a part on the host."""
    return _ATTRIBUTE in graph._attr_scope_map


@dataclass
class HostPart:
    """The operators of one scope, in their order. `inputs` are tensors of others, `results` those that others read."""

    graph: Any
    operators: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    def shape(self, result: Any) -> tuple[int, ...]:
        """Raises CaptureError where the trace leaves sizes open."""
        if not result.shape.is_fully_defined():
            raise CaptureError(
                f"The shape {result.shape} of '{result.name}', computed in outside_compilation_scope, is not fixed; "
                "set it with set_shape."
            )
        return tuple(result.shape.as_list())

    def function(self, inputs: Sequence[Any]) -> Callable[[Sequence[AnyArray]], list[AnyArray]]:
        """What runs the part: takes an array for each input that is Computed, gives one for each result. Other inputs
        are arrays or handles."""
        specifications = [
            tf.TensorSpec(tensor.shape, tensor.dtype)
            for tensor, given in zip(self.inputs, inputs, strict=True)
            if isinstance(given, Computed)
        ]

        def part(*arguments: Any) -> list[Any]:
            remaining = iter(arguments)
            chosen = {
                tensor.name: next(remaining) if isinstance(given, Computed) else _inside(given)
                for tensor, given in zip(self.inputs, inputs, strict=True)
            }
            return self._imported(chosen)

        made: list[Any] = []

        def run(arrays: Sequence[AnyArray]) -> list[AnyArray]:
            with context.eager_mode():
                if not made:
                    made.append(tf.function(part, autograph=False).get_concrete_function(*specifications))
                tensors = [
                    tf.constant(np.asarray(array).astype(one.dtype.as_numpy_dtype), one.dtype, one.shape)
                    for array, one in zip(arrays, specifications, strict=True)
                ]
                return [np.asarray(one) for one in made[0](*tensors)[: len(self.results)]]

        return run

    def _imported(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The part in the graph at hand; gives its results, and one tensor that needs all its operators."""
        own = {one.name for one in self.operators}
        source = graph_pb2.GraphDef()
        whole = self.graph.as_graph_def()
        source.versions.CopyFrom(whole.versions)
        source.library.CopyFrom(whole.library)
        for node in whole.node:
            if node.name in own:
                copied = source.node.add()
                copied.CopyFrom(node)
                kept = [one for one in node.input if not one.startswith("^") or one[1:] in own]
                del copied.input[:]
                copied.input.extend(kept)
                for name in (_ATTRIBUTE, "_class"):
                    copied.attr.pop(name, None)
                copied.device = ""
        wanted = [*(one.name for one in self.results), *own]
        made = tf.graph_util.import_graph_def(source, dict(inputs), wanted, name="outside")
        with tf.control_dependencies(made[len(self.results) :]):
            return [*(tf.identity(one) for one in made[: len(self.results)]), tf.zeros([])]


def _inside(given: Any) -> Any:
    """A handle or an array as a tensor of the graph at hand."""
    if isinstance(given, tf.Tensor):
        return tf.compat.v1.get_default_graph().capture(given)
    return tf.constant(given)


def host_parts(graph: Any, order: Sequence[Any]) -> dict[str, HostPart]:
    """The part of each operator that belongs to the host, by the operator's name."""
    by_number: dict[int, HostPart] = {}
    parts: dict[str, HostPart] = {}
    for op in order:
        number = None if op.type == "Placeholder" else _number(op)
        if number is not None:
            parts[op.name] = by_number.setdefault(number, HostPart(graph))
            parts[op.name].operators.append(op)
    if not parts:
        return parts
    read = {one.name for one in graph.outputs}
    for op in order:
        for tensor in op.inputs:
            own, other = parts.get(op.name), parts.get(tensor.op.name)
            if own is other:
                continue
            read.add(tensor.name)
            if own is not None and all(tensor is not one for one in own.inputs):
                own.inputs.append(tensor)
    for part in by_number.values():
        part.results = [tensor for op in part.operators for tensor in op.outputs if tensor.name in read]
    return parts


def _number(op: Any) -> int | None:
    try:
        return int(op.get_attr(_ATTRIBUTE))
    except ValueError:
        return None
