"""Hostile SQL writes nothing, reads nothing else, and ends within its time and memory."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import popvision
from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.query import Limits
from popvision.query.run import run_query
from tests.reports import write_tiny
from tests.samples import SAMPLES


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(write_tiny(tmp_path_factory.mktemp("attacked")))


WRITES = [
    "delete from steps",
    "update steps set type = 0",
    "insert into steps values (9, 9, 9, 9, 9)",
    "drop table steps",
    "create table t(a)",
    "create temp table t(a)",
    "create temp view v as select 1",
    "alter table steps rename to stops",
    "with a as (select 1) delete from steps",
    "with a as (select 1) insert into meta select 'a', 'b'",
    "/* select */ delete from steps",
    "-- select\ndrop table steps",
    "pragma query_only = off",
    "pragma writable_schema = on",
    "pragma journal_mode = delete",
    "select * from pragma_query_only",
    "attach database ':memory:' as other",
    "attach '/etc/passwd' as other",
    "detach main",
    "vacuum",
    "vacuum into '/tmp/copied.db'",
    "begin",
    "commit",
    "rollback",
    "savepoint a",
    "reindex",
    "analyze",
    "explain delete from steps",
    "select load_extension('/tmp/evil.so')",
    "select writefile('/tmp/x', 'y')",
    "select readfile('/etc/passwd')",
    "select fts3_tokenizer('simple', x'00')",
    "select 1; drop table steps",
    "replace into meta values ('a', 'b')",
    "values (1); delete from steps",
]


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_but_reading(source: ReportSource, sql: str) -> None:
    path = source.reader.path
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(FormatError) as problem:
        run_query(source, sql)
    assert "\n" not in str(problem.value)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [each.name for each in path.parent.iterdir()] == ["profile.pop"]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   ",
        "-- nothing",
        "selekt 1",
        "select",
        "select 'a",
        "select * from",
        "select no_such(1)",
        "\x00",
        "select 1\x00; drop table steps",
        "select '\ud800'",
        "select array_value(1)",
        "select " + "(" * 500 + "1" + ")" * 500,
        "select " + "x" * 200_000,
    ],
)
def test_wrong_sql_is_one_sentence(source: ReportSource, sql: str) -> None:
    with pytest.raises(FormatError) as problem:
        run_query(source, sql)
    assert str(problem.value).endswith(".")
    assert len(str(problem.value)) < 2_000


ENDLESS = [
    "with recursive a(x) as (select 1 union all select x + 1 from a) select count(*) from a",
    "with recursive a(x) as (select 1 union all select x + 1 from a) select x from a where x < 0",
    "select count(*) from cost_terms a, cost_terms b, cost_terms c, cost_terms d",
]


@pytest.mark.parametrize("sql", ENDLESS)
def test_endless_queries_end(sql: str) -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    with pytest.raises(FormatError, match=r"took longer than 0\.2 s"):
        run_query(source, sql, Limits(seconds=0.2))


def test_texts_do_not_fill_memory(source: ReportSource) -> None:
    for sql in (
        "select zeroblob(2000000000)",
        "select hex(zeroblob(200000000))",
        "select replace(hex(zeroblob(5000000)), '0', 'aaaaaaaa')",
        "with recursive a(x) as (select 1 union all select x + 1 from a) select hex(zeroblob(4000)) from a",
    ):
        with pytest.raises(FormatError):
            run_query(source, sql, Limits(text=1 << 20, rows=1_000_000))


def test_rows_are_capped_and_said(source: ReportSource) -> None:
    found = run_query(source, "select tile from tiles", Limits(rows=3))
    assert found.rows == [(0,), (1,), (2,)]
    assert found.more
    found = run_query(source, "select tile from tiles", Limits(rows=3, skip=3))
    assert (found.rows, found.more) == ([(3,)], False)
    assert run_query(source, "select tile from tiles", Limits(rows=3, skip=99)).rows == []
    endless = "with recursive a(x) as (select 1 union all select x + 1 from a) select x from a"
    assert len(run_query(source, endless, Limits(rows=5)).rows) == 5


def test_cells_are_what_json_holds(source: ReportSource) -> None:
    found = run_query(source, "select 1, 1.5, 'a', null, x'0102', 9e999, -9e999, cast(x'ff41' as text)")
    assert found.rows == [(1, 1.5, "a", None, "<2 bytes>", None, None, "\ufffdA")]


def test_bad_array_ids(source: ReportSource) -> None:
    found = run_query(source, "select array_json(-1), array_sum(null), array_value(1, -1), array_max('x')")
    assert found.rows == [(None, None, None, None)]
    with pytest.raises(FormatError, match="array 999999 is not in the file"):
        run_query(source, "select array_sum(999999)")


def test_damaged_arrays_are_not_believed(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    path = write_tiny(tmp_path / "r")
    with closing(sqlite3.connect(path)) as db:
        db.execute("update arrays set crc32 = crc32 + 1")
        db.commit()
    with pytest.raises(FormatError, match="checksum"):
        run_query(ReportSource(path), "select * from cycles_by_tile")


def test_a_file_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "r")
    shutil.copy(path, tmp_path / "profile.pop")
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert run_query(ReportSource(path), "select count(*) from tiles").rows == [(4,)]
    finally:
        path.parent.chmod(0o755)


def test_frames_of_queries() -> None:
    report = popvision.open(SAMPLES / "train_mlp")
    table = report.query("select tile, gaps_bytes from tiles order by 2 desc, 1 limit 3")
    assert (
        table.to_numpy().tolist()
        == (report.tiles().sort_values(["gaps_bytes", "tile"], ascending=[False, True])[["tile", "gaps_bytes"]][:3])
        .to_numpy()
        .tolist()
    )
    assert table.attrs["units"] == {"gaps_bytes": "bytes"}
    with pytest.raises(FormatError, match="more than 2 rows"):
        report.query("select tile from tiles", most_rows=2)
