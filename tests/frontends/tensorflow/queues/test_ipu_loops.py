"""ipu.loops: fixed numbers of calls and conditions, on the device beside the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.tensorflow.loops import repeat, while_loop
from tests.frontends.tensorflow.tensorflow_twin import captured, check, numbers, on_device


def test_a_repeated_body_carries_its_values() -> None:
    def function(x: tf.Tensor, y: tf.Tensor) -> Any:
        return repeat(5, lambda a, b: (a * 0.5 + b, b - 1.0), [x, y])

    x, y = numbers(3, 4), numbers(3, 4, seed=1)
    results = check(function, x, y)
    for _ in range(5):
        x, y = x * 0.5 + y, y - 1
    np.testing.assert_allclose(results, [x, y], rtol=1e-5)


def test_one_value_comes_alone_and_none_updates_variables() -> None:
    check(lambda x: repeat(3, lambda a: a + 1.0, x), numbers(4))
    total = tf.Variable(2.0)

    def function(x: tf.Tensor) -> tf.Tensor:
        def add() -> None:
            total.assign_add(x)

        assert repeat(4, add) is None
        return total.read_value()

    assert on_device(captured(function, np.float32(1.5))).run([np.float32(1.5)])[0] == 8


def test_a_condition_ends_the_loop() -> None:
    def function(x: tf.Tensor) -> Any:
        return while_loop(lambda a, b: a < 100.0, lambda a, b: (a * 2.0, b + 1), [x, tf.constant(0)])

    assert [one.item() for one in check(function, np.float32(3.0))] == [192, 6]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Mismatch .* loop body: \['float32'\] vs \['int32'\]"):
        captured(lambda x: repeat(2, lambda a: tf.cast(a, tf.int32), x), numbers(3))
