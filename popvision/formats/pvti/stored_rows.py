"""Rows of a thread in the tables of events. These have no index by thread, so that a search reads a table from its
begin to its end: who reads many threads asks once for the ids of all rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from popvision.formats.errors import FormatError
from popvision.formats.integrity import LostPart
from popvision.formats.pvti.checked_tables import (
    DAMAGE,
    Row,
    all_columns,
    check_row,
    checked_rows,
    name_of_row,
    sound_ids,
)
from popvision.formats.pvti.summed_tables import has_parts

_TABLES = ("slices", "instants", "raw_chunks")


@dataclass(frozen=True)
class StoredRows:
    """Ids of the rows of each thread, table by table, in the order written; (depth, position) of the events of each
    thread that never ended."""

    ids: Mapping[str, Mapping[int, list[int]]]
    unfinished: Mapping[int, list[tuple[int, int]]] = field(default_factory=dict)
    is_whole: bool = True  #: no table was cut off at a damaged row


def find_rows(db: sqlite3.Connection, lost: list[LostPart] | None = None) -> StoredRows:
    """Where all events are, each table read once. Raises FormatError for a damaged table; with `lost` a sentence goes
    there instead. Of a file of version 1.0 a damaged table raises `sqlite3.DatabaseError`."""
    is_checked, before = has_parts(db), len(lost or ())
    ids = {}
    for table in _TABLES:
        pairs = (
            _sound_pairs(db, table, lost) if is_checked else db.execute(f"SELECT id, thread FROM {table} ORDER BY id")
        )
        ids[table] = _by_thread(pairs)
    unfinished: dict[int, list[tuple[int, int]]] = {}
    try:
        for thread, depth, position in sorted(checked_rows(db, "unfinished")):
            unfinished.setdefault(thread, []).append((depth, position))
    except DAMAGE as error:
        if lost is None or not is_checked:
            raise
        unfinished = {}
        lost.append(LostPart("events", f"The list of unfinished events is left out: {_reason(error)}."))
    return StoredRows(ids, unfinished, before == len(lost or ()))


def _sound_pairs(db: sqlite3.Connection, table: str, lost: list[LostPart] | None) -> list[tuple[int, int]]:
    try:
        return sorted((row[0], row[1]) for row in checked_rows(db, table))
    except sqlite3.OperationalError:
        raise  # locked: all of it can be read later
    except DAMAGE as error:
        if lost is None:
            raise
        pairs = sound_ids(db, table)
        lost.append(
            LostPart("events", f"Events are left out from {name_of_row(table, len(pairs) + 1)} on: {_reason(error)}.")
        )
        return pairs


def _by_thread(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    ids: dict[int, list[int]] = {}
    for id, thread in pairs:
        ids.setdefault(thread, []).append(id)
    return ids


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def rows_of(db: sqlite3.Connection, table: str, thread: int, stored: StoredRows | None) -> Iterator[Row]:
    """The rows of a thread in the order written, by their ids where these are known: all columns. Raises FormatError
    for a row that is missing or not what was written."""
    query, is_checked = f"SELECT {all_columns(table)} FROM {table}", has_parts(db)
    rows: Iterable[Row]
    if stored is None:
        rows = db.execute(f"{query} WHERE thread = ? ORDER BY id", (thread,))
    else:
        rows = (_row(db, query, table, id) for id in stored.ids[table].get(thread, ()))
    for row in rows:
        check_row(table, row, is_checked)
        yield row


def _row(db: sqlite3.Connection, query: str, table: str, id: int) -> Row:
    row: Row | None = db.execute(f"{query} WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise FormatError(f"{name_of_row(table, id)} is damaged: it cannot be found.")
    return row
