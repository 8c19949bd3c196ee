"""Every way of asking in SQL holds its limits, whatever one call of SQLite or DuckDB does."""

from __future__ import annotations

import io
import json
import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import popvision
from popvision.agents.catalogue import Catalogue
from popvision.agents.protocol import serve
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.query import Limits, ask
from tests.cli.called import popvision as called
from tests.reports import write_tiny
from tests.samples import SAMPLES

REPORT = SAMPLES / "train_mlp"

#: One call of a function that SQLite's progress handler does not interrupt; minutes long.
ONE_CALL = "select instr(hex(zeroblob(30000000)), hex(zeroblob(15000000))||'1')"

#: Seconds of processor time of a bounded query: its limit, and what a process takes to start.
SOON = 10.0


def seconds_spent() -> float:
    """Processor time of this process and of those below it that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def by_open(sql: str) -> str:
    with pytest.raises(FormatError) as caught:
        popvision.open(REPORT).query(sql, timeout=0.2)
    return str(caught.value)


def by_command(sql: str) -> str:
    answer = called("query", REPORT, sql, "--timeout", "0.2")
    assert answer.returncode == 1
    return answer.stderr


def by_agent(sql: str) -> str:
    call = {"name": "query", "arguments": {"report": "sample_reports/train_mlp", "sql": sql, "seconds": 0.2}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answers = io.BytesIO()
    serve(Catalogue([SAMPLES]), io.BytesIO(json.dumps(request).encode() + b"\n"), answers)
    return str(json.loads(answers.getvalue())["result"])


@pytest.mark.parametrize("way", [by_open, by_command, by_agent])
def test_one_long_call_ends_with_the_limit(way: Callable[[str], str]) -> None:
    before = seconds_spent()
    assert "took longer than 0.2 s" in way(ONE_CALL)
    assert seconds_spent() - before < SOON


@pytest.mark.parametrize(
    "sql",
    [
        "select length(repeat('x', 2000000000) || repeat('y', 2000000000))",
        "select count(*) from range(1000000000000) a, range(1000) b",
    ],
)
def test_duckdb_is_bounded_too(sql: str) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(FormatError, match=r"took longer than 0\.5 s|memory|too large"):
        ask(REPORT, sql, Limits(seconds=0.5), "duckdb")


def test_many_rows_come_in_their_order() -> None:
    sql = "with recursive t(n) as (select 0 union all select n + 1 from t limit 3456) select n, 'x' || n from t"
    answer = ask(REPORT, sql, Limits(rows=3_000, skip=1))
    assert answer.rows == [(number, f"x{number}") for number in range(1, 3_001)]
    assert (answer.columns, answer.more) == (["n", "'x' || n"], True)
    assert ask(REPORT, "select n from (select 1 as n) where n = 2").rows == []


def test_what_is_not_recorded_keeps_its_exception(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "r")
    with pytest.raises(NotRecordedError, match="outputDebugInfo"):
        ask(path, "select * from operations")
    with pytest.raises(FormatError, match="No such table: tyles"):
        ask(path, "select * from tyles")


def test_a_forked_child_asks_processes_of_its_own() -> None:
    """Both would read each other's answers from one pipe."""
    assert ask(REPORT, "select 1").rows == [(1,)]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = all(ask(REPORT, f"select {number}").rows == [(number,)] for number in range(20))
            os.write(writer, b"same" if same else b"other")
        finally:
            os._exit(0)
    os.close(writer)
    here = [ask(REPORT, f"select {number}").rows for number in range(100, 120)]
    with os.fdopen(reader) as answers:
        assert answers.read() == "same"
    os.waitpid(child, 0)
    assert here == [[(number,)] for number in range(100, 120)]


def test_threads_ask_at_once() -> None:
    found: dict[int, object] = {}

    def ask_for(number: int) -> None:
        found[number] = ask(REPORT, f"select {number}").rows

    threads = [threading.Thread(target=ask_for, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: [(number,)] for number in range(5)}
