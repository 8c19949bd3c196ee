"""The stored parts of an opened profile.pop: scalar tables, arrays by id, the facts of table meta.

The readers of memory, programs and runs are functions over this class; `ProfileReader` is its public face. Tables are
read in full and cached until the file changes; arrays are read on each call.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError, LostError
from popvision.formats.integrity import LostPart
from popvision.formats.profile.array_reader import read_arrays
from popvision.formats.profile.arrays import widened
from popvision.formats.profile.checksum import Column
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.profile.losses import Losses
from popvision.formats.profile.tables import Tables


class ProfileFile:
    """Checked access to tables and arrays. With `salvage` a damaged part raises LostError and costs only itself."""

    def __init__(self, path: str | Path, *, salvage: bool, one_state: bool = False) -> None:
        self.path = Path(path)
        self.database = SqliteFile(self.path, "profile.pop", salvage=salvage)
        self.tables = Tables(self.database, salvage=salvage, one_state=one_state)
        self.losses = Losses(self.database, self.tables)
        if not self.tables.foreign and not salvage:
            self.tables["meta"]

    @property
    def foreign(self) -> bool:
        """See ProfileReader.foreign."""
        return self.tables.foreign

    @property
    def meta(self) -> dict[str, Any]:
        """See ProfileReader.meta."""
        try:
            return self.facts()
        except LostError:
            return {}

    def facts(self) -> dict[str, Any]:
        """The values of table meta by key; {} where a foreign file's table of that name holds something else.

        Raises LostError where the table was lost, FormatError where a value is not JSON."""
        table = self.tables["meta"]
        try:
            return {key: json.loads(value) for key, value in zip(table["key"], table["value"], strict=True)}
        except ValueError:
            if self.foreign:
                return {}
            raise FormatError(f"{self.path}: table meta is damaged: a value is not JSON.") from None

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[AnyArray]:
        """See ProfileReader.arrays."""
        try:
            with self._naming_the_file(), self.database.connect() as db:
                arrays = read_arrays(db, [int(identity) for identity in ids])
        except FormatError as problem:
            if not self.tables.salvage:
                raise
            self.losses.note(LostPart("array", str(problem)))
            raise LostError(str(problem)) from problem
        return arrays if narrow else [widened(values) for values in arrays]

    def optional_arrays(self, ids: Sequence[int]) -> list[AnyArray | None]:
        """Arrays as int64, None where the id is negative."""
        stored = iter(self.arrays([identity for identity in ids if identity >= 0]))
        return [next(stored) if identity >= 0 else None for identity in ids]

    def row_arrays(self, table: str, key: dict[str, int], columns: Sequence[str]) -> list[AnyArray | None] | None:
        """The arrays that `columns` of the row with this key refer to; None where the table has no such row."""
        row = find_row(self.tables[table], key)
        if row is None:
            return None
        return self.optional_arrays([int(self.tables.ints(table, column)[row]) for column in columns])

    @contextlib.contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            text = str(error)
            raise FormatError(text if str(self.path) in text else f"{self.path}: {text}") from None


def find_row(table: dict[str, Column], key: dict[str, int]) -> int | None:
    """Row whose columns equal `key`; rows are sorted by the first of them."""
    (first, value), *rest = key.items()
    column = np.asarray(table[first])
    begin, end = (int(np.searchsorted(column, np.int64(value), side)) for side in ("left", "right"))
    matches = np.ones(end - begin, dtype=bool)
    for name, number in rest:
        matches &= np.asarray(table[name])[begin:end] == number
    rows = np.flatnonzero(matches)
    return begin + int(rows[0]) if len(rows) else None


def or_empty(column: AnyArray | None) -> AnyArray:
    """The column, or an empty one where none was stored."""
    return np.empty(0, dtype=np.int64) if column is None else column
