"""Lists the damage of a profile.pop as sentences: damage that calls met, and damage found by reading everything."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

from popvision.formats.errors import FormatError
from popvision.formats.integrity import LostPart
from popvision.formats.profile.checksum import Column
from popvision.formats.profile.connection import Signature, SqliteFile
from popvision.formats.profile.overview import ARRAYS_OF_TARGET
from popvision.formats.profile.salvage import lost_arrays
from popvision.formats.profile.schema import TABLES, Table
from popvision.formats.profile.tables import Tables

#: Files up to this many bytes are read through for the first list of damage, while a page waits.
SURVEYED_BYTES = 4 << 20


class Losses:
    """The known damage of one file; cleared when the file changes."""

    def __init__(self, file: SqliteFile, tables: Tables) -> None:
        self._file = file
        self._tables = tables
        self._lock = threading.Lock()
        self._met: list[LostPart] = []
        self._all: list[LostPart] | None = None
        self._signature: Signature | None = None

    def note(self, sentence: LostPart) -> None:
        """Add damage that a call met."""
        with self._lock:
            if sentence not in self._met:
                self._met.append(sentence)

    def known(self) -> list[LostPart]:
        """See ProfileReader.lost."""
        if not self._tables.salvage:
            return []
        return self.survey() if self._size() <= SURVEYED_BYTES else self.noticed()

    def noticed(self) -> list[LostPart]:
        """See ProfileReader.noticed."""
        with self._lock:
            self._forget_old()
            return self._named([*self._tables.lost, *self._met])

    def survey(self) -> list[LostPart]:
        """See ProfileReader.survey."""
        with self._lock:
            self._forget_old()
            if self._all is None:
                self._all = self._named(self._read_all())
            return list(self._all)

    def _size(self) -> int:
        try:
            return self._file.path.stat().st_size
        except OSError:
            return 0

    def _forget_old(self) -> None:
        now = self._file.signature()
        if now != self._signature:
            self._signature, self._all, self._met = now, None, []

    def _named(self, sentences: list[LostPart]) -> list[LostPart]:
        """The sentences without the path of the file, which a page names once."""
        return [each.without(f"{self._file.path}: ") for each in sentences]

    def _read_all(self) -> list[LostPart]:
        lost: dict[LostPart, None] = {}
        owners: list[tuple[str, Sequence[int]]] = []
        for table in map(TABLES.__getitem__, self._tables.expected()):
            try:
                columns = self._tables[table.name]
                owners += _ids_in(table, columns)
            except FormatError as problem:
                lost |= dict.fromkeys(self._tables.lost)  # of runs there is one sentence for several tables
                lost.setdefault(LostPart("table", str(problem)))
            lost |= dict.fromkeys(self._tables.lost)
        if self._tables.foreign:
            return list(lost)
        try:
            with self._file.connect() as db:
                return [*lost, *(LostPart("array", f"{each}.") for each in lost_arrays(db, owners))]
        except FormatError as problem:
            return [*lost, LostPart("array", str(problem))]


def _ids_in(table: Table, columns: dict[str, Column]) -> list[tuple[str, Sequence[int]]]:
    """("table.column", ids) of every column that names arrays."""
    if table.name == "meta":
        return [("the target", _ids_in_meta(columns))]
    names = [name for name, _ in table.columns if name.endswith("_array") and name in columns]
    return [(f"{table.name}.{name}", [int(each) for each in columns[name]]) for name in names]


def _ids_in_meta(columns: dict[str, Column]) -> list[int]:
    """Arrays that the target names."""
    facts = dict(zip(columns["key"], columns["value"], strict=True))
    try:
        target = json.loads(facts["target"])
        return [target[name] for name in ARRAYS_OF_TARGET if isinstance(target.get(name), int)]
    except (KeyError, ValueError, AttributeError):
        return []
