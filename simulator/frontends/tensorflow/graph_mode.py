"""`ipu_compiler.compile` and the scopes of TensorFlow 1's graph mode: a computation that runs on the device is one
operator of the session's graph, which calls the simulated device from the host.

Variables stay the session's: made in a computation, they are made in the session's graph, so that it initialises, reads
and saves them. The operator takes their values and gives the new ones, which are assigned behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import func_graph

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.device_tracing import device_tracing
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.capture.sharding import on_shard
from simulator.frontends.tensorflow.device_clusters import DEVICE
from simulator.frontends.tensorflow.graph_programs import install
from simulator.frontends.tensorflow.pipelining import calls_of
from simulator.frontends.tensorflow.session_calls import device_call, for_calls
from simulator.frontends.tensorflow.system import CompiledFunction

install()


def compile(computation: Callable[..., Any], inputs: Sequence[Any] = ()) -> Any:
    """The outputs of `computation(*inputs)`, computed on the IPU, as a list of tensors; an operation where it gives
    none. It is traced now, compiled when a session first runs it. Sizes of inputs are fixed. What the computation only
    takes of the session's graph stays there: its operators on the IPU are programs already, and operations that it
    gives run before its outputs.

    Raises what capture raises for operators and shapes."""
    trace, tensors = _traced(computation, [tf.convert_to_tensor(one) for one in inputs])
    if (passed := _passed_on(trace, tensors)) is not None:
        with tf.control_dependencies(trace.control):
            return [_identity(one) for one in passed] or tf.no_op()
    with context.eager_mode():
        captured = capture_function(trace)
    shapes = [tuple(one.shape.as_list()) for one in trace.graph.outputs]
    if tf.executing_eagerly():
        calls = calls_of(trace.graph)
        function = CompiledFunction(captured, shapes, calls)
        return [tf.constant(one) for one in function.run(for_calls([one.numpy() for one in tensors], calls))]
    call = device_call(captured, trace.graph.outputs, tensors, trace.control, calls_of(trace.graph))
    return call.outputs or call.done


@dataclass
class _Trace:
    """A traced computation as `capture_function` takes it: arguments first, then handles of variables."""

    graph: Any
    captured_inputs: list[Any]
    control: list[Any]  #: operations of the session's graph that run before


def _traced(computation: Callable[..., Any], tensors: list[Any]) -> tuple[_Trace, list[Any]]:
    """The trace, and the tensors that are its arguments: the inputs, and what else of the session's graph it reads."""

    session_graph: Any = tf.compat.v1.get_default_graph()
    control: list[Any] = []

    def flat(*given: Any) -> list[Any]:
        made = [one for one in tf.nest.flatten(computation(*given)) if one is not None]
        control.extend(one for one in made if isinstance(one, tf.Operation) and one.graph is session_graph)
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
    return _Trace(graph, [outer for outer, _ in resources], control), [*tensors, *(outer for outer, _ in others)]


def _passed_on(trace: _Trace, tensors: Sequence[Any]) -> list[Any] | None:
    """The results of a computation that has no operators of its own: some of its arguments. None where it has some."""
    if tf.executing_eagerly() or {op.type for op in trace.graph.get_operations()} - {"Placeholder", "Identity"}:
        return None
    outer = {inner.name: one for inner, one in zip(trace.graph.inputs, tensors, strict=False)}
    passed = []
    for tensor in trace.graph.outputs:
        while tensor.op.type == "Identity":
            tensor = tensor.op.inputs[0]
        if tensor.name not in outer:
            return None
        passed.append(outer[tensor.name])
    return passed


def _identity(tensor: Any) -> Any:
    """A tensor of the session's graph, behind what runs before, on its own device."""
    with tf.device(tensor.op.device or None):
        return tf.identity(tensor)


def _in_the_session(create: Callable[..., Any], **given: Any) -> Any:
    """Make a variable in the session's graph."""
    with tf.init_scope():
        return create(**{**given, "use_resource": True})


@contextmanager
def ipu_scope(device: str) -> Iterator[None]:
    """Operators within run on this device; variables within are resources. Raises poplar_error for any device but
    "/device:IPU:0", the one of the system."""
    if device != DEVICE:
        raise poplar_error(f"There is no device {device!r}; this system has '{DEVICE}'.")
    if tf.executing_eagerly():
        yield
        return
    with tf.compat.v1.variable_scope("", use_resource=True), tf.device(device):
        yield


def ipu_shard(index: int | Iterable[int]) -> AbstractContextManager[None]:
    """Operators that are made within, in a function for the device, run on this IPU of it, and so do their gradients.
    Raises poplar_error for several IPUs, and where the device has too few when the program is compiled."""
    shards = list(index) if isinstance(index, Iterable) else [index]
    if len(shards) != 1 or not isinstance(shards[0], int) or shards[0] < 0:
        raise poplar_error(
            f"scopes.ipu_shard({index}) does not work here: an operator runs on one IPU; give its number."
        )
    return nullcontext() if tf.executing_eagerly() else on_shard(tf.compat.v1.get_default_graph(), shards[0])
