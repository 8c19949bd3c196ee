"""Variables that a step adds to or subtracts from change in place, unless their old value is still read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.lowering.lowered import Entry
from simulator.frontends.tensorflow.capture.lowered_function import lower_function
from simulator.frontends.tensorflow.device_function import DeviceFunction
from simulator.frontends.tensorflow.device_variables import installed
from simulator.poplar import compileGraph
from simulator.poplar.program import Copy
from tests.frontends.tensorflow.tensorflow_twin import captured, device, numbers

Step = Callable[[tf.Variable, tf.Variable, tf.Tensor], Any]


def subtract(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    w.assign_sub(x * 0.5)
    return x + 1.0


def add_number(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    w.assign_add(tf.ones_like(w) * 3.0)
    return w + x


def old_value_is_read_later(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    before = w.read_value()
    w.assign_sub(x)
    return before * 2.0


def old_value_is_given_turned(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    before = tf.transpose(w)
    w.assign_sub(x)
    return before


def minus_itself_turned(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    w.assign_sub(tf.transpose(w))
    return x


def doubled(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    w.assign_add(w)
    return x


def twice(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    w.assign_sub(x)
    w.assign_sub(x * w)
    return w.read_value()


def other_takes_the_old_value(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    before = w.read_value()
    w.assign_add(x)
    v.assign(before)
    return x


def both_read_each_other(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    first, second = w + v, v - w
    w.assign(first)
    v.assign(second)
    return x


def read_in_a_loop(w: tf.Variable, v: tf.Variable, x: tf.Tensor) -> Any:
    before = w.read_value()
    w.assign_sub(x)
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 40.0, lambda y: [y + before * before + 1.0], [x])[0]


@pytest.mark.parametrize(
    ("step", "copies"),
    [
        (subtract, []),
        (add_number, []),
        (old_value_is_read_later, ["w"]),
        (old_value_is_given_turned, ["w"]),
        (minus_itself_turned, ["w"]),
        (doubled, ["w"]),
        (twice, ["w"]),
        (other_takes_the_old_value, ["v", "w"]),
        (both_read_each_other, ["w"]),
        (read_in_a_loop, ["w"]),
    ],
)
def test_values_are_those_of_the_host(step: Step, copies: list[str]) -> None:
    """Copies at the end of the step bring new values to the variables that do not change in place."""
    x = numbers(3, 3)
    pairs = [(tf.Variable(numbers(3, 3, seed=1), name="w"), tf.Variable(numbers(3, 3, seed=2), name="v")) for _ in "ab"]
    (w, v), theirs = pairs
    program = captured(lambda x: step(w, v, x), x)
    lowered = lower_function(program, device().getTarget(), 2)
    executable = compileGraph(lowered.graph, list(lowered.programs), {})
    loaded = DeviceFunction(program, executable, lowered.interface, {}, installed())
    loaded.load(device())
    result = loaded.run([np.stack([x, x])])[0]
    for _ in range(2):
        expected = step(*theirs, tf.constant(x))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    for mine, other in zip((w, v), theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
    names = [one.debug.getPathName() for one in nested(lowered.programs[Entry.MAIN]) if isinstance(one, Copy)]
    assert sorted(name.partition("/")[0] for name in names if name.endswith("/update")) == copies


def nested(program: Any) -> Iterator[Any]:
    """A program and all within it."""
    yield program
    for one in program.nested():
        yield from nested(one)
