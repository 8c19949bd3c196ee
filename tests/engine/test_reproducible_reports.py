"""Two compilations of one program: the same bytes with SOURCE_DATE_EPOCH, and without it the same tables but for facts
about the run."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from popvision import pvti
from popvision.formats.profile.reader import ProfileReader
from simulator.engine.devices.device import Device
from simulator.poplar import Engine, invalid_option
from simulator.poplar.program import Repeat
from simulator.runtime.recording import report_folder
from tests.compiler.tiny_graphs import model, tutorial3
from tests.same_reports import OF_A_RUN, differences

SECOND = "1600000000"
PROGRAM = """
import sys
from simulator.engine.devices.device import Device
from simulator.poplar import Engine, compileGraph
from tests.compiler.tiny_graphs import model, tutorial3
tutorial = tutorial3(model())
options = {"autoReport.all": "true", "autoReport.directory": "report"}
for name in ("", "", "named"):
    with Engine(tutorial.graph, tutorial.program, options, None, name) as engine:
        engine.load(Device(model()))
        engine.run(0, "first")
        engine.run(0)
        with open(f"executable{name}", "wb") as file:
            engine.serializeExecutable(file)
"""


@pytest.fixture(autouse=True)
def _forget_directories(monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})


def digests(folder, hash_seed):
    """sha256 of every file that a process of its own writes."""
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": SECOND,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    folder.mkdir()
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env=environment, check=True, timeout=100)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_program_writes_the_same_bytes(tmp_path):
    one, other = digests(tmp_path / "one", "1"), digests(tmp_path / "other", "2")
    assert one == other
    assert len([name for name in one if name.endswith("profile.pop")]) == 3
    assert {"executable", "report/debug.json", "report/archive.a", "report/named/serialized_graph.capnp"} <= one.keys()


def written(folder, more=None, trips=2):
    target = model()
    tutorial = tutorial3(target)
    options = {"autoReport.all": "true", "autoReport.directory": str(folder)} | (more or {})
    with Engine(tutorial.graph, [tutorial.program, Repeat(trips, tutorial.program)], options) as engine:
        engine.load(Device(target))
        engine.run(1)
    report_folder._directories.clear()
    return ProfileReader(folder / "profile.pop")


def test_times_are_that_second_and_ids_follow_from_the_content(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", SECOND)
    made = [written(tmp_path / "report", *arguments).meta for arguments in (({},), ({},), ({}, 3))]
    made.append(written(tmp_path / "report", {"debug.outputAllSymbols": "true"}).meta)
    assert {meta["timestamp"] for meta in made} == {"2020-09-13T12:26:40+00:00"}
    for name in ("reportId", "runId"):
        ids = [meta[name] for meta in made]
        assert ids[0] == ids[1]
        assert len(set(ids)) == 3
        assert all(len(i) == 32 for i in ids)
    runs = ProfileReader(tmp_path / "report" / "profile.pop").runs()
    assert runs.host_start_us.tolist() == runs.host_end_us.tolist() == [int(SECOND) * 10**6]


@pytest.mark.parametrize("second", ["0", SECOND])
def test_the_moment_of_the_folder_is_that_second(second, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", second)
    assert written(tmp_path / "report").meta["folderSince"] == int(second) * 10**6


@pytest.mark.parametrize("text", ["yesterday", "-1", "1.5", "9" * 30])
def test_another_value_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
    with pytest.raises(invalid_option, match=rf"^SOURCE_DATE_EPOCH cannot be '{text}'; it takes a whole number of "):
        written(tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_without_it_only_facts_about_the_run_differ(tmp_path, monkeypatch):
    """Named in docs/formats.md. The run_id, which all files have, is made equal here."""
    monkeypatch.setattr(pvti, "runId", lambda: "of one program")
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        written(Path("report"))
    found = differences(tmp_path / "one", tmp_path / "other")
    assert found <= OF_A_RUN
    assert {"meta.reportId", "runs.host_start_us"} <= found
    text = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    section = text.partition("## Two runs of one program")[2].partition("\n## ")[0]
    for column in OF_A_RUN:
        assert f"`{column.split(' of ')[0]}`" in section, column
