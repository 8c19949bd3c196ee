"""What cannot run on the device is refused by one sentence that names the operator, the line and the way around."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.lowering.differentiation import UnknownOperatorError
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.capture.function import capture_function
from tests.frontends.tensorflow.tensorflow_twin import captured, numbers


def test_an_operator_without_a_rule_is_named_with_its_line() -> None:
    def program(x: tf.Tensor) -> tf.Tensor:
        return tf.signal.fft(tf.cast(x, tf.complex64))

    line = inspect.getsourcelines(program)[1] + 1
    with pytest.raises(UnknownOperatorError) as refused:
        captured(program_of_inverse, numbers(3, 3))
    assert "MatrixInverse 'inverse/MatrixInverse'" in str(refused.value)
    assert re.search(
        r"test_refused_graphs\.py:\d+\) cannot be lowered to the IPU; docs/tensorflow\.md", str(refused.value)
    )
    with pytest.raises(CaptureError, match="complex64, which the IPU does not have") as narrow:
        captured(program, numbers(4))
    assert f"test_refused_graphs.py:{line})" in str(narrow.value)


def program_of_inverse(x: tf.Tensor) -> tf.Tensor:
    with tf.name_scope("inverse"):
        return tf.linalg.inv(x)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda x: tf.boolean_mask(x, x > 0), "Where 'boolean_mask/Where'"),
        (lambda x: tf.reshape(x, [tf.cast(x[0], tf.int32), -1]), "The shape of the result of Reshape 'Reshape'"),
        (lambda x: x[tf.cast(x[0], tf.int32) :], "The bounds of StridedSlice"),
        (lambda x: tf.reduce_sum(x, tf.cast(x[0], tf.int32)), "needs input 1 when it is compiled"),
    ],
)
def test_shapes_that_depend_on_data(function: Callable[..., Any], sentence: str) -> None:
    with pytest.raises((CaptureError, UnknownOperatorError), match=re.escape(sentence)) as refused:
        captured(function, numbers(4))
    assert "\n" not in str(refused.value)


def test_open_shapes_are_closed_by_the_caller_or_refused() -> None:
    @tf.function
    def program(x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(x, [-1, 2]) * tf.cast(tf.shape(x)[0], tf.float32)

    concrete = program.get_concrete_function(tf.TensorSpec([None, 4]))
    with pytest.raises(CaptureError, match=r"argument 'x' has the shape \(None, 4\).*drop_remainder=True"):
        capture_function(concrete)
    assert capture_function(concrete, [(6, 4)]).program.outputs[0].shape == (12, 2)


def test_a_handle_is_no_result() -> None:
    variable = tf.Variable(1.0)
    with pytest.raises(CaptureError, match="returns tensors, not handles"):
        captured(lambda x: (x, variable.handle), np.float32(1))
