"""These tests need TensorFlow; without it only test_tensorflow_there.py is collected, which says so."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

_SPEC = find_spec("tensorflow")
HAS_TENSORFLOW = _SPEC is not None and _SPEC.origin is not None  # this folder has the same name, but no origin
collect_ignore_glob = (
    [] if HAS_TENSORFLOW else ["test_[!t]*.py", "test_tensorflow_1*.py", "graphs/*", "pipelines/*", "queues/*"]
)


@pytest.fixture(autouse=True)
def seeded() -> None:
    if HAS_TENSORFLOW:
        import keras

        keras.utils.set_random_seed(0)


@pytest.fixture
def use_ipu_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes the system an IPU Model of some IPUs and tiles (systems.use_model), until the test ends."""
    from simulator.frontends.tensorflow.configuration.ipu_config import reset_ipu_configuration
    from tests.frontends.tensorflow.systems import use_model

    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_ipu_model")
    yield use_model
    reset_ipu_configuration()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The captured program of each compilation, then what it was compiled for, as System.compile takes it."""
    from simulator.frontends.tensorflow.system import System

    noted: list[tuple[Any, ...]] = []
    original = System.compile

    def compile_and_note(self: Any, captured: Any, *options: Any) -> Any:
        noted.append((captured.program, *options))
        return original(self, captured, *options)

    monkeypatch.setattr(System, "compile", compile_and_note)
    return noted


@pytest.fixture
def graph_on_a_model(use_ipu_model: Callable[..., None]) -> Iterator[None]:
    """The default graph, and an IPU Model."""
    import tensorflow as tf

    use_ipu_model()
    with tf.Graph().as_default():
        yield


@pytest.fixture
def graph_on_demand() -> Iterator[None]:
    """The default graph, and an IPU that is attached when it runs."""
    import tensorflow as tf

    from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
    from simulator.frontends.tensorflow.configuration.ipu_config import reset_ipu_configuration
    from tests.frontends.tensorflow.systems import connect

    with tf.Graph().as_default():
        connect(DeviceConnectionType.ON_DEMAND)
        yield
    reset_ipu_configuration()
