"""The layout of a database without its contents: tables, columns, row counts, sizes of blobs."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from popvision.formats.profile.connection import SqliteFile


@dataclass(frozen=True)
class ColumnReport:
    name: str
    declared_type: str
    blob_bytes: int  #: bytes of all blobs in the column, 0 where there are none


@dataclass(frozen=True)
class TableReport:
    name: str
    rows: int
    columns: list[ColumnReport]


@dataclass(frozen=True)
class SchemaReport:
    """Names and sizes only, so that it can be passed on without passing on a report."""

    page_size: int  #: bytes
    file_bytes: int
    journal_mode: str
    user_version: int
    application_id: int
    tables: list[TableReport]


def schema_report(file: SqliteFile) -> SchemaReport:
    """Reads names and sizes of any SQLite database. Raises FormatError when it is damaged."""
    with file.connect() as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return SchemaReport(
            page_size=_pragma(db, "page_size"),
            file_bytes=file.path.stat().st_size,
            journal_mode=str(db.execute("PRAGMA journal_mode").fetchone()[0]),
            user_version=_pragma(db, "user_version"),
            application_id=_pragma(db, "application_id"),
            tables=[_table(db, name) for name in names],
        )


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _table(db: sqlite3.Connection, name: str) -> TableReport:
    quoted = _quoted(name)
    columns = [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({quoted})")]
    sums = [f"total(CASE WHEN typeof({_quoted(c)}) = 'blob' THEN length({_quoted(c)}) END)" for c, _ in columns]
    rows, *sizes = db.execute(f"SELECT {', '.join(['count(*)', *sums])} FROM {quoted}").fetchone()
    blobs = zip(columns, sizes, strict=True)
    return TableReport(name, rows, [ColumnReport(column, kind, int(size)) for (column, kind), size in blobs])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
