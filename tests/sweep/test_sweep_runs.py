"""Points run on this machine: each ends once, whatever is killed, and keeps its inputs and its error."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import popvision as popvision_package
from popvision.sweep import SweepError, read_sweep, run_sweep
from popvision.sweep.process_tree import descendants, resident_bytes
from popvision.sweep.run import Progress
from tests.cli.called import popvision
from tests.sweep.sweep_kills import EACH, kill_and_resume
from tests.sweep.sweep_programs import ADDS, inputs, places, starts, sweep_file
from tests.waiting import wait_until


def sweep(folder: Path, text: str, *words: object) -> subprocess.CompletedProcess[str]:
    return popvision("sweep", sweep_file(folder, text), "-d", folder / "out", *words)


def test_each_point_is_a_report_with_its_inputs(tmp_path: Path) -> None:
    text = "arguments = ['{n}']\nruns = 1\n[grid]\ntarget = ['ipu1', 'ipu2']\ntiles = [4]\n[grid.arguments]\nn = [64]\n"
    done = popvision("sweep", sweep_file(tmp_path, text, ADDS), "-d", tmp_path / "out", "--json")
    assert json.loads(done.stdout) == {
        "folder": str(tmp_path / "out"),
        "total": 2,
        "skipped": 0,
        "done": 2,
        "failures": [],
    }
    for folder, target in zip(places(tmp_path / "out"), ("ipu1", "ipu2"), strict=True):
        point = inputs(folder)
        assert folder.name == f"{target}-tiles=4-n=64-{point['digest']}"
        assert (point["axes"], point["error"]) == ({"target": target, "tiles": 4, "arguments.n": 64}, "")
        with popvision_package.open(folder) as report:
            assert len(report.tiles()) == 4
            assert len(report.runs()) == 1
            assert f"Mk{target[-1]} IPU Model, 4 tiles" in report.tiles().attrs["provenance"]


def test_what_is_done_is_skipped_and_what_changed_is_run(tmp_path: Path) -> None:
    assert sweep(tmp_path, EACH + "how = ['does']\nn = [1, 2]").returncode == 0
    again = sweep(tmp_path, EACH + "how = ['does']\nn = [1, 2, 3]")
    assert again.stdout == "3 points: 3 done, 0 failed (2 of them before).\n"
    assert sorted(starts(tmp_path)) == ["does 1", "does 2", "does 3"]
    with (tmp_path / "sweep.toml").open("a") as stream:
        stream.write("\n[options]\na = 'b'")
    assert popvision("sweep", tmp_path / "sweep.toml", "-d", tmp_path / "out").returncode == 0
    assert len(starts(tmp_path)) == 6
    assert len(places(tmp_path / "out")) == 6


def test_a_failed_point_keeps_its_error_and_is_run_again_on_request(tmp_path: Path) -> None:
    text = EACH + "how = ['does', 'fails', 'nothing']\nn = [1]"
    done = sweep(tmp_path, text)
    assert done.returncode == 3
    assert "3 points: 1 done, 2 failed." in done.stdout
    failed, nothing = (inputs(folder) for folder in places(tmp_path / "out", "failed"))
    assert (failed["error"], failed["exit_code"]) == ("exit code 1: the weights do not fit", 1)
    assert nothing["error"] == "the program ended well but made no report: no Engine was created"
    assert "the weights do not fit" in (places(tmp_path / "out", "failed")[0] / "output.txt").read_text()
    assert sweep(tmp_path, text).returncode == 3
    assert len(starts(tmp_path)) == 3
    listed = json.loads(sweep(tmp_path, text, "--list", "--json").stdout)
    assert [row["state"] for row in listed] == ["done", "failed", "failed"]
    assert sweep(tmp_path, text, "--retry-failed").returncode == 3
    assert len(starts(tmp_path)) == 5


def test_limits_end_a_point_and_say_so(tmp_path: Path) -> None:
    sweep(tmp_path, EACH + "how = ['allocates']\nn = [1]\n[limits]\nmemory = '200 MiB'\nseconds = 30")
    sweep(tmp_path, EACH + "how = ['sleeps']\nn = [1]\n[limits]\nseconds = 0.4")
    allocates, sleeps = (inputs(folder) for folder in places(tmp_path / "out", "failed"))
    assert allocates["error"].startswith("its processes held ")
    assert allocates["error"].endswith(" s, more than the limit of 200 MiB")
    assert sleeps["error"] == "it took longer than the limit of 0.4 s"
    assert 0.4 <= sleeps["seconds"] < 60  # which the program would sleep


def test_memory_counts_descendants() -> None:
    child = "import subprocess, sys; x = b'x' * (50 << 20); subprocess.run([sys.executable, '-c', sys.argv[1]])"
    grandchild = "x = b'x' * (70 << 20); print(flush=True); input()"
    command = [sys.executable, "-c", child, grandchild]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 120 << 20 <= resident_bytes([process.pid, *descendants(process.pid)]) < 220 << 20
        process.communicate(b"\n")


def test_at_most_so_many_run_at_once(tmp_path: Path) -> None:
    most = 0

    def look(progress: Progress) -> None:
        nonlocal most
        most = max(most, len([path for path in places(tmp_path / "out") if path.name.startswith(".")]))

    path = sweep_file(tmp_path, EACH + f"how = ['ends']\nn = {list(range(12))}")
    run_sweep(read_sweep(path), tmp_path / "out", at_once=3, on_end=look)
    assert most == 2  # one has just ended


def test_a_full_disk_stops_the_sweep_and_it_goes_on(tmp_path: Path) -> None:
    text = EACH + "how = ['does', 'fills', 'fails']\nn = [1]"
    done = sweep(tmp_path, text, "--at-once", 1)
    assert done.returncode == 1
    assert done.stderr.startswith(f"popvision: the disk of {tmp_path}/out is full on ")
    assert [path.name.split("-")[0] for path in places(tmp_path / "out")] == ["how=does"]
    program = tmp_path / "program.py"
    listed = json.loads(sweep(tmp_path, text, "--list", "--json").stdout)
    assert [row["state"] for row in listed] == ["done", "waiting", "waiting"]
    assert program.exists()


def test_a_program_changed_in_mid_sweep_stops_it(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, EACH + "how = ['ends']\nn = [1, 2, 3, 4, 5, 6]")

    def edit(progress: Progress) -> None:
        with (tmp_path / "program.py").open("a") as stream:
            stream.write("# edited\n")

    with pytest.raises(SweepError, match=r"/program\.py has changed since the sweep was planned; start it again"):
        run_sweep(read_sweep(path), tmp_path / "out", at_once=2, on_end=edit)
    (ended,) = places(tmp_path / "out")
    assert run_sweep(read_sweep(path), tmp_path / "out").done == 6
    assert len(places(tmp_path / "out")) == 7  # the one from before the edit stays, under its own digest
    assert ended in places(tmp_path / "out")


def test_one_sweep_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, EACH + "how = ['does']\nn = [1]")
    said = []

    def second(progress: Progress) -> None:
        with pytest.raises(SweepError) as caught:
            run_sweep(read_sweep(path), tmp_path / "out")
        said.append(str(caught.value))

    run_sweep(read_sweep(path), tmp_path / "out", on_end=second)
    assert said[0].startswith(f"another sweep (process {os.getpid()} on ")
    assert said[0].endswith(f"runs in {tmp_path}/out; wait for it, or give another folder with -d.")
    (tmp_path / "file").touch()
    with pytest.raises(SweepError, match=r"the folder of the sweep, .*/file, is a file; give another one with -d"):
        run_sweep(read_sweep(path), tmp_path / "file")


def test_an_estimate_is_the_mean_pace_of_this_start() -> None:
    progress = Progress(total=100, skipped=40, done=45, failed=5, began=time.monotonic() - 20)
    assert progress.left == 50
    assert progress.seconds_left == pytest.approx(100, rel=0.01)
    assert Progress(total=9, skipped=2, done=2, failed=0, began=0.0).seconds_left is None


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_commits_are_an_axis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    (repository / "library").mkdir(parents=True)
    git(repository, "init", "-q")
    program = (
        "import json, os, value\n"
        "folder = json.loads(os.environ['POPLAR_ENGINE_OPTIONS'])['autoReport.directory']\n"
        "open(os.path.join(folder, 'profile.pop'), 'w').write(value.VALUE)\n"
    )
    sweep_file(repository, "[grid]\ncommit = ['first', 'HEAD']", program)
    for value in ("one", "two"):
        (repository / "library/value.py").write_text(f"VALUE = '{value}'\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", value)
        git(repository, "tag", "first" if value == "one" else "second")
    (repository / "library/value.py").write_text("VALUE = 'not committed'\n")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join((str(repository / "library"), *filter(None, (os.environ.get("PYTHONPATH"),))))
    )
    outcome = run_sweep(read_sweep(repository / "sweep.toml"), tmp_path / "out")
    assert (outcome.done, outcome.failures) == (2, [])
    values = {inputs(path)["axes"]["commit"]: (path / "profile.pop").read_text() for path in places(tmp_path / "out")}
    assert values == {"first": "one", "HEAD": "two"}
    assert {inputs(path)["commit"] for path in places(tmp_path / "out")} == {
        git(repository, "rev-parse", "first"),
        git(repository, "rev-parse", "HEAD"),
    }
    assert git(repository, "worktree", "list").count("\n") == 0
    (repository / "sweep.toml").write_text("program = 'program.py'\n[grid]\ncommit = ['absent']")
    done = popvision("sweep", repository / "sweep.toml", "-d", tmp_path / "out")
    assert done.stderr == f"popvision: the repository {repository} has no commit 'absent'.\n"


def test_killed_at_random_every_point_ends_once(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, kills=4, seed=1)


@pytest.mark.long
def test_killed_fifty_times_every_point_ends_once(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, kills=50, seed=2)


def test_what_a_dead_process_left_running_goes_away(tmp_path: Path) -> None:
    """A process that nobody has waited for is listed in /proc, and yet has ended."""
    sweep(tmp_path, EACH + "how = ['does']\nn = [1]")
    with subprocess.Popen(["true"]) as dead:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        points = tmp_path / "out" / "points"
        (points / f".0.{socket.gethostname()}.{dead.pid}.0").mkdir()
        (points / f".0.{socket.gethostname()}.{os.getpid()}.0").mkdir()
        assert len(places(tmp_path / "out")) == 3
        sweep(tmp_path, EACH + "how = ['does']\nn = [1]")
        assert [path.name.split(".")[-2] for path in places(tmp_path / "out") if path.name[0] == "."] == [
            f"{os.getpid()}"
        ]


def test_a_killed_sweep_leaves_no_program_behind(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, EACH + "how = ['sleeps']\nn = [1]")
    command = [sys.executable, "-m", "popvision", "sweep", str(path), "-d", str(tmp_path / "out")]
    process = subprocess.Popen(command)
    wait_until(lambda: starts(tmp_path), "the program starts")
    (child,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    process.kill()
    process.wait()
    wait_until(lambda: not Path(f"/proc/{child}").exists(), "the program ends")


def test_a_program_that_is_killed_fails_alone(tmp_path: Path) -> None:
    program = "import os, sys\nos.kill(os.getpid(), 9)\n"
    path = sweep_file(tmp_path, "", program)
    (failure,) = run_sweep(read_sweep(path), tmp_path / "out").failures
    assert failure[1] == "ended by SIGKILL"


def test_the_example_asks_what_if_at_108_points(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "what_if.toml"
    listed = json.loads(popvision("sweep", example, "-d", tmp_path / "out", "--list", "--json").stdout)
    assert len(listed) == 3 * 4 * 3 * 3
    assert {row["axes"]["constants.exchangeBytesPerCycle"] for row in listed} == {2, 4, 8}
