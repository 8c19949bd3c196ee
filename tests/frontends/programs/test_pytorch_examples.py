"""The PyTorch examples run as users run them: as programs of their own, with PopTorch's name on the path."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import popvision
from examples import demo
from examples.pytorch.mnist_network import Network, WithLoss
from simulator.frontends import poptorch

ROOT = Path(__file__).resolve().parents[3]
STEPS, BATCH, RATE = 50, 8, 0.05


def run(name: str, *arguments: str, folder: Path, **variables: str) -> str:
    """Standard output of an example that ends well."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("POPLAR_", "PVTI_", "POPTORCH_"))},
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'compat'}",
        "HOME": str(folder),
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    command = [sys.executable, str(ROOT / "examples" / "pytorch" / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("simple_adder", "Success"),
        ("lstm", "Largest difference from torch: below 1e-5"),
        ("gpt", r"Tokens:( \d+){8}"),
        ("checkpoints", "The layers share one weight: True"),
        ("half_precision", r"Loss 7\.\d+ at first, 0\.0\d+ after 60 steps, in torch\.float16"),
    ],
)
def test_last_line(name: str, last: str, tmp_path: Path) -> None:
    assert re.fullmatch(last, run(name, folder=tmp_path).splitlines()[-1])


def test_loading_returns_to_the_saved_state(tmp_path: Path) -> None:
    saved, loaded, _ = run("checkpoints", folder=tmp_path).splitlines()
    assert saved.split(":")[1].split() == loaded.split(":")[1].split()


def test_programs_are_compiled_for_later_without_a_device(tmp_path: Path) -> None:
    own = {"POPVISION_LOCKS": str(tmp_path / "locks"), "POPVISION_TILES": "4"}
    cached = ("--cache", "cache")
    first, refusal = run("connection_type", "--connection_type", "Never", *cached, folder=tmp_path, **own).splitlines()
    assert first == "Compiled"
    assert refusal.startswith("Trying to run a model on an offline device (ConnectionType.Never)")
    [stored] = (tmp_path / "cache").glob("*.popef")
    before = stored.stat().st_mtime_ns
    assert run("connection_type", *cached, folder=tmp_path, **own) == "tensor([3., 8.])\n"
    assert list((tmp_path / "cache").glob("*.popef")) == [stored]
    assert stored.stat().st_mtime_ns == before
    assert run("connection_type", "--connection_type", "OnDemand", folder=tmp_path, **own) == "tensor([3., 8.])\n"


def test_replicas_train_as_one(tmp_path: Path) -> None:
    assert run("data_parallel", folder=tmp_path) == run("data_parallel", "--replicas", "1", folder=tmp_path)


def test_observed_gradients(tmp_path: Path) -> None:
    *steps, names = run("observing_tensors", folder=tmp_path).splitlines()
    assert [line.split(":")[0] for line in steps] == ["Step 1", "Step 2", "Step 3"]
    assert "Gradient___second.weight" in names


def test_transformer_trains(tmp_path: Path) -> None:
    lines = run("transformer", "--small", "--steps", "4", folder=tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == [f"Step {step}" for step in range(1, 5)]


def test_mnist_leaves_reports_and_a_trace(tmp_path: Path) -> None:
    engine = '{"autoReport.all":"true","autoReport.directory":"./graph_profile","profiler.includeFlopEstimates":"true"}'
    out = run(
        "mnist",
        *("--images", "800", "--test-images", "160", "--epochs", "1", "--dropout", "0"),
        folder=tmp_path,
        POPLAR_ENGINE_OPTIONS=engine,
        PVTI_OPTIONS='{"enable":"true","directory":"./system_profile"}',
    )
    assert re.fullmatch(r"Accuracy on test set: \d+\.\d\d%", out.splitlines()[-1])
    assert (tmp_path / "graph_profile" / "debug.cbor").exists()
    assert len(list((tmp_path / "system_profile").glob("*.pvti"))) == 1
    for name in ("training", "inference"):
        with popvision.open(tmp_path / "graph_profile" / name) as report:
            operations = report.operations(layer="poptorch")
            assert {"layer1/conv/Conv", "softmax/Softmax"} <= {
                str(one).removeprefix("model/") for one in operations["name"]
            }


def trained(model: Any, images: Any, labels: Any) -> list[float]:
    """Losses of plain torch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for part, wanted in zip(images.split(BATCH), labels.split(BATCH), strict=True):
        optimizer.zero_grad()
        _, loss = model(part, wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_fifty_steps_of_mnist_are_those_of_torch() -> None:
    torch.manual_seed(1)
    network = Network(dropout=0.0)
    twin = copy.deepcopy(network)
    prototypes = torch.randn(10, 1, 28, 28)
    labels = torch.randint(0, 10, (STEPS * BATCH,))
    images = prototypes[labels] + 0.5 * torch.randn(STEPS * BATCH, 1, 28, 28)
    options = poptorch.Options().deviceIterations(STEPS).outputMode(poptorch.OutputMode.All)
    options.showCompilationProgressBar(False)
    model = poptorch.trainingModel(WithLoss(network), options, torch.optim.SGD(network.parameters(), lr=RATE))
    _, losses = model(images, labels)
    expected = trained(WithLoss(twin), images, labels)
    assert losses.tolist() == pytest.approx(expected, rel=1e-3)
    model.detachFromDevice()
    inference = poptorch.inferenceModel(network, poptorch.Options().showCompilationProgressBar(False))
    with torch.no_grad():
        torch.testing.assert_close(inference(images[:80]), twin(images[:80]), rtol=1e-3, atol=1e-4)


def test_a_pipeline_gives_the_losses_of_one_ipu_after_the_other_in_like_time(tmp_path: Path) -> None:
    pipelined, sharded = (run("pipelined_mnist", *more, folder=tmp_path).splitlines() for more in ((), ("--sharded",)))
    assert pipelined[:-1] == sharded[:-1]
    cycles = [int(lines[-1].split(":")[1].replace(",", "")) for lines in (pipelined, sharded)]
    assert cycles[0] < 1.02 * cycles[1]  # each stage waits for the exchange of the host's copies


def test_a_resnet_classifies_large_images_on_four_ipus(tmp_path: Path) -> None:
    engine = '{"autoReport.all":"true","autoReport.directory":"./graph_profile"}'
    *_, difference, cycles = run("resnet18", "--inference", folder=tmp_path, POPLAR_ENGINE_OPTIONS=engine).splitlines()
    assert difference == "Largest difference from torch: below 1e-3"
    assert re.fullmatch(r"Simulated cycles of four images: [\d,]+", cycles)
    with popvision.open(tmp_path / "graph_profile" / "inference") as report:
        assert report.compute_sets()["name"].str.contains("blocks/7/conv2/Conv", regex=False).any()
        assert sorted(set(report.vertices()["ipu"])) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["pytorch_pipeline", pytest.param("pytorch_mnist", marks=pytest.mark.long)])
def test_examples_join_the_demo(name: str, tmp_path: Path) -> None:
    assert set(demo.PYTORCH_PROGRAMS) <= set(demo.programs())
    demo.run(name, tmp_path / name)
    with popvision.open(tmp_path / name / "training") as report:
        assert "model/layer1/conv/Conv" in set(report.operations()["name"])
    assert list((tmp_path / name).glob("*.pvti"))
