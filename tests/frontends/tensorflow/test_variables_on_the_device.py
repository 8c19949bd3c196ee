"""Variables stay on the device between calls and are the user's own on the host."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.tensorflow_twin import captured, check, numbers, on_device


def test_the_host_reads_what_the_device_wrote_and_the_device_what_the_host_assigned() -> None:
    weight, count = tf.Variable(numbers(3, 2), name="w"), tf.Variable(0, dtype=tf.int64, name="w")

    def program(x: tf.Tensor) -> tf.Tensor:
        weight.assign_sub(tf.ones_like(weight) * 0.5)
        count.assign_add(1)
        return x @ weight

    start, x = weight.numpy(), numbers(4, 3)
    captured_program = captured(program, x)
    assert sorted(one.name for one in captured_program.program.weights) == ["w", "w_1"]
    loaded = on_device(captured_program)
    for passes in (1, 2):
        np.testing.assert_allclose(loaded.run([x])[0], x @ (start - 0.5 * passes), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(weight.numpy(), start - 1.0, rtol=1e-6)
    assert count.numpy() == 2
    weight.assign(np.zeros((3, 2), np.float32))
    np.testing.assert_allclose(loaded.run([x])[0], x @ np.full((3, 2), -0.5), rtol=1e-5, atol=1e-5)
    assert count.numpy() == 3, "a variable that the host left alone keeps what the device has"
    weight.assign_add(np.ones((3, 2), np.float32))
    np.testing.assert_allclose(weight.numpy(), np.full((3, 2), 0.5))


def test_two_programs_and_a_function_on_the_host_share_a_variable() -> None:
    total = tf.Variable(1.0)
    doubled = on_device(captured(lambda x: total.assign(total * x), np.float32(2)))
    added = on_device(captured(lambda x: total.assign_add(x), np.float32(2)))

    @tf.function
    def on_host() -> tf.Tensor:
        return total.assign(total + 100.0)

    doubled.run([np.float32(2)])
    added.run([np.float32(5)])
    assert on_host().numpy() == 107
    doubled.run([np.float32(2)])
    assert not added.is_loaded
    added.run([np.float32(1)])  # loaded again by itself; what it replaces is fetched first
    assert not doubled.is_loaded
    assert total.numpy() == 215


def test_several_iterations_of_a_run_take_inputs_of_their_own() -> None:
    total = tf.Variable(0.0)
    loaded = on_device(captured(lambda x: total.assign_add(tf.reduce_sum(x)), numbers(3)), iterations=4)
    given = numbers(4, 3)
    np.testing.assert_allclose(loaded.run([given])[0], given.sum(), rtol=1e-5)
    np.testing.assert_allclose(total.numpy(), given.sum(), rtol=1e-5)


def test_older_optimisers_update_variables() -> None:
    optimizers = [
        tf.raw_ops.ResourceApplyGradientDescent,
        tf.raw_ops.ResourceApplyMomentum,
        tf.raw_ops.ResourceApplyKerasMomentum,
        tf.raw_ops.ResourceApplyAdam,
        tf.raw_ops.ResourceApplyRMSProp,
    ]
    states = [[tf.Variable(numbers(4, seed=seed) ** 2 + 0.1) for seed in range(3)] for _ in range(7)]

    def program(slope: tf.Tensor, rate: tf.Tensor) -> list[tf.Tensor]:
        for own in states:
            for seed, one in enumerate(own):
                one.assign(numbers(4, seed=seed) ** 2 + 0.1)
        handles = [[one.handle for one in own] for own in states]
        optimizers[0](var=handles[0][0], alpha=rate, delta=slope)
        for number, nesterov in ((1, False), (2, True)):
            common = {"lr": rate, "grad": slope, "momentum": 0.9, "use_nesterov": nesterov}
            optimizers[1](var=handles[number][0], accum=handles[number][1], **common)
            optimizers[2](var=handles[number + 2][0], accum=handles[number + 2][1], **common)
        var, m, v = handles[5]
        powers = {"beta1_power": 0.81, "beta2_power": 0.998, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}
        optimizers[3](var=var, m=m, v=v, lr=rate, grad=slope, **powers)
        var, ms, mom = handles[6]
        optimizers[4](var=var, ms=ms, mom=mom, lr=rate, rho=0.9, momentum=0.5, epsilon=1e-7, grad=slope)
        return [one.read_value() for own in states for one in own]

    check(program, numbers(4, seed=9), np.float32(0.1))


def test_rows_of_a_variable_are_read_and_written_by_index() -> None:
    table = tf.Variable(numbers(5, 3))

    def program(index: tf.Tensor, rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        table.assign(numbers(5, 3))
        table.scatter_add(tf.IndexedSlices(rows, index))
        table.scatter_update(tf.IndexedSlices(rows * 2.0, index + 1))
        return table.sparse_read(index), table.read_value()

    check(program, np.array([3, 0], np.int32), numbers(2, 3, seed=1))
