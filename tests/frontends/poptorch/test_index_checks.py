"""Indices beyond their tensor: said once for each operator, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simulator.frontends import poptorch

TABLE = torch.arange(12.0).reshape(4, 3)
BEYOND = torch.tensor([1, 9])


class Reading(nn.Module):
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.words, self.function = nn.Embedding(5, 3), function

    def forward(self, index: Any, x: Any) -> Any:
        return self.function(self, index, x)  # type: ignore[call-arg]


#: operator -> (what reads the indices, those sent, the first wrong one, the size)
READS: dict[str, tuple[Any, Any, int, int]] = {
    "aten.embedding.default": (lambda net, index, x: net.words(index), torch.tensor([[0], [7]]), 7, 5),
    "aten.index.Tensor": (lambda net, index, x: x[index], BEYOND, 9, 4),
    "aten.index_select.default": (lambda net, index, x: x.index_select(1, index), torch.tensor([-1, 2]), -1, 3),
    "aten.gather.default": (lambda net, index, x: x.gather(1, index + 1), torch.tensor([[0, 2]]), 3, 3),
    "aten.index_add.default": (lambda net, index, x: x.index_add(0, index, x[:2]), BEYOND, 9, 4),
    "aten.cross_entropy_loss.default": (
        lambda net, index, x: F.cross_entropy(x, index),
        torch.tensor([0, 1, -100, 3]),
        3,
        3,
    ),
    "aten.one_hot.default": (lambda net, index, x: F.one_hot(index, 4), BEYOND, 9, 4),
}


@pytest.fixture(autouse=True)
def _few_tiles(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "16")
    monkeypatch.delenv("POPVISION_INDICES", raising=False)


def model_of(function: Any) -> poptorch.PoplarExecutor:
    return poptorch.inferenceModel(Reading(function), poptorch.Options().showCompilationProgressBar(False))


@pytest.mark.parametrize("name", READS)
def test_an_index_out_of_range_is_said_once_or_raises(name: str, caplog: Any, monkeypatch: Any) -> None:
    function, index, wrong, size = READS[name]
    model = model_of(function)
    with caplog.at_level("WARNING", "poptorch::python"):
        for _ in range(2):
            model(index, TABLE)
    said = [one.getMessage() for one in caplog.records if "out of range" in one.getMessage()]
    assert len(said) == 1
    assert said[0].startswith(f"Index {wrong} of {name} (")
    assert f"is out of range for size {size}" in said[0]
    monkeypatch.setenv("POPVISION_INDICES", "raise")
    with pytest.raises(poptorch.Error, match=f"Index {wrong} of {name} .* out of range for size {size}"):
        model_of(function)(index, TABLE)


def test_the_module_of_the_operator_is_named(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_INDICES", "raise")
    with pytest.raises(poptorch.Error, match=r"aten.embedding.default \(module 'words', .*\.py:\d+\)"):
        model_of(READS["aten.embedding.default"][0])(torch.tensor([7]), TABLE)


def test_indices_in_range_and_the_ignored_one_are_taken(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_INDICES", "raise")
    assert model_of(lambda net, index, x: x[index])(torch.tensor([-4, 3]), TABLE).tolist() == TABLE[[-4, 3]].tolist()
    model_of(READS["aten.cross_entropy_loss.default"][0])(torch.tensor([0, 1, -100, 2]), TABLE)


def test_an_unknown_way_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_INDICES", "stop")
    with pytest.raises(ValueError, match="POPVISION_INDICES is 'stop'; it is say or raise"):
        model_of(lambda net, index, x: x[index])(BEYOND, TABLE)
