"""Keras' fit, evaluate and predict on the IPU beside TensorFlow's on the host."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.synthetic_images import DIGITS, synthetic_images
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.strategy import IPUStrategy

L = keras.layers
#: TensorFlow's own, where Keras makes an array of a variable
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(autouse=True)
def small_model(use_ipu_model: Callable[..., None]) -> None:
    use_ipu_model(tiles=16)


def digits(count: int, seed: int = 0) -> tuple[Any, Any]:
    images, labels = synthetic_images(DIGITS, count, seed)
    return (images / 255).astype(np.float32), labels.astype(np.int32)


def model_on(
    on_ipu: bool, steps: int = 1, optimizer: str = "sgd", layers: Callable[[], list[Any]] | None = None
) -> Any:
    """A compiled model with the same weights in both places."""
    keras.utils.set_random_seed(0)
    with IPUStrategy().scope() if on_ipu else nullcontext():
        model = keras.Sequential(
            layers() if layers else [L.Flatten(), L.Dense(32, activation="relu"), L.Dense(10, activation="softmax")]
        )
        model.compile(
            loss=keras.losses.SparseCategoricalCrossentropy(),
            optimizer=optimizer,
            metrics=["accuracy"],
            steps_per_execution=steps,
        )
    return model


@pytest.mark.parametrize("steps", [1, 4])
def test_mnist_trains_as_on_the_host(steps: int) -> None:
    x, y = digits(640)
    unseen = digits(130, 1)
    histories, evaluations, predictions = [], [], []
    for on_ipu in (True, False):
        model = model_on(on_ipu, steps)
        history = model.fit(x, y, batch_size=32, epochs=3, shuffle=False, validation_data=unseen, verbose=0)
        histories.append(history.history)
        evaluations.append(model.evaluate(*unseen, batch_size=32, verbose=0))
        predictions.append(model.predict(unseen[0], batch_size=32, verbose=0))
    assert histories[0].keys() == histories[1].keys()
    for name, values in histories[0].items():
        np.testing.assert_allclose(values, histories[1][name], rtol=2e-4, atol=2e-4, err_msg=name)
    assert histories[0]["accuracy"][-1] > 0.5
    np.testing.assert_allclose(evaluations[0], evaluations[1], rtol=2e-4, atol=2e-4)
    assert predictions[0].shape == (130, 10)
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-3, atol=1e-4)


def test_an_execution_is_one_run_and_the_rest_of_the_batches_another_program(
    compilations: list[tuple[Any, ...]],
) -> None:
    model = model_on(True, steps=4)
    x, y = digits(32 * 6 + 8)
    model.fit(x, y, batch_size=32, epochs=2, shuffle=False, verbose=0)
    assert [iterations for _, iterations, _ in compilations] == [4, 2, 1], (
        "four batches, two more, and the smaller last"
    )
    assert int(model.optimizer.iterations.numpy()) == 14


def test_a_reconfigured_system_compiles_anew_and_the_model_goes_on(
    compilations: list[tuple[Any, ...]], use_ipu_model: Callable[..., None]
) -> None:
    x, y = digits(64)
    ours, theirs = model_on(True), model_on(False)
    for one in (ours, theirs):
        one.fit(x, y, batch_size=32, shuffle=False, verbose=0)
    use_ipu_model(tiles=8)
    for one in (ours, theirs):
        one.fit(x, y, batch_size=32, shuffle=False, verbose=0)
    assert len(compilations) == 2
    for mine, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_callbacks_change_the_rate_and_read_weights_between_steps() -> None:
    x, y = digits(128)
    seen: list[list[Any]] = []
    for on_ipu in (True, False):
        model = model_on(on_ipu)
        weights: list[Any] = []
        schedule = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
        noting = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs, model=model, to=weights: to.append(model.get_weights()[1].copy())
        )
        model.fit(x, y, batch_size=32, epochs=2, shuffle=False, callbacks=[schedule, noting], verbose=0)
        assert float(model.optimizer.learning_rate.numpy()) == pytest.approx(0.0025)
        seen.append(weights)
    np.testing.assert_allclose(seen[0], seen[1], rtol=1e-4, atol=1e-6)
    assert not np.array_equal(seen[0][0], seen[0][1])


def test_sample_weights_and_dropout_batch_by_batch() -> None:
    x, y = digits(32)
    weights = np.linspace(0, 2, 32).astype(np.float32)
    losses = [model_on(on_ipu).train_on_batch(x, y, sample_weight=weights) for on_ipu in (True, False)]
    np.testing.assert_allclose(*losses, rtol=1e-4)
    dropping = model_on(True, layers=lambda: [L.Flatten(), L.Dropout(0.5), L.Dense(10, activation="softmax")])
    first = dropping.predict_on_batch(x)
    np.testing.assert_allclose(first, dropping.predict(x, verbose=0), rtol=1e-6)
    before = dropping.get_weights()[0]
    dropping.fit(x, y, epochs=2, verbose=0)
    assert not np.array_equal(before, dropping.get_weights()[0])


def test_models_with_several_outputs_predict_their_structure() -> None:
    predictions = []
    for on_ipu in (True, False):
        keras.utils.set_random_seed(0)
        with IPUStrategy().scope() if on_ipu else nullcontext():
            given = keras.Input((6,))
            model = keras.Model(given, {"a": L.Dense(2)(given), "b": L.Dense(3)(given)})
            model.compile(loss="mse", steps_per_execution=3)
        predictions.append(model.predict(np.arange(60, dtype=np.float32).reshape(10, 6), batch_size=2, verbose=0))
    assert predictions[0].keys() == {"a", "b"}
    for name, mine in predictions[0].items():
        np.testing.assert_allclose(mine, predictions[1][name], rtol=1e-4, atol=1e-4)


def test_models_outside_the_scope_stay_on_the_host(compilations: list[tuple[Any, ...]]) -> None:
    with IPUStrategy().scope():
        pass
    model = model_on(False)
    model.fit(*digits(32), verbose=0)
    model.predict(digits(32)[0], verbose=0)
    assert compilations == []


def test_eager_steps_are_refused() -> None:
    model = model_on(True)
    model.compile(loss="mse", run_eagerly=True)
    with pytest.raises(poplar_error, match="compiled with run_eagerly=True, but the IPU runs traced steps"):
        model.fit(*digits(32), verbose=0)


def test_strategy_runs_functions_and_updates_their_variables() -> None:
    strategy = IPUStrategy()
    total = tf.Variable(tf.zeros([3]))

    @tf.function(jit_compile=True)
    def add(x: Any, factor: float = 1.0) -> dict[str, Any]:
        total.assign_add(x * factor)
        return {"total": total.read_value(), "nothing": None, "pair": (x, tf.reduce_sum(x))}

    x = tf.constant([1.0, 2.0, 3.0])
    assert strategy.run(add, (x,))["total"].numpy().tolist() == [1, 2, 3]
    result = strategy.run(add, args=(np.ones(3, np.float32),), kwargs={"factor": 10.0})
    assert result["total"].numpy().tolist() == [11, 12, 13]
    assert result["nothing"] is None
    assert [one.numpy().tolist() for one in result["pair"]] == [[1, 1, 1], 3]
    assert total.numpy().tolist() == [11, 12, 13]
    total.assign([0, 0, 0])
    assert strategy.run(add, (x,))["total"].numpy().tolist() == [1, 2, 3]


def test_strategy_compiles_once_for_a_signature(compilations: list[tuple[Any, ...]]) -> None:
    strategy = IPUStrategy()

    def double(x: Any, times: int = 2) -> Any:
        return x * times if tf.reduce_sum(x) > 0 else -x

    three, four = tf.ones([3]), tf.ones([4])
    results = [strategy.run(double, (one,)).numpy().tolist() for one in (three, three, four, -four)]
    assert results == [[2] * 3, [2] * 3, [2] * 4, [1] * 4]
    assert len(compilations) == 2
    assert strategy.run(double, (three, 5)).numpy().tolist() == [5] * 3
    assert len(compilations) == 3
    assert tf.function(lambda: strategy.run(double, (three,)))().numpy().tolist() == [2] * 3
    assert len(compilations) == 3, "within a trace, the function is part of it"


def test_there_is_one_device() -> None:
    with pytest.raises(poplar_error, match=r"There is no device '/device:IPU:1'; this system has '/device:IPU:0'"):
        IPUStrategy("/device:IPU:1")


@pytest.mark.parametrize("make", [lambda: tf.ragged.constant([[1.0], [2.0, 3.0]]), lambda: tf.sparse.eye(3)])
def test_ragged_and_sparse_arguments_are_refused(make: Callable[[], Any]) -> None:
    given = make()
    with pytest.raises(CaptureError, match=f"A {type(given).__name__} of shape .* is an argument; .* dense tensors"):
        IPUStrategy().run(lambda x: x, (given,))


class Weighing(keras.Model):
    """A model with a step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = L.Dense(10)
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x: Any) -> Any:
        return self.dense(tf.reshape(x, [-1, 784]))

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, _ = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, self(x)))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        self.seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return {"loss": loss, "seen": self.seen}


def test_steps_of_two_models_take_turns_on_the_device() -> None:
    x, y = digits(64)
    outcomes = []
    for on_ipu in (True, False):
        keras.utils.set_random_seed(0)
        with IPUStrategy().scope() if on_ipu else nullcontext():
            models = [Weighing(), Weighing()]
            for one in models:
                one.compile("sgd")
        logs = [[one.train_on_batch(x[:32], y[:32], return_dict=True) for one in models] for _ in range(3)]
        outcomes.append([logs, *(one.get_weights() for one in models)])
    for mine, other in zip(tf.nest.flatten(outcomes[0]), tf.nest.flatten(outcomes[1]), strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=1e-5)
