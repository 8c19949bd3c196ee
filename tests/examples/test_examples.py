"""The example programs, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.report.source import ReportSource
from tests.example_runs import example_run

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("POPLAR_ENGINE_OPTIONS", "PVTI_OPTIONS")}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / command[0]), *command[1:]],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # only stops programs that hang: the machine may be busy
    )


def test_tutorial_2_prints_what_the_published_program_prints(tmp_path: Path) -> None:
    done = run(["tut2_operations.py"], tmp_path)
    assert done.returncode == 0
    assert done.stdout == "Running program\nProgram complete\n"
    values = [float(word) for word in done.stderr.replace("[", " ").replace("]", " ").split() if word[0].isdigit()]
    assert values == [5, 4.5, 4, 3.5, 9, 7.5, 6, 4.5, 5, 3.5, 5, 3.5]
    assert done.stderr.startswith("v3: [\n  [5.0000000 4.5000000]\n  [4.0000000 3.5000000]\n]\n")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ([], ["Attached to device 0", "Compiled", "[3. 8.]"]),
        (["--connection_type", "ON_DEMAND"], ["Compiled", "Attached to device 0", "[3. 8.]"]),
        (["--connection_type", "NEVER"], ["Compiled"]),
    ],
)
def test_when_the_device_is_attached(arguments: list[str], lines: list[str], tmp_path: Path) -> None:
    own = {"POPVISION_LOCKS": str(tmp_path / "locks"), "POPVISION_TILES": "4"}
    done = run(["connection_type.py", *arguments], tmp_path, **own)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


def test_a_program_is_compiled_now_and_run_later(tmp_path: Path) -> None:
    own = {"POPVISION_LOCKS": str(tmp_path / "locks")}
    saved = run(["connection_type.py", "--connection_type", "PRE_COMPILE"], tmp_path, **own)
    assert saved.stdout.splitlines() == ["Compiled", "Saved to sums.poplar"], saved.stderr
    loaded = run(["connection_type.py", "--connection_type", "ON_DEMAND", "--load"], tmp_path, **own)
    assert loaded.stdout.splitlines() == ["Attached to device 0", "[3. 8.]"], loaded.stderr


@pytest.mark.parametrize("argument", ["--plan", "--hw"])
def test_matmul_chain(argument: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    done = example_run(tmp_path_factory, "matmul_chain.py", argument)
    assert done.returncode == 0, done.stderr
    difference = float(done.stdout.split("Largest difference from NumPy: ")[1].split()[0])
    assert difference < 5e-3  # 900 roundings of sums of about 450
    assert "m4/Conv_1/Convolve" in done.stdout
    assert "Total cycles:" in done.stdout
    assert ("4 x 7 x 50 on 1400 tiles" in done.stdout) == (argument == "--plan")


@pytest.mark.long
def test_out_of_memory_leaves_a_report(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = example_run(tmp_path_factory, "out_of_memory.py")
    check_overflow(done.returncode, done.stderr, done.folder, tiles=1000)


def test_a_smaller_product_overflows_a_smaller_ipu_and_one_that_fits_ends_well(tmp_path: Path) -> None:
    done = run(["out_of_memory.py", "2000", "1500", "300"], tmp_path, POPVISION_TILES="64")
    check_overflow(done.returncode, done.stderr, tmp_path / "oom_report", tiles=60)
    fits = run(["out_of_memory.py", "300", "200", "100"], tmp_path, POPVISION_TILES="32")
    assert (fits.returncode, fits.stderr) == (0, "")


def check_overflow(code: int, said: str, folder: Path, tiles: int) -> None:
    assert code == 1
    assert said.startswith("Out of memory: Cannot fit all variable data onto one or more tiles")
    assert f"Profile saved to: {folder.name if 'oom_report' in folder.name else folder}" in said
    memory = ReportSource(folder).reader.tile_memory()
    assert memory is not None
    assert int((memory.including_gaps > 638_976).sum()) > tiles


def test_training_learns_and_leaves_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = example_run(tmp_path_factory, "train_mlp.py")
    assert done.returncode == 0, done.stderr
    lines = [line.replace(",", "").split() for line in done.stdout.splitlines()]
    losses, accuracies = [float(w[3]) for w in lines], [float(w[5]) for w in lines]
    assert losses == sorted(losses, reverse=True)
    assert accuracies == sorted(accuracies)
    assert losses[-1] < 0.3
    assert accuracies[-1] > 90
    source = ReportSource(done.folder)
    assert [str(name) for name in source.reader.runs().name] == ["epoch 1", "epoch 2"]
    assert len(list(done.folder.glob("*.pvti"))) == 1


def test_a_convolutional_network_learns(tmp_path: Path) -> None:
    done = run(["train_cnn.py", "--epochs", "3", "--channels", "4", "--type", "half"], tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.replace(",", "").split() for line in done.stdout.splitlines()]
    losses, accuracies = [float(w[3]) for w in lines], [float(w[5]) for w in lines]
    assert losses == sorted(losses, reverse=True)
    assert accuracies == sorted(accuracies)
    assert accuracies[-1] > 30


def test_training_equals_the_same_training_in_numpy() -> None:
    """Two epochs on the simulated IPU and in plain NumPy, batch by batch."""
    from benchmarks.engine_run import training_case

    case = training_case({})
    for epoch in range(2):
        case.prepare(epoch)
        case.engine()
        case.numpy(epoch)
        assert case.check() < 1e-4


def test_digits_are_seeded_and_distinct() -> None:
    sys.path.insert(0, str(EXAMPLES))
    try:
        import train_mlp
    finally:
        sys.path.remove(str(EXAMPLES))
    images, labels = train_mlp.digits(200, seed=1)
    again, _ = train_mlp.digits(200, seed=1)
    assert np.array_equal(images, again)
    assert images.shape == (200, 256)
    assert set(labels.tolist()) == set(range(10))
    means = np.stack([images[labels == digit].mean(axis=0) for digit in range(10)])
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert apart[~np.eye(10, dtype=bool)].min() > 0.5
