"""The same questions in DuckDB, and attempts to reach files or to write."""

from __future__ import annotations

import sys

import pytest

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.query import Limits
from popvision.query.duck import run_duckdb
from popvision.query.run import run_query
from tests.samples import SAMPLES


@pytest.fixture(scope="module")
def source() -> ReportSource:
    return ReportSource(SAMPLES / "train_mlp")


def test_without_duckdb_the_sentence_says_how_to_get_it(source: ReportSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(FormatError, match=r"pip install 'popvision\[sql\]'"):
        run_duckdb(source, "select 1")


def test_answers_are_those_of_sqlite(source: ReportSource) -> None:
    pytest.importorskip("duckdb")
    for sql in (
        "select type, sum(self_cycles) as s, count(*) from program_cycles group by type order by s desc",
        "select tile, including_gaps_bytes from tiles order by 2 desc, 1 limit 5",
        "select p.name, v.child from program_list p join program_edges v on v.parent = p.program order by 2",
        "select id, total_bytes from (select variable as id, total_bytes from graph_variables) order by 1",
        "select count(*) from steps",
    ):
        assert run_duckdb(source, sql).rows == run_query(source, sql).rows
    found = run_duckdb(source, "select tile from tiles order by tile", Limits(rows=2, skip=3))
    assert (found.rows, found.more) == ([(3,), (4,)], True)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "copy (select 1) to '/tmp/written_by_a_test.csv'",
        "attach '/tmp/other.db'",
        "install httpfs",
        "with a as (select 1) insert into steps select * from a",
        "set enable_external_access = true",
        "select 1; select 2",
        "select * from nowhere",
        "select",
    ],
)
def test_it_reads_this_report_alone(source: ReportSource, sql: str) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(FormatError) as problem:
        run_duckdb(source, sql)
    assert "\n" not in str(problem.value)


def test_endless_queries_end(source: ReportSource) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(FormatError, match="took longer than"):
        run_duckdb(
            source, "select sum(a.range * b.range) from range(10000000) a, range(10000000) b", Limits(seconds=0.5)
        )
