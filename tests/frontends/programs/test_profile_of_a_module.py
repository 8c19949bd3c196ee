"""simulator.profile: a report for anyone's module in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import simulator
from simulator.poplar import poplar_error


def network(width: int = 16) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 3))


def names(report: Any) -> set[str]:
    return set(report.operations(layer="poptorch")["name"])


def test_inference_of_a_module() -> None:
    report = simulator.profile(network(), torch.randn(4, 8), tiles=8)
    assert {"0/MatMul", "1/Relu", "2/MatMul"} <= names(report)
    assert report.operations(layer="poptorch")["total_cycles"].sum() > 0
    assert len(report.tiles()) == 8


def test_training_has_gradients_and_updates() -> None:
    labels = torch.randint(0, 3, (4,))
    report = simulator.profile(
        network(), torch.randn(4, 8), loss=lambda out: nn.functional.cross_entropy(out, labels), tiles=8
    )
    assert {"model/0/MatMul", "model/0/MatMulGrad", "Nll"} <= names(report)


def test_a_folder_keeps_the_report(tmp_path: Path) -> None:
    simulator.profile(network(), torch.randn(4, 8), tiles=4, folder=tmp_path / "here")
    assert (tmp_path / "here" / "profile.pop").exists()


def test_a_module_that_does_not_fit_gives_the_report_of_its_memory() -> None:
    report = simulator.profile(network(200_000), torch.randn(4, 8), tiles=2)
    assert report.tiles()["including_gaps_bytes"].max() > 638_976


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(poplar_error, match=r"takes a torch\.nn\.Module first; int is none"):
        simulator.profile(3)
    with pytest.raises(poplar_error, match="tiles=0 is not a number of tiles"):
        simulator.profile(network(), torch.randn(4, 8), tiles=0)
