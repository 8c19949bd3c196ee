"""Convolutions, poolings, norms, losses and random numbers on the device beside TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, check, numbers, on_device, with_gradients


@pytest.mark.parametrize(
    ("stride", "padding"),
    [(1, "SAME"), (2, "SAME"), (2, "VALID"), (2, [[0, 0], [1, 0], [0, 2], [0, 0]])],
)
def test_convolutions_with_gradients(stride: int, padding: object) -> None:
    check(
        with_gradients(lambda x, w: tf.nn.conv2d(x, w, stride, padding)),
        numbers(2, 7, 6, 4),
        numbers(3, 2, 4, 5, seed=1),
    )


def test_grouped_and_separate_channels_and_other_dimensions() -> None:
    check(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), numbers(2, 5, 5, 6), numbers(3, 3, 2, 9, seed=1))
    check(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME", dilations=2), numbers(2, 7, 6, 4), numbers(3, 2, 4, 5, seed=1))
    check(
        with_gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")),
        numbers(1, 5, 5, 3),
        numbers(3, 3, 3, 2, seed=1),
    )
    check(with_gradients(lambda x, w: tf.nn.conv1d(x, w, 2, "SAME")), numbers(2, 9, 3), numbers(4, 3, 5, seed=1))
    check(
        with_gradients(lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 8, 6, 3], 2, "SAME")),
        numbers(2, 4, 3, 4),
        numbers(3, 3, 3, 4, seed=1),
    )


def test_poolings_with_gradients() -> None:
    check(
        with_gradients(
            lambda x: (
                tf.nn.max_pool2d(x, 2, 2, "VALID"),
                tf.nn.max_pool2d(x, 3, 2, "SAME"),
                tf.nn.avg_pool2d(x, 2, 2, "VALID"),
                tf.nn.avg_pool2d(x, 3, 2, "SAME"),
                tf.nn.avg_pool2d(x, 2, 3, "VALID"),
            )
        ),
        numbers(2, 7, 6, 3),
    )


@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_norm_with_gradients(training: bool) -> None:
    mean, variance = (None, None) if training else (numbers(4), np.abs(numbers(4)) + 1)

    def normalised(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> list[tf.Tensor]:
        kept = {} if training else {"mean": mean, "variance": variance}
        return list(tf.compat.v1.nn.fused_batch_norm(x, scale, offset, is_training=training, epsilon=1e-3, **kept))

    check(with_gradients(lambda *given: normalised(*given)[0]), numbers(3, 2, 5, 4), numbers(4), numbers(4, seed=1))
    check(normalised, numbers(3, 2, 5, 4), numbers(4), numbers(4, seed=1))


def test_losses_of_scores_with_gradients() -> None:
    labels = np.array([1, 0, 3], np.int64)
    shares = np.array([[0.5, 0.5, 0, 0], [0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4]], np.float32)
    check(
        with_gradients(
            lambda x, i: (
                tf.nn.softmax(x),
                tf.nn.log_softmax(x),
                tf.nn.sparse_softmax_cross_entropy_with_logits(i, x),
                tf.nn.softmax_cross_entropy_with_logits(tf.constant(shares), x),
                tf.nn.sigmoid_cross_entropy_with_logits(tf.constant(shares), x),
            )
        ),
        numbers(3, 4),
        labels,
    )


def test_random_numbers_follow_their_distribution_and_their_seed() -> None:
    def draws(seed: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return (
            tf.random.stateless_uniform([1000], seed),
            tf.random.stateless_normal([1000], seed),
            tf.random.stateless_uniform([1000], seed, 3, 7, tf.int32),
            tf.random.uniform([1000]),
        )

    program = on_device(captured(draws, np.array([1, 2], np.int32)))
    first = program.run([np.array([1, 2], np.int32)])
    again = program.run([np.array([1, 2], np.int32)])
    other = program.run([np.array([1, 3], np.int32)])
    uniform, normal, whole, own = first
    assert 0 <= uniform.min() < 0.02
    assert 0.98 < uniform.max() <= 1
    assert abs(normal.mean()) < 0.15
    assert abs(normal.std() - 1) < 0.1
    assert sorted(set(whole.tolist())) == [3, 4, 5, 6]
    for number in range(3):
        assert np.array_equal(first[number], again[number])
        assert not np.array_equal(first[number], other[number])
    assert not np.array_equal(own, again[3]), "an operator with a state draws anew at each call"


def test_a_constant_seed_gives_tensorflows_own_numbers() -> None:
    check(lambda x: x + tf.random.stateless_uniform([5], [1, 2]), numbers(5))
