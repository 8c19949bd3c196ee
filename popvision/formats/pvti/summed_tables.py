"""Writes rows of a trace and keeps the checksum of each table: the standard library only, as in `writer`.

A table's checksum is a sum over its rows (`schema`), so that a row costs one crc32 however long the table is; of rows
that may be replaced the checksums are kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from types import NoneType
from zlib import crc32

from popvision.formats.pvti import schema

Value = int | str | bytes | None


#: Types of the values of a row -> the format of its text, and whether a value is a blob.
_FORMATS: dict[tuple[type, ...], tuple[str, bool]] = {}

#: Rows that are inserted at once.
_ROWS = 1 << 14


def row_checksum(row: Sequence[object]) -> int:
    """crc32 of values, see `schema`."""
    types = tuple(map(type, row))
    known = _FORMATS.get(types)
    if known is None:
        known = _FORMATS[types] = "".join(map(_format, types)), any(issubclass(each, bytes) for each in types)
    text, has_blobs = known
    values = [crc32(value) if isinstance(value, bytes) else value for value in row] if has_blobs else row
    return crc32((text % tuple(values)).encode("utf-8", "surrogatepass"))


def _format(type: type) -> str:
    if issubclass(type, str):
        return "'%s\0"
    if issubclass(type, bytes):
        return "x%s\0"
    return "%.0s\0" if type is NoneType else "%s\0"  # of None nothing


def _checksums(rows: Sequence[tuple[Value, ...]]) -> int:
    """The sum of the checksums of rows; faster where all have the same types."""
    if any(len(set(map(type, column))) > 1 or isinstance(column[0], bytes) for column in zip(*rows, strict=True)):
        return sum(map(row_checksum, rows))
    text = "".join(_format(type(value)) for value in rows[0])
    return sum([crc32((text % row).encode("utf-8", "surrogatepass")) for row in rows])


def blobs_checksum(before: Sequence[object] | None, blobs: Sequence[bytes]) -> int:
    """The column crc of a row whose columns before it are these; None in a file of version 1.0."""
    crc = 0 if before is None else row_checksum(before)
    for blob in blobs:
        crc = crc32(blob, crc)
    return crc


def has_parts(db: sqlite3.Connection) -> bool:
    """Whether the file has checksums of its tables: it is of version 1.1 or later."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'parts'").fetchone() is not None


class SummedTables:
    """The tables of a trace that is written. `write_sums` ends each transaction; after a rollback `forget` is due.

    Of a file of version 1.0 no checksums are kept: nobody knows whether its tables were whole."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._is_checked = has_parts(db)
        self.forget()

    def forget(self) -> None:
        """Take what is known of the tables from the file."""
        rows = self._db.execute("SELECT name, rows, crc FROM parts").fetchall() if self._is_checked else []
        self._sums: dict[str, tuple[int, int]] = {name: (n, crc) for name, n, crc in rows}
        self._replaceable: dict[str, dict[object, int]] = {}
        self._changed: set[str] = set()

    def put(self, table: str, row: Sequence[Value]) -> None:
        """A row, or a new one for its first column."""
        crcs = self._replaceable.get(table)
        if crcs is None:
            crcs = self._replaceable[table] = self._crcs(table)
        self._insert("INSERT OR REPLACE", table, row)
        crc = row_checksum(row)
        before = crcs.get(row[0])
        crcs[row[0]] = crc
        self._count(table, int(before is None), crc - (before or 0))

    def add(self, table: str, row: Sequence[Value]) -> None:
        """A row that no other replaces."""
        self._insert("INSERT", table, row)
        self._count(table, 1, row_checksum(row))

    def add_all(self, table: str, rows: Iterable[tuple[Value, ...]]) -> None:
        """Many rows that replace none."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS)):
            self._replaceable.pop(table, None)
            self._refuse_outside_transaction(table)
            self._db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(batch[0]))})", batch)
            self._count(table, len(batch), _checksums(batch))

    def append(self, table: str, before: Sequence[Value], blobs: Sequence[bytes]) -> None:
        """A row of a table with a column crc: the columns between its id and that one, and the blobs after it."""
        row = (self.rows(table) + 1, *before)
        row = (*row, blobs_checksum(row if self._is_checked else None, blobs))
        self._insert("INSERT", table, (*row, *blobs))
        self._count(table, 1, row_checksum(row))

    def rows(self, table: str) -> int:
        """Rows of a table."""
        return self._sums.get(table, (0, 0))[0]

    def clear(self, table: str) -> None:
        """Delete all rows of a table."""
        self._db.execute(f"DELETE FROM {table}")
        self._sums[table] = 0, 0
        self._changed.add(table)

    def write_sums(self) -> None:
        """Write the checksums of the tables that have changed."""
        if self._is_checked:
            rows = [(table, *self._sums[table]) for table in sorted(self._changed)]
            self._db.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", rows)
        self._changed.clear()

    def _insert(self, verb: str, table: str, row: Sequence[Value]) -> None:
        self._refuse_outside_transaction(table)
        self._db.execute(f"{verb} INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def _refuse_outside_transaction(self, table: str) -> None:
        if not self._db.in_transaction:  # its checksum would stay that of the table before
            raise ValueError(f"a row of {table} is written inside transaction(), which writes the table's checksum.")

    def _count(self, table: str, rows: int, crc: int) -> None:
        n, total = self._sums.get(table, (0, 0))
        self._sums[table] = n + rows, (total + crc) & 0xFFFFFFFF
        self._changed.add(table)

    def _crcs(self, table: str) -> dict[object, int]:
        found = self._db.execute(f"SELECT {', '.join(schema.CHECKED[table])} FROM {table}")
        return {row[0]: row_checksum(row) for row in found}
