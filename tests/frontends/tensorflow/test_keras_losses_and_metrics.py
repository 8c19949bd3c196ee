"""Keras' losses and metrics on the device beside TensorFlow: values, gradients, and states over several batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, check, flat, numbers, on_device

_CLASSES = np.array([1, 0, 4, 2, 3, 4], np.int32)
_SCORES = numbers(6, 5)
_PROBABILITIES = tf.nn.softmax(_SCORES).numpy()
_ONE_HOT = np.eye(5, dtype=np.float32)[_CLASSES]
_BINARY = (numbers(6, 5, seed=3) > 0).astype(np.float32)
_WEIGHTS = np.array([1, 0, 2, 0.5, 1, 3], np.float32)
_TARGETS = numbers(6, 5, seed=4)

_LOSSES: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "sparse, scores": (lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True), _CLASSES, _SCORES),
    "sparse, probabilities": (lambda: keras.losses.SparseCategoricalCrossentropy(), _CLASSES, _PROBABILITIES),
    "sparse, ignored class": (
        lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=4),
        _CLASSES,
        _SCORES,
    ),
    "categorical, scores": (lambda: keras.losses.CategoricalCrossentropy(from_logits=True), _ONE_HOT, _SCORES),
    "categorical, probabilities": (lambda: keras.losses.CategoricalCrossentropy(), _ONE_HOT, _PROBABILITIES),
    "categorical, smoothed": (
        lambda: keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
        _ONE_HOT,
        _SCORES,
    ),
    "binary, scores": (lambda: keras.losses.BinaryCrossentropy(from_logits=True), _BINARY, _SCORES),
    "binary, probabilities": (lambda: keras.losses.BinaryCrossentropy(), _BINARY, _PROBABILITIES),
    "squared": (lambda: keras.losses.MeanSquaredError(), _TARGETS, _SCORES),
    "squared, summed": (lambda: keras.losses.MeanSquaredError(reduction="sum"), _TARGETS, _SCORES),
    "absolute": (lambda: keras.losses.MeanAbsoluteError(), _TARGETS, _SCORES),
    "huber": (lambda: keras.losses.Huber(delta=0.7), _TARGETS, _SCORES),
    "log cosh": (lambda: keras.losses.LogCosh(), _TARGETS, _SCORES),
    "divergence": (lambda: keras.losses.KLDivergence(), _ONE_HOT, _PROBABILITIES),
    "hinge": (lambda: keras.losses.Hinge(), _BINARY, _SCORES),
    "cosine": (lambda: keras.losses.CosineSimilarity(), _TARGETS, _SCORES),
}


@pytest.mark.parametrize("name", _LOSSES)
def test_losses_and_their_gradients(name: str) -> None:
    make, expected, given = _LOSSES[name]

    def weighed(expected: Any, given: Any, weights: Any) -> Any:
        loss = make()
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = loss(expected, given) + 2 * loss(expected, given, sample_weight=weights)
        return total, tape.gradient(total, given)

    check(weighed, expected, given, _WEIGHTS)


_METRICS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "sparse accuracy": (lambda: keras.metrics.SparseCategoricalAccuracy(), _CLASSES, _SCORES),
    "categorical accuracy": (lambda: keras.metrics.CategoricalAccuracy(), _ONE_HOT, _SCORES),
    "binary accuracy": (lambda: keras.metrics.BinaryAccuracy(threshold=0.3), _BINARY, _PROBABILITIES),
    "accuracy": (lambda: keras.metrics.Accuracy(), _BINARY, (_PROBABILITIES > 0.2).astype(np.float32)),
    "sparse top two": (lambda: keras.metrics.SparseTopKCategoricalAccuracy(k=2), _CLASSES, _SCORES),
    "top two": (lambda: keras.metrics.TopKCategoricalAccuracy(k=2), _ONE_HOT, _SCORES),
    "crossentropy": (lambda: keras.metrics.SparseCategoricalCrossentropy(), _CLASSES, _PROBABILITIES),
    "squared error": (lambda: keras.metrics.MeanSquaredError(), _TARGETS, _SCORES),
    "root of squared error": (lambda: keras.metrics.RootMeanSquaredError(), _TARGETS, _SCORES),
    "absolute error": (lambda: keras.metrics.MeanAbsoluteError(), _TARGETS, _SCORES),
    "precision": (lambda: keras.metrics.Precision(), _BINARY, _PROBABILITIES),
    "recall": (lambda: keras.metrics.Recall(thresholds=0.2), _BINARY, _PROBABILITIES),
    "area": (lambda: keras.metrics.AUC(num_thresholds=20), _BINARY, _PROBABILITIES),
}


@pytest.mark.parametrize("name", _METRICS)
def test_metrics_accumulate_over_batches(name: str) -> None:
    make, expected, given = _METRICS[name]
    batches = [(expected, given, _WEIGHTS), (expected[::-1].copy(), given, _WEIGHTS[::-1].copy())]
    ours, theirs = make(), make()

    def update(metric: Any) -> Callable[..., Any]:
        def step(expected: Any, given: Any, weights: Any) -> Any:
            metric.update_state(expected, given, sample_weight=weights)
            return metric.result()

        return step

    loaded = on_device(captured(update(ours), *batches[0]))
    on_host = tf.function(update(theirs))
    for batch in batches:
        np.testing.assert_allclose(loaded.run(list(batch))[0], flat(on_host(*batch))[0], rtol=1e-4, atol=1e-6)
    for mine, other in zip(ours.variables, theirs.variables, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4, atol=1e-6)
    ours.reset_state()
    theirs.reset_state()
    np.testing.assert_allclose(loaded.run(list(batches[1]))[0], flat(on_host(*batches[1]))[0], rtol=1e-4, atol=1e-6)
