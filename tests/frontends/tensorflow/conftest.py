"""These tests need TensorFlow; without it only test_tensorflow_there.py is collected, which says so."""

import os
from importlib.util import find_spec

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

_SPEC = find_spec("tensorflow")
HAS_TENSORFLOW = _SPEC is not None and _SPEC.origin is not None  # this folder has the same name, but no origin
collect_ignore_glob = [] if HAS_TENSORFLOW else ["test_[!t]*.py", "test_tensorflow_1*.py", "graphs/*"]


@pytest.fixture(autouse=True)
def seeded() -> None:
    if HAS_TENSORFLOW:
        import keras

        keras.utils.set_random_seed(0)
