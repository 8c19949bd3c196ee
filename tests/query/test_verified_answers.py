"""SQL answers from rows that match their checksums, or says what it has not compared."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.query.duck import run_duckdb
from popvision.query.run import run_query
from tests.cli.called import popvision
from tests.reports import write_tiny
from tests.samples import SAMPLES


@pytest.fixture
def damaged(tmp_path: Path) -> ReportSource:
    """A report with another total of one tile."""
    path = shutil.copy(SAMPLES / "matmul_chain_hardware" / "profile.pop", tmp_path / "profile.pop")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memory_by_tile SET total = total + 1 WHERE tile = 3")
    return ReportSource(path)


@pytest.mark.parametrize(
    "sql",
    [
        "select total from memory_by_tile where tile = 3",
        "select including_gaps_bytes from tiles where tile = 3",
        "with one as (select * from tiles) select max(including_gaps_bytes) from one",
        "select count(*) from memory_by_tile",
        "select name, (select sum(total) from memory_by_tile) from programs",
    ],
)
def test_no_answer_comes_from_a_damaged_table(damaged: ReportSource, sql: str) -> None:
    for run in (run_query, run_duckdb):
        with pytest.raises(FormatError, match="table memory_by_tile is damaged"):
            run(damaged, sql)


def test_other_tables_answer(damaged: ReportSource) -> None:
    answer = run_query(damaged, "select count(*) from programs")
    assert (answer.rows[0][0] > 0, answer.verified) == (True, "yes")
    assert run_duckdb(damaged, "select count(*) from programs").verified == "yes"


def test_what_has_no_checksum_is_said(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    assert run_query(ReportSource(path), "select crc32 from arrays").verified == "partly"
    foreign = tmp_path / "foreign.pop"
    with closing(sqlite3.connect(foreign)) as db, db:
        db.execute("CREATE TABLE steps(id, type, program, compute_set)")
    source = ReportSource(foreign)
    assert run_query(source, "select count(*) from steps").verified == "no"
    done = popvision("query", foreign, "select count(*) from steps")
    assert done.stderr.startswith("popvision: verified: no")
    assert json.loads(popvision("query", foreign, "select count(*) from steps", "--json").stdout)["verified"] == "no"


def test_columns_of_one_name_stay_apart() -> None:
    source = ReportSource(SAMPLES / "matmul_chain_hardware")
    answer = run_query(source, "select 1 as a, 2 as a, 3 as 'a (2)', 4 as a")
    assert answer.columns == ["a", "a (2)", "a (2) (2)", "a (3)"]
    assert run_duckdb(source, "select 1 as a, 2 as a").columns == ["a", "a (2)"]


def test_texts_are_formatted() -> None:
    source = ReportSource(SAMPLES / "matmul_chain_hardware")
    assert run_query(source, "select printf('%05.1f', 3.14159)").rows == [("003.1",)]
