"""`popvision query` as a user types it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.called import popvision
from tests.plain_report import PlainProgram, PlainReport, PlainVariable
from tests.reports import write_tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "report").parent


def test_a_table_for_people(folder: Path) -> None:
    done = popvision("query", folder, "select tile, including_gaps_bytes, 'text' as t from tiles")
    assert done.stdout == (
        "tile  including_gaps_bytes  t\n"
        "--------------------------------\n"
        "   0                   120  text\n"
        "   1                   116  text\n"
        "   2                   100  text\n"
        "   3                   100  text\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json_and_csv(folder: Path) -> None:
    sql = "select tile, always_live_bytes from tiles order by tile limit 2"
    facts = json.loads(popvision("query", folder, sql, "--json").stdout)
    assert facts["columns"] == ["tile", "always_live_bytes"]
    assert [row[0] for row in facts["rows"]] == [0, 1]
    assert facts["more"] is False
    table = list(csv.reader(io.StringIO(popvision("query", folder, sql, "--csv").stdout)))
    assert table[0] == facts["columns"]
    assert [[int(cell) for cell in row] for row in table[1:]] == facts["rows"]


def test_more_rows_are_said(folder: Path) -> None:
    done = popvision("query", folder, "select tile from tiles", "--limit", 1, "--offset", 1)
    assert done.stdout.split() == ["tile", "----", "1"]
    assert done.stderr == "popvision: more than 1 rows; --limit and --offset show others.\n"
    assert json.loads(popvision("query", folder, "select tile from tiles", "--limit", 1, "--json").stdout)["more"]


def test_hostile_names_neither_move_the_cursor_nor_become_formulas(tmp_path: Path) -> None:
    programs = [PlainProgram("OnTileExecute", "=1+1\x1b[2J\u202e" + "x" * 100, 10)]
    folder = PlainReport(programs, [PlainVariable("v", {0: 8}, (0, 0))]).write(tmp_path / "r").parent
    sql = "select name from program_list where program = 1"
    shown = popvision("query", folder, sql).stdout
    assert not {"\x1b", "\u202e"} & set(shown)
    assert len(shown.splitlines()[2]) == 60
    assert popvision("query", folder, sql, "--csv").stdout.splitlines()[1].startswith("'=1+1")
    assert "\x1b" not in popvision("query", folder, sql, "--json").stdout


def test_views_are_listed(folder: Path) -> None:
    text = popvision("query", folder, "--views").stdout
    assert "cycles_by_tile: Begin and cycles of each tile in each execution step" in text
    facts = {each["view"]: each for each in json.loads(popvision("query", folder, "--views", "--json").stdout)}
    assert {"name": "gaps_bytes", "unit": "bytes"}.items() <= facts["tiles"]["columns"][7].items()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["delete from steps"], 1, "Queries only read"),
        (["select * from nothing_here"], 1, "No such table: nothing_here; the views are"),
        ([], 2, "give a SELECT"),
        (["select 1", "--json", "--csv"], 2, "not both"),
        (["select 1", "--timeout", "0"], 2, "--timeout"),
        (["select 1", "--limit", "-1"], 2, "--limit"),
    ],
)
def test_bad_questions(folder: Path, words: list[str], code: int, text: str) -> None:
    done = popvision("query", folder, *words)
    assert done.returncode == code
    assert text in done.stderr
    assert done.stdout == ""


def test_a_view_that_is_not_recorded(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "profile.pop") as db:
        db.execute("create table steps(id, type, program)")
    db.close()
    done = popvision("query", tmp_path, "select * from cycles_by_tile")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot provide the view cycles_by_tile" in done.stderr
