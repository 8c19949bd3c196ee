"""Run a query in SQLite on the file itself, within its limits."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.query.answer import Answer, Limits, take_rows
from popvision.query.guard import check_statement
from popvision.query.session import Session, explain_error, open_session

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def run_query(source: ReportSource, sql: str, limits: Limits = Limits()) -> Answer:  # noqa: B008
    """Run a SELECT over VIEWS and the tables of the file.

    Raises FormatError, one sentence, for SQL that is wrong, does anything but read, or exceeds `limits.seconds` or
    `limits.heap`; NotRecordedError for a view whose tables the report lacks."""
    check_statement(sql)
    began = time.monotonic()
    problem: FormatError | NotRecordedError
    with open_session(source, sql, limits) as session:
        try:
            return _rows(session, sql, limits)
        except sqlite3.Warning as error:  # several statements, before Python 3.12
            problem = FormatError(f"The query cannot be run: {error}")
        except sqlite3.Error as error:
            problem = explain_error(error, session, limits.seconds, time.monotonic() - began)
        except MemoryError:
            problem = FormatError("The query needs too much memory; narrow it with WHERE or LIMIT.")
        except (OverflowError, ValueError) as error:  # a NUL or a lone surrogate in the text
            problem = FormatError(f"The query cannot be run: {error}.")
    raise problem


def _rows(session: Session, sql: str, limits: Limits) -> Answer:
    cursor = session.db.execute(sql)
    rows, more = take_rows(cursor, limits)
    return Answer([name for name, *_ in cursor.description or ()], rows, more)
