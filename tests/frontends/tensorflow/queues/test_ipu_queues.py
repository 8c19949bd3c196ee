"""Infeed and outfeed queues: elements are taken and given in the middle of a program, as TensorFlow's loop on the host
takes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.frontends.tensorflow.graph_mode import compile
from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue
from simulator.frontends.tensorflow.loops import repeat, while_loop
from simulator.frontends.tensorflow.outfeed_queue import IPUOutfeedMode, IPUOutfeedQueue
from simulator.frontends.tensorflow.strategy import IPUStrategy

X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)


def batches() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(4, drop_remainder=True).repeat()


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    yield
    reset_ipu_configuration()


def configure(kind: DeviceConnectionType = DeviceConnectionType.ON_DEMAND, version: str = "") -> None:
    configuration = IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.device_connection.type = kind
    configuration.device_connection.version = version
    configuration.configure_ipu_system()


def losses_on_the_host(count: int) -> tuple[list[float], Any]:
    """Losses of gradient descent from weights of one, and the weights behind it."""
    weight, losses = tf.Variable(tf.ones([3, 1])), []
    for x, y in batches().take(count):
        losses.append(descend(weight, x, y).numpy())
    return losses, weight.numpy()


def descend(weight: Any, x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(x, weight) * 0.5 - y) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


def test_a_loop_takes_batches_and_gives_losses() -> None:
    weight = tf.Variable(tf.ones([3, 1]))
    infeed, outfeed = IPUInfeedQueue(batches(), prefetch_depth=3), IPUOutfeedQueue()
    infeed.initializer  # noqa: B018  # reading it starts the queue

    def train() -> Any:
        def body(step: Any, x: Any, y: Any) -> Any:
            loss = descend(weight, x, y)
            return step + 1, outfeed.enqueue({"loss": loss, "step": step})

        return repeat(4, body, [0], infeed)

    assert int(IPUStrategy().run(train)) == 4
    losses, expected = losses_on_the_host(8)
    results = outfeed.dequeue()
    np.testing.assert_allclose(results["loss"], losses[:4], rtol=1e-5)
    assert results["step"].numpy().tolist() == [0, 1, 2, 3]
    IPUStrategy().run(train)
    np.testing.assert_allclose([one["loss"].numpy() for one in outfeed], losses[4:], rtol=1e-5)
    np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-5)
    assert outfeed.dequeue()["loss"].shape == (0,)
    assert infeed.number_of_tuple_elements == 2


def test_iterators_are_read_on_the_device() -> None:
    """As programs for TensorFlow 2 do: the argument is an iterator, the loop is Python's."""
    weight, outfeed = tf.Variable(tf.ones([3, 1])), IPUOutfeedQueue(IPUOutfeedMode.LAST)

    @tf.function(jit_compile=True)
    def train(iterator: Any, count: int) -> None:
        for _ in tf.range(count):
            x, y = next(iterator)
            outfeed.enqueue(descend(weight, x, y))

    IPUStrategy().run(train, [iter(batches()), 5])
    losses, expected = losses_on_the_host(5)
    np.testing.assert_allclose(outfeed.dequeue(), losses[-1], rtol=1e-5)
    np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-5)
    with pytest.raises(tf.errors.FailedPreconditionError, match="no last element to dequeue"):
        outfeed.dequeue()


def test_keras_layers_and_optimizers_in_a_loop() -> None:
    def steps(on_ipu: bool) -> tuple[list[float], list[Any]]:
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        if not on_ipu:
            losses = [tf.function(step)(x, y).numpy() for x, y in batches().take(3)]
        else:
            outfeed, infeed = IPUOutfeedQueue(), IPUInfeedQueue(batches())
            infeed.initializer  # noqa: B018  # reading it starts the queue
            IPUStrategy().run(lambda: repeat(3, lambda x, y: outfeed.enqueue(step(x, y)), [], infeed))
            losses = outfeed.dequeue().numpy().tolist()
        return losses, [one.numpy() for one in model.weights]

    ours, theirs = steps(True), steps(False)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4)
    for mine, expected in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-5)


def test_a_condition_by_data_takes_only_what_it_needs() -> None:
    """Elements are named, one is a whole number of 64 bits, one has no elements."""
    count = tf.data.Dataset.range(10).map(lambda n: {"n": n, "x": tf.cast(n, tf.float32), "none": tf.zeros([0, 2])})
    infeed, outfeed = IPUInfeedQueue(count), IPUOutfeedQueue()
    infeed.initializer  # noqa: B018  # reading it starts the queue

    def run() -> Any:
        def body(total: Any, n: Any, x: Any, none: Any) -> Any:
            return total + x + tf.reduce_sum(none), outfeed.enqueue((n, none))

        return while_loop(lambda total: total < 5.0, body, [tf.constant(0.0)], infeed)

    assert float(IPUStrategy().run(run)) == 0 + 1 + 2 + 3
    numbers, empty = outfeed.dequeue()
    assert numbers.numpy().tolist() == [0, 1, 2, 3]
    assert numbers.dtype == tf.int64
    assert empty.shape == (4, 0, 2)
    assert infeed.next_element()[0] == 4


def test_the_end_of_the_data_is_an_error() -> None:
    infeed = IPUInfeedQueue(tf.data.Dataset.range(3))
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialised; run its `initializer`"):
        IPUStrategy().run(lambda: repeat(5, lambda total, n: total + n, [tf.constant(0, tf.int64)], infeed))
    infeed.initializer  # noqa: B018  # reading it starts the queue
    with pytest.raises(tf.errors.OutOfRangeError, match="the IPUInfeedQueue is empty"):
        IPUStrategy().run(lambda: repeat(5, lambda total, n: total + n, [tf.constant(0, tf.int64)], infeed))


def test_queues_in_graph_mode() -> None:
    """A session starts the queues, and reads what the loop gave."""
    with tf.Graph().as_default():
        data = (
            tf.data.Dataset.range(6, output_type=tf.int32).batch(2, drop_remainder=True).map(lambda n: n * n).repeat()
        )
        infeed, outfeed = IPUInfeedQueue(data, feed_name="in"), IPUOutfeedQueue(feed_name="out")

        def net(start: Any) -> Any:
            def body(total: Any, squares: Any) -> Any:
                total = total + tf.reduce_sum(squares)
                return total, outfeed.enqueue(total)

            return repeat(4, body, [start], infeed)

        start = tf.compat.v1.placeholder(tf.int32, [])
        with pytest.raises(ValueError, match="has not been enqueued"):
            outfeed.dequeue()
        result, dequeued = compile(net, [start]), outfeed.dequeue()
        assert dequeued.shape.as_list() == [None]
        begin = infeed.initializer
        with pytest.raises(ValueError, match="can only be accessed once"):
            infeed.initializer  # noqa: B018  # reading it raises
        configure()
        with tf.compat.v1.Session() as session:
            session.run(begin)
            assert session.run(result, {start: 10}) == [10 + 1 + 13 + 41 + 1]
            assert session.run(dequeued).tolist() == [11, 24, 65, 66]
            session.run(result, {start: 0})
            session.run(outfeed.deleter)
            assert session.run(dequeued).tolist() == []
            session.run(infeed.deleter)
            with pytest.raises(tf.errors.FailedPreconditionError, match="not initialised"):
                session.run(result, {start: 0})


def test_pre_compiled_programs_give_one_element_of_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file serves the run on a machine with an IPU; queues are no part of it."""
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path}")
    for kind, expected in (
        (DeviceConnectionType.PRE_COMPILE, [0.0]),
        (DeviceConnectionType.ON_DEMAND, [1.0, 3.0, 6.0]),
    ):
        configure(kind, "ipu2")
        infeed = IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(np.arange(1, 9, dtype=np.float32)))
        outfeed = IPUOutfeedQueue()
        infeed.initializer  # noqa: B018  # reading it starts the queue

        def run(infeed: IPUInfeedQueue = infeed, outfeed: IPUOutfeedQueue = outfeed) -> Any:
            def body(total: Any, x: Any) -> Any:
                return total + x, outfeed.enqueue(total + x)

            return repeat(3, body, [0.0], infeed)

        assert float(IPUStrategy().run(run)) == expected[-1]
        assert outfeed.dequeue().numpy().tolist() == expected
        assert len(list(tmp_path.glob("*.poplar_exec"))) == 1


def test_synthetic_data_takes_and_gives_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_synthetic_data")
    infeed, outfeed = IPUInfeedQueue(tf.data.Dataset.range(3, output_type=tf.int32)), IPUOutfeedQueue()
    infeed.initializer  # noqa: B018  # reading it starts the queue
    IPUStrategy().run(lambda: repeat(5, lambda n: outfeed.enqueue(n), [], infeed))
    assert infeed.next_element()[0] == 0
    assert outfeed.dequeue().numpy().tolist() == []


def test_what_queues_refuse() -> None:
    with pytest.raises(ValueError, match="set `drop_remainder=True`"):
        IPUInfeedQueue(tf.data.Dataset.range(3).batch(2))
    for depth, words in ((0, "greater than zero"), (256, "less than 256")):
        with pytest.raises(ValueError, match=words):
            IPUInfeedQueue(tf.data.Dataset.range(3), prefetch_depth=depth)
    with pytest.raises(poplar_error, match="serve /device:IPU:0, not /device:IPU:1"):
        IPUInfeedQueue(tf.data.Dataset.range(3), device_ordinal=1)
    with pytest.raises(ValueError, match="get_next"):
        IPUInfeedQueue(tf.data.Dataset.range(3)).get_next()
    with pytest.raises(ValueError, match="Expected `outfeed_mode`"):
        IPUOutfeedQueue(outfeed_mode="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="depth cannot be less than 1"):
        IPUOutfeedQueue(buffer_depth=0)
    with pytest.raises(poplar_error, match="an element at a time"):
        IPUOutfeedQueue(io_batch_size=4)
    outfeed = IPUOutfeedQueue()
    with pytest.raises(ValueError, match="can only be enqueued once"):
        IPUStrategy().run(lambda: (outfeed.enqueue(1.0), outfeed.enqueue(2.0)))
    ragged = iter(tf.data.Dataset.range(3).batch(2))
    with pytest.raises(poplar_error, match=r"elements that .* takes have the shape \(None,\)"):
        IPUStrategy().run(lambda iterator: next(iterator), [ragged])
