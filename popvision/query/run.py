"""Run a query in SQLite on the file itself, over a locked connection and within its limits."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.integrity import Verified
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.profile.schema import TABLES
from popvision.query.answer import TOO_MUCH_MEMORY, Answer, Limits, column_names, take_rows
from popvision.query.functions import ArrayFunctions
from popvision.query.guard import check_statement, lock
from popvision.query.views import RENAMED, VIEWS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Instructions of SQLite's virtual machine between two checks of the clock.
_INSTRUCTIONS = 20_000

#: Rows of the tables of one query up to which these are compared with their checksums: some tenths of a second.
_MOST_CHECKED = 200_000


def run_query(source: ReportSource, sql: str, limits: Limits = Limits()) -> Answer:  # noqa: B008
    """Run a SELECT over VIEWS and the tables of the file.

    Raises FormatError, one sentence, for SQL that is wrong, does anything but read, or exceeds `limits.seconds` or
    `limits.heap`; NotRecordedError for a view whose tables the report lacks."""
    check_statement(sql)
    began = time.monotonic()
    problem: FormatError | NotRecordedError
    with _open_session(source, sql, limits) as session:
        try:
            return _rows(session, sql, limits)
        except sqlite3.Warning as error:  # several statements, before Python 3.12
            problem = FormatError(f"The query cannot be run: {error}")
        except sqlite3.Error as error:
            problem = _explain_error(error, session, limits.seconds, time.monotonic() - began)
        except MemoryError:
            problem = FormatError(TOO_MUCH_MEMORY)
        except (OverflowError, ValueError) as error:  # a NUL or a lone surrogate in the text
            problem = FormatError(f"The query cannot be run: {error}.")
    raise problem


def _rows(session: _Session, sql: str, limits: Limits) -> Answer:
    cursor = session.db.execute(sql)
    rows, more = take_rows(cursor, limits)
    return Answer(column_names(cursor.description), rows, more, _verified(session))


def _verified(session: _Session) -> Verified:
    """How much of what was read has been compared with its checksums. Raises FormatError for a damaged table."""
    reader = session.source.reader
    if reader.foreign:
        return "no"
    names = sorted(session.read & TABLES.keys())
    if sum(map(reader.rows, names)) > _MOST_CHECKED or session.read & {"arrays", "parts"}:
        return "partly"
    reader.check_tables(names)
    return "yes"


@dataclass
class _Session:
    """`absent`: view -> why this report cannot provide it; `read`: tables that statements read."""

    source: ReportSource
    db: sqlite3.Connection
    functions: ArrayFunctions
    absent: dict[str, str]
    read: set[str]


@contextlib.contextmanager
def _open_session(source: ReportSource, sql: str, limits: Limits) -> Iterator[_Session]:
    """A read-only connection in one read transaction, with the views whose names occur in `sql`. It interrupts every
    statement after `limits.seconds`."""
    file = SqliteFile(source.reader.path, "profile.pop")
    with file.connect() as db, file.connect() as arrays:
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        if limits.heap:
            db.execute(f"PRAGMA hard_heap_limit={int(limits.heap)}").fetchone()
            db.execute("PRAGMA temp_store=MEMORY")
        functions = ArrayFunctions(source, arrays)
        functions.add_to(db)
        absent = {name: reason for name in VIEWS if name in sql.lower() and (reason := _create_view(db, name))}
        read: set[str] = set()
        lock(db, read)
        ends = time.monotonic() + limits.seconds
        db.set_progress_handler(lambda: time.monotonic() > ends, _INSTRUCTIONS)
        yield _Session(source, db, functions, absent, read)


def _create_view(db: sqlite3.Connection, name: str) -> str:
    """Create a view. Returns why this file cannot provide it, "" on success."""
    db.execute(f"CREATE TEMP VIEW {name} AS {VIEWS[name].select}")
    try:
        db.execute(f"SELECT * FROM {name} LIMIT 0")
    except sqlite3.OperationalError as error:
        db.execute(f"DROP VIEW temp.{name}")
        return str(error)
    return ""


def _explain_error(
    error: sqlite3.Error, session: _Session, seconds: float, spent: float
) -> FormatError | NotRecordedError:
    """The exception to raise for an error of SQLite, one sentence for the author of the query."""
    text = str(error).rstrip(".")
    if session.functions.problem is not None:
        return session.functions.problem
    if "interrupted" in text:
        return FormatError(
            f"The query took longer than {seconds:g} s (it was stopped after {spent:.1f} s); narrow it with WHERE, or "
            "allow more time."
        )
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return FormatError(f"Queries only read, and only this report: {text}.")
    missing = text.removeprefix("no such table: ").removeprefix("temp.")
    if missing in session.absent:
        return NotRecordedError(f"This report cannot provide the view {missing}: {session.absent[missing]}.")
    if missing in RENAMED:
        return FormatError(f"The view {missing} is called {RENAMED[missing]}.")
    if text.startswith("no such table"):
        return FormatError(f"{text[0].upper()}{text[1:]}; the views are {', '.join(VIEWS)}.")
    return FormatError(f"The query cannot be run: {text}.")
