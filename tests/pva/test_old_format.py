"""A report of format 1.2 (the program of made.py, written before parts, the always-live class and known zeros).

It opens as before, and says what it does not know."""

from __future__ import annotations

import lzma
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from popvision.formats.profile import ProfileReader

OLD = Path(__file__).with_name("made_1_2.pop.xz")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "profile.pop"
    path.write_bytes(lzma.decompress(OLD.read_bytes()))
    return path


@pytest.fixture(scope="module")
def old(path: Path) -> pva.Report:
    return pva.openReport(path)


def test_it_is_of_format_1_2(old: pva.Report, path: Path) -> None:
    assert (old.version.major, old.version.minor) == (1, 2)
    assert {"known_figures", "variable_parts"} <= set(ProfileReader(path).missing)


def test_its_figures_are_those_of_the_file(old: pva.Report, path: Path) -> None:
    db = sqlite3.connect(path)
    c = old.compilation
    assert [t.memory.total.includingGaps for t in c.tiles] == [
        n for (n,) in db.execute("SELECT total FROM memory_by_tile")
    ]
    assert [s.notAlwaysLiveMemory.bytes for s in c.livenessProgramSteps] == [
        n for (n,) in db.execute("SELECT bytes FROM liveness ORDER BY liveness_index")
    ]
    query = "SELECT id, bytes FROM variables WHERE always_live ORDER BY id"
    assert sorted((v._id, v.size) for v in c.alwaysLiveVariables) == db.execute(query).fetchall()
    assert old.execution.totalCycles.total == db.execute("SELECT sum(cycles) FROM runs").fetchone()[0]
    db.close()


def test_always_live_variables_have_a_class_all_the_same(old: pva.Report) -> None:
    c = old.compilation
    always = {v.equivalenceClass for v in c.loweredVariables.forTile(0) if v.alwaysLive}
    assert [each.steps for each in always] == [[(0, len(c.livenessProgramSteps))]]
    found = [0] * len(c.livenessProgramSteps)
    for v in c.loweredVariables.forTile(0):
        for begin, end in v.equivalenceClass.steps:
            found[begin:end] = [n + v.bytes for n in found[begin:end]]
    live = [step.notAlwaysLiveMemoryForTile(0).bytes for step in c.livenessProgramSteps]
    assert found == [c.tiles[0].memory.alwaysLiveBytes + n for n in live]


def test_its_parts_are_variables(old: pva.Report, made: pva.Report) -> None:
    """It does not say which rows are parts of one tensor; a new report of the same program does."""

    def names(report: pva.Report) -> list[list[str]]:
        steps = report.compilation.livenessProgramSteps
        return [sorted(v.name for v in step.notAlwaysLiveMemory.variables) for step in steps]

    assert sum(map(len, names(old))) > sum(map(len, names(made)))
    assert [set(each) for each in names(old)] == [set(each) for each in names(made)]
    for step in old.compilation.livenessProgramSteps:  # its bytes are of an older model of message buffers
        memory = step.notAlwaysLiveMemory
        assert sum(v.size for v in memory.variables) == memory.bytes


def test_zero_and_unknown_are_one(old: pva.Report, made: pva.Report) -> None:
    """Lists that are there have an entry per tile (of an older model of costs); the others are empty and say why. Rows
    are compared with those of a new report that bear the same name; an older compiler had other syncs."""
    empty = 0
    named = {(program.type, program.name): program for program in made.compilation.programs if program.name}
    for before in old.compilation.programs:
        after = named.get((before.type, before.name))
        if after is None:
            continue
        for name in ("controlCodeByTile", "codeBytesByTile", "estimatedCyclesByTile"):
            values: Any = getattr(before, name, None)
            if values:
                assert len(values) == len(getattr(after, name) or values)
            elif values is not None:
                empty += 1
                assert not any(getattr(after, name))
                with pytest.raises(
                    IndexError, match=r"does not tell zero from not known: its format is older than 1\.3"
                ):
                    _ = values[0]
    assert empty > 10
