"""A Python function whose calls run on the device: one program for each signature of its arguments.

The signature is what `tf.function` goes by: shapes and element types of tensors and arrays, the values of everything
else. Several calls can be one run of the device; their tensors are then stacked, and variables stay there between them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from simulator.arrays import AnyArray
from simulator.frontends.lowering.lowered import Outputs
from simulator.frontends.tensorflow.capture.device_tracing import device_tracing
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.host_calls import IteratorElements
from simulator.frontends.tensorflow.system import CompiledFunction


class TracedCalls:
    """The programs of one function, compiled when first needed."""

    def __init__(self, function: Callable[..., Any], takes_elements: bool = True) -> None:
        """`takes_elements`: whether the function may take elements of iterators over data sets."""
        self._function, self._takes_elements = function, takes_elements
        self._traces: dict[Hashable, _Trace] = {}

    def run_last(self, calls: Sequence[Any]) -> Any:
        """The result of the last of these calls. Each is a tuple of arguments, all of one signature."""
        trace, tensors = self._trace(calls[0])
        return trace.run(_stacked(tensors, calls), len(calls), Outputs.FINAL)[0]

    def run_all(self, calls: Sequence[Any]) -> list[Any]:
        """The results of these calls, each a tuple of arguments, all of one signature."""
        trace, tensors = self._trace(calls[0])
        return trace.run(_stacked(tensors, calls), len(calls), Outputs.ALL)

    def _trace(self, arguments: Any) -> tuple[_Trace, list[Any]]:
        leaves = tf.nest.flatten(arguments)
        key = signature(arguments)
        if key not in self._traces:
            self._traces[key] = _Trace(self._function, arguments, leaves, self._takes_elements)
        return self._traces[key], [one for one in leaves if is_tensor(one)]


def is_tensor(leaf: Any) -> bool:
    """Whether a leaf of arguments is sent to the device; all else is part of the program."""
    return isinstance(leaf, tf.Tensor | np.ndarray | np.generic)


def signature(arguments: Any) -> Hashable:
    """Equal for arguments that one program serves. Raises CaptureError for ragged and sparse tensors."""
    leaves = tf.nest.flatten(arguments)
    tensors = all(is_tensor(one) for one in leaves)
    parts: list[Hashable] = []
    for one in leaves:
        if is_tensor(one):
            parts.append((tuple(one.shape), one.dtype.name))
        elif isinstance(one, tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices):
            raise CaptureError(
                f"A {type(one).__name__} of shape {one.shape} is an argument; programs on the IPU take dense tensors "
                "of fixed shapes, as to_tensor() or tf.sparse.to_dense gives them."
            )
        else:
            parts.append((type(one), one if isinstance(one, str | bytes | int | float | None) else id(one)))
    if tensors and isinstance(arguments, tuple) and not any(isinstance(one, dict | list) for one in arguments):
        return len(arguments), tuple(parts)
    return repr(tf.nest.map_structure(lambda _: 0, arguments)), tuple(parts)


def _stacked(first: list[Any], calls: Sequence[Any]) -> list[AnyArray]:
    """One array for each tensor: of the one call, or stacked over the calls."""
    if len(calls) == 1:
        return [np.asarray(one) for one in first]
    rows = [[one for one in tf.nest.flatten(call) if is_tensor(one)] for call in calls]
    return [np.stack([np.asarray(one) for one in column]) for column in zip(*rows, strict=True)]


class _Trace:
    """A captured trace of the function, with a program for each number of calls in a run."""

    def __init__(self, function: Callable[..., Any], arguments: Any, leaves: list[Any], takes_elements: bool) -> None:
        self._results: Any = None
        specifications = [tf.TensorSpec(one.shape, one.dtype) for one in leaves if is_tensor(one)]

        def flat(*tensors: Any) -> list[Any]:
            given = iter(tensors)
            filled = [next(given) if is_tensor(one) else one for one in leaves]
            self._results = function(*tf.nest.pack_sequence_as(arguments, filled))
            return [tf.convert_to_tensor(one) for one in tf.nest.flatten(self._results) if one is not None]

        with device_tracing():
            concrete = tf.function(flat, autograph=False).get_concrete_function(*specifications)
        self._captured = capture_function(concrete)
        if not takes_elements and any(isinstance(one, IteratorElements) for one in self._captured.host_ends.values()):
            raise CaptureError(
                "A function on the IPU takes elements of an iterator, which an IPUStrategy with "
                "enable_dataset_iterators=False does not give it; pass elements as arguments, or leave the option out."
            )
        self._shapes = [tuple(one.shape.as_list()) for one in concrete.outputs]
        self._results = tf.nest.map_structure(lambda one: None if one is None else 0, self._results)
        self._programs: dict[tuple[int, Outputs], CompiledFunction] = {}
        self._arguments, self._leaves = arguments, leaves  # those whose identity is in the signature stay alive

    def run(self, arrays: Sequence[AnyArray], calls: int, outputs: Outputs) -> list[Any]:
        key = calls, outputs if calls > 1 else Outputs.FINAL
        if key not in self._programs:
            self._programs[key] = CompiledFunction(self._captured, self._shapes, *key)
        results = self._programs[key].run(arrays)
        if key[1] is Outputs.FINAL:
            return [self._packed(results)]
        per_call = zip(results, self._captured.results, self._shapes, strict=True)
        stacked = [
            one if isinstance(place, int) and one.ndim > len(shape) else [one] * calls for one, place, shape in per_call
        ]
        return [self._packed([one[number] for one in stacked]) for number in range(calls)]

    def _packed(self, results: Sequence[AnyArray]) -> Any:
        given = iter(results)
        leaves = [None if one is None else tf.constant(next(given)) for one in tf.nest.flatten(self._results)]
        return tf.nest.pack_sequence_as(self._results, leaves)
