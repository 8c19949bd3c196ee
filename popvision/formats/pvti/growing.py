"""What a program adds to a trace while it runs, each row read once: a cursor per table and a nester per thread.

Rows of a journal are only added while a trace is recorded, in the order of their ids, so that a reading costs what is
new and not what is there. The reader holds no events: its caller appends them to columns (analysis/trace/growing.py).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from popvision.formats.pvti.bins import decode_bins
from popvision.formats.pvti.checked_tables import Row, all_columns, check_row, checked_rows, name_of_row, part_of
from popvision.formats.pvti.columns import Floats, Ints, unpack_fixed
from popvision.formats.pvti.journal import STRETCH
from popvision.formats.pvti.names import Names, as_text
from popvision.formats.pvti.nesting import Nested, Nester
from popvision.formats.pvti.schema import CHECKED, KIND_BITS
from popvision.formats.pvti.summed_tables import has_parts, row_checksum

_NAMES = ("channels", "strings", "sites")


class StartAgainError(Exception):
    """The file is not the one that was read so far with rows added: read it anew."""


class GrowingNames:
    """Names of sites; those that are known keep their numbers."""

    def __init__(self) -> None:
        self._last = -1
        self._of_site = np.full(1024, -1, np.int64)
        self._parts: list[tuple[int, int] | None] = []
        self._channels: dict[str, int] = {}
        self._names: dict[tuple[str, str], int] = {}
        self.names = Names(self._of_site[:0], np.zeros(0, np.int32), [], [])

    def read(self, db: sqlite3.Connection) -> Names:
        """All names, after those of new sites. Raises FormatError when their tables are not what was written."""
        parts = [part_of(db, table) for table in _NAMES]
        if parts != self._parts:
            for table in _NAMES:
                for _ in checked_rows(db, table):
                    pass
            self._parts = parts
        for (name,) in db.execute("SELECT name FROM channels ORDER BY id"):
            self._channels.setdefault(as_text(name), len(self._channels))
        query = (
            "SELECT sites.id, channels.name, strings.text FROM sites JOIN channels ON channels.id = sites.channel "
            "JOIN strings ON strings.id = sites.label WHERE sites.id > ? ORDER BY sites.id"
        )
        rows = db.execute(query, (self._last,)).fetchall()
        for site, channel, label in rows:
            if site >= len(self._of_site):
                more = np.full(max(site + 1, 2 * len(self._of_site)) - len(self._of_site), -1, np.int64)
                self._of_site = np.concatenate([self._of_site, more])
            self._of_site[site] = self._names.setdefault((as_text(channel), as_text(label)), len(self._names))
            self._last = site
        if rows or len(self._channels) != len(self.names.channel_name):
            of_channel = np.array([self._channels[channel] for channel, _ in self._names], np.int32)
            labels = [label for _, label in self._names]
            self.names = Names(self._of_site[: self._last + 1], of_channel, labels, list(self._channels))
        return self.names


@dataclass(frozen=True)
class NewSamples:
    """Times (ns since the epoch) and values of a row of samples."""

    series: int
    time: Ints
    value: Floats


@dataclass(frozen=True)
class NewColumn:
    """A column of a heat map; quantities from underflow to overflow."""

    heatmap: int
    time: int
    quantities: NDArray[np.uint32]


class GrowingJournal:
    """The journal, the samples and the columns of heat maps of one file, each row once. All methods raise FormatError
    for a damaged row, StartAgainError where rows that were read are gone."""

    def __init__(self, clock_offset_ns: int) -> None:
        self._offset = clock_offset_ns
        self._nesters: dict[int, Nester] = {}
        tables = ("raw_chunks", "samples", "HEATMAP_DATA")
        self._last = dict.fromkeys(tables, (0, 0))  #: id and checksum of a row
        self._sums = dict.fromkeys(tables, (0, 0))  #: of the rows that were read, as the table `parts` has them

    def check(self, db: sqlite3.Connection) -> None:
        """Whether the last rows that were read are still there."""
        for table, (last, crc) in self._last.items():
            if last and db.execute(f"SELECT crc FROM {table} WHERE id = ?", (last,)).fetchone() != (crc,):
                raise StartAgainError

    def events(self, db: sqlite3.Connection, names: Names) -> Iterator[tuple[int, Nested]]:
        """(thread, what a stretch of its journal completed) of the new chunks."""
        for nester in self._nesters.values():
            nester.learn(names.of_site)
        pieces: dict[int, list[NDArray[np.int64]]] = {}
        waiting = 0
        for id, thread, n, _, _, _, data in self._new(db, "raw_chunks"):
            columns = unpack_fixed(data, 2 * n, "<i8", name_of_row("raw_chunks", id))
            pieces.setdefault(thread, []).append(columns.reshape(2, n))
            waiting += n
            if waiting >= STRETCH:
                yield from self._nest(pieces, names)
                waiting = 0
        yield from self._nest(pieces, names)

    def _new(self, db: sqlite3.Connection, table: str) -> Iterator[Row]:
        """Rows that were not read yet; all that the file has must be what was written."""
        is_checked, at = has_parts(db), len(CHECKED[table]) - 1
        query = f"SELECT {all_columns(table)} FROM {table} WHERE id > ? ORDER BY id"
        for row in db.execute(query, self._last[table][:1]):
            check_row(table, row, is_checked)
            if row[0] <= self._last[table][0]:
                raise StartAgainError  # a damaged tree says another order
            rows, crc = self._sums[table]
            self._sums[table] = rows + 1, (crc + row_checksum(row[: at + 1])) & 0xFFFFFFFF
            self._last[table] = row[0], row[at]
            yield row
        if is_checked and part_of(db, table) != self._sums[table]:
            raise StartAgainError

    def _nest(self, pieces: dict[int, list[NDArray[np.int64]]], names: Names) -> Iterator[tuple[int, Nested]]:
        for thread, parts in pieces.items():
            nester = self._nesters.get(thread)
            if nester is None:
                nester = self._nesters[thread] = Nester(names.of_site)
            codes, times = np.concatenate(parts, axis=1)
            sites = codes >> KIND_BITS
            if int(sites.min()) < 0 or int(sites.max()) >= len(names.of_site) or (names.of_site[sites] < 0).any():
                raise StartAgainError  # a site with a lower number was declared later
            yield thread, nester.feed(codes, times + self._offset)
        pieces.clear()

    def open_events(self) -> Iterator[tuple[int, Nested]]:
        """(thread, its events that have not ended, cut at its last one)."""
        for thread, nester in self._nesters.items():
            yield thread, nester.open_now()

    def samples(self, db: sqlite3.Connection) -> Iterator[NewSamples]:
        """New samples of line graphs."""
        for id, series, n, _, time, value in self._new(db, "samples"):
            what = name_of_row("samples", id)
            yield NewSamples(series, unpack_fixed(time, n, "<i8", what), unpack_fixed(value, n, "<f8", what))

    def columns(self, db: sqlite3.Connection, widths: dict[int, int]) -> Iterator[NewColumn]:
        """New columns of heat maps, of which `widths` has the number of quantities."""
        for _, heatmap, time, _, blob in self._new(db, "HEATMAP_DATA"):
            column = decode_bins(blob, widths.get(heatmap, 0))
            if len(column) != widths.get(heatmap):
                raise StartAgainError
            yield NewColumn(heatmap, time, np.array(column, np.uint32))
