"""python -m simulator.slurm: it starts a pod, ends what it started, and says in a sentence what is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from simulator.slurm.__main__ import main
from simulator.slurm.pod import Pod
from tests.waiting import wait_until

COMMAND = [sys.executable, "-m", "simulator.slurm"]
ROOT = Path(__file__).resolve().parents[2]


def processes_of(folder: Path) -> list[str]:
    """Command lines of processes that know the pod in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"SLURM_CONF={folder}/slurm.conf".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def until_ended(folder: Path) -> None:
    """Until the processes that were told to end have."""
    wait_until(lambda: not processes_of(folder), lambda: f"these run on: {processes_of(folder)}")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_its_jobs_and_daemons(pod: Pod, tmp_path: Path, stop: signal.Signals) -> None:
    folder = tmp_path / "own"
    process = subprocess.Popen(
        [*COMMAND, "pod", "--ipus", "2", "--folder", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"export SLURM_CONF={folder}/slurm.conf\n"
    own = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
    subprocess.run(
        ["sbatch", "--ipus=2", f"--output={tmp_path}/log", "--wrap", f"touch {tmp_path}/began; sleep 600"],
        env=own,
        check=True,
        capture_output=True,
    )
    wait_until((tmp_path / "began").exists, "the job begins", 200)
    assert len(processes_of(folder)) >= 4
    process.send_signal(stop)
    _, errors = process.communicate(timeout=200)
    assert (process.returncode, "Traceback" in errors) == (0, False)
    until_ended(folder)
    assert processes_of(pod.files.folder)  # those of another pod are left alone


def test_the_end_of_a_command_ends_the_pod_and_gives_its_code(pod: Pod, tmp_path: Path) -> None:
    script = "echo $SLURM_CONF; srun --ipus=1 sh -c 'exit 7'"
    done = subprocess.run(
        [*COMMAND, "pod", "--ipus", "1", "--", "sh", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 7, done.stderr
    folder = Path(done.stdout.strip()).parent
    assert not folder.exists()
    until_ended(folder)


def test_a_daemon_that_cannot_start_is_named(pod: Pod, tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "slurmctld").write_text("#!/bin/sh\necho 'fatal: no room for a controller'\nexit 1\n")
    (broken / "slurmctld").chmod(0o755)
    done = subprocess.run(
        [*COMMAND, "pod", "--folder", str(tmp_path / "own")],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{broken}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 1
    assert done.stderr == "simulator.slurm: slurmctld does not start: fatal: no room for a controller.\n"
    until_ended(tmp_path / "own")


def test_files_for_a_cluster(pod: Pod, tmp_path: Path) -> None:
    assert main(["files", "--ipus", "4", str(tmp_path / "shared")]) == 0
    names = {path.name for path in (tmp_path / "shared").iterdir()}
    assert names == {"cli_filter.lua", "gres.conf", "ipu", "ipus.so", "plugstack.conf"}
    assert (tmp_path / "shared" / "gres.conf").read_text() == f"Name=ipu File={tmp_path}/shared/ipu/ipu[0-3]\n"
    assert len(list((tmp_path / "shared" / "ipu").iterdir())) == 4
    plugin = f"required {tmp_path}/shared/ipus.so ipus=4 locks=/run/popvision-ipus\n"
    assert (tmp_path / "shared" / "plugstack.conf").read_text() == plugin


@pytest.mark.parametrize("ipus", ["0", "3", "2048", "-4"])
def test_a_number_of_ipus_that_no_pod_has(ipus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["files", f"--ipus={ipus}", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"simulator.slurm: --ipus={ipus} is not a power of two from 1 to 1024.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["pod", "--folder", str(tmp_path / "own")]) == 1
    said = capsys.readouterr().err
    assert "srun, sbatch, squeue, scancel, sinfo, scontrol are missing; as root: apt-get install -y slurm-wlm" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "own").exists()


def test_a_folder_in_use(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pod", "--folder", str(pod.files.folder)]) == 1
    assert (
        capsys.readouterr().err == f"simulator.slurm: The folder '{pod.files.folder}' is not empty; name a new one.\n"
    )


def test_a_folder_that_slurm_cannot_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["files", str(tmp_path / "two words")]) == 1
    assert "must be an absolute path without spaces" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
