"""Run a TensorFlow function on the simulated IPU and beside TensorFlow on the host."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from simulator.frontends.tensorflow.capture.device_tracing import device_tracing
from simulator.frontends.tensorflow.capture.function import CapturedFunction, capture_function
from simulator.frontends.tensorflow.capture.lowered_function import lower_function
from simulator.frontends.tensorflow.device_function import DeviceFunction
from simulator.frontends.tensorflow.device_variables import installed
from simulator.poplar import IPUModel, compileGraph

TILES = 16


@functools.cache
def device() -> Any:
    model = IPUModel()
    model.tilesPerIPU = TILES
    return model.createDevice()


def specs_of(arrays: Sequence[Any]) -> list[Any]:
    return [tf.TensorSpec(np.shape(one), np.asarray(one).dtype) for one in arrays]


def captured(function: Callable[..., Any], *arrays: Any) -> CapturedFunction:
    """The program of a function for arguments of these shapes."""
    with device_tracing():
        concrete = tf.function(function).get_concrete_function(*specs_of(arrays))
    return capture_function(concrete)


def on_device(program: CapturedFunction, iterations: int = 1) -> DeviceFunction:
    """The program, compiled and loaded."""
    lowered = lower_function(program, device().getTarget(), iterations)
    executable = compileGraph(lowered.graph, list(lowered.programs), {})
    loaded = DeviceFunction(program, executable, lowered.interface, {}, installed())
    loaded.load(device(), seed=1)
    return loaded


def flat(results: Any) -> list[Any]:
    return [np.asarray(one.numpy()) for one in tf.nest.flatten(results)]


def check(function: Callable[..., Any], *arrays: Any, rtol: float = 1e-4, atol: float = 1e-5) -> list[Any]:
    """Results on the device are those of TensorFlow, in the same types; gives them."""
    program = captured(function, *arrays)
    given = [np.asarray(one) for one in arrays]
    ours = on_device(program).run(given)
    theirs = flat(tf.function(function)(*[tf.constant(one) for one in given]))
    assert len(ours) == len(theirs)
    for number, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert mine.dtype == expected.dtype, f"result {number}"
        assert mine.shape == expected.shape, f"result {number}"
        np.testing.assert_allclose(mine, expected, rtol=rtol, atol=atol, err_msg=f"result {number}")
    return ours


def with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that also gives the gradients of its operands for a slope which differs from element to element."""

    def both(*operands: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([one for one in operands if one.dtype.is_floating])
            results = tf.nest.flatten(function(*operands))
            total = tf.zeros([])
            for one in results:
                if one.dtype.is_floating:
                    weights = tf.reshape(tf.range(one.shape.num_elements(), dtype=tf.float32), one.shape)
                    total += tf.reduce_sum(tf.cast(one, tf.float32) * (tf.sin(weights) + 0.5))
        floating = [one for one in operands if one.dtype.is_floating]
        gradients = tape.gradient(total, floating, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return results, [tf.convert_to_tensor(one) for one in gradients]

    return both


def numbers(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
