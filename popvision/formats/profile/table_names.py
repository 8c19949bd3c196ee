"""Tables and columns of a database: those of the format, missing ones, unknown ones. Without NumPy."""

from __future__ import annotations

import sqlite3

from popvision.formats.profile.schema import APPLICATION_ID, TABLES


def present(db: sqlite3.Connection) -> set[str]:
    """Names of tables and views."""
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}


def column_names(db: sqlite3.Connection, table: str) -> set[str]:
    """Columns of a table or view."""
    return {str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")}


def is_ours(db: sqlite3.Connection) -> bool:
    """Whether ProfileWriter wrote the database, with checksums over everything. A host trace has a table `parts` too,
    of other columns."""
    (application_id,) = db.execute("PRAGMA application_id").fetchone()
    return application_id == APPLICATION_ID or "crc32" in column_names(db, "parts")


def missing(db: sqlite3.Connection) -> list[str]:
    """Tables of the format, and columns as "table.column", that the database lacks."""
    tables, lacking = present(db), []
    for table in TABLES.values():
        if table.name not in tables:
            lacking.append(table.name)
            continue
        columns = column_names(db, table.name)
        lacking += [f"{table.name}.{name}" for name, _ in table.columns if name not in columns]
    return lacking


def unknown(db: sqlite3.Connection) -> list[str]:
    """Tables that the format does not know, and columns as "table.column" of those that it does."""
    names = []
    for name in sorted(present(db) - {"arrays", "parts"}):
        if name.startswith("sqlite_"):
            continue
        if name not in TABLES:
            names.append(name)
            continue
        known = {column for column, _ in TABLES[name].columns}
        names += [f"{name}.{column}" for column in sorted(column_names(db, name) - known)]
    return names
