"""outside_compilation_scope: refused when compiled, with the driver's words in pre-compilation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.host_scope import outside_compilation_scope
from simulator.frontends.tensorflow.strategy import IPUStrategy

PRE_COMPILED = "the program contains `outside_compilation_scope` operations which cannot be safely pre-compiled"
HERE = "contains `outside_compilation_scope` operations, but programs run on the simulated IPU as a whole"


def configure(kind: DeviceConnectionType) -> None:
    configuration = IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.device_connection.type = kind
    if kind is DeviceConnectionType.PRE_COMPILE:
        configuration.device_connection.version = "ipu2"
    configuration.configure_ipu_system()


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path / 'cache'}")
    yield
    reset_ipu_configuration()
    assert not list(tmp_path.glob("cache/*.poplar_exec"))


def halved(x: tf.Tensor) -> tf.Tensor:
    with outside_compilation_scope():
        y = tf.numpy_function(lambda array: array / 2, [x], tf.float32)
        y.set_shape(x.shape)
    return y + 1.0


def branching(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: halved(x), lambda: x)


@pytest.mark.parametrize("function", [halved, branching])
def test_strategy_refuses_the_scope_also_in_a_branch(function: object) -> None:
    configure(DeviceConnectionType.PRE_COMPILE)
    with pytest.raises(tf.errors.FailedPreconditionError, match=PRE_COMPILED):
        IPUStrategy().run(function, (tf.ones([2]),))
    configure(DeviceConnectionType.ON_DEMAND)
    with pytest.raises(tf.errors.UnimplementedError, match=HERE):
        IPUStrategy().run(function, (tf.ones([2]),))


def test_keras_models_with_the_scope_are_refused() -> None:
    configure(DeviceConnectionType.PRE_COMPILE)
    with IPUStrategy().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(halved), keras.layers.Dense(1)])
        model.compile(loss="mse", optimizer="sgd")
    with pytest.raises(tf.errors.FailedPreconditionError, match=PRE_COMPILED):
        model.predict(np.ones((4, 2), np.float32), verbose=0)


def test_graph_mode_refuses_when_the_session_runs() -> None:
    """The graph is made before the system is configured."""
    with tf.Graph().as_default():
        given = tf.compat.v1.placeholder(tf.float32, [2])
        result = compile(halved, [given])
        for kind, error, words in (
            (DeviceConnectionType.PRE_COMPILE, tf.errors.FailedPreconditionError, PRE_COMPILED),
            (DeviceConnectionType.ON_DEMAND, tf.errors.UnimplementedError, HERE),
        ):
            configure(kind)
            with tf.compat.v1.Session() as session, pytest.raises(error, match=words):
                session.run(result, {given: [1.0, 2.0]})


def test_the_scope_is_for_functions_of_the_device() -> None:
    with (
        pytest.raises(poplar_error, match="used in a function that is compiled for the IPU"),
        outside_compilation_scope(),
    ):
        pass
