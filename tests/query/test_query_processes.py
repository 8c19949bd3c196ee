"""Queries in processes: the same answers, cancelled at once, bounded; and the prepared questions."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.package_data import package_folder
from popvision.query import Limits
from popvision.query.processes import QueryProcesses
from popvision.query.questions import QUESTIONS
from popvision.query.run import run_query
from popvision.query.views import VIEWS
from tests.waiting import wait_until

ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"
REPORT = package_folder("sample_reports") / "train_mlp"


@pytest.fixture(scope="module")
def processes() -> Iterator[QueryProcesses]:
    made = QueryProcesses()
    yield made
    made.close()


def test_a_process_starts_without_what_one_question_reads() -> None:
    code = "import sys, popvision.query.worker; print(*(name for name in sys.modules if name.startswith('popvision')))"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"popvision.analysis.{room}" for room in ("compare", "explain")} & set(started.stdout.split())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
def test_prepared_questions_answer_as_in_this_process(processes: QueryProcesses, question: object) -> None:
    sql = question.sql  # type: ignore[attr-defined]
    answer = processes.run("one", REPORT, sql, Limits())
    assert answer == run_query(ReportSource(REPORT), sql)
    assert answer.rows


def test_prepared_questions_name_views_and_their_columns() -> None:
    assert len({each.title for each in QUESTIONS}) == len(QUESTIONS)
    assert all(any(f"from {view}" in each.sql for view in VIEWS) for each in QUESTIONS)


def seconds_of_workers() -> float:
    """Processor time of the processes that answer queries: more than their imports take, once a query runs."""
    ticks = 0
    for child in Path(f"/proc/{os.getpid()}").glob("task/*/children"):
        for process in child.read_text().split():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def test_a_query_that_runs_is_cancelled(processes: QueryProcesses) -> None:
    problems: list[str] = []

    def run() -> None:
        try:
            processes.run("endless", REPORT, ENDLESS, Limits(seconds=60))
        except FormatError as problem:
            problems.append(str(problem))

    before = seconds_of_workers()
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: seconds_of_workers() > before + 1, "the query runs")
    assert processes.cancel("endless")
    thread.join(60)
    assert problems == ["The query was cancelled."]
    assert not processes.cancel("endless")
    assert processes.run("next", REPORT, "select 1", Limits()).rows == [(1,)]


def test_no_more_than_two_run_at_once(processes: QueryProcesses) -> None:
    threads = []
    for name in ("a", "b"):
        thread = threading.Thread(target=lambda name=name: _fails(processes, name))
        thread.start()
        threads.append(thread)

    def refused() -> bool:
        try:
            processes.run("c", REPORT, "select 1", Limits())
        except FormatError as problem:
            return "2 queries are running" in str(problem)
        return False

    wait_until(refused, "both run")
    for thread, name in zip(threads, ("a", "b"), strict=True):
        processes.cancel(name)
        thread.join(10)


def _fails(processes: QueryProcesses, name: str) -> None:
    with pytest.raises(FormatError, match="cancelled"):
        processes.run(name, REPORT, ENDLESS, Limits(seconds=60))


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (ENDLESS, "took longer than 1 s"),
        ("select group_concat(n) from (with recursive t(n) as (select hex(zeroblob(1000000)) union all select n from t"
         " limit 2000) select n from t)", "too|memory|big"),
        ("select tile from tiles, (select 1 union select 2) where abs(-9223372036854775808)", "cannot be run"),
        ("select * from read_csv('/etc/passwd')", "No such table"),
        ("select readfile('/etc/passwd')", "no such function|not authorized"),
        ("select load_extension('x')", "Queries only read"),
        ("select * from pragma_database_list", "Queries only read"),
        ("with a as (select 1) insert into steps select * from a", "Queries only read"),
        ("attach 'x.db' as x", "Queries only read"),
        ("copy steps to 'x.csv'", "Queries only read"),
        ("pragma writable_schema=1", "Queries only read"),
        ("create temp table x (a)", "Queries only read"),
        ("select 1; drop table steps", "one statement"),
    ],
)  # fmt: skip
def test_what_a_query_may_not_ends_with_a_sentence(
    processes: QueryProcesses, sql: str, words: str, tmp_path: Path
) -> None:
    before = (REPORT / "profile.pop").read_bytes()
    with pytest.raises(FormatError, match=words):
        processes.run("bad", REPORT, sql, Limits(seconds=1))
    assert (REPORT / "profile.pop").read_bytes() == before


def test_files_of_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    processes = QueryProcesses()
    assert processes.run("one", REPORT.resolve(), "select 1", Limits()).rows == [(1,)]
    processes.close()


def test_a_process_that_dies_is_replaced(processes: QueryProcesses) -> None:
    processes.run("one", REPORT, "select 1", Limits())
    for process in processes._idle:
        process.kill()
        process.wait()
    assert processes.run("two", REPORT, "select 2", Limits()).rows == [(2,)]
