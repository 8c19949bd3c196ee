"""outside_compilation_scope: the host computes in the middle of a program of the device; refused in pre-compilation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.host_scope import outside_compilation_scope
from simulator.frontends.tensorflow.loops import repeat
from simulator.frontends.tensorflow.strategy import IPUStrategy

PRE_COMPILED = "the program contains `outside_compilation_scope` operations which cannot be safely pre-compiled"


def configure(kind: DeviceConnectionType) -> None:
    configuration = IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.device_connection.type = kind
    if kind is DeviceConnectionType.PRE_COMPILE:
        configuration.device_connection.version = "ipu2"
    configuration.configure_ipu_system()


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    yield
    reset_ipu_configuration()


@pytest.fixture
def pre_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path / 'cache'}")
    configure(DeviceConnectionType.PRE_COMPILE)
    yield
    assert not list(tmp_path.glob("cache/*.poplar_exec"))


def halved(x: tf.Tensor) -> tf.Tensor:
    with outside_compilation_scope():
        y = tf.numpy_function(lambda array: array / 2, [x], tf.float32)
        y.set_shape(x.shape)
    return y + 1.0


def branching(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: halved(x), lambda: x)


@pytest.mark.parametrize("function", [halved, branching])
@pytest.mark.usefixtures("pre_compiling")
def test_pre_compilation_refuses_the_scope_also_in_a_branch(function: Any) -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match=PRE_COMPILED):
        IPUStrategy().run(function, (tf.ones([2]),))


@pytest.mark.usefixtures("pre_compiling")
def test_pre_compilation_refuses_it_in_a_session() -> None:
    with tf.Graph().as_default():
        given = tf.compat.v1.placeholder(tf.float32, [2])
        result = compile(halved, [given])
        with (
            tf.compat.v1.Session() as session,
            pytest.raises(tf.errors.FailedPreconditionError, match=PRE_COMPILED),
        ):
            session.run(result, {given: [1.0, 2.0]})


def test_a_branch_runs_its_part_only_when_it_is_taken() -> None:
    assert IPUStrategy().run(branching, (tf.constant([3.0, 5.0]),)).numpy().tolist() == [2.5, 3.5]
    assert IPUStrategy().run(branching, (tf.constant([-3.0, 1.0]),)).numpy().tolist() == [-3, 1]


def test_keras_layers_with_the_scope_run() -> None:
    with IPUStrategy().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(halved), keras.layers.Dense(1)])
        model.compile(loss="mse", optimizer="sgd")
    x = np.array([[1, 2], [3, 4]], np.float32)
    kernel, bias = model.layers[-1].get_weights()
    np.testing.assert_allclose(model.predict(x, verbose=0), (x / 2 + 1) @ kernel + bias, rtol=1e-5)


def test_the_scope_in_a_session_gives_what_the_host_gives() -> None:
    with tf.Graph().as_default():
        given = tf.compat.v1.placeholder(tf.float32, [2])
        result = compile(halved, [given])
        configure(DeviceConnectionType.ON_DEMAND)
        with tf.compat.v1.Session() as session:
            assert session.run(result[0], {given: [1.0, 2.0]}).tolist() == [1.5, 2.0]


def test_a_loop_calls_the_host_each_time(capfd: pytest.CaptureFixture[str]) -> None:
    """Parts print, count in a variable of the host and compute in types that no tile has; one has no operand, one no
    result."""
    calls, count = [], tf.Variable(0)

    def noted(value: Any) -> Any:
        calls.append(value.numpy().tolist())
        return value + 1

    def function(x: tf.Tensor) -> Any:
        def body(step: Any, a: Any) -> Any:
            a = a * 2.0
            with outside_compilation_scope("parts"):
                tf.print("step", step)
                count.assign_add(1)
                wide = tf.py_function(noted, [tf.cast(a, tf.float64)], tf.float64)
                b = tf.cast(tf.ensure_shape(wide, a.shape), tf.float32)
            return step + 1, b

        results = repeat(3, body, [0, x])
        with outside_compilation_scope():
            tf.print("done")
        with outside_compilation_scope():
            constant = tf.range(2)
        return results, constant

    (steps, values), constant = IPUStrategy().run(function, [tf.constant([1.0, 2.0])])
    assert calls == [[2, 4], [6, 10], [14, 22]]
    assert (int(steps), values.numpy().tolist(), constant.numpy().tolist()) == (3, [15, 23], [0, 1])
    assert count.numpy() == 3
    printed = [one for one in capfd.readouterr().err.splitlines() if one.startswith(("step", "done"))]
    assert printed == ["step 0", "step 1", "step 2", "done"]


def test_a_program_of_the_cache_calls_the_host_of_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs on the host is no part of the file: the second program differs from the first there only."""
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path}")
    for factor, expected in ((2.0, 7.0), (5.0, 16.0)):
        configure(DeviceConnectionType.ALWAYS)

        def function(x: tf.Tensor, factor: float = factor) -> tf.Tensor:
            with outside_compilation_scope():
                y = x * factor
            return y + 1.0

        assert float(IPUStrategy().run(function, [tf.constant(3.0)])) == expected
        assert len(list(tmp_path.glob("*.poplar_exec"))) == 1


def test_errors_of_the_host_come_out() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        with outside_compilation_scope():
            tf.debugging.assert_less(x, 2.0, message="too large")
            return tf.identity(x)

    assert float(IPUStrategy().run(function, [tf.constant(1.0)])) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        IPUStrategy().run(function, [tf.constant(3.0)])


def test_what_parts_on_the_host_refuse() -> None:
    def nested(x: tf.Tensor) -> tf.Tensor:
        with outside_compilation_scope(), outside_compilation_scope():
            return x

    with pytest.raises(ValueError, match="Illegal nesting of outside_compilation_scope"):
        IPUStrategy().run(nested, [tf.constant(1.0)])
    shared = tf.Variable(1.0)

    def unshaped(x: tf.Tensor) -> tf.Tensor:
        with outside_compilation_scope():
            return tf.numpy_function(lambda array: array, [x], tf.float32)

    def both(x: tf.Tensor) -> tf.Tensor:
        with outside_compilation_scope():
            shared.assign(5.0)
        return x + shared

    with pytest.raises(poplar_error, match=r"The shape <unknown> of .* is not fixed; set it with set_shape"):
        IPUStrategy().run(unshaped, [tf.constant(1.0)])
    with pytest.raises(poplar_error, match=r"The variable 'Variable' is used on the device and, by "):
        IPUStrategy().run(both, [tf.constant(1.0)])
    with (
        pytest.raises(poplar_error, match="used in a function that is compiled for the IPU"),
        outside_compilation_scope(),
    ):
        pass
