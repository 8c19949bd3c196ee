"""docs/formats.md is true: its examples run, its tables and columns are those of the database."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from popvision.formats.profile import ProfileReader

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[1], "docs/formats.md", "exec"), {})
    return tmp_path / "profile.pop"


def test_the_example_writes_a_report(report: Path) -> None:
    reader = ProfileReader(report)
    assert reader.steps_on_ipu(0).cycles.tolist() == [20, 3]
    assert (reader.total_cycles(), reader.programs().name, reader.meta["simulated"]) == (23, ["work", "Internal"], True)


def test_arrays_are_read_by_hand(report: Path) -> None:
    scope: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "docs/formats.md", "exec"), scope)
    with sqlite3.connect(report) as db:
        ids = db.execute("SELECT start_array, cycles_array FROM steps_by_ipu ORDER BY step_id").fetchall()
        found = [[scope["read_array"](db, identity) for identity in row] for row in ids]
        longest = db.execute(blocks("sql")[0]).fetchall()
    assert found == [[(0, 0, 0, 0), (10, 20, 0, 5)], [(10, 20, 0, 5), (13, 3, 23, 18)]]
    assert longest == [(0, "work", 20), (1, "Internal", 3)]


def test_tables_and_columns_are_listed(report: Path) -> None:
    listed = dict(re.findall(r"^\| `(\w+)`(?: \*)? \| [\w, ]+ \| (.+) \|$", TEXT, re.MULTILINE))
    with sqlite3.connect(report) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in names}
    found = {name: [column.split()[0] for column in text.split(", ")] for name, text in listed.items()}
    assert found == {name: columns[name] for name in names if name not in ("arrays", "parts")}
