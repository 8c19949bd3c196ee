"""A locked connection to a report with the views and functions that queries use."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.profile.connection import SqliteFile
from popvision.query.answer import Limits
from popvision.query.functions import ArrayFunctions
from popvision.query.guard import lock
from popvision.query.views import VIEWS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Instructions of SQLite's virtual machine between two checks of the clock.
_INSTRUCTIONS = 20_000


@dataclass
class Session:
    """`absent`: view -> why this report cannot provide it."""

    db: sqlite3.Connection
    functions: ArrayFunctions
    absent: dict[str, str]


@contextlib.contextmanager
def open_session(source: ReportSource, sql: str, limits: Limits) -> Iterator[Session]:
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
        lock(db)
        ends = time.monotonic() + limits.seconds
        db.set_progress_handler(lambda: time.monotonic() > ends, _INSTRUCTIONS)
        yield Session(db, functions, absent)


def _create_view(db: sqlite3.Connection, name: str) -> str:
    """Create a view. Returns why this file cannot provide it, "" on success."""
    db.execute(f"CREATE TEMP VIEW {name} AS {VIEWS[name].select}")
    try:
        db.execute(f"SELECT * FROM {name} LIMIT 0")
    except sqlite3.OperationalError as error:
        db.execute(f"DROP VIEW temp.{name}")
        return str(error)
    return ""


def explain_error(
    error: sqlite3.Error, session: Session, seconds: float, spent: float
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
    if text.startswith("no such table"):
        return FormatError(f"{text[0].upper()}{text[1:]}; the views are {', '.join(VIEWS)}.")
    return FormatError(f"The query cannot be run: {text}.")
