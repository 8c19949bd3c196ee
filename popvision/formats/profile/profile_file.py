"""An opened profile.pop: what it says of itself, its target, its stored arrays."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import AbsentError, FormatError, LostError
from popvision.formats.profile import compilation_reader, run_reader
from popvision.formats.profile.array_reader import read_arrays
from popvision.formats.profile.arrays import widened
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.profile.losses import Losses
from popvision.formats.profile.model import Target
from popvision.formats.profile.schema_report import SchemaReport, schema_report
from popvision.formats.profile.tables import Tables


class ProfileFile:
    """What is asked of any part of the file: facts, the target, arrays by id, and what damage has cost."""

    def __init__(self, path: str | Path, *, salvage: bool = False) -> None:
        """With `salvage` a damaged file opens as well: what is damaged raises LostError, the rest answers, and `lost`
        says what is gone."""
        self.path = Path(path)
        self._file = SqliteFile(self.path, "profile.pop", salvage=salvage)
        self._tables = Tables(self._file, salvage=salvage)
        self._losses = Losses(self._file, self._tables)
        if not self._tables.foreign and not salvage:
            self._tables["meta"]

    @property
    def foreign(self) -> bool:
        """The file was not written by ProfileWriter: no checksums, and perhaps only some of the tables."""
        return self._tables.foreign

    @property
    def missing(self) -> list[str]:
        """Tables, and columns as "table.column", of the format that are not in the file."""
        return self._tables.missing

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Questions that this thread asks within the context are answered of one state of the file, by one connection:
        for requests of many small questions."""
        with self._file.connect():
            yield

    @property
    def lost(self) -> list[str]:
        """What damage has cost, one sentence each; empty for a whole file, and always without `salvage`.

        A file of up to 4 MB is read through once to say so; of a larger one, what questions met until now
        (`survey()` reads any)."""
        return self._losses.known()

    @property
    def noticed(self) -> list[str]:
        """What the questions asked until now met of it, without looking further."""
        return self._losses.noticed()

    def survey(self) -> list[str]:
        """The same after everything in the file has been read and checked, however long that takes."""
        return self._losses.survey()

    @property
    def unknown(self) -> list[str]:
        """Tables, and columns as "table.column", of the file that the format does not know; they are left unread."""
        return self._tables.unknown

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the report: Compilation.meta and format, formatVersion, generation, target, counts.

        {} where they were lost (with `salvage`)."""
        try:
            table = self._tables["meta"]
        except LostError:
            return {}
        try:
            return {key: json.loads(value) for key, value in zip(table["key"], table["value"], strict=True)}
        except ValueError:
            if self.foreign:
                return {}  # a table of that name, of which nothing is known
            raise FormatError(f"{self.path}: table meta is damaged: a value is not JSON.") from None

    @property
    def generation(self) -> int:
        """Number of commits after the compilation; grows while a program is running."""
        value = self.meta.get("generation", 0)
        return value if isinstance(value, int) else 0

    @property
    def report_id(self) -> str:
        """Identity of the report, "" in a foreign file."""
        return str(self.meta.get("reportId", ""))

    @property
    def format_version(self) -> tuple[int, int, int]:
        """Version of the layout of the file, (0, 0, 0) in a foreign one."""
        try:
            major, minor, point = (int(part) for part in str(self.meta.get("formatVersion", "0.0.0")).split("."))
        except ValueError:
            raise FormatError(f"{self.path}: the format version in table meta is damaged.") from None
        return major, minor, point

    def _facts(self) -> dict[str, Any]:
        """`meta`, but raises LostError where it was lost."""
        self._tables["meta"]
        return self.meta

    def schema_report(self) -> SchemaReport:
        """Tables, columns, row counts and sizes, without any contents."""
        return schema_report(self._file)

    def target(self) -> Target:
        """The machine. Raises FormatError when the file does not say."""
        facts = self._facts().get("target")
        if not isinstance(facts, dict):
            raise AbsentError(f"{self.path} does not say which target the program was compiled for.")
        return compilation_reader.target(facts, self._optional)

    def shape(self) -> tuple[int, int]:
        """(number of IPUs, tiles of each): the target's, or where a foreign file has none what its steps and tiles
        tell. Raises FormatError when there are no tiles either."""
        try:
            target = self.target()
        except LostError:
            raise
        except AbsentError:
            ipus, tiles = run_reader.ipus_of_steps(self._tables), compilation_reader.tiles_listed(self._tables)
            if not tiles or tiles % ipus:
                raise
            return ipus, tiles // ipus
        return target.num_ipus, target.tiles_per_ipu

    def counts(self) -> dict[str, int]:
        """num_vertices, num_edges, num_variables, num_compute_sets. Raises AbsentError where another tool's file does
        not say; `rows("compute_sets")` still may."""
        counts = self._facts().get("counts", {})
        if not counts and (self._tables.salvage or self.foreign):
            raise AbsentError(f"{self.path} does not say how many vertices and variables the graph has.")
        names = ("num_vertices", "num_edges", "num_variables", "num_compute_sets")
        return {name: int(counts.get(name, 0)) for name in names}

    def rows(self, table: str) -> int:
        """Rows of a scalar table as they stand in the file, unchecked; 0 where the table is not there."""
        return self._tables.rows(table)

    def array(self, id: int) -> AnyArray:
        """One stored array as int64, checksum verified."""
        return self.arrays([id])[0]

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[AnyArray]:
        """Stored arrays in the order asked for, checksums verified, read-only.

        They come as int64, so that sums do not wrap; `narrow=True` leaves the stored u1, u2, u4, u8 or i8, which is
        eight times smaller at best and which NumPy adds modulo its width."""
        try:
            with self._naming_the_file(), self._file.connect() as db:
                found = read_arrays(db, [int(identity) for identity in ids])
        except FormatError as problem:
            if not self._tables.salvage:
                raise
            self._losses.note(str(problem))
            raise LostError(str(problem)) from problem
        return found if narrow else [widened(values) for values in found]

    def _row_arrays(self, table: str, key: dict[str, int], columns: Sequence[str]) -> list[AnyArray | None] | None:
        row = compilation_reader.find_row(self._tables[table], key)
        if row is None:
            return None
        return self._optionals([int(self._tables.ints(table, column)[row]) for column in columns])

    def _optional(self, identity: int) -> AnyArray | None:
        return self._optionals([identity])[0]

    def _optionals(self, ids: Sequence[int]) -> list[AnyArray | None]:
        """Arrays as int64, None where the id is negative."""
        known = iter(self.arrays([identity for identity in ids if identity >= 0]))
        return [next(known) if identity >= 0 else None for identity in ids]

    @contextlib.contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            text = str(error)
            raise FormatError(text if str(self.path) in text else f"{self.path}: {text}") from None


def present(column: AnyArray | None) -> AnyArray:
    """The column, or an empty one where none was stored."""
    return np.empty(0, dtype=np.int64) if column is None else column
