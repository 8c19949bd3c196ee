"""Training steps of Keras models on the device beside TensorFlow: results, weights and states of optimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, flat, numbers, on_device

L = keras.layers


def _dense() -> Any:
    layers = [keras.Input((28, 28)), L.Flatten(), L.Dense(32, activation="relu"), L.Dense(10, activation="softmax")]
    return keras.Sequential(layers)


def _convolutional() -> Any:
    return keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            L.Conv2D(8, 3, activation="relu"),
            L.MaxPooling2D(),
            L.BatchNormalization(),
            L.Conv2D(4, 3, padding="same"),
            L.AveragePooling2D(2),
            L.Flatten(),
            L.LayerNormalization(),
            L.Dense(10),
        ]
    )


def _recurrent(sequences: bool = False) -> Any:
    layers = [keras.Input((7,)), L.Embedding(20, 8), L.LSTM(6, return_sequences=sequences)]
    return keras.Sequential([*layers, L.GlobalAveragePooling1D(), L.Dense(10)] if sequences else [*layers, L.Dense(10)])


_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5),
}


def _steps(model: Any, optimizer: str, x: Any, y: Any, on_ipu: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Results of each step, the weights and the optimiser's variables after them."""
    from_scores = model.layers[-1].activation is not keras.activations.softmax
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=from_scores)
    model.compile(optimizer=_OPTIMIZERS[optimizer](), loss=loss, metrics=["accuracy"])
    model.optimizer.build(model.trainable_variables)
    model._symbolic_build(data_batch=(x[0], y[0]))

    def step(x: tf.Tensor, y: tf.Tensor) -> Any:
        return model.train_step((x, y))

    if on_ipu:
        loaded = on_device(captured(step, x[0], y[0]))
        results = [loaded.run([one, labels]) for one, labels in zip(x, y, strict=True)]
    else:
        traced = tf.function(step)
        results = [flat(traced(one, labels)) for one, labels in zip(x, y, strict=True)]
    return results, model.get_weights(), [one.numpy() for one in model.optimizer.variables]


@pytest.mark.parametrize(
    ("build", "optimizer", "shape"),
    [
        (_dense, "sgd", (28, 28)),
        (_dense, "momentum", (28, 28)),
        (_dense, "adam", (28, 28)),
        (_dense, "rmsprop", (28, 28)),
        (_convolutional, "sgd", (12, 12, 1)),
        (_recurrent, "sgd", (7,)),
        (lambda: _recurrent(True), "sgd", (7,)),
    ],
)
def test_three_training_steps_are_those_of_tensorflow(
    build: Callable[[], Any], optimizer: str, shape: tuple[int, ...]
) -> None:
    x = numbers(3, 8, *shape)
    if shape == (7,):
        x = np.random.default_rng(0).integers(0, 20, (3, 8, *shape)).astype(np.float32)
    y = np.random.default_rng(1).integers(0, 10, (3, 8)).astype(np.int32)
    ours, theirs = build(), build()
    ours.set_weights(theirs.get_weights())
    expected = _steps(theirs, optimizer, x, y, False)
    given = _steps(ours, optimizer, x, y, True)
    for mine, other in zip(given, expected, strict=True):
        for one, wanted in zip(tf.nest.flatten(mine), tf.nest.flatten(other), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=2e-5)


def test_dropout_drops_while_training_and_not_while_inferring() -> None:
    model = keras.Sequential([keras.Input((1000,)), L.Dropout(0.25)])
    x = np.ones((2, 1000), np.float32)
    training = on_device(captured(lambda x: model(x, training=True), x))
    first, second = training.run([x])[0], training.run([x])[0]
    kept = first != 0
    np.testing.assert_allclose(first[kept], 1 / 0.75, rtol=1e-5)
    assert 0.68 < kept.mean() < 0.82
    assert not np.array_equal(kept, second != 0), "each step draws anew"
    assert on_device(captured(lambda x: model(x, training=False), x)).run([x])[0].tolist() == x.tolist()


def test_an_lstm_layer_is_one_operator_and_one_for_its_gradient() -> None:
    model = _recurrent()
    x = np.zeros((2, 7), np.float32)

    def loss(x: tf.Tensor) -> list[Any]:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model(x, training=True))
        return [tf.convert_to_tensor(one) for one in tape.gradient(total, model.trainable_variables)]

    names = [one.name for one in captured(loss, x).program.operators]
    assert names.count("tf.Lstm") == 1
    assert names.count("tf.LstmGrad") == 1
    names = [one.name for one in captured(lambda x: model(x), x).program.operators]
    assert "tf.LstmInference" in names
    assert "tf.Lstm" not in names


def test_operators_bear_their_layer_and_the_line_of_the_users_program() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, name="first")], name="net")
    model.compile(optimizer="sgd", loss="mse")
    program = captured(lambda x, y: model.train_step((x, y)), numbers(2, 4), numbers(2, 3)).program
    products = [one for one in program.operators if one.name == "tf.MatMul"]
    layers = {(one.place.module, bool(one.place.annotations)) for one in products}
    assert layers == {("net/first", False), ("net/first", True)}
    assert all(one.place.file == __file__ for one in program.operators)
