"""Indices beyond their tensor: said once for each operator, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import popvision
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

#: the same of indices that the device computes
COMPUTED: dict[str, tuple[Any, Any, int, int]] = {
    "aten.embedding.default": (lambda net, index, x: net.words(x.argmax(1) * index), torch.tensor([3, 0, 0, 0]), 6, 5),
    "aten.index.Tensor": (lambda net, index, x: x[(x[:2, 0] * 3).to(torch.int32)], BEYOND, 9, 4),
    "aten.index_select.default": (lambda net, index, x: x.index_select(1, index // 3), BEYOND, 3, 3),
    "aten.gather.default": (lambda net, index, x: x.gather(1, x[:1].to(torch.int64) * index), torch.tensor([2]), 4, 3),
    "aten.scatter.src": (
        lambda net, index, x: x.scatter(0, index[None].pow(2), x[:1]),
        torch.tensor([0, 1, 3]),
        9,
        4,
    ),
    "aten.scatter_add.default": (
        lambda net, index, x: x.scatter_add(0, index[None].pow(2), x[:1]),
        torch.tensor([0, 1, 3]),
        9,
        4,
    ),
    "aten.index_put.default": (
        lambda net, index, x: torch.index_put(x, (index.pow(2),), x[0]),
        torch.tensor([0, -3]),
        9,
        4,
    ),
    "aten.take.default": (lambda net, index, x: x.take(index.pow(2)), torch.tensor([3, 4]), 16, 12),
    "aten.one_hot.default": (lambda net, index, x: F.one_hot(index.pow(2), 4), BEYOND, 81, 4),
    "aten.cross_entropy_loss.default": (
        lambda net, index, x: F.cross_entropy(x, index.pow(2)),
        torch.tensor([0, 1, 1, 2]),
        4,
        3,
    ),
    "aten.nll_loss_nd.default": (lambda net, index, x: F.nll_loss(x, x.argmin(1) - 1), BEYOND, -1, 3),
}


@pytest.fixture(autouse=True)
def _few_tiles(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_TILES", "16")
    monkeypatch.delenv("POPVISION_INDICES", raising=False)


def model_of(function: Any) -> poptorch.PoplarExecutor:
    return poptorch.inferenceModel(Reading(function), poptorch.Options().showCompilationProgressBar(False))


@pytest.mark.parametrize(
    ("table", "name"),
    [(table, name) for table, rows in (("sent", READS), ("computed", COMPUTED)) for name in rows],
)
def test_an_index_out_of_range_is_said_once_or_raises(table: str, name: str, caplog: Any, monkeypatch: Any) -> None:
    function, index, wrong, size = (READS if table == "sent" else COMPUTED)[name]
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


def test_a_step_that_is_stopped_leaves_the_weights_as_they_are(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_INDICES", "raise")
    net = Reading(lambda net, index, x: poptorch.identity_loss(net.words(index.pow(2)), reduction="sum"))
    optimizer = poptorch.optim.SGD(net.parameters(), lr=1.0)
    model = poptorch.trainingModel(net, poptorch.Options().showCompilationProgressBar(False), optimizer)
    model(torch.tensor([1]), TABLE)
    before = net.words.weight.detach().clone()
    with pytest.raises(poptorch.Error, match=r"Index 9 of aten\.embedding\.default .*size 5"):
        model(torch.tensor([3]), TABLE)
    assert torch.equal(net.words.weight, before)
    model(torch.tensor([2]), TABLE)
    torch.testing.assert_close(net.words.weight[4], before[4] - 1)
    model.destroy()


def test_nothing_of_it_is_on_the_device(tmp_path: Any, monkeypatch: Any) -> None:
    """Cycles and memory are those of a program that is not watched."""
    function, index, _, _ = COMPUTED["aten.embedding.default"]
    counted = []
    for watched in (True, False):
        if not watched:
            monkeypatch.setattr("simulator.frontends.lowering.differentiation.watch_operands", lambda *_: None)
        options = poptorch.Options().showCompilationProgressBar(False).logCycleCount(True)
        options.enableProfiling(str(tmp_path / str(watched)))
        model = poptorch.inferenceModel(Reading(function), options)
        model(index, TABLE)
        counted.append(model.cycleCount())
        model.destroy()
    assert counted[0] == counted[1]
    with (
        popvision.open(tmp_path / "True" / "inference") as one,
        popvision.open(tmp_path / "False" / "inference") as two,
    ):
        assert one.programs().equals(two.programs())
        assert one.memory().equals(two.memory())


def test_an_unknown_way_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setenv("POPVISION_INDICES", "stop")
    with pytest.raises(ValueError, match="POPVISION_INDICES is 'stop'; it is say or raise"):
        model_of(lambda net, index, x: x[index])(BEYOND, TABLE)
