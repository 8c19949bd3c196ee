"""Optimisers of TensorFlow 1 that wrap another: weights after a loop of mini-batches equal to NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue
from simulator.frontends.tensorflow.loops import repeat
from simulator.frontends.tensorflow.optimizers import (
    CrossReplicaGradientAccumulationOptimizer,
    CrossReplicaGradientAccumulationOptimizerV2,
    CrossReplicaOptimizer,
    GradientAccumulationOptimizer,
    GradientAccumulationOptimizerV2,
    GradientAccumulationReductionMethod,
    MapGradientOptimizer,
)

pytestmark = pytest.mark.usefixtures("graph_on_a_model")

v1 = tf.compat.v1
X = np.random.default_rng(0).normal(size=(6, 4, 3)).astype(np.float32)


def trained(optimizer: Callable[[], Any], steps: int = 6) -> Any:
    """The weight after a loop over mini-batches on the device."""
    dataset = tf.data.Dataset.from_tensor_slices(X).repeat()
    queue = IPUInfeedQueue(dataset)

    def body(x: Any) -> Any:
        weight = v1.get_variable("weight", [3], initializer=v1.ones_initializer(), use_resource=True)
        loss = tf.reduce_mean((tf.linalg.matvec(x, weight) - 1.0) ** 2)
        return optimizer().minimize(loss)

    done = compile(lambda: repeat(steps, body, [], queue))
    with v1.Session() as session:
        session.run([queue.initializer, v1.global_variables_initializer()])
        session.run(done)
        return session.run(v1.trainable_variables())[0]


def expected(steps: int = 6, batches: int = 1, momentum: float = 0.0, scale: float = 1.0) -> Any:
    """The same in NumPy: the gradients of `batches` mini-batches added up, times a scale."""
    weight, velocity, total = np.ones(3), np.zeros(3), np.zeros(3)
    for step in range(steps):
        x = X[step % len(X)].astype(np.float64)
        total += scale * 2 * x.T @ (x @ weight - 1) / len(x)
        if (step + 1) % batches == 0:
            velocity = momentum * velocity + total
            weight, total = weight - 0.1 * velocity, np.zeros(3)
    return weight


def descent() -> Any:
    return v1.train.GradientDescentOptimizer(0.1)


def momentum() -> Any:
    return v1.train.MomentumOptimizer(0.1, 0.9)


@pytest.mark.parametrize(
    ("optimizer", "weight"),
    [
        (lambda: CrossReplicaOptimizer(momentum()), expected(momentum=0.9)),
        (lambda: MapGradientOptimizer(descent(), lambda gradient, _: gradient * 0.5), expected(scale=0.5)),
        (lambda: GradientAccumulationOptimizer(momentum(), 3), expected(batches=3, momentum=0.9)),
        (
            lambda: GradientAccumulationOptimizerV2(
                CrossReplicaOptimizer(momentum()), 2, reduction_method=GradientAccumulationReductionMethod.MEAN
            ),
            expected(batches=2, momentum=0.9, scale=0.5),
        ),
        (lambda: CrossReplicaGradientAccumulationOptimizerV2(descent(), 4), expected(batches=4)),
        (lambda: CrossReplicaGradientAccumulationOptimizer(descent(), 6), expected(batches=6)),
    ],
)
def test_weights_are_those_of_numpy(optimizer: Callable[[], Any], weight: Any) -> None:
    np.testing.assert_allclose(trained(optimizer), weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: GradientAccumulationOptimizerV2(descent(), 0), ValueError, "must be a positive number"),
        (lambda: GradientAccumulationOptimizerV2(descent(), 2, True), poplar_error, "on the chip of one replica here"),
        (
            lambda: GradientAccumulationOptimizerV2(
                descent(), 2, reduction_method=GradientAccumulationReductionMethod.RUNNING_MEAN
            ),
            poplar_error,
            "cannot reduce gradients by RUNNING_MEAN here; take SUM or MEAN",
        ),
        (
            lambda: GradientAccumulationOptimizer(v1.train.AdamOptimizer(), 2),
            ValueError,
            "not AdamOptimizer; take its V2",
        ),
        (lambda: CrossReplicaOptimizer(keras.optimizers.SGD()), TypeError, "wraps optimizers of tf.compat.v1.train"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(make: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()
