"""Rows of a thread in the tables of events. These have no index by thread, so that a search reads a table from its
begin to its end: who reads many threads asks once for the ids of all rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

_TABLES = ("slices", "instants", "raw_chunks")

#: Ids of the rows of each thread, table by table, in the order written.
StoredRows = Mapping[str, Mapping[int, list[int]]]


def find_rows(db: sqlite3.Connection) -> StoredRows:
    """The ids of all rows of events, each table read once. Raises `sqlite3.DatabaseError` for a damaged table."""
    return {table: _ids_by_thread(db, table) for table in _TABLES}


def _ids_by_thread(db: sqlite3.Connection, table: str) -> dict[int, list[int]]:
    ids: dict[int, list[int]] = {}
    for id, thread in db.execute(f"SELECT id, thread FROM {table} ORDER BY id"):
        ids.setdefault(thread, []).append(id)
    return ids


def rows_of(
    db: sqlite3.Connection, columns: str, table: str, thread: int, stored: StoredRows | None
) -> Iterator[tuple[Any, ...]]:
    """The rows of a thread in the order written, by their ids where these are known."""
    if stored is None:
        yield from db.execute(f"SELECT {columns} FROM {table} WHERE thread = ? ORDER BY id", (thread,))
        return
    for id in stored[table].get(thread, ()):
        yield from db.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (id,))
