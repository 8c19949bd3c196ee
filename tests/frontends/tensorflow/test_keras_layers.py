"""Further layers, losses, metrics and optimisers of Keras: one training step on the device beside TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, flat, numbers, on_device

L, M = keras.layers, keras.metrics


def _attention() -> Any:
    given = keras.Input((6, 8))
    mixed = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(given, given) + given)
    return keras.Model(given, L.Dense(5)(L.GlobalAveragePooling1D()(mixed)))


def _sequential(*layers: Any) -> Callable[[], Any]:
    return lambda: keras.Sequential([type(one).from_config(one.get_config()) for one in layers])


def _scores() -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


_LABELS = np.array([0, 3, 1, 4], np.int32)
_CASES = {
    "attention": (_attention, _scores, [], "sgd", numbers(4, 6, 8), _LABELS),
    "masked loop": (
        _sequential(keras.layers.Embedding(9, 4, mask_zero=True), L.LSTM(5), L.Dense(5)),
        _scores,
        [],
        "sgd",
        np.array([[1, 2, 0], [3, 0, 0], [4, 5, 6], [1, 1, 0]], np.int32),
        _LABELS,
    ),
    "gru": (_sequential(L.GRU(4), L.Dense(5)), _scores, [], "sgd", numbers(4, 3, 6), _LABELS),
    "transposed convolution": (
        _sequential(
            L.Conv2DTranspose(4, 3, strides=2, padding="same"),
            L.SeparableConv2D(6, 3),
            L.UpSampling2D(2),
            L.ZeroPadding2D(1),
            L.Cropping2D(2),
            L.GroupNormalization(2),
            L.GlobalMaxPooling2D(),
            L.Dense(5),
        ),
        _scores,
        [],
        "sgd",
        numbers(4, 5, 4, 3),
        _LABELS,
    ),
    "binary": (
        _sequential(L.Dense(8, activation="gelu"), L.Dense(1, activation="sigmoid")),
        keras.losses.BinaryCrossentropy,
        [M.BinaryAccuracy, M.Precision, M.AUC],
        keras.optimizers.AdamW,
        numbers(8, 12),
        np.array([[0], [1], [1], [0], [1], [0], [0], [1]], np.float32),
    ),
    "categorical": (
        _sequential(L.Dense(5, activation="softmax", kernel_regularizer="l2")),
        lambda: keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        [M.TopKCategoricalAccuracy, M.CategoricalAccuracy],
        lambda: keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), clipnorm=1.0),
        numbers(4, 12),
        np.eye(5, dtype=np.float32)[_LABELS],
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_a_training_step_is_that_of_tensorflow(case: str) -> None:
    build, loss, metrics, optimizer, x, y = _CASES[case]
    outcomes = []
    weights = None
    for on_ipu in (False, True):
        model = build()
        model.build(x.shape)
        weights = model.get_weights() if weights is None else weights
        model.set_weights(weights)
        model.compile(
            optimizer if isinstance(optimizer, str) else optimizer(), loss(), metrics=[one() for one in metrics]
        )
        model.optimizer.build(model.trainable_variables)
        model._symbolic_build(data_batch=(x, y))

        def step(x: Any, y: Any, model: Any = model) -> Any:
            return model.train_step((x, y))

        results = on_device(captured(step, x, y)).run([x, y]) if on_ipu else flat(tf.function(step)(x, y))
        outcomes.append([*results, *model.get_weights()])
    for mine, expected in zip(*outcomes, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=2e-5)
