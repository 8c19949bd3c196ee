"""Operators of graph mode that stand on the IPU by `tf.device`, outside `ipu_compiler.compile`: equal to those of the
host, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import control_flow_util

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow import graph_programs, system
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.functional import move_variable_initialization_to_cpu
from simulator.frontends.tensorflow.graph_mode import compile, ipu_scope
from tests.frontends.tensorflow.systems import connect

pytestmark = pytest.mark.usefixtures("graph_on_demand")

v1 = tf.compat.v1
IPU = "/device:IPU:0"
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of arguments of each run of the device."""
    seen: list[int] = []
    original = system.System.run

    def run(self: Any, function: Any, arguments: Any) -> Any:
        seen.append(len(arguments))
        return original(self, function, arguments)

    monkeypatch.setattr(system.System, "run", run)
    return seen


def on_both(build: Callable[[], Any], feeds: Callable[[], dict[Any, Any]] = dict) -> tuple[Any, Any]:
    """What a session gives for fetches, from the IPU and from the host."""
    results = []
    for device in (IPU, "/device:CPU:0"):
        with tf.Graph().as_default(), v1.Session() as session:
            with tf.device(device):
                fetches = build()
            session.run(v1.global_variables_initializer())
            results.append([session.run(fetches, {"x:0": X}) for _ in range(3)])
    return results[0], results[1]


def test_training_outside_compile_is_that_of_the_host(runs: list[int]) -> None:
    def build() -> Any:
        with tf.device("cpu"):
            x = v1.placeholder(tf.float32, [4, 3], name="x")
        weight = v1.get_variable("w", initializer=X[:3, :2] * 0.5, use_resource=True)
        loss = tf.reduce_sum(tf.square(tf.nn.bias_add(tf.matmul(x, weight), [1.0, 2.0])))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        return {"loss": loss, "train": train, "after": [loss * 2.0]}

    ours, theirs = on_both(build)
    assert runs == [1, 1, 1], "one program; constants are given to variables by the session"
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.keys() == expected.keys()
        assert mine["train"] is None
        np.testing.assert_allclose(mine["loss"], expected["loss"], rtol=1e-4)
        np.testing.assert_allclose(mine["after"], expected["after"], rtol=1e-4)
    assert ours[2]["loss"] < ours[0]["loss"]


def test_host_and_device_take_turns(runs: list[int]) -> None:
    def build() -> Any:
        with tf.device("cpu"):
            x = v1.placeholder(tf.float32, [4, 3], name="x")
        first = tf.exp(x)
        with tf.device("cpu"):
            sorted_ = tf.numpy_function(lambda a: np.sort(a, axis=0), [first], tf.float32)
            sorted_.set_shape([4, 3])
            text = tf.strings.as_string(tf.cast(sorted_[0], tf.int32))
        second = sorted_ + first
        return first, second, text, "x:0"

    ours, theirs = on_both(build)
    assert runs == [1, 2] * 3
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine[0], expected[0], rtol=1e-4)
        np.testing.assert_allclose(mine[1], expected[1], rtol=1e-4)
        assert mine[2].tolist() == expected[2].tolist()
        np.testing.assert_array_equal(mine[3], X)


def test_random_initial_values_come_from_the_device(runs: list[int]) -> None:
    with ipu_scope(IPU):
        weight = v1.get_variable("w", [40, 50])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        value = session.run(weight)
    assert runs == [0]
    assert 0.1 < np.abs(value).max() <= np.sqrt(6 / 90)
    assert abs(value.mean()) < 0.02


def test_compile_of_what_stands_on_the_device_is_one_program(runs: list[int]) -> None:
    with tf.device(IPU):
        weight = v1.get_variable("w", initializer=X[:3, :1], use_resource=True)
        loss = tf.reduce_sum(tf.matmul(X, weight) ** 2)
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    [result] = compile(lambda: (loss, train), [])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(result)
        slope = 2 * X.T @ X @ X[:3, :1]
        np.testing.assert_allclose(session.run(weight), X[:3, :1] - 0.01 * slope, rtol=1e-4, atol=1e-6)
    assert runs == [0]


def test_a_tensor_of_the_device_that_is_fed_is_not_computed(runs: list[int]) -> None:
    with tf.device(IPU):
        half = tf.constant([1.0, 2.0]) * 0.5
        result = half + 1.0
    with v1.Session() as session:
        assert session.run(result, {half: [5.0, 6.0]}).tolist() == [6.0, 7.0]
        assert session.run(result).tolist() == [1.5, 2.0]
        assert session.make_callable(result, [half])([0.0, 0.0]).tolist() == [1.0, 1.0]
        with pytest.raises(poplar_error, match=r"Session.partial_run does not work with 'add' on /device:IPU:0"):
            session.partial_run_setup([result], [])
    assert runs == [1, 0, 1]


def test_a_finalized_graph_runs_there() -> None:
    with tf.device(IPU):
        result = tf.constant([1.0, 2.0]) * 0.5
    graph = tf.compat.v1.get_default_graph()
    graph.finalize()
    with v1.Session() as session:
        assert session.run(result).tolist() == [0.5, 1.0]
    assert graph.finalized


def test_what_cannot_stand_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.device(IPU):
        old = v1.get_variable("old", [2], use_resource=False)
        sum_ = old + 1.0
        later = v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", False)
        loop = v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    with tf.device("/device:IPU:1"):
        other = tf.constant([1.0]) * 2.0
    with v1.Session() as session:
        with pytest.raises(CaptureError, match=r"takes 'old', which is no resource variable; make it with use_resou"):
            session.run(sum_)
        with pytest.raises(poplar_error, match=r"There is no device '/device:IPU:1' for the operator 'mul"):
            session.run(other)
        with pytest.raises(
            CaptureError, match=r"is part of a loop or branch of TensorFlow 1; call what contains it by"
        ):
            session.run(loop)
        assert session.run(later) == 3


def test_initial_values_are_refused_where_nothing_runs() -> None:
    connect(DeviceConnectionType.NEVER)
    words = "Trying to run an executable on a device that was configured for compilation only"
    with tf.device(IPU):
        v1.get_variable("w", [3, 2], use_resource=True)
    with v1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(v1.global_variables_initializer())


def test_eager_operators_on_an_ipu_are_said_to_run_on_the_host(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf, "device", tf.device.__wrapped__)
    graph_programs._install_devices()
    with tf.device(IPU):
        tf.constant(1.0)
    assert capsys.readouterr().err == "", "in graph mode they run on the IPU"
    with context.eager_mode(), tf.device(IPU), tf.device(IPU):
        tf.constant(1.0)
    assert capsys.readouterr().err == (
        "popvision: operators that are called eagerly on an IPU by tf.device run on the host; IPUStrategy.run and "
        "ipu_compiler.compile run functions on the IPU.\n"
    )


def test_initial_values_that_were_moved_to_the_host_need_no_device(runs: list[int]) -> None:
    connect(DeviceConnectionType.NEVER)
    with ipu_scope(IPU):
        weight = v1.get_variable("w", [3, 2])
    move_variable_initialization_to_cpu()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert 0 < np.abs(session.run(weight)).max() <= np.sqrt(6 / 5)
    assert runs == []
