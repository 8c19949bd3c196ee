"""The same queries in DuckDB, if it is installed: for aggregates over many rows, and for its dialect.

SQLite reads the views and tables that the query names, within the same limits; an in-memory DuckDB without access to
files or the network runs the query on them."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from popvision.formats.errors import FormatError
from popvision.formats.integrity import Verified, least_verified
from popvision.query.answer import Answer, Limits, column_names, take_rows
from popvision.query.guard import check_statement
from popvision.query.run import run_query

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Maximum rows of one view.
MOST_ROWS = 5_000_000

#: Rows fetched at once; each may hold much text.
_BATCH = 100

_CONFIG = {"enable_external_access": "false", "memory_limit": "1GB", "temp_directory": "", "threads": "2"}


def run_duckdb(source: ReportSource, sql: str, limits: Limits = Limits()) -> Answer:  # noqa: B008
    """Like `run.run_query`. Raises FormatError also when DuckDB is not installed."""
    import pandas as pd

    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        raise FormatError("DuckDB is not installed: pip install 'popvision[sql]', or omit --engine.") from None
    check_statement(sql)
    ends = time.monotonic() + limits.seconds
    with duckdb.connect(":memory:", config=_CONFIG) as db:
        try:
            verified: list[Verified] = []
            for name in _tables_in(duckdb, db, sql):
                table = _table(source, name, max(0.1, ends - time.monotonic()))
                db.register(name, pd.DataFrame(table.rows, columns=table.columns))
                verified.append(table.verified)
            db.execute("SET lock_configuration=true")
            answer = _run(db, sql, limits, max(0.1, ends - time.monotonic()))
            return replace(answer, verified=least_verified(verified))
        except duckdb.InterruptException:
            raise FormatError(
                f"The query took longer than {limits.seconds:g} s; narrow it with WHERE, or allow more time."
            ) from None
        except duckdb.Error as error:
            text = " ".join(str(error).split())[:500].rstrip(".")
            raise FormatError(f"The query cannot be run by DuckDB: {text}.") from None


def run_on_parquet(path: str, sql: str, limits: Limits) -> Answer:
    """A SELECT over the table `rows`, which holds a Parquet file in its order: rowid counts from 0. Raises FormatError,
    one sentence, for SQL that cannot be run."""
    duckdb = importlib.import_module("duckdb")
    with duckdb.connect(":memory:", config=_CONFIG | {"enable_external_access": "true"}) as db:
        try:
            db.execute("CREATE TABLE rows AS SELECT * FROM read_parquet(?)", [path])
            db.execute("SET enable_external_access=false")
            db.execute("SET lock_configuration=true")
            if len(db.extract_statements(sql)) != 1:
                raise FormatError("it is more than one statement")
            return _run(db, sql, limits, limits.seconds)
        except duckdb.InterruptException:
            raise FormatError(f"it takes more than {limits.seconds:g} s; ask for less") from None
        except duckdb.Error as error:
            raise FormatError(" ".join(str(error).split())[:300].rstrip(".")) from None


def _tables_in(duckdb: Any, db: Any, sql: str) -> list[str]:
    """The tables that the statement names. Raises FormatError for several statements and for anything but a SELECT."""
    statements = db.extract_statements(sql)
    if len(statements) != 1:
        raise FormatError(f"Give one statement at a time, not {len(statements)}.")
    if statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise FormatError(f"Queries only read: {statements[0].type.name} is not a SELECT.")
    names = db.get_table_names(sql)
    return sorted(name for name in names if name.replace("_", "").isalnum())


def _table(source: ReportSource, name: str, seconds: float) -> Answer:
    answer = run_query(source, f'SELECT * FROM "{name}"', Limits(seconds=seconds, rows=MOST_ROWS))
    if answer.more:
        raise FormatError(
            f"{name} has more than {MOST_ROWS:,} rows in this report; omit --engine to query it in SQLite."
        )
    return answer


def _run(db: Any, sql: str, limits: Limits, seconds: float) -> Answer:
    stop = threading.Timer(seconds, db.interrupt)
    stop.start()
    try:
        cursor = db.execute(sql)
        rows, more = take_rows(_each(cursor), limits)
    finally:
        stop.cancel()
    return Answer(column_names(cursor.description), rows, more)


def _each(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while batch := cursor.fetchmany(_BATCH):
        yield from batch
