"""`ipu_compiler.compile` and the scopes of TensorFlow 1's graph mode: a computation that runs on the device is one
operator of the session's graph, which calls the simulated device from the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.capture.device_tracing import device_tracing
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.graph_programs import install, keeping_errors
from simulator.frontends.tensorflow.host_scope import has_host_operations, refuse_host_operations
from simulator.frontends.tensorflow.system import CompiledFunction

install()


def compile(computation: Callable[..., Any], inputs: Sequence[Any] = ()) -> list[Any]:
    """The outputs of `computation(*inputs)`, computed on the IPU, as a list of tensors. It is traced now, compiled
    when a session first runs it. Sizes of inputs are fixed.

    Raises poplar_error for tensors that the computation reads but that are not among its inputs, and what capture
    raises for operators and shapes."""
    tensors = [tf.convert_to_tensor(one) for one in inputs]
    with device_tracing():
        specifications = [tf.TensorSpec(one.shape, one.dtype) for one in tensors]
        concrete = tf.function(lambda *given: tf.nest.flatten(computation(*given))).get_concrete_function(
            *specifications
        )
    if concrete.captured_inputs:
        names = ", ".join(f"'{one.name}'" for one in concrete.captured_inputs)
        raise poplar_error(f"The computation on the IPU reads {names}; give it all tensors that it reads as inputs.")
    run = _runner(concrete)
    results = tf.numpy_function(keeping_errors(run), tensors, [one.dtype for one in concrete.outputs])
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    for result, one in zip(results, concrete.outputs, strict=True):
        result.set_shape(one.shape)
    return results


def _runner(concrete: Any) -> Callable[..., list[AnyArray]]:
    """A function of arrays that runs a trace, or that refuses it: systems are configured after the graph is made."""
    if has_host_operations(concrete.graph):
        return lambda *arguments: refuse_host_operations()
    with context.eager_mode():
        captured = capture_function(concrete)
    shapes = [tuple(one.shape.as_list()) for one in concrete.outputs]
    function = CompiledFunction(captured, shapes)
    return lambda *arguments: function.run(arguments)


@contextmanager
def ipu_scope(device: str) -> Iterator[None]:
    """Operators of `ipu_compiler.compile` within belong to this device. Raises poplar_error for any device but
    "/device:IPU:0", the one of the system."""
    if device != "/device:IPU:0":
        raise poplar_error(f"There is no device {device!r}; this system has '/device:IPU:0'.")
    yield
