"""Inserts whole columns into a scalar table, with their checksum row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.checksum import Column, as_column, columns_crc
from popvision.formats.profile.schema import TABLES, Table

_ROWS_AT_ONCE = 65_536


def write_columns(
    db: sqlite3.Connection, table: str, columns: Sequence[Sequence[Any] | AnyArray], part: int = 0
) -> None:
    """Inserts rows given as columns, in key order, and the checksum row (table, part).

    Raises FormatError when the columns differ in length or hold what the table cannot."""
    schema = TABLES[table]
    try:
        typed = [as_column(values, kind) for values, (_, kind) in zip(columns, schema.columns, strict=True)]
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"cannot write table {table}: {error}.") from None
    lengths = {name: len(column) for (name, _), column in zip(schema.columns, typed, strict=True)}
    if len(set(lengths.values())) > 1:
        raise FormatError(f"cannot write table {table}: its columns differ in length: {lengths}.")
    stored = [_stored(schema, name, column) for (name, _), column in zip(schema.columns, typed, strict=True)]
    for rows in _chunks(stored):
        db.executemany(schema.insert, rows)
    row = (table, part, len(typed[0]), columns_crc(typed))
    db.execute("INSERT OR REPLACE INTO parts(name, part, rows, crc32) VALUES (?, ?, ?, ?)", row)


def write_rows(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]], part: int = 0) -> None:
    """The same for rows; sorts them by key first."""
    names = [name for name, _ in TABLES[table].columns]
    key = [names.index(name) for name in TABLES[table].key]
    ordered = sorted(rows, key=lambda row: tuple(row[i] for i in key))
    write_columns(db, table, list(zip(*ordered, strict=True)) if ordered else [[] for _ in names], part)


def _stored(schema: Table, name: str, column: Column) -> Column:
    """The column as it stands in the file."""
    if name not in schema.named:
        return column
    texts, codes = schema.named[name], np.asarray(column)
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(texts)):
        raise FormatError(f"cannot write table {schema.name}: column {name} holds a number without a name.")
    return [texts[code] for code in codes.tolist()]


def _chunks(columns: Sequence[Column]) -> Iterator[list[tuple[Any, ...]]]:
    total = len(columns[0])
    for begin in range(0, total, _ROWS_AT_ONCE):
        window = slice(begin, begin + _ROWS_AT_ONCE)
        parts = [part if isinstance(part, list) else part.tolist() for part in (column[window] for column in columns)]
        yield list(zip(*parts, strict=True))
