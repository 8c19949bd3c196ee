"""Reads scalar tables as columns, checks them against their rows of `parts`, caches them until the file changes.

Integer columns need no Python object per value: SQLite joins them to text, NumPy parses the text. That is three times
as fast as fetching rows, and the memory does not grow with a tuple per row.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from popvision.arrays import Int64Array
from popvision.formats.errors import FormatError, LostError
from popvision.formats.integrity import LostPart
from popvision.formats.newer import refuse_newer
from popvision.formats.profile import table_names
from popvision.formats.profile.checksum import Column, as_column, columns_crc
from popvision.formats.profile.connection import Signature, SqliteFile
from popvision.formats.profile.foreign import read_foreign
from popvision.formats.profile.salvage import whole_runs
from popvision.formats.profile.schema import FORMAT_VERSION, TABLES, Table


def int_columns(
    db: sqlite3.Connection, table: str, names: Sequence[str], selected: str, order: str
) -> dict[str, Int64Array] | None:
    """The named columns in the order given, `selected` by that SQL; None when the table is empty or a value is no
    integer, which the caller then finds and names by reading row by row."""
    if not names:
        return None
    joined = ", ".join(f"group_concat({name})" for name in names)
    row = db.execute(f"SELECT count(*), {joined} FROM (SELECT {selected} FROM {table} ORDER BY {order})")
    count, *texts = row.fetchone()
    parsed = {name: _parsed(text) for name, text in zip(names, texts, strict=True)}
    complete = {name: column for name, column in parsed.items() if column is not None and len(column) == count}
    return complete if count and len(complete) == len(names) else None


def _parsed(text: object) -> Int64Array | None:
    if not isinstance(text, str):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # NumPy's word for text that is no number
            return np.fromstring(text, dtype=np.int64, sep=",")
    except (DeprecationWarning, ValueError, OverflowError):
        return None


#: File systems round times to a clock tick.
_CLOCK_TICK_NS = 50_000_000

#: Tables of runs whose readers look at the others as well. `runs` is not among them: lists of reports read it alone.
_ONE_ROW_PER_STEP = ("steps", "steps_by_ipu", "run_tail")


class Tables:
    """The tables of one profile.pop. Columns come back as int64 or float64 arrays or lists of str, in key order.

    With `salvage` a damaged table costs nothing but itself: reading it raises LostError, and of the tables that grow
    with each run those runs remain that are whole in all of them. Of a foreign file see `foreign`. With `one_state` all
    tables have the runs that the file has now, and never those that a program adds later."""

    def __init__(self, file: SqliteFile, *, salvage: bool = False, one_state: bool = False) -> None:
        self.file = file
        self.salvage = salvage
        self._settled = False  #: whether all tables of runs have been read
        self._lost: dict[str, str] = {}  # table, or "" for runs -> what was lost
        self._signature: Signature | None = None
        self._columns: dict[str, dict[str, Column]] = {}
        self._lock = threading.Lock()
        self._rows_of_state: dict[str, int] | None = None  #: rows of each table in the one state; None without one
        with file.connect() as db:
            self._present = table_names.present(db)
            self._version = (0, 0)
            self.foreign = not table_names.is_ours(db)
            if not self.foreign:
                self._check_version(db)
                if one_state:
                    self._keep_to_state(db)
        if self.foreign and not self._present & {"steps", "programs", "memory_by_tile", "vars_info"}:
            raise FormatError(
                f"{file.path} is an SQLite database, but none of its tables are those of a profile.pop; "
                "give the profile.pop of a report folder."
            )

    def _keep_to_state(self, db: sqlite3.Connection) -> None:
        """Note what the file has now. Where the checksums cannot be read, tables are read as they are then."""
        with contextlib.suppress(FormatError, sqlite3.DatabaseError, UnicodeDecodeError):
            meta = self._read(db, TABLES["meta"])
            rows = db.execute("SELECT name, sum(rows) FROM parts GROUP BY name").fetchall()
            if all(isinstance(count, int) for _, count in rows):
                self._columns["meta"], self._rows_of_state = meta, dict(rows)

    def rows(self, name: str) -> int:
        """Rows that a table has in the file, 0 where it is not there."""
        if name not in self._present:
            return 0
        with self.file.connect() as db:
            return int(db.execute(f"SELECT count(*) FROM {TABLES[name].name}").fetchone()[0])

    @property
    def unknown(self) -> list[str]:
        """Tables of the file that the format does not know, and columns as "table.column" of those that it does."""
        with self.file.connect() as db:
            return table_names.unknown(db)

    @property
    def missing(self) -> list[str]:
        """Tables of the format, and columns as "table.column", that the file does not have."""
        with self.file.connect() as db:
            return table_names.missing(db)

    def __getitem__(self, name: str) -> dict[str, Column]:
        """Columns of a table by name; empty columns where a foreign database lacks the table.

        Raises FormatError when the rows do not match their checksum."""
        with self._lock:
            self._forget_old()
            if self.salvage and name in _ONE_ROW_PER_STEP and not self.foreign:
                self._settle_runs()
            return self._table(name)

    def _table(self, name: str) -> dict[str, Column]:
        if name in self._lost:
            raise LostError(self._lost[name])
        if name not in self._columns:
            try:
                with self.file.connect() as db:
                    self._columns[name] = self._of_state(name, self._read(db, TABLES[name]))
            except FormatError as problem:
                if not self.salvage:
                    raise
                self._lose(name, problem)
        return self._columns[name]

    def _of_state(self, name: str, columns: dict[str, Column]) -> dict[str, Column]:
        """Without the runs that came after the one state. Rows are in the order of the runs."""
        if self._rows_of_state is None or not TABLES[name].per_run:
            return columns
        rows = self._rows_of_state.get(name, 0)
        return {each: column[:rows] for each, column in columns.items()}

    def _settle_runs(self) -> None:
        """Find out how many runs are whole before any of their rows is handed out."""
        if self._settled:
            return
        self._settled = True
        with self.file.connect():
            for name in self.expected():
                if TABLES[name].per_run and "" not in self._lost:
                    with contextlib.suppress(LostError):
                        self._table(name)

    @property
    def lost(self) -> list[LostPart]:
        """What damage has cost in the state of the file read last: a sentence for each table, one for recorded runs."""
        with self._lock:
            runs = self._lost.get("")
            sentences = dict.fromkeys(self._lost.values())
            return [LostPart("runs" if each == runs else "table", each) for each in sentences]

    def _lose(self, name: str, problem: FormatError) -> None:
        """Note a damaged table; raises LostError unless some of its runs are whole."""
        if self.foreign or not TABLES[name].per_run:
            text = str(problem.__cause__ or problem).removeprefix(f"{self.file.path}: table {name} is damaged: ")
            self._lost[name] = f"{self.file.path}: table {name} is damaged: {text.rstrip('.')}."
            raise LostError(self._lost[name]) from problem
        with self.file.connect() as db:
            runs = whole_runs(db, self._present)
            self._lost[""] = f"{self.file.path}: {runs.sentence}."
            for each, rows in runs.rows.items():
                if runs.whole:
                    self._columns[each] = _first_rows(db, TABLES[each], rows)
                else:
                    self._lost[each] = self._lost[""]
        if name not in self._columns:
            raise LostError(self._lost[""])

    def holds(self, name: str, since: tuple[int, int] = (1, 0)) -> bool:
        """Whether the file has the table; foreign files and those of a version before `since` may lack it.

        Raises FormatError when a file of that version or a later one does not have it."""
        if name in self._present:
            return True
        with self.file.connect() as db:
            if _can_be_read(db, name):  # the list of tables is damaged where it says the name, not where it counts
                return True
            recorded = not self.foreign and db.execute("SELECT 1 FROM parts WHERE name = ?", (name,)).fetchone()
        if recorded or (not self.foreign and self._version >= since > (1, 0)):
            raise LostError(f"{self.file.path} is damaged: its table {name} is gone.")
        return False

    def expected(self) -> list[str]:
        """Tables that the file has or, by their checksums, had."""
        with self.file.connect() as db:
            try:
                recorded = {name for (name,) in db.execute("SELECT DISTINCT name FROM parts")}
            except (sqlite3.Error, UnicodeDecodeError):
                recorded = set(() if self.foreign else TABLES)  # nothing can be checked, hence nothing is shown
        return [name for name in TABLES if name in self._present or name in recorded]

    def ints(self, name: str, column: str) -> Any:
        """One integer or real column as an array."""
        return self[name][column]

    def _forget_old(self) -> None:
        if self._rows_of_state is not None:
            return
        now = self.file.signature()
        if now != self._signature:
            # A file written a moment ago may change again without a new time stamp: do not trust that one yet.
            settled = all(entry is None or time.time_ns() - entry[2] > _CLOCK_TICK_NS for entry in now)
            self._columns, self._lost, self._settled = {}, {}, False
            self._signature = now if settled else None

    def _read(self, db: sqlite3.Connection, table: Table) -> dict[str, Column]:
        try:
            if self.foreign:
                return read_foreign(db, table.name, self._present, _fetch)
            columns = _fetch(db, table, [name for name, _ in table.columns], ", ".join(table.key), table.selected)
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
        rows_read = len(next(iter(columns.values())))
        if not parts or begin != rows_read:
            raise ValueError(f"it has {rows_read} rows, its checksums cover {begin}")

    def _check_version(self, db: sqlite3.Connection) -> None:
        try:
            row = db.execute("SELECT value FROM meta WHERE key = 'formatVersion'").fetchone()
            version = json.loads(row[0])
            major, minor = (int(part) for part in version.split(".")[:2])
            self._version = (major, minor)
        except (TypeError, ValueError, AttributeError, sqlite3.DatabaseError):
            if self.salvage:
                return  # its checksum will tell that meta is damaged; the rest speaks for itself
            raise FormatError(f"{self.file.path} is damaged: it does not say which format version it has.") from None
        refuse_newer(self.file.path, version, FORMAT_VERSION[0])


def _can_be_read(db: sqlite3.Connection, table: str) -> bool:
    try:
        db.execute(f"SELECT 1 FROM {table} LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


def _first_rows(db: sqlite3.Connection, table: Table, count: int) -> dict[str, Column]:
    names = [name for name, _ in table.columns]
    return _fetch(db, table, names, f"{', '.join(table.key)} LIMIT {int(count)}", table.selected)


def _fetch(
    db: sqlite3.Connection, table: Table, names: list[str], order: str, selected: Callable[[list[str]], str] = ", ".join
) -> dict[str, Column]:
    kinds = dict(table.columns)
    integers = [name for name in names if kinds[name] == "i"]
    columns: dict[str, Column] = dict(int_columns(db, table.name, integers, selected(integers), order) or {})
    rest = [name for name in names if name not in columns]
    if rest:
        rows = db.execute(f"SELECT {selected(rest)} FROM {table.name} ORDER BY {order}")
        values = list(chain.from_iterable(rows))  # no row outlives the next one
        columns |= {name: as_column(values[place :: len(rest)], kinds[name]) for place, name in enumerate(rest)}
    return {name: columns[name] for name in names}
