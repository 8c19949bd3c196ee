"""Jobs that span nodes: a pod of two nodes on one machine, whose names are not that of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.slurm.pod import Pod
from tests.slurm.shell import Shell, wait_for

#: node, rank and the IPUs that a program is offered
OFFERED = """
import os
from simulator.poplar import DeviceManager
ipus = [i for device in DeviceManager().getDevices() if device.getNumIPUs() == 1 for i in device.getDriverIDs()]
print(os.environ["SLURMD_NODENAME"][-2:], os.environ["SLURM_PROCID"], *ipus)
"""


@pytest.fixture
def two_nodes(pod: Pod, tmp_path: Path) -> Iterator[Shell]:
    """A shell of a pod of its own; `pod` skips where Slurm is not asked for."""
    with Pod(tmp_path / "pod", 4, nodes=2) as running:
        shell = Shell(running, tmp_path)
        (tmp_path / "offered.py").write_text(OFFERED)
        (tmp_path / "sleep.sh").write_text("#!/bin/sh\ntouch began\nuntil [ -e end ]; do sleep 0.05; done\n")
        yield shell


def test_each_node_offers_its_own_ipus_of_the_job(two_nodes: Shell) -> None:
    first = two_nodes.output("sinfo -h -N -o %N").split()[0]
    two_nodes.output(f"sbatch --ipus=1 --nodelist={first} --output=/dev/null sleep.sh")
    wait_for((two_nodes.folder / "began").exists)
    said = two_nodes.output("srun --nodes=2 --ipus=2 python offered.py").splitlines()
    assert sorted(said) == ["-1 0 1 2", "-2 1 0 1"]  # IPU 0 of the first node is taken
    batch = f"sbatch --parsable --ipus=4 --nodelist={first[:-1]}2 --output=batch.log --wrap 'python offered.py'"
    two_nodes.wait_until_over(two_nodes.output(batch).strip())
    assert (two_nodes.folder / "batch.log").read_text() == "-2 0 0 1 2 3\n"
    ranks = two_nodes.output("srun --nodes=2 --ntasks-per-node=2 --ipus=2 python offered.py").splitlines()
    assert sorted(ranks) == ["-1 0 1", "-1 1 2", "-2 2 0", "-2 3 1"]
    (two_nodes.folder / "end").touch()
    two_nodes.wait_until_empty()
