"""Points on Dask workers (extra [dask])."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from popvision.sweep.dask_cluster import worker_problem
from popvision.sweep.sweep_folder import SweepFolder
from tests.cli.called import popvision
from tests.sweep.sweep_programs import inputs, places, starts, sweep_file
from tests.waiting import wait_until

EACH = "arguments = ['{how}', '{n}']\n[grid.arguments]\n"


def test_dask_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = popvision("sweep", sweep_file(tmp_path, ""), "-d", tmp_path / "out", "--dask", "local")
    assert done.stderr == "popvision: Dask is not installed: pip install 'popvision[dask]', or omit --dask.\n"
    assert done.returncode == 1


def test_a_worker_without_the_package_is_named() -> None:
    said = "Traceback\n/usr/bin/python3: No module named popvision\n"
    assert worker_problem(said, "a Dask worker of tcp://a:1") == (
        "a Dask worker of tcp://a:1 has no package popvision: install it there, or set PYTHONPATH."
    )


def run_dask(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: Dask starts threads and leaves warnings behind."""
    pytest.importorskip("distributed", reason="needs the extra [dask]")
    command = [sys.executable, "-m", "popvision", "sweep", str(sweep_file(folder, text)), "-d", str(folder / "out")]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=120)


def test_points_run_on_a_local_cluster(tmp_path: Path) -> None:
    text = EACH + "how = ['does', 'fails']\nn = [1, 2, 3]"
    done = run_dask(tmp_path, text, "--dask", "local", "--at-once", "2")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("6 points: 3 done, 3 failed.\n")
    assert {inputs(path)["error"] for path in places(tmp_path / "out", "failed")} == {
        "exit code 1: the weights do not fit"
    }
    assert sorted(starts(tmp_path)) == sorted(f"{how} {n}" for how in ("does", "fails") for n in (1, 2, 3))


def test_limits_and_full_disks_hold_on_workers(tmp_path: Path) -> None:
    text = EACH + "how = ['sleeps']\nn = [1]\n[limits]\nseconds = 0.5"
    assert run_dask(tmp_path, text, "--dask", "local", "--at-once", "1").returncode == 3
    (failed,) = places(tmp_path / "out", "failed")
    assert inputs(failed)["error"] == "it took longer than the limit of 0.5 s"
    done = run_dask(tmp_path, EACH + "how = ['fills']\nn = [1]", "--dask", "local", "--at-once", "1")
    assert done.returncode == 1
    assert f"popvision: the disk of {tmp_path}/out is full on " in done.stderr


def test_an_address_where_nobody_answers(tmp_path: Path) -> None:
    done = run_dask(tmp_path, "", "--dask", "tcp://127.0.0.1:9")
    assert done.returncode == 1
    assert "popvision: no Dask scheduler answers at 'tcp://127.0.0.1:9' within 10 s" in done.stderr


def test_a_killed_worker_loses_no_point(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra [dask]")
    scheduler_file = tmp_path / "scheduler.json"
    words: list[Any] = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*words, "--scheduler-file", scheduler_file, "--host", "127.0.0.1"], stderr=subprocess.DEVNULL
    )
    workers: list[subprocess.Popen[bytes]] = []

    def start_worker() -> None:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(scheduler_file)]
        workers.append(
            subprocess.Popen(
                [*worker, "--nthreads", "1", "--no-nanny", "--no-dashboard"], cwd=tmp_path, stderr=subprocess.DEVNULL
            )
        )

    try:
        wait_until(lambda: address_in(scheduler_file))
        address = address_in(scheduler_file)
        start_worker()
        start_worker()
        path = sweep_file(tmp_path, EACH + f"how = ['ends']\nn = {list(range(8))}")
        command = [sys.executable, "-m", "popvision", "sweep", str(path), "-d", str(tmp_path / "out")]
        sweep = subprocess.Popen([*command, "--dask", address], stdout=subprocess.PIPE, text=True)
        wait_until(lambda: len(starts(tmp_path)) >= 3)
        workers[0].kill()
        start_worker()
        out = sweep.communicate(timeout=100)[0]
        assert out.startswith("8 points: 8 done, 0 failed."), out
        ended = SweepFolder(tmp_path / "out").ended().values()
        numbers = [inputs(path)["axes"]["arguments.n"] for path in ended]
        assert sorted(numbers) == list(range(8))
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def address_in(scheduler_file: Path) -> str:
    """Where the scheduler is, "" as long as its file is not whole."""
    try:
        return str(json.loads(scheduler_file.read_text())["address"])
    except (FileNotFoundError, json.JSONDecodeError):
        return ""
