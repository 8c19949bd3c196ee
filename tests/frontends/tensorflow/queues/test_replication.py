"""Replicated programs: replicas take elements in turns and train as one large batch does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow import log_lines
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig
from simulator.frontends.tensorflow.graph_mode import compile, ipu_shard
from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue
from simulator.frontends.tensorflow.loops import repeat
from simulator.frontends.tensorflow.optimizers import (
    CrossReplicaGradientAccumulationOptimizerV2,
    CrossReplicaOptimizer,
)
from simulator.frontends.tensorflow.outfeed_queue import IPUOutfeedMode, IPUOutfeedQueue
from simulator.frontends.tensorflow.pipelining import OptimizerFunctionOutput, pipeline
from simulator.frontends.tensorflow.replication import cross_replica_mean, cross_replica_sum

v1 = tf.compat.v1
STEPS, RATE = 3, 0.1
X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)


@pytest.fixture
def ipus(use_ipu_model: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Configures an IPU Model of so many IPUs; a graph of the session, and lines on stderr."""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setattr(log_lines, "_said", set())
    with tf.Graph().as_default():
        yield lambda count: use_ipu_model(ipus=count)


def elements(*tensors: Any) -> IPUInfeedQueue:
    return IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(tensors or (X,)).repeat())


def ran(infeed: IPUInfeedQueue, outfeed: IPUOutfeedQueue, computation: Callable[[], Any]) -> tuple[Any, Any]:
    """(results of a computation, what the outfeed got)."""
    done = compile(computation)
    sent = outfeed.dequeue()
    with v1.Session() as session:
        session.run([infeed.initializer, v1.global_variables_initializer()])
        return session.run(done), session.run(sent)


def weight() -> Any:
    return v1.get_variable("weight", [3], initializer=v1.ones_initializer(), use_resource=True)


def trained(optimizer: Any, steps: int = STEPS, mode: Any = None, **factor: int) -> tuple[Any, Any]:
    """(the weight, losses) of steps on x with the loss (x . weight - 1)^2."""
    infeed, outfeed = elements(), IPUOutfeedQueue(outfeed_mode=mode, **factor)

    def body(x: Any) -> Any:
        loss = (tf.tensordot(x, weight(), 1) - 1) ** 2
        return optimizer.minimize(loss), outfeed.enqueue({"loss": loss, "x": x})

    def computation() -> Any:
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            repeat(steps, body, [], infeed)
            return weight().read_value()

    (made,), sent = ran(infeed, outfeed, lambda: [computation()])
    return made, sent


def expected(batches: Any, rate: float = RATE) -> tuple[Any, list[list[float]]]:
    """The same in NumPy: a step takes the mean of the gradients of its rows."""
    value, losses = np.ones(3), []
    for rows in batches:
        errors = rows @ value - 1
        losses.append([float(error**2) for error in errors])
        value = value - rate * (2 * errors[:, None] * rows).mean(0)
    return value, losses


def descent() -> Any:
    return v1.train.GradientDescentOptimizer(RATE)


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_take_elements_in_turns_and_train_as_one_batch(replicas: int, ipus: Callable[[int], None]) -> None:
    ipus(replicas)
    made, sent = trained(CrossReplicaOptimizer(descent()))
    rows = X[: STEPS * replicas].reshape(STEPS, replicas, 3)
    value, losses = expected(rows)
    np.testing.assert_array_equal(sent["x"], rows)
    np.testing.assert_allclose(sent["loss"], losses, rtol=1e-4)
    np.testing.assert_allclose(made, value, rtol=1e-4)


def test_sums_of_mini_batches_are_averaged_over_replicas(ipus: Callable[[int], None]) -> None:
    ipus(2)
    made, sent = trained(CrossReplicaGradientAccumulationOptimizerV2(descent(), 2), 4)
    assert sent["loss"].shape == (4, 2)
    value, _ = expected(X[:8].reshape(2, 4, 3), 2 * RATE)
    np.testing.assert_allclose(made, value, rtol=1e-4)


def test_the_last_element_has_a_row_for_each_replica(ipus: Callable[[int], None]) -> None:
    ipus(2)
    _, sent = trained(CrossReplicaOptimizer(descent()), mode=IPUOutfeedMode.LAST)
    np.testing.assert_array_equal(sent["x"], X[4:6])


def test_stages_of_a_pipeline_are_replicated(ipus: Callable[[int], None]) -> None:
    """Two stages on four IPUs are two replicas; an update takes three micro-batches of each."""
    ipus(4)
    infeed, outfeed = elements(), IPUOutfeedQueue()

    def first(x: Any) -> Any:
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            return tf.tensordot(x, weight(), 1)

    def computation() -> Any:
        return pipeline(
            [first, lambda made: (made - 1) ** 2], 3, infeed_queue=infeed, outfeed_queue=outfeed,
            optimizer_function=lambda loss: OptimizerFunctionOutput(CrossReplicaOptimizer(descent()), loss),
            reduction_method="MEAN",
        )  # fmt: skip

    done = compile(computation)
    sent = outfeed.dequeue()
    with v1.Session() as session:
        session.run([infeed.initializer, v1.global_variables_initializer()])
        session.run(done)
        [made], losses = session.run(v1.trainable_variables()), session.run(sent)
    value, expected_losses = expected(X[:6][None])
    np.testing.assert_allclose(losses.reshape(-1), expected_losses[0], rtol=1e-4)
    np.testing.assert_allclose(made, value, rtol=1e-4)


def test_sums_and_means_over_replicas_and_their_gradients(ipus: Callable[[int], None]) -> None:
    ipus(4)
    infeed, outfeed = elements(np.arange(1.0, 5.0, dtype=np.float32)), IPUOutfeedQueue()

    def body(x: Any) -> Any:
        total = cross_replica_sum(x * x)
        [slope] = tf.gradients(cross_replica_mean(x) ** 2, [x])
        return outfeed.enqueue((total, cross_replica_sum(x, 2), slope))

    _, (total, pairs, slope) = ran(infeed, outfeed, lambda: repeat(1, body, [], infeed))
    assert total.tolist() == [[30, 30, 30, 30]]
    assert pairs.tolist() == [[3, 3, 7, 7]]
    assert slope.tolist() == [[5, 5, 5, 5]]


def test_a_program_that_would_let_variables_drift_apart_runs_once(
    ipus: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    ipus(2)
    made, sent = trained(descent())
    value, losses = expected(X[:STEPS, None])
    np.testing.assert_allclose(made, value, rtol=1e-4)
    np.testing.assert_allclose(sent["loss"], np.ravel(losses), rtol=1e-4)
    said = "takes 1 of the 2 IPUs and is not replicated: it changes variables without a sum over replicas; wrap its"
    assert said in capfd.readouterr().err


def test_replicas_of_another_number_are_refused(ipus: Callable[[int], None]) -> None:
    ipus(2)
    trained(CrossReplicaOptimizer(descent()), replication_factor=2)
    with (
        tf.Graph().as_default(),
        pytest.raises(poplar_error, match=r"has replication_factor=4, but the program has 2 r"),
    ):
        trained(CrossReplicaOptimizer(descent()), replication_factor=4)


def test_replicas_that_do_not_divide_the_ipus_are_refused(ipus: Callable[[int], None]) -> None:
    ipus(3)
    infeed, outfeed = elements(), IPUOutfeedQueue()

    def body(x: Any) -> Any:
        with ipu_shard(1):
            return outfeed.enqueue(x * 2)

    with pytest.raises(poplar_error, match=r"takes 2 IPUs, which do not divide the 3 IPUs of the device"):
        ran(infeed, outfeed, lambda: repeat(1, body, [], infeed))


@pytest.mark.usefixtures("use_ipu_model")
def test_pre_compiled_replicas_give_zeros_of_their_shape(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path}")
    monkeypatch.setenv("POPVISION_TILES", "4")
    config = IPUConfig()
    config.auto_select_ipus = 2
    config.device_connection.type = DeviceConnectionType.PRE_COMPILE
    config.device_connection.version = "ipu2"
    config.configure_ipu_system()
    with tf.Graph().as_default():
        infeed, outfeed = elements(), IPUOutfeedQueue()
        _, sent = ran(infeed, outfeed, lambda: repeat(3, lambda x: outfeed.enqueue(x * 2), [], infeed))
    assert sent.shape == (1, 2, 3)
    assert not sent.any()
