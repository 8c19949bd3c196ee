"""Views, slices, joins and indices on the device beside TensorFlow."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import check, numbers, with_gradients


def test_views_and_joins_with_gradients() -> None:
    check(
        with_gradients(
            lambda x: (
                tf.reshape(x, [4, -1]),
                tf.transpose(x, [2, 0, 1]),
                tf.expand_dims(x, 1),
                tf.squeeze(x[:1], 0),
                tf.concat([x, x * 2.0], 1),
                tf.stack([x, x + 1.0], 1),
                tf.unstack(x, axis=2),
                tf.split(x, 2, axis=1),
                tf.split(x, [1, 3], axis=1),
                tf.tile(x, [1, 2, 1]),
                tf.reverse(x, [0, 2]),
                tf.broadcast_to(x[:1], [5, 4, 2]),
                tf.pad(x, [[1, 0], [0, 2], [0, 0]], constant_values=3.0),
                tf.repeat(x, 2, axis=0),
            )
        ),
        numbers(3, 4, 2),
    )


def test_strided_slices_follow_pythons_rules() -> None:
    check(
        with_gradients(
            lambda x: (
                x[1:],
                x[:, -1],
                x[::-1, ::2],
                x[..., 1],
                x[tf.newaxis, 2],
                x[1, :, tf.newaxis, -2:],
                x[4:1:-2],
                x[3:1],
                x[:, 1:4:2, 0],
            )
        ),
        numbers(5, 4, 3),
    )


def test_slices_by_data() -> None:
    x = numbers(6, 5)
    check(lambda x, i: (x[i], tf.slice(x, [i, 1], [2, 3]), tf.gather(x, i)), x, np.int32(3))


def test_gathers_and_scatters_with_gradients() -> None:
    index = np.array([[2, 0], [4, 2]], np.int32)
    check(
        with_gradients(
            lambda x, i: (
                tf.gather(x, i),
                tf.gather(x, i[0], axis=1),
                tf.gather(x, 2, axis=1),
                tf.gather_nd(x, tf.stack([i[:, 0], i[:, 1]], 1)),
                tf.nn.embedding_lookup(x, i),
                tf.scatter_nd(i[:, :1], x[:2], [7, 5]),
                tf.tensor_scatter_nd_update(x, i, x[0, :2]),
                tf.math.unsorted_segment_sum(x[:4], tf.reshape(i, [4]), 5),
            )
        ),
        numbers(6, 5),
        index,
    )


def test_one_hot_top_and_extremes() -> None:
    x = numbers(4, 6)
    check(
        lambda x, i: (
            tf.one_hot(i, 6),
            tf.one_hot(i, 6, on_value=2.0, off_value=-1.0, axis=0),
            tf.one_hot(i, 6, dtype=tf.int32),
            tf.argmax(x, 1),
            tf.argmin(x, 0, output_type=tf.int32),
            tf.math.top_k(x, 3),
            tf.math.in_top_k(i, x, 2),
            tf.linalg.band_part(x, 1, 0),
        ),
        x,
        np.array([5, 0, 7, 2], np.int32) % 6,
    )


def test_fills_take_no_operators() -> None:
    check(lambda x: (tf.zeros_like(x) + x, tf.ones_like(x), tf.fill([2, 2], x[0]), tf.eye(3) * x), numbers(3))
