"""simulator.profile: a report for anyone's module in one line."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import simulator
from simulator.frontends.session.progress import ProgressLines
from simulator.frontends.torchvision import models
from simulator.poplar import poplar_error


def network(width: int = 16) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 3))


def names(report: Any) -> set[str]:
    return set(report.operations(layer="poptorch")["name"])


def test_the_report_opens_on_the_modules_and_its_cycles_add_up() -> None:
    report = simulator.profile(network(), torch.randn(4, 8), tiles=8)
    rows = report.operations()
    assert {"0/MatMul", "1/Relu", "2/MatMul"} <= set(rows["name"])
    assert int(rows["total_cycles"].sum()) == int(report.operations(layer="poplibs")["total_cycles"].sum())
    assert rows["name"].iloc[-1] == "(not attributed)"


def test_inference_of_a_module() -> None:
    report = simulator.profile(network(), torch.randn(4, 8), tiles=8)
    assert {"0/MatMul", "1/Relu", "2/MatMul"} <= names(report)
    assert report.operations(layer="poptorch")["total_cycles"].sum() > 0
    assert len(report.tiles()) == 8


def test_the_report_holds_the_step_and_a_line_what_goes_to_the_device_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = simulator.profile(network(), torch.randn(4, 8), tiles=8)
    rows = report.operations(layer="poptorch").set_index("name")["total_cycles"]
    assert rows["weightsFromHost/HostLoad"] == rows["randomSeedFromHost/HostLoad"] == 0
    assert rows["inputs/input/HostLoad"] > 0
    once = re.search(
        r"once: weights to the device, ([\d,]+) cycles; random seed, ([\d,]+) cycles", capsys.readouterr().err
    )
    assert once is not None
    assert all(int(cycles.replace(",", "")) > 0 for cycles in once.groups())


def test_lines_of_progress_come_less_and_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    lines, waits = ProgressLines("simulator.profile"), list[float]()

    def ends_within(seconds: float) -> bool:
        waits.append(seconds)
        lines.phase(len(waits), 9)
        return len(waits) == 8

    lines.speak(ends_within)
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" (")[0] for line in said] == [
        f"simulator.profile: compiling, {done} of 9 phases done" for done in range(1, 8)
    ]


def test_at_its_limit_a_line_tells_what_is_known_once(capsys: pytest.CaptureFixture[str]) -> None:
    seconds, waits = [0.0], list[float]()
    lines = ProgressLines("simulator.profile", 5.0, lambda: seconds[0])
    lines.say("compiling")
    lines.know("The graph has 3 vertices.")

    def ends_within(wait: float) -> bool:
        waits.append(wait)
        seconds[0] += wait
        return len(waits) == 6

    lines.speak(ends_within)
    assert waits == [1, 2, 2, 2, 8, 16]
    said = [line.rpartition(" (")[0] or line for line in capsys.readouterr().err.splitlines()]
    answer = "simulator.profile: 5 s of processor time are over, compiling. The graph has 3 vertices."
    assert said == ["simulator.profile: compiling"] * 2 + [answer] + ["simulator.profile: compiling"] * 2


def test_a_step_that_takes_longer_tells_the_size_of_its_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: list[str] = []
    monkeypatch.setattr(ProgressLines, "know", lambda lines, sentence: known.append(sentence))
    report = simulator.profile(network(), torch.randn(4, 8), tiles=8)
    (sentence,) = known
    sizes = re.search(r"batch 4 has ([\d,]+) compute sets, ([\d,]+) vertices and ([\d,]+) variables of", sentence)
    assert sizes is not None
    assert all(int(size.replace(",", "")) > 0 for size in sizes.groups())
    weights = sum(parameter.numel() for parameter in network().parameters())
    bytes_ = re.findall(r"variables of ([\d,]+) bytes, ([\d,]+) of .* has ([\d,]+);", sentence)[0]
    total, fullest, capacity = (int(size.replace(",", "")) for size in bytes_)
    assert 4 * weights <= total <= 8 * fullest < 8 * capacity
    estimate = re.search(r"about ([\d,]+) cycles in vertices", sentence)
    assert estimate is not None
    cycles = int(estimate[1].replace(",", ""))
    rows = report.operations(layer="poptorch")
    on_tiles = int(rows["total_cycles"][~rows["name"].str.contains("Host")].sum())
    assert cycles <= on_tiles < 10 * cycles


@pytest.mark.long
def test_a_training_step_of_resnet18_is_profiled(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    labels = torch.randint(0, 1000, (4,))
    report = simulator.profile(
        models.resnet18(),
        torch.randn(4, 3, 224, 224),
        loss=lambda out: nn.functional.cross_entropy(out, labels),
        search_seconds=0,
    )
    rows = report.operations(layer="poptorch").set_index("name")["total_cycles"]
    assert rows["model/layer1/0/conv1/ConvGrad"] > 0
    assert len(report.tiles()) == 1472
    assert re.match(r"simulator\.profile: .* \([12] s\)$", capsys.readouterr().err.splitlines()[0])


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
    report = simulator.profile(network(100_000), torch.randn(4, 8), tiles=2, search_seconds=0)
    assert report.tiles()["including_gaps_bytes"].max() > 638_976


def fits(module: Any, batch: int, width: int) -> bool:
    """Whether a batch fits, without a search."""
    report = simulator.profile(module, torch.randn(batch, width), tiles=4, search_seconds=0)
    return bool(report.tiles()["including_gaps_bytes"].max() <= report.tiles()["capacity_bytes"].max())


def test_the_largest_batch_that_fits_is_found_by_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    module = nn.Sequential(OrderedDict(narrow=nn.Linear(64, 256), wide=nn.Linear(256, 64)))
    assert not fits(module, 2048, 64)
    said = capsys.readouterr().err
    assert re.search(r"tile \d needs [\d,]+ bytes more than it has", said)
    assert "compiled:" not in said
    ranked = [
        int(size.replace(",", "")) for size in re.findall(r"^  \w+/MatMul: ([\d,]+) bytes at the peak$", said, re.M)
    ]
    assert len(ranked) == 2
    assert ranked == sorted(ranked, reverse=True)
    simulator.profile(module, torch.randn(2048, 64), tiles=4)
    largest = int(re.findall(r"the largest batch that fits is (\d+)", capsys.readouterr().err)[0])
    assert fits(module, largest, 64)
    assert not fits(module, largest + 1, 64)


def test_keyword_inputs_and_several_outputs() -> None:
    class Sum(nn.Module):
        def forward(self, a: Any, *, scale: Any, shift: float) -> Any:
            return a * scale + shift, {"relu": torch.relu(a)}

    report = simulator.profile(Sum(), torch.randn(4, 8), scale=torch.randn(4, 8), shift=1.5, tiles=4, target="ipu21")
    assert report.target()["architecture"].lower() == "bow"  # the name of IPU21
    assert {"Mul", "Add", "Relu"} <= names(report)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(poplar_error, match=r"takes a torch\.nn\.Module first; int is none"):
        simulator.profile(3)
    with pytest.raises(poplar_error, match="search_seconds=-1 is not a time"):
        simulator.profile(network(), torch.randn(4, 8), search_seconds=-1)
    with pytest.raises(poplar_error, match="tiles=0 is not a number of tiles"):
        simulator.profile(network(), torch.randn(4, 8), tiles=0)
