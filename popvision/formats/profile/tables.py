"""Scalar tables back as columns, checked against their rows of `parts`, kept until the file changes."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from typing import Any

import numpy as np

from popvision.formats.errors import FormatError
from popvision.formats.profile.checksum import Column, as_column, columns_crc
from popvision.formats.profile.connection import Signature, SqliteFile
from popvision.formats.profile.model import FORMAT_VERSION
from popvision.formats.profile.schema import APPLICATION_ID, TABLES, Table

#: File systems round times to a clock tick.
_CLOCK_TICK_NS = 50_000_000

#: What a column that a foreign database lacks is filled with.
_ABSENT = {"debug_id": -1, "compute_set": -1, "variable": -1, "eq_class": -1, "flops": -1, "code_bytes": -1}


class Tables:
    """The tables of one profile.pop. Columns come back as int64 or float64 arrays or lists of str, in key order."""

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self._signature: Signature | None = None
        self._columns: dict[str, dict[str, Column]] = {}
        self._lock = threading.Lock()
        with file.connect() as db:
            self._present = _present(db)
            self.foreign = not self._is_ours(db)
            if not self.foreign:
                self._check_version(db)
        if self.foreign and not self._present & {"steps", "programs", "memory_by_tile", "vars_info"}:
            raise FormatError(
                f"{file.path} is an SQLite database, but none of its tables are those of a profile.pop; "
                "give the profile.pop of a report folder."
            )

    @property
    def missing(self) -> list[str]:
        """Tables of the format, and columns as "table.column", that the file does not have."""
        with self.file.connect() as db:
            present = _present(db)
            return [name for table in TABLES.values() for name in _missing_of(db, table, present)]

    def __getitem__(self, name: str) -> dict[str, Column]:
        """Columns of a table by name; empty columns where a foreign database lacks the table.

        Raises FormatError when the rows do not match their checksum."""
        with self._lock:
            self._forget_old()
            if name not in self._columns:
                with self.file.connect() as db:
                    self._columns[name] = self._read(db, TABLES[name])
            return self._columns[name]

    def holds(self, name: str) -> bool:
        """Whether the file has the table; files of earlier versions may lack younger ones."""
        return name in self._present

    def ints(self, name: str, column: str) -> Any:
        """One integer or real column as an array."""
        return self[name][column]

    def _forget_old(self) -> None:
        now = self.file.signature()
        if now != self._signature:
            # A file written a moment ago may change again without a new time stamp: do not trust that one yet.
            settled = all(entry is None or time.time_ns() - entry[2] > _CLOCK_TICK_NS for entry in now)
            self._columns, self._signature = {}, now if settled else None

    def _read(self, db: sqlite3.Connection, table: Table) -> dict[str, Column]:
        try:
            if self.foreign:
                return _read_foreign(db, table, self._present)
            columns = _fetch(db, table, [name for name, _ in table.columns], ", ".join(table.key))
            self._check(db, table, columns)
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{self.file.path}: table {table.name} is damaged: {error}.") from None
        return columns

    def _check(self, db: sqlite3.Connection, table: Table, columns: dict[str, Column]) -> None:
        begin = 0
        parts = db.execute("SELECT rows, crc32 FROM parts WHERE name = ? ORDER BY part", (table.name,)).fetchall()
        for rows, crc in parts:
            if not isinstance(rows, int) or rows < 0:
                raise ValueError("its checksum row is no number")
            if columns_crc([column[begin : begin + rows] for column in columns.values()]) != crc:
                raise ValueError(f"rows from {begin} on do not match their checksum")
            begin += rows
        found = len(next(iter(columns.values())))
        if not parts or begin != found:
            raise ValueError(f"it has {found} rows, its checksums cover {begin}")

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        (application_id,) = db.execute("PRAGMA application_id").fetchone()
        return application_id == APPLICATION_ID or "parts" in self._present

    def _check_version(self, db: sqlite3.Connection) -> None:
        row = db.execute("SELECT value FROM meta WHERE key = 'formatVersion'").fetchone()
        try:
            version = json.loads(row[0])
            major = int(version.split(".")[0])
        except (TypeError, ValueError, AttributeError):
            raise FormatError(f"{self.file.path} is damaged: it does not say which format version it has.") from None
        if major > FORMAT_VERSION[0]:
            raise FormatError(
                f"{self.file.path} has format version {version}; this popvision reads up to {FORMAT_VERSION[0]}.x: "
                "install a newer popvision."
            )


def _present(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}


def _missing_of(db: sqlite3.Connection, table: Table, present: set[str]) -> list[str]:
    if table.name not in present:
        return [table.name]
    found = _column_names(db, table.name)
    return [f"{table.name}.{name}" for name, _ in table.columns if name not in found]


def _column_names(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({table})")}


def _read_foreign(db: sqlite3.Connection, table: Table, present: set[str]) -> dict[str, Column]:
    known = _column_names(db, table.name) if table.name in present else set()
    names = [name for name, _ in table.columns if name in known]
    order = [name for name in table.key if name in known]
    found = _fetch(db, table, names, ", ".join(order) or "1") if names else {}
    rows = len(next(iter(found.values()))) if found else 0
    kinds = dict(table.columns)
    return {name: found[name] if name in found else _filled(name, kinds[name], rows) for name in kinds}


def _filled(name: str, kind: str, rows: int) -> Column:
    if kind == "t":
        return [""] * rows
    value = -1 if name.endswith("_array") else _ABSENT.get(name, 0)
    return np.full(rows, value, dtype=np.int64 if kind == "i" else np.float64)


def _fetch(db: sqlite3.Connection, table: Table, names: list[str], order: str) -> dict[str, Column]:
    rows = db.execute(f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {order}").fetchall()
    kinds = dict(table.columns)
    values = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: as_column(column, kinds[name]) for name, column in zip(names, values, strict=True)}
