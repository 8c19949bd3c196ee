"""Sweeps as job arrays of a real Slurm."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from tests.slurm.shell import ROOT, Shell, wait_for
from tests.sweep.sweep_programs import inputs, places, starts, sweep_file

EACH = "arguments = ['{how}', '{n}']\n[grid.arguments]\n"
SWEEP = "python -m popvision sweep sweep.toml -d out --slurm"


def test_points_run_as_tasks_and_failures_stay(shell: Shell) -> None:
    sweep_file(shell.folder, EACH + "how = ['does', 'fails']\nn = [1, 2]")
    done = shell.run(f"{SWEEP} --at-once 2 --json")
    assert done.returncode == 3, done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["total"], outcome["done"], len(outcome["failures"])) == (4, 2, 2)
    assert sorted(starts(shell.folder)) == ["does 1", "does 2", "fails 1", "fails 2"]
    assert {inputs(path)["error"] for path in places(shell.folder / "out", "failed")} == {
        "exit code 1: the weights do not fit"
    }
    again = shell.run(SWEEP)
    assert again.stdout.startswith("4 points: 2 done, 2 failed (4 of them before).\n")
    assert not shell.states()


def test_a_full_disk_on_a_node_is_named(shell: Shell) -> None:
    sweep_file(shell.folder, EACH + "how = ['fills']\nn = [1]")
    done = shell.run(SWEEP)
    assert done.returncode == 1
    assert f"popvision: the disk of {shell.folder}/out is full on " in done.stderr


def test_a_killed_command_leaves_its_array_and_is_not_run_beside_it(shell: Shell) -> None:
    sweep_file(shell.folder, EACH + "how = ['sleeps']\nn = [1]")
    environment = shell.pod.environment | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, *SWEEP.split()[1:]]
    process = subprocess.Popen(words, cwd=shell.folder, env=environment)
    wait_for(lambda: starts(shell.folder))
    process.kill()
    process.wait()
    (job,) = {each.partition("_")[0] for each in shell.states()}
    refused = shell.run(SWEEP)
    assert refused.returncode == 1
    assert f"the job array {job} of an earlier start still runs points of {shell.folder}/out" in refused.stderr
    shell.output(f"scancel {job}")
    shell.wait_until_empty()
    (shell.folder / "program.py").write_text(
        (shell.folder / "program.py").read_text().replace("signal.pause()", "pass")
    )
    assert shell.run(SWEEP).stdout.startswith("1 points: 1 done, 0 failed.")


def test_slurm_that_does_not_run_is_one_sentence(shell: Shell) -> None:
    """A pod that has ended: its file is there, and nobody answers at its port."""
    text = shell.pod.files.slurm_conf.read_text()
    (shell.folder / "ended.conf").write_text(re.sub(r"(?m)^SlurmctldPort=.*", "SlurmctldPort=1", text))
    sweep_file(shell.folder, "")
    done = shell.run(f"SLURM_CONF={shell.folder}/ended.conf {SWEEP}")
    assert done.returncode == 1
    assert done.stderr.startswith("popvision: Slurm does not answer or refuses: ")
    assert done.stderr.count("\n") == 1
    assert not starts(shell.folder)


def test_a_cancelled_array_says_so_and_goes_on(shell: Shell) -> None:
    sweep_file(shell.folder, EACH + "how = ['sleeps']\nn = [1]")
    done = shell.run(
        f"({SWEEP}; echo code $?) & while ! test -e starts; do sleep 0.1; done; scancel $(cat out/slurm-job); wait"
    )
    assert "code 1" in done.stdout, done.stdout + done.stderr
    assert "1 points of the job array" in done.stderr or "CANCELLED" in done.stderr
