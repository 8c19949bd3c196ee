"""Options of IPUStrategy, in the forms of all SDKs: what each changes, and that results stay those of the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow import keras_steps, system
from simulator.frontends.tensorflow.capture.entries import CaptureError
from simulator.frontends.tensorflow.strategy import IPUStrategy, IPUStrategyV1

X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_model(use_ipu_model: Callable[..., None]) -> None:
    use_ipu_model()


def trained(strategy: IPUStrategy | None) -> tuple[Any, Any]:
    """The losses of two epochs of three batches, two of them in one execution, and predictions."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    if strategy is not None:
        with strategy.scope():
            model = keras.Sequential(model.layers)
    model.compile(loss="mse", optimizer="sgd", steps_per_execution=2)
    history = model.fit(X, X[:, :1], batch_size=8, epochs=2, shuffle=False, verbose=0)
    return history.history["loss"], model.predict(X, batch_size=8, verbose=0)


@pytest.mark.parametrize("extensions", [True, False])
def test_without_extensions_each_batch_is_a_run_of_its_own(extensions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    labels: list[str] = []
    original, tracepoint = system.System.run, keras_steps.pvti.Tracepoint
    monkeypatch.setattr(
        system.System, "run", lambda self, function, arguments: runs.append(1) or original(self, function, arguments)
    )
    monkeypatch.setattr(
        keras_steps.pvti, "Tracepoint", lambda channel, label: labels.append(label) or tracepoint(channel, label)
    )
    ours = trained(IPUStrategy(enable_keras_extensions=extensions))
    assert len(runs) == (2 * 2 + 2 if extensions else 2 * 3 + 3)
    assert [one.rpartition(".")[2] for one in labels if one.endswith("()")] == (["fit()", "predict()"] * extensions)
    theirs = trained(None)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-6)


def test_without_dataset_iterators_functions_take_no_elements() -> None:
    @tf.function
    def total(iterator: Any) -> Any:
        return tf.reduce_sum(next(iterator))

    def batches() -> Any:
        return iter(tf.data.Dataset.from_tensor_slices(X).batch(8, drop_remainder=True))

    assert IPUStrategy().run(total, [batches()]).numpy() == pytest.approx(X[:8].sum(), rel=1e-5)
    strategy = IPUStrategy("/device:IPU:0", "/device:CPU:0", False)
    with pytest.raises(CaptureError, match=r"enable_dataset_iterators=False does not give it; pass elements as arg"):
        strategy.run(total, [batches()])
    assert strategy.run(tf.function(tf.reduce_sum), [X]).numpy() == pytest.approx(X.sum(), rel=1e-5)


def test_the_arguments_of_all_ages_are_taken() -> None:
    IPUStrategyV1("/device:IPU:0", False)
    IPUStrategyV1(add_ipu_cross_replica_reductions=False)
    IPUStrategyV1(ipu_device="/device:IPU:0", cpu_device="/device:CPU:0")
    with pytest.raises(poplar_error, match=r"The device '/device:GPU:0' of the host is no CPU; this system has '/dev"):
        IPUStrategy(cpu_device="/device:GPU:0")
    with pytest.raises(poplar_error, match=r"There is no device '/device:IPU:1'"):
        IPUStrategy("/device:IPU:1")
