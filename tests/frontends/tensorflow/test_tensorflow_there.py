"""Says why the tests of TensorFlow programs are missing."""

from importlib.util import find_spec

import pytest


def test_tensorflow_is_installed() -> None:
    spec = find_spec("tensorflow")
    if spec is None or spec.origin is None:
        pytest.skip(
            "TensorFlow is not installed, so that its tests are not collected: pip install 'popvision[tensorflow]'"
        )
    assert find_spec("keras") is not None
