"""Processes, threads and forked children that write reports into one folder at once: none disturbs another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from popvision.analysis.ranks.rank_set import find_rank_sets
from popvision.formats.profile import ProfileReader

ROOT = Path(__file__).parents[2]
PATIENCE = 300  #: seconds that a program may take on a loaded machine
PROGRAM = """
import os, sys, threading
from pathlib import Path
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy
from tests.waiting import wait_until

folder = Path(sys.argv[1])
options = {"autoReport.all": "true", "autoReport.directory": str(folder / "out")}
model = IPUModel()
model.tilesPerIPU = 4
device = model.createDevice()

def made():
    graph = Graph(device)
    x, y = (graph.addVariable(FLOAT, [64], name) for name in "xy")
    graph.setTileMapping(x, 0)
    graph.setTileMapping(y, 1)
    return Engine(graph, Copy(x, y), options)

def runs(engine, device=device):
    engine.load(device)
    for _ in range(2):
        engine.run()

def meet(name, number):
    \"\"\"Wait until so many have come, so that all of them live.\"\"\"
    (folder / f"{name}.{threading.get_native_id()}").touch()
    wait_until(lambda: len(list(folder.glob(f"{name}.*"))) >= number, f"{number} that {name}", 200)
"""
#: each one waits for the others before it writes and before it ends
PROCESS = 'meet("begin", 3)\nwith made() as engine:\n    runs(engine)\nmeet("end", 3)\n'
POOL = """
import multiprocessing

def work():
    meet("begin", 3)
    with made() as engine:
        runs(engine)
    meet("end", 3)

processes = [multiprocessing.get_context("fork").Process(target=work) for _ in range(3)]
for process in processes:
    process.start()
for process in processes:
    process.join()
sys.exit(max(process.exitcode for process in processes))
"""
THREADS = """
failed = []

def work():
    model = IPUModel()
    model.tilesPerIPU = 4
    try:
        with made() as engine:
            runs(engine, model.createDevice())
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""
FORK = """
engine = made()
runs(engine)
child = os.fork()
runs(engine)
if child:
    _, status = os.waitpid(child, 0)
    engine.run()
    sys.exit(os.waitstatus_to_exitcode(status))
"""


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code, str(folder)],  # no file: a start would empty it below another one
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def texts(processes: list[subprocess.Popen[str]]) -> str:
    """What they wrote on standard error; all of them must end well."""
    written = ""
    try:
        for process in processes:
            text = process.communicate(timeout=PATIENCE)[1]
            assert process.returncode == 0, text
            written += text
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return written


def reports(folder: Path) -> list[Path]:
    """The folders of whole reports with two runs."""
    found = sorted(folder.rglob("profile.pop"))
    for path in found:
        assert len(ProfileReader(path).runs().name) == 2
        assert (path.parent / "serialized_graph.capnp").is_file()
    assert not list(folder.rglob("*.tmp"))
    return sorted(path.parent for path in found)


def other_folders(folder: Path, number: int) -> list[Path]:
    """Of the processes that came later, which say where they write; with the first they are a set of ranks."""
    first, *others = reports(folder)
    assert first == folder
    assert len(others) == number
    assert all(path.name.startswith("process_") for path in others)
    ([ranks], _) = find_rank_sets(folder)
    assert (ranks.folders[0], sorted(ranks.folders.values())) == (first, [first, *others])
    return others


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_shell_starts_three_at_once(rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = texts([start(folder, PROCESS) for _ in range(3)])
        out = folder / "out"
        others = other_folders(out, 2)
        assert sorted(said.splitlines()) == [
            f"popvision: Another process writes its reports into {out}; those of this one are in {path}."
            for path in others
        ]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_workers_of_multiprocessing(rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts([start(folder, POOL)])
        other_folders(folder / "out", 2)


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_threads_share_a_folder_as_engines_do(rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert texts([start(folder, THREADS)]) == ""
        assert [path.name for path in reports(folder / "out")] == ["out", "engine_1", "engine_2"]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_fork_runs_in_both(rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = texts([start(folder, FORK)])
        out = folder / "out"
        (other,) = other_folders(out, 1)
        assert said == f"popvision: Another process writes its reports into {out}; those of this one are in {other}.\n"


def test_a_folder_whose_process_has_ended_is_overwritten(tmp_path: Path) -> None:
    code = """
for _ in range(2):
    child = os.fork()
    if not child:
        with made() as engine:
            runs(engine)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    assert texts([start(tmp_path, code)]) == ""
    assert reports(tmp_path / "out") == [tmp_path / "out"]
