"""Weights of groups of replicas: each group trains its own, and the host has a row for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from simulator.frontends.poptorch import CommGroupType, VariableRetrievalMode
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("few_tiles")
ONE = VariableRetrievalMode.OnePerGroup


class _Product(nn.Module):
    def __init__(self, weight: Any) -> None:
        super().__init__()
        self.W = nn.Parameter(weight)

    def forward(self, x: Any) -> Any:
        z = x @ self.W
        return z, poptorch.identity_loss(z**2, reduction="mean")


@pytest.mark.parametrize("orthogonal", [False, True])
def test_a_weight_in_shards_trains_as_the_whole(orthogonal: bool) -> None:
    """Two shards of the data, two of the weight: four replicas train what eager torch does with one."""
    x, whole = torch.randn(6, 5), torch.randn(5, 8)
    twin = nn.Parameter(whole.clone())
    optimizer, expected = torch.optim.SGD([twin], lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((x @ twin) ** 2).mean()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    net = _Product(whole.reshape(5, 2, 4).transpose(0, 1).contiguous())
    kinds = [CommGroupType.Consecutive, CommGroupType.Orthogonal]
    of_inputs, of_weights = kinds[::-1] if orthogonal else kinds
    chosen = options(replicationFactor=4, outputMode=poptorch.OutputMode.All).inputReplicaGrouping(2, of_inputs)
    model = poptorch.trainingModel(net, chosen, torch.optim.SGD(net.parameters(), lr=0.1))
    model.W.replicaGrouping(of_weights, 2, ONE)
    losses = [model(x)[1].sum().item() / 4 for _ in range(3)]
    assert losses == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(net.W.detach().transpose(0, 1).reshape(5, 8), twin.detach(), rtol=1e-4, atol=1e-6)
    model.destroy()


def test_each_replica_has_a_weight_and_states_of_its_own() -> None:
    net, x = _Product(torch.randn(4, 6)), torch.randn(4, 6)
    before = net.W.detach().clone()
    optimizer = poptorch.optim.AdamW(net.parameters(), 0.1, weight_decay=0.0)
    model = poptorch.trainingModel(net, options(replicationFactor=4, outputMode=poptorch.OutputMode.All), optimizer)
    model.W.replicaGrouping(CommGroupType.NoGrouping, 0, ONE)
    results, _ = model(x)
    torch.testing.assert_close(results, (x * before).sum(1), rtol=1e-5, atol=1e-6)
    slope = torch.sign(x * (x * before).sum(1, keepdim=True))
    torch.testing.assert_close(net.W.detach(), before - 0.1 * slope, rtol=1e-3, atol=1e-4)
    assert {values.shape[0] for values in optimizer.state_dict()["ipu_state"].values()} == {4}
    net.W.data[2] = 0.0
    assert float(model(x)[0][2]) == 0.0
    model.detachFromDevice()
    model(x)
    model.destroy()


def test_a_row_for_each_group_is_demanded() -> None:
    net = _Product(torch.randn(3, 6))
    model = poptorch.inferenceModel(net, options(replicationFactor=4))
    model.W.replicaGrouping(CommGroupType.NoGrouping, 0, ONE)
    with pytest.raises(poptorch.Error, match=r"W has the shape \[3, 6\]; .* its first dimension is 4"):
        model(torch.randn(4, 6))


def test_groups_of_a_compiled_model_stay_as_they_are() -> None:
    net = _Product(torch.randn(6))
    model = poptorch.inferenceModel(net, options(replicationFactor=2))
    model(torch.randn(2, 6))
    with pytest.raises(poptorch.Error, match="compiled already; call replicaGrouping before its first call"):
        model.W.replicaGrouping(CommGroupType.NoGrouping, 0, ONE)
    with pytest.raises(poptorch.Error, match="a number of replicas of a group, not 'two'"):
        model.W.replicaGrouping(CommGroupType.NoGrouping, "two", ONE)
    model.destroy()


def test_groups_that_do_not_divide_the_replicas_are_refused() -> None:
    model = poptorch.inferenceModel(_Product(torch.randn(2, 6)), options(replicationFactor=4))
    model.W.replicaGrouping(CommGroupType.Consecutive, 3, ONE)
    with pytest.raises(poptorch.Error, match=r"W\.replicaGrouping: Groups of 3 replicas do not divide 4 replicas\."):
        model(torch.randn(4, 6))


def test_an_exported_model_keeps_its_groups(tmp_path: Path) -> None:
    weight, x, file = torch.randn(2, 6), torch.randn(4, 6), tmp_path / "product.poptorch"
    model = poptorch.inferenceModel(_Product(weight), options(replicationFactor=4))
    model.W.replicaGrouping(CommGroupType.Orthogonal, 2, ONE)
    model.compileAndExport(file, x, export_model=False)
    model.destroy()
    loaded = poptorch.inferenceModel(_Product(weight), options(replicationFactor=4))
    loaded.loadExecutable(file)
    torch.testing.assert_close(loaded(x)[0], (x * weight.repeat(2, 1)).sum(1), rtol=1e-5, atol=1e-6)
    loaded.destroy()
