"""Loops, branches and lists of tensors on the device beside TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.captured import Operator, Program, tensors_of
from simulator.frontends.tensorflow.capture.entries import CaptureError
from tests.frontends.tensorflow.tensorflow_twin import captured, check, numbers, with_gradients


def _named(program: Program, name: str) -> list[Operator]:
    return [one for one in program.operators if one.name == name]


def _counted(x: tf.Tensor) -> tf.Tensor:
    results = tf.TensorArray(tf.float32, 5)
    for i in tf.range(5):
        x = tf.tanh(x * 1.1) + 0.1
        results = results.write(i, x)
    return results.stack()


def test_a_loop_of_known_length_is_a_repeat_and_has_gradients() -> None:
    check(with_gradients(_counted), numbers(3))
    (loop,) = _named(captured(_counted, numbers(3)).program, "control.Repeat")
    assert loop.arguments["count"] == 5


def test_lists_are_written_in_place_unless_read_later() -> None:
    def kept(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        first = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
        second = first.write(1, x[0] * 7.0)
        return first.stack(), second.stack()

    check(kept, numbers(3, 2))
    body = _named(captured(_counted, numbers(3)).program, "control.Repeat")[0].arguments["body"]
    assert [one.arguments["in_place"] for one in body.operators if one.name == "tf.ListSet"] == [True]
    writes = _named(captured(kept, numbers(3, 2)).program, "tf.ListSet")
    assert [one.arguments["in_place"] for one in writes] == [False]


@pytest.mark.parametrize("limit", [20.0, 0.0, -1.0])
def test_a_loop_by_data_and_a_branch_assign_variables(limit: float) -> None:
    variable = tf.Variable(1.0)

    def program(x: tf.Tensor, limit: tf.Tensor) -> tuple[tf.Tensor, ...]:
        variable.assign(1.0)
        passes = 0
        while tf.reduce_sum(x) < limit:
            x = x * 1.5 + variable
            variable.assign_add(0.25)
            passes += 1
        if tf.reduce_max(x) > 8.0:
            y = x * 2.0
            variable.assign(variable + 100.0)
        else:
            y = x - 1.0
        return x, y, passes, variable.read_value()

    check(program, np.array([0.1, -0.2, 0.3], np.float32), np.float32(limit))


def test_nested_loops_and_branches_in_loops() -> None:
    def program(x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(3):
            for _ in tf.range(2):
                x = x + tf.cast(i, tf.float32)
            if tf.reduce_sum(x) > 5.0:
                x = x * 0.5
                x = x - 1.0
            else:
                x = x + 2.0
        return x

    check(program, numbers(4))


def test_states_that_change_places_keep_their_values() -> None:
    def program(a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        for _ in tf.range(3):
            a, b = b, a + b[::-1]
        return a, b

    check(program, numbers(3), numbers(3, seed=1))


@pytest.mark.parametrize("index", [0, 1, 2, 7])
def test_a_switch_takes_the_last_branch_for_other_numbers(index: int) -> None:
    check(lambda x, i: tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x]), numbers(3), np.int32(index))


def test_a_condition_that_is_known_leaves_no_branch() -> None:
    program = captured(lambda x: tf.cond(tf.shape(x)[0] > 2, lambda: x + 1.0, lambda: x - 1.0), numbers(3)).program
    assert [one.name for one in program.operators] == ["aten.add.Tensor"]
    assert not list(tensors_of(program.operators[0].arguments["other"]))


def test_a_while_loop_with_a_bound_has_gradients() -> None:
    def program(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda x: tf.reduce_sum(x) < 50.0, lambda x: (x * x + 1.0,), [x], maximum_iterations=6)[0]

    check(with_gradients(program), np.array([0.5, 0.25], np.float32))


def test_a_list_without_a_bound_is_refused_by_one_sentence() -> None:
    def program(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda x: tf.reduce_sum(x) < 50.0, lambda x: (x * x + 1.0,), [x])[0]

    with pytest.raises(CaptureError, match=r"grows without a bound; give tf.while_loop a maximum_iterations\.$"):
        captured(with_gradients(program), np.array([0.5], np.float32))
