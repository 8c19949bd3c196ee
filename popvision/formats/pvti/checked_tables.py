"""Reads the tables of a trace and compares them with the checksums that its writer left, see `schema`.

A table of names is read in full or not at all. Of the tables of events a row with its blobs has a checksum, too: where
the table as a whole is not what was written, rows up to the first one that is missing or damaged are left. A file of
version 1.0 has checksums of the blobs alone: all else of it is taken as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from popvision.formats.errors import FormatError
from popvision.formats.pvti import schema
from popvision.formats.pvti.summed_tables import blobs_checksum, has_parts, row_checksum

Row = tuple[Any, ...]

#: Raised by rows whose pages, types or sizes are not those that a writer leaves.
DAMAGE = (FormatError, sqlite3.DatabaseError, TypeError, ValueError, OverflowError, LookupError, MemoryError)


def part_of(db: sqlite3.Connection, table: str) -> tuple[int, int] | None:
    """Rows and checksum that a table has by what its writer left; None where it left none."""
    if not has_parts(db):
        return None
    found = [row[1:] for row in db.execute("SELECT name, rows, crc FROM parts") if row[0] == table]
    return found[0] if found else (0, 0)


def checked_rows(db: sqlite3.Connection, table: str) -> Iterator[Row]:
    """The columns of CHECKED of all rows. Raises FormatError after the last one where these are not what was written:
    nothing may be believed before."""
    part = part_of(db, table)
    columns = ", ".join(schema.CHECKED[table])
    rows = crc = 0
    for row in db.execute(f"SELECT {columns} FROM {table}"):
        yield row
        if part is not None:
            rows, crc = rows + 1, crc + row_checksum(row)
    if part is not None and (rows, crc & 0xFFFFFFFF) != part:
        raise FormatError(f"table {table} is damaged: it does not match its checksum.")


def sorted_rows(db: sqlite3.Connection, table: str) -> list[Row]:
    """All checked rows in the order of their first column, whatever the damaged tree of a table says."""
    return sorted(checked_rows(db, table), key=lambda row: row[0])


def check_row(table: str, row: Sequence[Any], is_checked: bool) -> None:
    """FormatError where a row of a table with blobs, as `all_columns` names its columns, is not what was written."""
    at = len(schema.CHECKED[table]) - 1
    if blobs_checksum(row[:at] if is_checked else None, row[at + 1 :]) != row[at]:
        raise FormatError(f"{name_of_row(table, row[0])} is damaged: its checksum differs.")


def name_of_row(table: str, id: int) -> str:
    """What a row is called in sentences."""
    return f"journal chunk {id}" if table == "raw_chunks" else f"{table} row {id}"


def all_columns(table: str) -> str:
    """The columns of a table with blobs, in their order."""
    return ", ".join(schema.CHECKED[table] + schema.BLOBS[table])


def sound_ids(db: sqlite3.Connection, table: str) -> list[tuple[int, int]]:
    """(id, thread) of the rows up to the first that is missing or damaged, of a table that is damaged as a whole."""
    ids: list[tuple[int, int]] = []
    try:
        for row in db.execute(f"SELECT {all_columns(table)} FROM {table}"):
            if row[0] != len(ids) + 1:
                break
            check_row(table, row, is_checked=True)
            ids.append((row[0], row[1]))
    except DAMAGE:
        pass
    return ids
