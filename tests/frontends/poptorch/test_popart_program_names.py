"""Programs, streams and operators of a training step bear the names that PopART gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import popvision
from simulator.frontends import poptorch


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x: Any, y: Any) -> Any:
        out = self.fc(torch.relu(self.conv(x)).flatten(1))
        return out, nn.functional.cross_entropy(out, y)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("names")
    engine = f'{{"autoReport.all":"true","autoReport.directory":"{folder}"}}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPLAR_ENGINE_OPTIONS", engine)
        patch.setenv("POPVISION_TILES", "16")
        options = poptorch.Options().showCompilationProgressBar(False).deviceIterations(2)
        options.Training.gradientAccumulation(2)
        net = Net()
        model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.01))
        model(torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,)))
        model.destroy()
    with popvision.open(Path(folder) / "training") as opened:
        yield opened


def test_programs(report: Any) -> None:
    names = set(report.programs()["name"])
    assert {"weightsFromHost", "optimizerFromHost", "randomSeedFromHost", "randomSeedToHost", "weightsToHost"} <= names
    assert {
        "outer",
        "init",
        "batchesPerStep",
        "accumulationLoop",
        "program",
        "preForward",
        "forward",
        "backward",
    } <= names
    assert {"toHost", "toHostFinalCopy", "update"} <= names


def test_streams(report: Any) -> None:
    names = set(report.host_copies()["name"])
    weights = ("conv.weight", "conv.bias", "fc.weight", "fc.bias")
    assert {f"{way}_{name}" for way in ("h2d", "d2h") for name in weights} <= names
    assert {"h2d_x", "h2d_y"} <= names


def test_the_backward_pass_follows_the_forward_pass(report: Any) -> None:
    programs = report.programs()
    below = {}
    for name in ("forward", "backward"):
        (root,) = programs[programs["name"] == name]["program"]
        below[name] = [str(one) for one in report.tree(root)["name"]]
    assert any("conv/Conv/convolution" in one for one in below["forward"])
    assert not any("Grad/" in one for one in below["forward"])
    assert any("conv/ConvGrad/weightDeltas" in one for one in below["backward"])
    (micro_batch,) = programs[programs["name"] == "program"]["program"]
    inside = [one for one in report.tree(micro_batch)["name"] if one in ("preForward", "forward", "backward")]
    assert inside == ["preForward", "forward", "backward"]


def test_compute_sets_of_operators(report: Any) -> None:
    names = set(report.compute_sets()["name"])
    for one in ("conv/Conv/convolution/Conv_3x3/Convolve", "fc/MatMul/matmulGrouped/Conv_1/Convolve"):
        assert one in names
    for part in ("conv/ConvGrad/weightDeltas", "fc/MatMulGrad/MatMulLhsGrad", "fc/MatMulGrad/MatMulRhsGrad",
                 "NlllWithSoftmaxGradDirect", "SGD0VarUpdate/ScaledSubtract"):  # fmt: skip
        assert any(part in name for name in names), part
