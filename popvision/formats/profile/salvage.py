"""Finds the verified part of a damaged profile.pop.

Nothing unverified is ever shown: a scalar table of the compilation is read in full or not at all, recorded runs are
read up to the last one whose rows match their checksums in every table, an array is read in full or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from popvision.formats.errors import FormatError
from popvision.formats.profile.array_reader import read_arrays
from popvision.formats.profile.checksum import as_column, columns_crc
from popvision.formats.profile.schema import TABLES, Table

#: Raised by reading damaged pages and rows.
_DAMAGE = (sqlite3.Error, MemoryError, TypeError, ValueError, OverflowError, FormatError)

_BATCH = 512

#: Lost arrays that are named one by one.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Runs:
    """The first `whole` of `recorded` runs match their checksums in every table. `rows` of each table belong to them,
    and `damaged` names the tables that end before."""

    recorded: int
    whole: int
    rows: dict[str, int]
    damaged: list[str]

    @property
    def sentence(self) -> str:
        """What was lost."""
        if not self.recorded:
            return "what the runs recorded: how many there were stands nowhere; no run can be shown"
        first, last = self.whole, self.recorded - 1
        which = f"run {first}" if first == last else f"runs {first} to {last}"
        rest = f"figures are of runs 0 to {first - 1}" if first > 1 else "figures are of run 0 alone"
        tables = ", ".join(self.damaged) or "their tables"
        return f"{which} of {self.recorded} lost ({tables} damaged): " + (rest if first else "no run can be shown")


def whole_runs(db: sqlite3.Connection, present: Iterable[str]) -> Runs:
    """The recorded runs whose rows match their checksums in all tables."""
    tables = set(present)
    ends: dict[str, list[int]] = {}
    recorded = 0
    for table in TABLES.values():
        parts = _parts(db, table.name) if table.per_run else []
        if not table.per_run or (not parts and table.name not in tables):
            continue  # files of earlier versions lack younger tables
        recorded = max(recorded, len(parts))
        ends[table.name] = _verified_ends(table, parts, _readable_rows(db, table))
    whole = min((len(each) for each in ends.values()), default=0)
    rows = {name: each[whole - 1] if whole else 0 for name, each in ends.items()}
    return Runs(recorded, whole, rows, [name for name, each in ends.items() if len(each) < recorded])


def _parts(db: sqlite3.Connection, table: str) -> list[tuple[int, int]]:
    """(rows, crc32) of each run, without the empty part of the compilation."""
    try:
        query = "SELECT rows, crc32 FROM parts WHERE name = ? AND part >= 0 ORDER BY part"
        return [row for row in db.execute(query, (table,)).fetchall() if all(isinstance(value, int) for value in row)]
    except _DAMAGE:
        return []


def _readable_rows(db: sqlite3.Connection, table: Table) -> list[Sequence[object]]:
    """Rows in key order up to the first one that cannot be read."""
    rows: list[Sequence[object]] = []
    names = table.selected(name for name, _ in table.columns)
    try:
        for row in db.execute(f"SELECT {names} FROM {table.name} ORDER BY {', '.join(table.key)}"):
            rows.append(row)  # rows before the error count
    except _DAMAGE:
        pass
    return rows


def _verified_ends(table: Table, parts: list[tuple[int, int]], rows: list[Sequence[object]]) -> list[int]:
    """Where each run ends in `rows`, up to the first that does not match."""
    ends: list[int] = []
    begin = 0
    for count, crc in parts:
        end = begin + count
        if count < 0 or end > len(rows) or _crc_of(table, rows[begin:end]) != crc:
            break
        ends.append(end)
        begin = end
    return ends


def _crc_of(table: Table, rows: list[Sequence[object]]) -> int:
    """The checksum of these rows, -1 when they hold what the table cannot."""
    values = zip(*rows, strict=True) if rows else ([] for _ in table.columns)
    try:
        return columns_crc([as_column(list(v), kind) for v, (_, kind) in zip(values, table.columns, strict=True)])
    except (TypeError, ValueError, OverflowError):
        return -1


def lost_arrays(db: sqlite3.Connection, owners: Iterable[tuple[str, Sequence[int]]]) -> list[str]:
    """One sentence for each column of ids with damaged arrays. `owners` are ("table.column", ids)."""
    ids_of = {column: sorted({int(identity) for identity in ids if identity >= 0}) for column, ids in owners}
    broken = _broken(db, sorted(set().union(*ids_of.values())))
    sentences = []
    for column, ids in ids_of.items():
        damaged = [identity for identity in ids if identity in broken]
        if damaged:
            which = ", ".join(map(str, damaged[:_MOST_NAMED])) + (" ..." if len(damaged) > _MOST_NAMED else "")
            noun = "array" if len(damaged) == 1 else "arrays"
            sentences.append(f"{len(damaged):,} of {len(ids):,} arrays of {column} are damaged ({noun} {which})")
    return sentences


def _broken(db: sqlite3.Connection, ids: list[int]) -> set[int]:
    """Ids of unreadable arrays: all are read in batches, and one by one where a batch fails."""
    broken: set[int] = set()
    for begin in range(0, len(ids), _BATCH):
        batch = ids[begin : begin + _BATCH]
        if not _reads(db, batch):
            broken.update(identity for identity in batch if not _reads(db, [identity]))
    return broken


def _reads(db: sqlite3.Connection, ids: list[int]) -> bool:
    try:
        read_arrays(db, ids)
    except _DAMAGE:
        return False
    return True
