"""srun, sbatch, salloc and squeue against a real Slurm: which IPUs a job, a step and a rank get."""

from __future__ import annotations

import re

import pytest

from tests.slurm.shell import HOLD, IPUS, Shell, wait_for

#: what a program is offered: IPUs, partition, and how many devices there are of each size
OFFERED = """
import os
from simulator.poplar import DeviceManager
devices = DeviceManager().getDevices()
ipus = [i for device in devices if device.getNumIPUs() == 1 for i in device.getDriverIDs()]
print(*ipus, "|", *[device.getNumIPUs() for device in devices], "|", os.environ.get("IPUOF_VIPU_API_PARTITION_ID"))
"""


@pytest.fixture
def offered(shell: Shell) -> Shell:
    (shell.folder / "offered.py").write_text(OFFERED)
    return shell


def test_a_job_is_offered_its_ipus_and_no_others(offered: Shell) -> None:
    held = offered.hold("--ipus=2", "first")
    line = offered.output("srun --ipus=4 python offered.py")
    ipus, sizes, partition = (part.strip() for part in line.split("|"))
    assert set(held).isdisjoint(map(int, ipus.split()))
    assert len(ipus.split()) == 4
    assert sizes.split() == ["1", "1", "1", "1", "2", "2", "4"]
    assert re.fullmatch(r"slurm_\d+", partition)


def test_a_job_without_ipus_is_offered_none_whatever_its_shell_had(offered: Shell) -> None:
    theirs = {"POPVISION_IPU_IDS": "5", "POPVISION_IPUS": "1", "IPUOF_VIPU_API_PARTITION_ID": "slurm_0"}
    assert offered.output("srun python offered.py", **theirs).split() == ["|", "|", "None"]
    assert offered.output("srun --ipus=2 python offered.py", **theirs).split("|")[0].split() == ["0", "1"]


@pytest.mark.parametrize("option", ["--ipus=2", "--gres=ipu:2"])
def test_either_option_gives_two(offered: Shell, option: str) -> None:
    assert offered.output(f"srun {option} python offered.py").split("|")[0].split() == ["0", "1"]
    assert offered.output(f"salloc {option} srun python offered.py").split("|")[0].split() == ["0", "1"]


@pytest.mark.parametrize("text", ["0", "3", str(2 * IPUS), "one", "-1", "1x", "''"])
def test_a_number_that_no_pod_has(shell: Shell, text: str) -> None:
    for command in ("srun", "sbatch --wrap"):
        done = shell.run(f"{command} --ipus={text} true" if command == "srun" else f"sbatch --ipus={text} --wrap true")
        assert done.returncode != 0
        assert f"is not a power of two from 1 to {IPUS}, the IPUs of this pod." in done.stderr
    assert shell.states() == {}


def test_two_options_that_both_count_ipus(shell: Shell) -> None:
    done = shell.run("srun --ipus=2 --gres=ipu:4 true")
    assert done.returncode != 0
    assert "--ipus=2 and --gres=ipu:4 both say how many IPUs; give one of them." in done.stderr


def test_a_job_waits_until_there_are_enough(shell: Shell) -> None:
    assert shell.hold(f"--ipus={IPUS}", "all") == list(range(IPUS))
    second = shell.submit_holder("--ipus=1", "one")
    wait_for(lambda: shell.states()[second].startswith("PD (Resources)") or shell.states()[second] == "PD Resources")
    assert not (shell.folder / "one").exists()
    shell.release("all")
    wait_for((shell.folder / "one").exists)
    shell.release("one")
    shell.wait_until_empty()


def test_srun_says_that_it_waits(shell: Shell) -> None:
    shell.hold(f"--ipus={IPUS}", "all")
    done = shell.run(
        "srun --ipus=1 true & for _ in $(seq 1000); do sleep 0.1; "
        "[ $(squeue -h -t PD | wc -l) = 1 ] && break; done; touch all.end; wait $!"
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"srun: job \d+ queued and waiting for resources\n", done.stderr)
    assert re.search(r"srun: job \d+ has been allocated resources\n", done.stderr)


def test_ipus_of_a_job_are_attached_by_it_alone(shell: Shell) -> None:
    held = shell.hold("--ipus=2", "first")
    other = shell.hold("--ipus=2", "second")
    assert set(held).isdisjoint(other)
    attach = "python -c 'from simulator.poplar import DeviceManager; print(DeviceManager().getDevice(0).attach())'"
    assert shell.output(f"srun --overlap --jobid={shell.job_of('first')} --ipus=2 {attach}") == "False\n"
    assert shell.output(f"srun --ipus=1 {attach}") == "True\n"


#: attaches the device that it has, runs nothing and says which
ATTACH = """
from simulator.poplar import DeviceManager
device = DeviceManager().getDevice(0)
assert device.attach(), "no device"
print(*device.getDriverIDs())
"""


def test_programs_outside_take_no_ipu_from_jobs(shell: Shell) -> None:
    """A program outside holds every IPU; fifty tasks come, and none dies."""
    (shell.folder / "attach.py").write_text(ATTACH)
    (shell.folder / "hold.py").write_text(HOLD)
    (shell.folder / "array.sh").write_text("#!/bin/bash\nexec python attach.py\n")
    done = shell.run(
        f"POPVISION_IPUS={IPUS} python hold.py outside & until [ -e outside ]; do sleep 0.05; done\n"
        "sbatch --wait --array=0-49 --ipus=1 --output=task.%a array.sh; code=$?\n"
        "touch outside.end; wait; exit $code"
    )
    assert done.returncode == 0, done.stderr
    said = [(shell.folder / f"task.{number}").read_text().strip() for number in range(50)]
    assert set(said) <= {str(number) for number in range(IPUS)}, said
    assert (shell.folder / "outside").read_text().split() == [str(number) for number in range(IPUS)]


def test_steps_side_by_side_share_the_ipus_of_their_job(offered: Shell) -> None:
    (offered.folder / "steps.sh").write_text(
        "#!/bin/bash\n#SBATCH --ipus=4\n#SBATCH --ntasks=2\n#SBATCH --output=steps.log\n"
        "python offered.py > batch\n"
        "for step in a b; do srun --exact --ntasks=1 --ipus=2 bash -c "
        "'touch is.$0; until [ -e is.a ] && [ -e is.b ]; do sleep 0.05; done; python offered.py > $0' $step & done\n"
        "wait\nsrun --ntasks=1 python offered.py > whole\nsrun --ntasks=1 --gres=none python offered.py > none\n"
    )
    held = offered.hold("--ipus=1", "first")
    assert held == [0]
    offered.wait_until_over(offered.output("sbatch --parsable steps.sh").strip())
    ipus = {
        name: [int(word) for word in (offered.folder / name).read_text().split("|")[0].split()]
        for name in ("batch", "a", "b", "whole", "none")
    }
    assert ipus["batch"] == ipus["whole"] == [1, 2, 3, 4]
    assert sorted(ipus["a"] + ipus["b"]) == ipus["batch"]
    assert len(ipus["a"]) == 2
    assert ipus["none"] == []


def test_each_rank_has_its_part(offered: Shell) -> None:
    lines = offered.output("srun --ntasks=4 --ipus=8 --label python offered.py").splitlines()
    assert sorted(line.split("|")[0] for line in lines) == ["0: 0 1 ", "1: 2 3 ", "2: 4 5 ", "3: 6 7 "]
    shared = offered.output("srun --ntasks=4 --ipus=2 python offered.py").splitlines()
    assert [line.split("|")[0] for line in shared] == ["0 1 "] * 4


def test_the_tools_list_what_a_job_has(shell: Shell) -> None:
    shell.hold("--ipus=1", "first")
    listed = shell.output("srun --ipus=2 gc-info -l").splitlines()
    assert [re.findall(r"Id: \[(\d)\].*IPU#: \[(\d)\]", line) for line in listed] == [
        [("0", "1")],
        [("1", "2")],
        [],
        [("0", "1")],
        [("1", "2")],
    ]
    monitor = shell.output("srun --ipus=2 gc-monitor --no-card-info")
    assert re.fullmatch(r"No attached processes in slurm_\d+\n", monitor)
    everywhere = shell.output("srun --ipus=2 gc-monitor --no-card-info --all-partitions")
    assert "python hold.py first" in everywhere
    assert re.search(r"\| -  \| 0    \| 1330MHz \|", everywhere)
    done = shell.run("srun gc-monitor")
    assert done.returncode == 1
    assert "No IPU detected in the system. POPVISION_IPUS is 0, as in a job without --ipus" in done.stderr
