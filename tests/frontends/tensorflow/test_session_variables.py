"""Variables of graph mode: a session initialises, reads and saves what the device trains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.graph_mode import compile, ipu_scope
from tests.frontends.tensorflow.systems import connect

pytestmark = pytest.mark.usefixtures("graph_on_demand")

v1 = tf.compat.v1
X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)


def network(optimizer: Callable[[], Any]) -> Callable[..., Any]:
    def net(x: Any, y: Any) -> Any:
        with v1.variable_scope("net", use_resource=True, reuse=v1.AUTO_REUSE):
            weight = v1.get_variable("weight", [3, 4], initializer=v1.constant_initializer(X[:4, :3].T))
            last = v1.get_variable("last", [4, 1], initializer=v1.ones_initializer())
        loss = tf.reduce_mean((tf.matmul(tf.tanh(tf.matmul(x, weight)), last) - y) ** 2)
        with tf.control_dependencies([optimizer().minimize(loss)]):
            return tf.identity(loss)

    return net


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: v1.train.GradientDescentOptimizer(0.1),
        lambda: v1.train.MomentumOptimizer(0.05, 0.9),
        lambda: v1.train.AdamOptimizer(0.01),
        lambda: v1.train.RMSPropOptimizer(0.01),
    ],
    ids=["descent", "momentum", "adam", "rms_prop"],
)
def test_training_is_that_of_the_host(optimizer: Callable[[], Any]) -> None:
    def trained(on_ipu: bool) -> tuple[list[float], dict[str, Any]]:
        with tf.Graph().as_default():
            x, y = v1.placeholder(tf.float32, [8, 3]), v1.placeholder(tf.float32, [8, 1])
            net = network(optimizer)
            result = compile(net, [x, y])[0] if on_ipu else net(x, y)
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                losses = [session.run(result, {x: X, y: Y}).item() for _ in range(4)]
                return losses, {one.name: session.run(one) for one in v1.global_variables()}

    ours, theirs = trained(True), trained(False)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4)
    assert ours[1].keys() == theirs[1].keys()
    for name, value in theirs[1].items():
        np.testing.assert_allclose(ours[1][name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def counter() -> Any:
    """A count and its double, both raised by one."""
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([count.assign_add(1.0)]):
        return count.read_value() * 2.0


def test_the_session_assigns_and_saves(tmp_path: Path) -> None:
    result = compile(counter)
    [count] = v1.global_variables()
    saver, five = v1.train.Saver(), count.assign(5.0)
    with v1.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(result)
        session.run(v1.global_variables_initializer())
        assert [session.run(result) for _ in range(3)] == [[2], [4], [6]]
        path = saver.save(session, str(tmp_path / "state"))
        session.run(five)
        assert session.run(result) == [12]
        assert session.run(count) == 6
        saver.restore(session, path)
        assert session.run(result) == [8]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(result) == [2]


def test_two_programs_share_a_variable() -> None:
    first = compile(counter)
    v1.get_variable_scope().reuse_variables()

    def halved() -> Any:
        count = v1.get_variable("count", [], use_resource=True)
        return count.assign(count / 2.0).op

    second = compile(halved)
    assert isinstance(second, tf.Operation)
    [count] = v1.global_variables()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(first)
        session.run(second)
        assert session.run(count) == 1.5
        assert session.run(first) == [5]


def test_tensors_of_the_session_are_read_without_being_inputs() -> None:
    given = v1.placeholder(tf.float32, [2])
    outside = v1.get_variable("outside", initializer=[10.0, 20.0], use_resource=True)
    result = compile(lambda x: (x + given) * outside, [given * 2.0])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(result[0], {given: [1, 2]}).tolist() == [30, 120]


def test_variables_of_the_scope_are_resources() -> None:
    """Programs of TensorFlow 1 turn resource variables off by `disable_v2_behavior`."""
    v1.disable_resource_variables()
    try:
        with ipu_scope("/device:IPU:0"):
            outside = v1.get_variable("outside", initializer=3.0)
            result = compile(lambda: outside * v1.get_variable("inside", initializer=2.0))
    finally:
        v1.enable_resource_variables()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(result) == [6]


def test_runs_that_give_zeros_leave_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path}")
    connect(DeviceConnectionType.PRE_COMPILE)
    result = compile(counter)
    [count] = v1.global_variables()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(count.assign(7.0))
        assert session.run(result) == [0]
        assert session.run(count) == 7
        connect(DeviceConnectionType.ON_DEMAND)
        assert session.run(result) == [16]


def test_a_refused_run_leaves_the_rest_of_the_session_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """The error comes before the session runs: without TensorFlow's report of a failed operator, and without the
    effects of what it was to run beside."""
    connect(DeviceConnectionType.NEVER)
    result = compile(counter)
    other = v1.get_variable("other", initializer=1.0, use_resource=True)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        capfd.readouterr()
        with pytest.raises(tf.errors.InvalidArgumentError, match="configured for compilation only"):
            session.run([result, other.assign_add(1.0)])
        lines = capfd.readouterr().err.splitlines()
        assert [one for one in lines if "Compiled cluster" not in one] == []
        assert session.run(other) == 1
        fed = session.run(result, {result[0]: 3.0})
        assert fed == [3]
