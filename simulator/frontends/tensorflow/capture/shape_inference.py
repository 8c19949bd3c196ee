"""Shapes of results by TensorFlow's own shape functions: each operator is built once more in a scratch graph, whose
placeholders have the shapes that the program really has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute

from simulator.frontends.tensorflow.capture.entries import Computed, Entry, Known

_PRIVATE = "_"  #: attributes that TensorFlow's passes hang on operators begin with it


class ShapeInference:
    """One scratch graph for a capture."""

    def __init__(self) -> None:
        self._graph = tf.Graph()
        self._placeholders: dict[tuple[str, tuple[int, ...]], Any] = {}

    def shapes(self, op: Any, inputs: Sequence[Entry]) -> list[tuple[int, ...] | None]:
        """The shape of each result; None where it depends on data."""
        static = [_defined(one.shape) for one in op.outputs]
        if all(one is not None for one in static):
            return static
        with self._graph.as_default():
            tensors = [self._tensor(one) for one in inputs]
            attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith(_PRIVATE)}
            node = self._graph._create_op_internal(
                op.type, tensors, dtypes=[one.dtype for one in op.outputs], attrs=attributes, op_def=op.op_def
            )
            return [_defined(one.shape) for one in node.outputs]

    def _tensor(self, entry: Entry) -> Any:
        if isinstance(entry, Known):
            return tf.constant(entry.array)
        assert isinstance(entry, Computed), "an operator on handles has a converter that needs no inference"
        key = entry.dtype, entry.shape
        if key not in self._placeholders:
            self._placeholders[key] = tf.compat.v1.placeholder(*key)
        return self._placeholders[key]


def _defined(shape: Any) -> tuple[int, ...] | None:
    return tuple(shape.as_list()) if shape.is_fully_defined() else None


def evaluate(op: Any, inputs: Sequence[Known]) -> list[Known]:
    """The results of an operator without side effects on tensors that are known, computed by TensorFlow."""
    if op.type == "Const":
        return [Known(np.asarray(tf.make_ndarray(op.get_attr("value"))))]
    attributes: list[Any] = []
    for attribute in op.op_def.attr:
        attributes += [attribute.name, _attribute(attribute.type, op.get_attr(attribute.name))]
    with tf.init_scope(), tf.device("/CPU:0"):
        tensors = [tf.constant(one.array) for one in inputs]
        results = execute.execute(
            op.type.encode(), len(op.outputs), inputs=tensors, attrs=tuple(attributes), ctx=context.context()
        )
    return [Known(np.asarray(one.numpy())) for one in results]


def _attribute(kind: str, value: Any) -> Any:
    """An attribute as eager execution takes it."""
    if kind == "type":
        return value.as_datatype_enum
    if kind == "list(type)":
        return [one.as_datatype_enum for one in value]
    if kind == "shape":
        return tf.TensorShape(value)
    return value
