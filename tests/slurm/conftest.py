"""One pod of eight IPUs under a real Slurm for all tests.

`make test-slurm` sets POPVISION_TEST_SLURM; then nothing is skipped, and a missing package fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.slurm.pod import Pod
from tests.slurm.shell import IPUS, Shell


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "POPVISION_TEST_SLURM" not in os.environ:
        for item in items:
            if {"pod", "mpirun"} & set(getattr(item, "fixturenames", ())) and Path(
                __file__
            ).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs Slurm or mpirun: make test-slurm"))


@pytest.fixture(scope="session")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    with Pod(tmp_path_factory.mktemp("pod"), IPUS) as running:
        yield running


@pytest.fixture
def mpirun() -> list[str]:
    """The begin of a command that starts processes on this machine."""
    assert shutil.which("mpirun"), "mpirun is missing; as root: apt-get install -y openmpi-bin"
    return ["mpirun", "--allow-run-as-root", "--oversubscribe"]


@pytest.fixture
def shell(pod: Pod, tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(pod, tmp_path)
    yield shell
    jobs = list(shell.states())
    if jobs:
        shell.output(f"scancel {' '.join(jobs)}")
        shell.wait_until_empty()
