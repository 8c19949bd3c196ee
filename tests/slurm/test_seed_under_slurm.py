"""The hands-on of ALCF's Graphcore pod (seed 001), command by command, under a real Slurm."""

from __future__ import annotations

import re
import shutil

import pytest

import popvision
from popvision import pva
from tests.slurm.shell import ROOT, Shell, wait_for

FEW_IMAGES = {"POPVISION_SYNTHETIC_IMAGES": "800,160"}
GRAPH = (
    """POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true", "autoReport.directory":"./graph_profile", """
    """"profiler.includeFlopEstimates": "true"}'"""
)
SYSTEM = """PVTI_OPTIONS='{"enable":"true", "directory": "./system_profile"}'"""
ACCURACY = r"Accuracy on test set: \d+\.\d\d%\n"

#: one run after the other without end, each announced once its record is whole
ENDLESS = """
import sys
from pathlib import Path
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
assert device.attach()
graph = Graph(device.getTarget())
tensor = graph.addVariable(FLOAT, [8], "x")
graph.setTileMapping(tensor, 3)
program = Sequence()
popops.addInPlace(graph, tensor, tensor, program)
flags = {"autoReport.all": "true", "autoReport.directory": "report",
         "autoReport.executionProfileProgramRunCount": "1000000"}
engine = Engine(graph, program, flags)
engine.load(device)
while True:
    engine.run()
    with Path("announced").open("a") as file:
        print("run", file=file)
"""


@pytest.fixture
def hands_on(shell: Shell) -> Shell:
    """The shell with the program in its folder, under the name that the hands-on uses."""
    shutil.copy(ROOT / "examples" / "pytorch" / "mnist.py", shell.folder / "mnist_poptorch.py")
    shutil.copy(ROOT / "examples" / "pytorch" / "mnist_network.py", shell.folder)
    return shell


def test_srun_with_the_prefixes_of_both_profilers(hands_on: Shell) -> None:
    printed = hands_on.output(f"{GRAPH} {SYSTEM} srun --ipus=1 python mnist_poptorch.py", **FEW_IMAGES)
    assert re.search(ACCURACY, printed)
    folder = hands_on.folder / "graph_profile"
    for name in ("training", "inference"):
        report = pva.openReport(str(folder / name / "profile.pop"))
        assert report.compilation.target.numIPUs == 1
        assert len(report.execution.runs) > 0
    [trace] = (hands_on.folder / "system_profile").glob("*.pvti")
    assert [len(process.threads) > 0 for process in pva.openTrace(str(trace)).processes] == [True]


def test_the_frequent_mistake_of_a_prefix_after_srun(hands_on: Shell) -> None:
    done = hands_on.run(f"srun --ipus=1 {GRAPH} python mnist_poptorch.py", **FEW_IMAGES)
    assert done.returncode != 0
    assert re.search(r"error: execve\(\): POPLAR_ENGINE_OPTIONS=.*: No such file or directory", done.stderr)
    said = "POPLAR_ENGINE_OPTIONS= stands after srun, where a program is expected; write POPLAR_ENGINE_OPTIONS=... srun"
    assert said in done.stderr
    assert not (hands_on.folder / "graph_profile").exists()


def test_sbatch_with_an_output_file_and_squeue(hands_on: Shell) -> None:
    (hands_on.folder / "submit.sh").write_text(f"#!/bin/sh\n{GRAPH} python mnist_poptorch.py\n")
    said = hands_on.output("sbatch --ipus=1 --output=mnist-poptorch-output.log submit.sh", **FEW_IMAGES)
    job = re.fullmatch(r"Submitted batch job (\d+)\n", said)
    assert job
    heads, *rows = hands_on.output("squeue").splitlines()
    assert heads.split() == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    assert [row.split()[:2] for row in rows] == [[job[1], "p64"]]
    assert rows[0].split()[2].startswith("submit")
    hands_on.wait_until_empty()
    assert re.search(ACCURACY, (hands_on.folder / "mnist-poptorch-output.log").read_text())
    assert (hands_on.folder / "graph_profile" / "training" / "profile.pop").exists()


def test_scancel_in_mid_run_leaves_whole_runs_and_free_devices(shell: Shell) -> None:
    (shell.folder / "endless.py").write_text(ENDLESS)
    job = shell.output("sbatch --parsable --ipus=8 --wrap 'srun python endless.py'").strip()
    announced = shell.folder / "announced"
    wait_for(lambda: announced.exists() and len(announced.read_text().splitlines()) >= 20)
    shell.output(f"scancel {job}")
    shell.wait_until_empty()
    runs = popvision.open(shell.folder / "report").runs()
    assert len(runs) >= len(announced.read_text().splitlines()) >= 20
    assert runs["run_cycles"].nunique() == 1
    taken = shell.output(
        "srun --ipus=8 python -c 'from simulator.poplar import DeviceManager, TargetType; "
        "print(DeviceManager().getDevices(TargetType.IPU, 8)[0].attach())'"
    )
    assert taken == "True\n"


def test_four_replicas_on_four_ipus_and_no_ipu_outside_a_job(shell: Shell) -> None:
    """The four programs run at the same time, since most of it is the import of PyTorch."""
    train = f"python {ROOT}/examples/pytorch/data_parallel.py --replicas"
    runs = {
        "one": f"srun --ipus=1 {train} 1",
        "four": f"srun --ipus=4 {train} 4",
        "few": f"srun --ipus=2 {train} 4",
        "none": f"{train} 4",
    }
    script = "".join(f"({run}; echo $? > {name}.code) > {name} 2> {name}.err &\n" for name, run in runs.items())
    shell.output(f"{script}wait", POPVISION_REQUIRE_ALLOCATION="1")
    said = {name: (shell.folder / f"{name}.err").read_text() for name in runs}
    codes = {name: int((shell.folder / f"{name}.code").read_text()) for name in runs}
    assert (codes["one"], codes["four"]) == (0, 0), said
    one, four = ((shell.folder / name).read_text().splitlines() for name in ("one", "four"))
    assert len(one) == 5
    losses = [[float(line.split()[-1]) for line in lines] for lines in (one, four)]
    assert losses[1] == pytest.approx(losses[0], abs=2e-5)
    assert codes["few"] != 0
    assert "Failed to acquire 4 IPU(s)" in said["few"]
    assert codes["none"] != 0
    assert (
        "Failed to acquire 4 IPU(s)\nNo IPU detected in the system. \nFor more information use the Graphcore "
        "command-line tool `gc-monitor`." in said["none"]
    )
