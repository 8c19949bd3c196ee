"""Reports that lack a part, and files that cannot be read: one family of exceptions, sentences that say what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from popvision.formats.debug_info import DebugInfo, write_debug_info
from popvision.formats.errors import NotRecordedError
from popvision.formats.profile.writer import ProfileWriter
from tests.pva.made import make
from tests.reports import tiny_compilation, tiny_run, write_tiny
from tests.samples import SAMPLES


def test_one_family_of_exceptions() -> None:
    assert issubclass(pva.FormatError, RuntimeError)
    assert issubclass(pva.AbsentError, pva.FormatError)
    assert issubclass(pva.AbsentError, NotRecordedError)


def test_without_an_execution_profile(tmp_path: Path) -> None:
    path = make(tmp_path, autoReport_outputExecutionProfile="false")
    execution = pva.openReport(path).execution
    assert not execution.runs
    assert not execution.steps
    assert list(execution.steps) == [] == execution.runs
    totals = execution.totalCycles
    assert (totals.total, totals.compute, totals.sync) == (0, 0, 0)
    for empty in (execution.runs, execution.steps):
        with pytest.raises(
            IndexError, match=r"outside a list of 0: .* run with autoReport\.outputExecutionProfile=true"
        ):
            _ = empty[0]


def test_without_lowered_variables(tmp_path: Path) -> None:
    compilation = pva.openReport(make(tmp_path, autoReport_outputLoweredVars="false")).compilation
    assert compilation.loweredVariables.allBriefVars == []
    assert compilation.loweredVariables.forTile(0) == []
    assert [list(p.vars) for p in compilation.programs][-1] == []
    step = max(compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    assert sum(v.size for v in step.notAlwaysLiveMemory.variables) == step.notAlwaysLiveMemory.bytes > 0
    assert step.notAlwaysLiveMemoryForIpu(0).bytes > 0
    option = r"holds no lowered variables: compile with autoReport\.outputLoweredVars=true\.$"
    asked: list[Callable[[], Any]] = [
        lambda: compilation.alwaysLiveVariablesForTile(0),
        lambda: step.notAlwaysLiveMemoryForTile(0),
        lambda: step.notAlwaysLiveMemoryForIpu(0).variables,
    ]
    for ask in asked:
        with pytest.raises(pva.AbsentError, match=option):
            ask()
    with pytest.raises(IndexError, match=r"a list of 0: .*autoReport\.outputLoweredVars"):
        _ = compilation.loweredVariables.allBriefVars[0]


def test_without_a_graph_profile(tmp_path: Path) -> None:
    without = {"autoReport_outputGraphProfile": "false", "autoReport_outputLoweredVars": "false"}
    compilation = pva.openReport(make(tmp_path, **without)).compilation
    assert not compilation.tiles
    assert not compilation.livenessProgramSteps
    assert compilation.alwaysLiveVariables == []
    assert compilation.target.numTiles == 16
    for empty in (compilation.tiles, compilation.livenessProgramSteps, compilation.alwaysLiveVariables):
        with pytest.raises(IndexError, match=r"a list of 0: .*autoReport\.outputGraphProfile=true"):
            _ = empty[0]


def test_without_a_debug_file(made_path: Path, tmp_path: Path) -> None:
    shutil.copy(made_path, tmp_path / "profile.pop")
    report = pva.openReport(tmp_path / "profile.pop")
    assert report.compilation.programs[21].debugContexts == []
    with pytest.raises(pva.AbsentError, match=r"no debug information: run with autoReport\.outputDebugInfo=true"):
        pva.OperationAnalysis(report)


def test_debug_file_of_another_run(made_path: Path, tmp_path: Path) -> None:
    shutil.copy(made_path, tmp_path / "profile.pop")
    write_debug_info(tmp_path, [DebugInfo(0)], "another")
    with pytest.raises(pva.FormatError, match=r"debug\.cbor was written by another run \(another\) than the profile"):
        pva.openReport(tmp_path / "profile.pop", tmp_path / "debug.cbor")
    report = pva.openReport(tmp_path / "profile.pop")  # a stale file beside it is ignored
    assert report.compilation.programs[21].debugContexts == []
    with pytest.raises(pva.AbsentError, match=r"debug\.cbor belongs to another run than this report"):
        pva.OperationAnalysis(report)


def test_debug_files_that_are_none(made_path: Path, tmp_path: Path) -> None:
    (tmp_path / "debug.cbor").write_text("hello")
    cases = {
        tmp_path / "debug.cbor": "is not debug information",
        tmp_path / "gone.cbor": "does not exist",
        tmp_path: "does not exist|Is a directory",
        made_path: "is not debug information",
    }
    for path, sentence in cases.items():
        with pytest.raises(pva.FormatError, match=sentence):
            pva.openReport(made_path, path)


def test_places_that_are_not_there(made: pva.Report) -> None:
    c = made.compilation
    asked: list[Callable[[], Any]] = [
        lambda: c.alwaysLiveVariablesForTile(16),
        lambda: c.alwaysLiveVariablesForTile(-1),
        lambda: c.loweredVariables.forTile(16),
        lambda: c.livenessProgramSteps[0].notAlwaysLiveMemoryForTile(99),
        lambda: made.execution.blocks(16),
    ]
    for ask in asked:
        with pytest.raises(IndexError, match=r"tile -?\d+ does not exist: the target has 16 tiles"):
            ask()
    with pytest.raises(IndexError, match="IPU 2 does not exist: the target has 2 IPUs"):
        c.livenessProgramSteps[0].notAlwaysLiveMemoryForIpu(2)
    with pytest.raises(IndexError, match=r"index 44\d* is outside a list of \d+$"):
        _ = c.programs[44_000]
    with pytest.raises(AttributeError):
        _ = c.tiles[0].memory.used  # type: ignore[attr-defined]
    code = next(v for v in c.loweredVariables.forTile(0) if v.vertexCode)
    with pytest.raises(AttributeError, match="test hasUnloweredVar first"):
        _ = code.unloweredVar


def test_out_of_memory_is_a_report() -> None:
    report = pva.openReport(SAMPLES / "out_of_memory" / "profile.pop")
    assert sum(tile.memory.overflowed.excludingGaps for tile in report.compilation.tiles) > 0
    with pytest.raises(IndexError):
        _ = report.execution.runs[0]


def test_truncated_and_locked_files_and_folders(made_path: Path, tmp_path: Path) -> None:
    data = made_path.read_bytes()
    for size, sentence in ((len(data) // 2, "cannot be read as a profile"), (8, "not an SQLite"), (0, "it is empty")):
        (tmp_path / "cut.pop").write_bytes(data[:size])
        with pytest.raises(pva.FormatError, match=sentence):
            pva.openReport(tmp_path / "cut.pop")
    with pytest.raises(pva.FormatError, match=r"holds no profile\.pop; run the program with autoReport\.all"):
        pva.openReport(tmp_path)
    with pytest.raises(pva.FormatError, match="empty path"):
        pva.openReport("")


def test_what_damage_has_cost(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    assert (pva.openReport(path).lost, pva.openReport(path).verified) == ([], "yes")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE programs SET name = 'other' WHERE id = 1")
    report = pva.openReport(path)
    sentence = "table programs is damaged: rows from 0 on do not match their checksum."
    assert report.lost == [{"kind": "table", "count": 1, "first": sentence}]
    assert report.verified == "partly"


def test_a_locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny(tmp_path)
    monkeypatch.setattr("popvision.formats.profile.connection.PATIENCE", 0.01)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(pva.FormatError, match=r"is locked by another program: wait until it has finished"):
            pva.openReport(path)
        other.execute("ROLLBACK")
    other.close()
    assert pva.openReport(path).execution.totalCycles.total == 43


@pytest.mark.parametrize("first", ["runs", "steps", "totalCycles"])
def test_a_growing_file_is_one_state(tmp_path: Path, first: str) -> None:
    """The first question fixes the number of runs; another opening sees later runs."""
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
        report = pva.openReport(path)
        getattr(report.execution, first).__repr__()
        writer.append_run(tiny_run())
        execution = report.execution
        assert (len(execution.runs), len(execution.steps), execution.totalCycles.total) == (1, 4, 43)
        assert [step.ipus[0].cycles for step in execution.runs[0].steps] == [20, 3, 4, 16]
        assert execution.totalCycles.compute == 70
        assert len(pva.openReport(path).execution.runs) == 2


def test_a_replaced_file_is_not_mixed(tmp_path: Path, made_path: Path) -> None:
    path = write_tiny(tmp_path)
    report = pva.openReport(path)
    assert len(report.execution.steps) == 4
    path.unlink()
    shutil.copy(made_path, path)
    with pytest.raises(pva.FormatError, match="was replaced by another report since it was opened; open it again"):
        _ = report.execution.steps[0].cyclesByTile
