"""Reductions, cumulative sums and products of matrices on the device beside TensorFlow."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import check, numbers, with_gradients


def test_reductions_with_gradients() -> None:
    check(
        with_gradients(
            lambda x: (
                tf.reduce_sum(x),
                tf.reduce_sum(x, [0, 2]),
                tf.reduce_mean(x, -1, keepdims=True),
                tf.reduce_max(x, 1),
                tf.reduce_min(x),
                tf.reduce_prod(x[:, :2, 0], 1),
                tf.norm(x, axis=1),
                tf.nn.l2_loss(x),
                tf.math.reduce_variance(x, 0),
                tf.reduce_logsumexp(x, 2),
                tf.reduce_sum(x, axis=[]),
            )
        ),
        numbers(3, 4, 2),
    )


def test_truth_values_and_whole_numbers() -> None:
    x = numbers(3, 4)
    check(lambda x: (tf.reduce_any(x > 1, 1), tf.reduce_all(x > -3), tf.reduce_sum(tf.cast(x > 0, tf.int32), 0)), x)


def test_cumulative_sums_and_products() -> None:
    check(
        with_gradients(
            lambda x: (
                tf.cumsum(x, 1),
                tf.cumsum(x, 0, exclusive=True),
                tf.cumsum(x, 1, reverse=True),
                tf.cumsum(x, 1, exclusive=True, reverse=True),
                tf.math.cumprod(x, 1),
                tf.math.cumprod(x, 0, exclusive=True, reverse=True),
            )
        ),
        numbers(4, 5),
    )


def test_products_with_gradients() -> None:
    check(
        with_gradients(
            lambda a, b, c, d: (
                a @ b,
                tf.matmul(a, a, transpose_b=True),
                tf.matmul(a, a, transpose_a=True),
                tf.matmul(c, d),
                tf.matmul(c, b),
                tf.matmul(c, c, transpose_b=True),
                tf.linalg.matvec(a, b[:, 0]),
                tf.tensordot(c, b, 1),
                tf.nn.bias_add(a @ b, b[0]),
            )
        ),
        numbers(3, 5),
        numbers(5, 7),
        numbers(2, 4, 5),
        numbers(2, 5, 3),
    )


def test_einsum_contracts_any_number_of_operands() -> None:
    check(
        with_gradients(
            lambda a, b, c: (
                tf.einsum("bij,bjk->bik", a, b),
                tf.einsum("bij,bjk->ki", a, b),
                tf.einsum("bij->jb", a),
                tf.einsum("bij,bjk,kl->bl", a, b, c),
                tf.einsum("ij,kl->ikjl", c, c),
            )
        ),
        numbers(2, 3, 4),
        numbers(2, 4, 5),
        numbers(5, 3),
    )


def test_empty_matrices_have_products() -> None:
    check(lambda a, b: a @ b, np.zeros((0, 3), np.float32), numbers(3, 2))
