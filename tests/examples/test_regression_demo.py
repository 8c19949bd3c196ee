"""The losses of the regression demo equal PyTorch's, step by step."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMITTED = np.array(json.loads((EXAMPLES / "regression_losses.json").read_text())["losses"])


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("regression_demo")


def test_losses_of_50_steps_are_torchs(demo, monkeypatch, capsys):
    trained = []
    train = demo.train
    monkeypatch.setattr(demo, "train", lambda *given: trained.append(train(*given)) or trained[0])
    monkeypatch.setattr(sys, "argv", ["regression_demo.py", "1", "10"])
    assert demo.main() == 0
    assert COMMITTED.shape == (50,)
    np.testing.assert_allclose(trained[0][:50], COMMITTED, rtol=0, atol=1e-4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Using the IPU Model"
    assert lines[-2].startswith(f"Loss, mean of the first 50 steps: {COMMITTED.mean():.4f}")
    assert lines[-1] == "Linear regression by least squares: accuracy 100%"  # 300 images, 257 unknowns for each class


def test_committed_losses_are_what_torch_computes(demo):
    pytest.importorskip("torch")
    np.testing.assert_allclose(importlib.import_module("regression_losses").losses(), COMMITTED, rtol=0, atol=1e-4)


def test_losses_follow_from_the_definition(demo):
    """Gradient descent written out in float64, for machines without torch."""
    images, labels = demo.images_and_labels()
    weights, biases = (values.astype(np.float64) for values in demo.initial(images.shape[1]))
    for image, label, committed in zip(images[:50], labels[:50], COMMITTED, strict=True):
        outputs = weights @ image + biases[:, 0]
        shifted = np.exp(outputs - outputs.max())
        slope = shifted / shifted.sum()
        assert -np.log(slope[label]) == pytest.approx(committed, abs=1e-4)
        slope[label] -= 1
        weights -= demo.RATE * np.outer(slope, image)
        biases -= demo.RATE * slope[:, None]
