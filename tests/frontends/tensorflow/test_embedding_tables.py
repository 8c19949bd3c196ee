"""Tables of embeddings on the device and on the host: rows and training equal to NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.embedding import (
    HostEmbedding,
    HostEmbeddingOptimizerSpec,
    HostEmbeddingSGDGAOptimizerSpec,
    create_host_embedding,
    embedding_lookup,
)
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.loops import repeat
from simulator.frontends.tensorflow.strategy import IPUStrategy

pytestmark = pytest.mark.usefixtures("graph_on_a_model")

v1 = tf.compat.v1
TABLE = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
IDS = np.array([[3, 0], [0, 9]], np.int32)


def test_rows_of_a_table_are_looked_up_and_trained() -> None:
    ids = [[3, 0], [0, 1]]

    def step() -> Any:
        with tf.GradientTape() as tape:
            rows = embedding_lookup(table, ids, serialization_factor=2)
            loss = tf.reduce_sum(rows**2)
        table.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(loss, table)))
        return rows

    with context.eager_mode():
        table = tf.Variable(TABLE)
        rows = IPUStrategy().run(tf.function(step)).numpy()
        np.testing.assert_allclose(rows, TABLE[ids], rtol=1e-6)
        uses = np.array([2, 1, 0, 1])[:, None]
        np.testing.assert_allclose(table.numpy(), TABLE * (1 - 0.2 * uses), rtol=1e-5)
        with pytest.raises(ValueError, match=r"The serialization_factor \(3\) must divide"):
            embedding_lookup(table, ids, serialization_factor=3)


def host_table(spec: HostEmbeddingOptimizerSpec | None) -> HostEmbedding:
    return create_host_embedding(
        "table", [4, 3], tf.float32, optimizer_spec=spec, initializer=v1.constant_initializer(TABLE)
    )


def test_a_table_of_the_host_is_trained_in_a_loop() -> None:
    embedding = host_table(HostEmbeddingOptimizerSpec(0.1))
    ids = v1.placeholder(tf.int32, [2, 2])

    def net(given: Any) -> Any:
        def body(_: Any) -> Any:
            scale = v1.get_variable("scale", [], initializer=v1.constant_initializer(2.0), use_resource=True)
            loss = tf.reduce_sum((embedding.lookup(given) * scale) ** 2)
            with tf.control_dependencies([v1.train.GradientDescentOptimizer(0.001).minimize(loss)]):
                return tf.identity(loss)

        return repeat(3, body, [0.0])

    [result] = compile(net, [ids])
    table, scale, losses = TABLE.astype(np.float64), 2.0, []
    numbers = np.minimum(IDS, 3)
    for _ in range(3):
        rows = table[numbers]
        losses.append(((rows * scale) ** 2).sum())
        slope, change = 2 * rows * scale**2, (2 * rows**2 * scale).sum()
        np.subtract.at(table, numbers, 0.1 * slope)
        scale -= 0.001 * change
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with embedding.register(session):
            assert session.run(result, {ids: IDS}) == pytest.approx(losses[-1], rel=1e-4)
        np.testing.assert_allclose(session.run(embedding._variable), table, rtol=1e-4, atol=1e-6)


def test_gradients_of_several_mini_batches_are_added_up() -> None:
    embedding = create_host_embedding(
        "table", [4, 3], tf.float32, "ENCODING", HostEmbeddingSGDGAOptimizerSpec(0.1, 2), v1.constant_initializer(TABLE)
    )
    ids = v1.placeholder(tf.int32, [2, 2])

    def net(given: Any) -> Any:
        def body(_: Any) -> Any:
            loss = tf.reduce_sum(embedding.lookup(given) ** 2)
            with tf.control_dependencies([v1.train.GradientDescentOptimizer(0.1).minimize(loss)]):
                return tf.identity(loss)

        return repeat(5, body, [0.0])

    [result] = compile(net, [ids])
    numbers, table = np.minimum(IDS, 3), TABLE.astype(np.float64)
    for _ in range(2):  # the fifth mini-batch waits for a sixth, which does not come
        slope = 2 * table[numbers]
        for _ in range(2):
            np.subtract.at(table, numbers, 0.1 * slope)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with embedding.register(session):
            session.run(result, {ids: IDS})
        np.testing.assert_allclose(session.run(embedding.get_embedding_tensor()), table, rtol=1e-4, atol=1e-6)


def test_without_an_optimizer_rows_stay_as_they_are() -> None:
    embedding = host_table(None)
    ids = v1.placeholder(tf.int32, [2, 2])
    [rows] = compile(lambda given: embedding.lookup(given) * 2.0, [ids])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with embedding.register(session):
            np.testing.assert_allclose(session.run(rows, {ids: IDS}), TABLE[np.minimum(IDS, 3)] * 2, rtol=1e-6)
        np.testing.assert_array_equal(session.run(embedding._variable), TABLE)
        with pytest.raises(tf.errors.OpError, match="The HostEmbedding 'table' is not registered; run the session in"):
            session.run(rows, {ids: IDS})


def test_what_a_table_of_the_host_cannot_do_is_named() -> None:
    with pytest.raises(poplar_error, match=r"trained by SGD with a number as its rate here, not by Adam with 0.1"):
        HostEmbeddingOptimizerSpec(0.1, "Adam")
    with pytest.raises(poplar_error, match="accumulation_factor is a whole number from 1 on, but it is 0"):
        HostEmbeddingSGDGAOptimizerSpec(0.1, 0)
    with pytest.raises(ValueError, match="Unknown partition strategy ROW"):
        create_host_embedding("other", [4, 3], tf.float32, "ROW")
    with pytest.raises(ValueError, match="is a variable of two dimensions"):
        HostEmbedding("table", tf.zeros([2, 2]))
    with pytest.raises(poplar_error, match=r"is no operation to fetch here; run the session in `with embedding.reg"):
        host_table(None)(10)
