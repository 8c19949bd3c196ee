"""Element-wise operators and their gradients on the device beside TensorFlow."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, check, numbers, with_gradients

_ANYWHERE = [
    tf.abs,
    tf.atan,
    tf.cos,
    tf.sin,
    tf.exp,
    tf.math.expm1,
    tf.math.erf,
    tf.negative,
    tf.nn.elu,
    tf.nn.relu,
    tf.nn.relu6,
    tf.nn.selu,
    tf.nn.softplus,
    tf.nn.softsign,
    tf.nn.leaky_relu,
    tf.nn.silu,
    tf.sigmoid,
    tf.sign,
    tf.square,
    tf.tanh,
    tf.floor,
    tf.math.ceil,
    tf.round,
    tf.sinh,
    tf.cosh,
    tf.asinh,
    lambda x: tf.clip_by_value(x, -0.5, 1.0),
    lambda x: x**3,
    lambda x: 2.0 / (x * x + 1.0),
]
_POSITIVE = [
    tf.math.log,
    tf.math.log1p,
    tf.math.reciprocal,
    tf.math.rsqrt,
    tf.sqrt,
    lambda x: x**1.5,
    lambda x: tf.pow(1.5, x),
]
_PAIRS = [
    tf.add,
    tf.subtract,
    tf.multiply,
    tf.divide,
    tf.maximum,
    tf.minimum,
    tf.math.squared_difference,
    tf.math.divide_no_nan,
    tf.math.xdivy,
    tf.math.atan2,
]


def test_functions_of_one_operand_and_their_gradients() -> None:
    x = numbers(5, 7)
    check(with_gradients(lambda x: [one(x) for one in _ANYWHERE]), x)
    check(with_gradients(lambda x: [one(x) for one in _POSITIVE]), np.abs(x) + np.float32(0.1))


def test_functions_of_two_operands_sum_gradients_over_broadcast_dimensions() -> None:
    check(with_gradients(lambda a, b: [one(a, b) for one in _PAIRS]), numbers(3, 1, 4), numbers(5, 1, seed=1))


def test_division_by_zero_gives_zero_where_tensorflow_says_so() -> None:
    a, b = np.array([1, 0, -2], np.float32), np.array([0, 0, 4], np.float32)
    ours = check(lambda a, b: (tf.math.divide_no_nan(a, b), tf.math.multiply_no_nan(a, b), tf.math.xdivy(a, b)), a, b)
    assert ours[0].tolist() == [0, 0, -0.5]


def test_comparisons_and_selections() -> None:
    a, b = numbers(4, 3), numbers(4, 3, seed=1)
    a[0] = b[0]
    check(
        lambda a, b: (
            a == b,
            a != b,
            a < b,
            a <= 0.5,
            a > b,
            a >= b,
            tf.logical_and(a > 0, b > 0),
            tf.logical_or(a > 0, b > 0),
            tf.logical_not(a > 0),
            tf.math.is_nan(a / (a - b)),
            tf.math.is_finite(1.0 / (a - b)),
        ),
        a,
        b,
    )
    check(with_gradients(lambda a, b: (tf.where(a > b, a, b), tf.where(a > 0, a, 0.0))), a, b)


def test_whole_numbers() -> None:
    a = np.array([7, -7, 5, -5, 0], np.int32)
    b = np.array([3, 3, -2, -2, 4], np.int32)
    check(
        lambda a, b: (
            a + b,
            a * b,
            a // b,
            a % b,
            tf.truncatediv(a, b),
            tf.bitwise.bitwise_and(a, b),
            tf.bitwise.left_shift(a, tf.abs(b)),
            tf.maximum(a, b),
            tf.sign(a),
            tf.cast(a, tf.float32) / 2.0,
            tf.cast(a, tf.bool),
        ),
        a,
        b,
    )


def test_wide_numbers_are_narrowed_on_the_device_and_come_back_wide() -> None:
    ours = check(lambda a: (a + 1, tf.cast(a, tf.float64) * 0.5), np.array([1, -(2**31), 2**30], np.int64))
    assert [one.dtype.name for one in ours] == ["int64", "float64"]


def test_half_floats() -> None:
    x = numbers(4, 6).astype(np.float16)
    check(lambda x: (x * 2 + 1, tf.nn.relu(x), tf.cast(x, tf.float32)), x, rtol=2e-2, atol=2e-3)


def test_tensors_without_elements_and_without_dimensions() -> None:
    check(lambda a, b: (a + 1.0, tf.exp(b), b * 2.0 - b), np.zeros((0, 3), np.float32), np.float32(1.5))


def test_arithmetic_of_shapes_stays_on_the_host() -> None:
    program = captured(
        lambda x: tf.reshape(x, [tf.shape(x)[0] * 2, -1]) + tf.cast(tf.size(x), tf.float32), numbers(4, 6)
    )
    assert [one.name for one in program.program.operators] == ["aten.view.default", "aten.add.Tensor"]
