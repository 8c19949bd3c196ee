"""Replicas: each takes a share of every batch in turn, gradients are reduced over all of them, weights stay equal."""

import numpy as np
import pytest

from simulator.frontends.lowering.lowered import Outputs, Settings
from simulator.frontends.lowering.shards import SEED_STEP
from tests.frontends.lowering.written_programs import Blocks, Result, Writer, perceptron, run

TWO: Blocks = ((0, 0), (1, 1), (1, 1))
THREE: Blocks = ((0, 0), (1, 1), (2, 2))


def _assert_same_training(replicated: Result, single: Result) -> None:
    """Weights after two runs, and every result: those of the second run come from each replica's own weights."""
    for name, values in single.weights.items():
        np.testing.assert_allclose(replicated.weights[name], values, rtol=1e-5, atol=1e-6, err_msg=name)
    results, expected = replicated.outputs["d2h_y"], single.outputs["d2h_y"]
    np.testing.assert_allclose(results.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def test_two_replicas_with_half_a_batch_train_as_one_with_all():
    single = run(perceptron(batch=8), Settings(iterations=3))
    replicated = run(perceptron(batch=4), Settings(iterations=3, replicas=2))
    assert replicated.outputs["d2h_y"].shape == (2 * 3 * 2, 4, 7)
    _assert_same_training(replicated, single)
    losses = replicated.outputs["d2h_loss"].reshape(-1, 2)
    np.testing.assert_allclose(losses.mean(1), single.outputs["d2h_loss"], rtol=1e-5)
    assert (losses[:, 0] != losses[:, 1]).all()


@pytest.mark.parametrize("replicas", [2, 4])
def test_the_sum_over_replicas_is_their_mean_times_their_number(replicas):
    summed = Settings(iterations=2, replicas=replicas, mean_over_replicas=False)
    scaled = Settings(iterations=2, loss_scaling=float(replicas))
    _assert_same_training(run(perceptron(batch=2), summed), run(perceptron(batch=2 * replicas), scaled))


def test_the_sum_over_micro_batches_is_their_mean_times_their_number():
    summed = Settings(iterations=2, accumulation=3, mean_over_accumulation=False)
    scaled = Settings(iterations=2, accumulation=3, loss_scaling=3.0)
    _assert_same_training(run(perceptron(), summed), run(perceptron(), scaled))


def test_replicas_accumulate_before_they_reduce():
    """Micro-batches go to replicas in turn, so two replicas of three see what one with six sees."""
    single = run(perceptron(), Settings(iterations=2, accumulation=6))
    replicated = run(perceptron(), Settings(iterations=2, accumulation=3, replicas=2))
    _assert_same_training(replicated, single)


@pytest.mark.parametrize(("blocks", "ipus"), [(TWO, 2), (THREE, 3)])
@pytest.mark.parametrize("pipelined", [False, True])
def test_replicas_of_several_ipus(blocks, ipus, pipelined):
    single = run(perceptron(batch=8), Settings(iterations=2, accumulation=6))
    settings = Settings(iterations=2, accumulation=6, replicas=2, pipelined=pipelined)
    _assert_same_training(run(perceptron(blocks), settings, ipus), single)


def test_inference_of_replicas():
    single = run(perceptron(training=False), Settings(iterations=6), training=False)
    replicated = run(perceptron(training=False), Settings(iterations=3, replicas=2), training=False)
    np.testing.assert_array_equal(replicated.outputs["d2h_y"], single.outputs["d2h_y"])


def _dropped(batch: int):
    write = Writer()
    x = write.input("x", batch, 12)
    weight = write.weight("w", 12, 12)
    y = write.dropout(write.add("aten.linear.default", (batch, 12), input=x, weight=weight, bias=None), 0.5)
    target = write.input("target", batch, 12)
    loss = write.mse(y, target)
    return write.program({"y": y, "loss": loss}, loss)


@pytest.mark.parametrize("outputs", [Outputs.ALL, Outputs.FINAL])
def test_replicas_draw_different_numbers_each_time(outputs):
    settings = Settings(iterations=2, accumulation=2, replicas=2, outputs=outputs)
    one, again = (run(_dropped(4), settings) for _ in range(2))
    masks = [values.tobytes() for values in one.outputs["d2h_y"] == 0]
    assert len(set(masks)) == len(masks)
    np.testing.assert_array_equal(one.outputs["d2h_y"], again.outputs["d2h_y"])
    # The host's seed has gone on with the 8 micro-batches of each replica and holds no replica's number.
    assert int(one.weights["randomSeed"]) == (11 + 2 * 4 * SEED_STEP) % 2**32
