"""`ipu_compiler.compile` and the scopes of TensorFlow 1's graph mode: a computation that runs on the device is one
operator of the session's graph, which calls the simulated device from the host.

Variables stay the session's: made in a computation, they are made in the session's graph, so that it initialises, reads
and saves them. The operator takes their values and gives the new ones, which are assigned behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import func_graph
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.device_tracing import device_tracing
from simulator.frontends.tensorflow.capture.function import CapturedFunction, capture_function
from simulator.frontends.tensorflow.graph_programs import install, keeping_errors, note_device_call
from simulator.frontends.tensorflow.session_variables import SessionVariables
from simulator.frontends.tensorflow.system import CompiledFunction

install()


def compile(computation: Callable[..., Any], inputs: Sequence[Any] = ()) -> Any:
    """The outputs of `computation(*inputs)`, computed on the IPU, as a list of tensors; an operation where it gives
    none. It is traced now, compiled when a session first runs it. Sizes of inputs are fixed.

    Raises what capture raises for operators and shapes."""
    trace, tensors = _traced(computation, [tf.convert_to_tensor(one) for one in inputs])
    with context.eager_mode():
        captured = capture_function(trace)
    shapes = [tuple(one.shape.as_list()) for one in trace.graph.outputs]
    dtypes = [one.dtype for one in trace.graph.outputs]
    if tf.executing_eagerly():
        function = CompiledFunction(captured, shapes)
        return [tf.constant(one) for one in function.run([one.numpy() for one in tensors])]
    names = [name for name, _ in captured.program.updates]
    types = {name: tf.as_dtype(dtype) for name, dtype in captured.variable_dtypes.items()}
    values = [read_variable_op(handle, types[name]) for name, handle in captured.variables.items()]
    program = _SessionProgram(captured, shapes)
    made = tf.numpy_function(
        keeping_errors(program.run),
        [*tensors, *values],
        [*dtypes, *(types[name] for name in names)],
        name="ipu_cluster",
    )
    if isinstance(made, tf.Operation):
        note_device_call(made, program.prepare)
        return made
    results = list(made) if isinstance(made, list | tuple) else [made]
    note_device_call(results[0].op, program.prepare)
    handles = [captured.variables[name] for name in names]
    assigned = [assign_variable_op(one, value) for one, value in zip(handles, results[len(shapes) :], strict=True)]
    if not shapes:
        return tf.group(*assigned)
    with tf.control_dependencies(assigned):
        outputs = [tf.identity(one) for one in results[: len(shapes)]]
    for output, shape in zip(outputs, shapes, strict=True):
        output.set_shape(shape)
    return outputs


class _SessionProgram:
    """What the operator in the session's graph runs."""

    def __init__(self, captured: CapturedFunction, shapes: Sequence[tuple[int, ...]]) -> None:
        self._variables = SessionVariables()
        self._function = CompiledFunction(captured, shapes, variables=self._variables)
        self._handles = [id(one) for one in captured.variables.values()]
        self._written = [id(captured.variables[name]) for name, _ in captured.program.updates]

    def prepare(self) -> None:
        """Compile and attach. Raises what compilation and attachment raise."""
        self._function.prepare()

    def run(self, *arrays: AnyArray) -> list[AnyArray]:
        """Results and new values of variables, from arguments and values of variables."""
        count = len(arrays) - len(self._handles)
        self._variables.give(dict(zip(self._handles, arrays[count:], strict=True)))
        results = self._function.run(arrays[:count])
        return [*results, *self._variables.newest(self._written)]


@dataclass
class _Trace:
    """A traced computation as `capture_function` takes it: arguments first, then handles of variables."""

    graph: Any
    captured_inputs: list[Any]


def _traced(computation: Callable[..., Any], tensors: list[Any]) -> tuple[_Trace, list[Any]]:
    """The trace, and the tensors that are its arguments: the inputs, and what else of the session's graph it reads."""

    def flat(*given: Any) -> list[Any]:
        made = [one for one in tf.nest.flatten(computation(*given)) if one is not None]
        return [tf.convert_to_tensor(one) for one in made if not isinstance(one, tf.Operation)]

    specifications = [tf.TensorSpec(one.shape, one.dtype) for one in tensors]
    with device_tracing(), tf.variable_creator_scope(_in_the_session):
        graph = func_graph.func_graph_from_py_func("ipu_cluster", flat, specifications, {})
    arguments = graph.inputs[: len(tensors)]
    resources: list[Any] = []
    others: list[Any] = []
    for outer, inner in graph.captures:
        (resources if outer.dtype == tf.resource else others).append((outer, inner))
    graph.inputs = [*arguments, *(inner for _, inner in [*others, *resources])]
    return _Trace(graph, [outer for outer, _ in resources]), [*tensors, *(outer for outer, _ in others)]


def _in_the_session(create: Callable[..., Any], **given: Any) -> Any:
    """Make a variable in the session's graph."""
    with tf.init_scope():
        return create(**{**given, "use_resource": True})


@contextmanager
def ipu_scope(device: str) -> Iterator[None]:
    """Operators of `ipu_compiler.compile` within belong to this device; variables within are resources. Raises
    poplar_error for any device but "/device:IPU:0", the one of the system."""
    if device != "/device:IPU:0":
        raise poplar_error(f"There is no device {device!r}; this system has '/device:IPU:0'.")
    if tf.executing_eagerly():
        yield
        return
    with tf.compat.v1.variable_scope("", use_resource=True):
        yield
