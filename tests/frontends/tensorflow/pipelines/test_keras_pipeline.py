"""Keras models in pipeline stages and with accumulated gradients: weights equal to Keras' on the host, operators on the
IPUs of their stages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.shards import IPU
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.graph_mode import ipu_shard
from simulator.frontends.tensorflow.keras_pipeline import PipelineSequential, PipelineStage
from simulator.frontends.tensorflow.pipeline_options import PipelineSchedule
from simulator.frontends.tensorflow.strategy import IPUStrategy
from simulator.frontends.tensorflow.system import System

L = keras.layers
X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
Y = np.tanh(X.sum(axis=1, keepdims=True))


@pytest.fixture(autouse=True)
def two_ipus(use_ipu_model: Callable[..., None]) -> None:
    use_ipu_model(ipus=2)


def layers() -> list[Any]:
    keras.utils.set_random_seed(0)
    return [keras.Input((3,)), L.Dense(4, "tanh", name="first"), L.Dense(1, name="last")]


def fitted(model: Any, optimizer: Any, steps: int, batch: int = 4) -> tuple[list[float], list[Any]]:
    """Losses of two epochs, and the weights after them."""
    if not model.compiled:
        model.compile(loss="mse", optimizer=optimizer, steps_per_execution=steps)
    history = model.fit(X, Y, batch_size=batch, epochs=2, shuffle=False, verbose=0)
    return history.history["loss"], model.get_weights()


@functools.cache
def on_host(accumulation: int | None) -> tuple[list[float], list[Any]]:
    optimizer = keras.optimizers.SGD(0.1, gradient_accumulation_steps=accumulation)
    return fitted(keras.Sequential(layers()), optimizer, 1)


def check(ours: tuple[list[float], list[Any]], theirs: tuple[list[float], list[Any]]) -> None:
    np.testing.assert_allclose(ours[0], theirs[0], rtol=2e-4)
    for mine, expected in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, expected, rtol=2e-4, atol=1e-6)


def ipus_by_layer(program: Any) -> dict[str, set[Any]]:
    """The IPUs of the operators of each layer, gradients included."""
    found: dict[str, set[Any]] = {}
    for one in program.operators:
        name = one.place.module.rpartition("/")[2]
        found.setdefault(name, set()).add(one.place.annotations.get(IPU))
    return found


def test_stages_are_ipus_and_weights_those_of_the_host(compilations: list[tuple[Any, ...]]) -> None:
    with IPUStrategy().scope():
        model = keras.Sequential(layers())
    assert [str(one) for one in model.get_pipeline_stage_assignment()] == [
        "Layer: first is assigned to pipeline stage: None",
        "Layer: last is assigned to pipeline stage: None",
    ]
    model.set_pipeline_stage_assignment([0, 1])
    model.set_pipelining_options(
        gradient_accumulation_steps_per_replica=2, gradient_accumulation_reduction_method="mean"
    )
    ours = fitted(model, keras.optimizers.SGD(0.1), 6)
    check(ours, on_host(2))
    [(program, *_)] = compilations
    found = ipus_by_layer(program)
    assert (found["first"], found["last"]) == ({0}, {1})


def test_the_sum_of_gradients_is_the_default() -> None:
    with IPUStrategy().scope():
        model = keras.Sequential(layers())
    model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=2)
    ours = fitted(model, keras.optimizers.SGD(0.05), 2)
    check(ours, on_host(2))


def test_pipeline_sequential_is_the_old_form(
    compilations: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    _, *given = layers()
    with IPUStrategy().scope():
        model = PipelineSequential(
            [[given[0]], [given[1]]], 2, device_mapping=[1, 0], pipeline_schedule=PipelineSchedule.Interleaved
        )
        model.compile(loss="mse", optimizer=keras.optimizers.SGD(0.05))
    assert "pipeline_schedule of set_pipelining_options changes nothing here" in capsys.readouterr().err
    check(fitted(model, None, 2), on_host(2))
    found = ipus_by_layer(compilations[0][0])
    assert (found["first"], found["last"]) == ({1}, {0})


def test_options_without_effect_are_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []
    original = System.compile

    def compile_and_note(self: Any, captured: Any, *options: Any) -> Any:
        noted.append(captured.without_effect)
        return original(self, captured, *options)

    monkeypatch.setattr(System, "compile", compile_and_note)
    with IPUStrategy().scope():
        model = keras.Sequential(layers())
    model.set_gradient_accumulation_options(2, offload_weight_update_variables=True)
    fitted(model, keras.optimizers.SGD(0.05), 2)
    assert noted == [{"set_gradient_accumulation_options.offload_weight_update_variables": "True"}]


def functional() -> Any:
    first, last = layers()[1:]
    x = keras.Input((3,))
    with PipelineStage(0):
        middle = first(x)
    with PipelineStage(1):
        y = last(middle)
    return keras.Model(x, y)


def test_stages_of_a_functional_model_are_where_its_layers_were_called(compilations: list[tuple[Any, ...]]) -> None:
    with IPUStrategy().scope():
        model = functional()
    check(fitted(model, keras.optimizers.SGD(0.1), 1), on_host(None))
    found = ipus_by_layer(compilations[0][0])
    assert (found["first"], found["last"]) == ({0}, {1})
    assert [one.pipeline_stage for one in model.get_pipeline_stage_assignment()] == [0, 1]
    weight, bias, last, offset = model.get_weights()
    predicted = model.predict(X, batch_size=24, verbose=0)
    np.testing.assert_allclose(predicted, np.tanh(X @ weight + bias) @ last + offset, rtol=1e-3, atol=1e-5)
    assert keras.ipu.PipelineStage is tf.keras.ipu.PipelineStage is PipelineStage


def wrong(change: Callable[[Any], Any]) -> Callable[[], Any]:
    def build() -> Any:
        with IPUStrategy().scope():
            model = keras.Sequential(layers())
        change(model)
        return fitted(model, "sgd", 2)

    return build


def nested() -> None:
    with PipelineStage(0), PipelineStage(1):
        pass


def twice() -> None:
    layer = L.Dense(1)
    for number in range(2):
        with PipelineStage(number):
            layer(keras.Input((3,)))


@pytest.mark.parametrize(
    ("program", "error", "sentence"),
    [
        (wrong(lambda one: one.set_pipeline_stage_assignment([0])), ValueError, "has 1 entries for 2 layers"),
        (wrong(lambda one: one.set_pipeline_stage_assignment([1, 0])), ValueError, r"go back: \[1, 0\]"),
        (wrong(lambda one: one.set_pipeline_stage_assignment([0, 2])), ValueError, "from 0 without gaps"),
        (
            wrong(lambda one: one.set_pipeline_stage_assignment(one.get_pipeline_stage_assignment())),
            ValueError,
            "Layer first has not been assigned a pipeline stage",
        ),
        (wrong(lambda one: one.set_gradient_accumulation_options(3)), RuntimeError, "not divisible by"),
        (wrong(lambda one: one.set_gradient_accumulation_options(0.5)), ValueError, "positive integer, but got 0.5"),
        (
            wrong(lambda one: one.set_gradient_accumulation_options(2, "running_mean")),
            poplar_error,
            "cannot reduce gradients by 'running_mean' here",
        ),
        (wrong(lambda one: one.set_pipelining_options(2, stages=3)), TypeError, "has no option 'stages'"),
        (nested, RuntimeError, "cannot be nested"),
        (twice, poplar_error, r"is called in the pipeline stages 0 and 1; a layer runs on one IPU here"),
        (lambda: keras.Sequential().set_pipelining_options(2), poplar_error, "made in the scope of an IPUStrategy"),
    ],
)
def test_what_does_not_fit_is_refused(program: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    with IPUStrategy().scope():
        pass
    with pytest.raises(error, match=sentence):
        program()


def test_more_stages_than_ipus_are_refused() -> None:
    with IPUStrategy().scope():
        model = keras.Sequential([keras.Input((3,)), L.Dense(2), L.Dense(2), L.Dense(1)])
    model.set_pipeline_stage_assignment([0, 1, 2])
    with pytest.raises(poplar_error, match=r"use IPU 2, but a replica has 2 IPUs"):
        fitted(model, "sgd", 1)
    assert tf.executing_eagerly()


def test_shards_are_ipus_of_a_function(compilations: list[tuple[Any, ...]]) -> None:
    def function(x: Any) -> Any:
        with ipu_shard(0):
            a = tf.matmul(x, tf.ones([3, 2]))
        with ipu_shard(1):
            b = tf.exp(a)
        c = b + 1.0
        with ipu_shard(0):
            return tf.reduce_sum(c)

    assert IPUStrategy().run(tf.function(function), [X]).numpy() == pytest.approx(function(X).numpy(), rel=1e-4)
    assert [one.place.annotations.get(IPU) for one in compilations[0][0].operators if one.name != "tf.Const"] == [
        0,
        1,
        1,
        0,
    ]


def test_a_loop_runs_on_one_ipu() -> None:
    def function(x: Any) -> Any:
        def body(number: Any, y: Any) -> Any:
            with ipu_shard(1):
                y = tf.sin(y)
            with ipu_shard(0):
                return number + 1, tf.cos(y)

        return tf.while_loop(lambda number, _: number < 3, body, [tf.constant(0), x])[1]

    with pytest.raises(CaptureError, match=r"has operators on the IPUs \[0, 1\]; it runs on one IPU here"):
        IPUStrategy().run(tf.function(function), [X])
