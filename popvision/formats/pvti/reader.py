"""`TraceReader`: the contents of a .pvti file, finalised or not; opens and closes the file for each call."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError
from popvision.formats.integrity import LostPart
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.pvti import schema
from popvision.formats.pvti.bins import decode_bins
from popvision.formats.pvti.checked_tables import (
    DAMAGE,
    Row,
    all_columns,
    check_row,
    checked_rows,
    part_of,
    sorted_rows,
)
from popvision.formats.pvti.columns import Floats, Instants, Ints, Slices, joined, unpack, unpack_fixed
from popvision.formats.pvti.journal import clock_offset, nested_stretches
from popvision.formats.pvti.names import Names, as_text, read_names
from popvision.formats.pvti.salvage import nested_part, until_damage
from popvision.formats.pvti.stored_rows import StoredRows, find_rows, rows_of
from popvision.formats.pvti.summed_tables import has_parts

_WHAT = "host trace"


@dataclass(frozen=True)
class ThreadRow:
    """A thread: `id` in the file, the system's `tid`, its name ("" when it has none), its process's `pid`."""

    id: int
    tid: int
    name: str
    pid: int


@dataclass(frozen=True)
class ThreadEvents:
    """All events of one thread: a lane per depth, instants, and (depth, position) of those that never ended."""

    lanes: list[Slices]
    instants: Instants
    unfinished: list[tuple[int, int]]


@dataclass(frozen=True)
class SeriesRow:
    """A line of a line graph."""

    id: int
    graph: str
    unit: str
    name: str
    graph_id: int


@dataclass(frozen=True)
class HeatmapRow:
    """A heat map over `len(edges) - 1` bins; with the unit "2^x" edges are exponents."""

    id: int
    name: str
    unit: str
    edges: Floats


class TraceReader:
    """Raises FormatError, one sentence, when the path is not a host trace that this version can read, and later when
    a part of it turns out to be damaged. A file that is still being written is read as far as it is written."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        holder: object = None,
        *,
        salvage: bool = False,
        is_verified: bool = False,
        is_held: bool = False,
    ) -> None:
        """`holder`: what keeps the file there, and goes with this reader; a reader that `is_held` keeps the file open
        from now on, which may be removed then. With `salvage` a file that
        SQLite refuses as a whole, because its end is missing, is opened all the same: see `events`. Names of a file
        whose bytes the caller has verified are not compared with their checksums again."""
        self.path = Path(path)
        self._holder = holder
        self._is_verified = is_verified
        self._checked: dict[str, tuple[int, int]] = {}
        _refuse_paraview(self.path)
        self._file = SqliteFile(self.path, _WHAT, salvage=salvage)
        if is_held:
            self._file.hold()
        with self._connect() as db:
            self._check_tables(db)
            rows = db.execute("SELECT key, value FROM meta")
            self.meta = {as_text(key): as_text(value) for key, value in rows}
            self._check_version()
            self._check(db, "meta")

    @property
    def state(self) -> str:
        """'recording' (also after a kill), 'closed' or 'finalised'."""
        return self.meta.get("state", "")

    @cached_property
    def has_checksums(self) -> bool:
        """Whether every row of it is under a checksum: since version 1.1."""
        with self._connect() as db:
            return has_parts(db)

    def processes(self) -> list[tuple[int, int | None, str]]:
        """(pid, parent's pid, name) of each process."""
        with self._connect() as db:
            rows = sorted_rows(db, "processes")
        return [(int(pid), None if parent is None else int(parent), as_text(name)) for _, pid, parent, name in rows]

    def threads(self) -> list[ThreadRow]:
        """Threads in the order of their first event."""
        with self._connect() as db:
            pids = {id: pid for id, pid, _, _ in sorted_rows(db, "processes")}
            rows = sorted_rows(db, "threads")
            return [
                ThreadRow(int(id), int(tid), as_text(name), int(pids[process]))
                for id, process, tid, name in rows
                if process in pids
            ]

    @cached_property
    def names(self) -> Names:
        """Channels and labels."""
        with self._connect() as db:
            return read_names(db, self.path, is_verified=self._is_verified)

    def channels(self) -> list[tuple[str, bool]]:
        """(name, enabled) of each channel, in the order they were made."""
        with self._connect() as db:
            return [(as_text(name), bool(on)) for _, name, on in sorted_rows(db, "channels")]

    def metadata(self, site: int) -> str | None:
        """The JSON text that an event with this site carries."""
        query = "SELECT text FROM sites JOIN strings ON strings.id = metadata WHERE sites.id = ?"
        with self._connect() as db:
            self._check(db, "sites", "strings")
            row = db.execute(query, (int(site),)).fetchone()
        return as_text(row[0]) if row else None

    @cached_property
    def metadata_texts(self) -> dict[int, str]:
        """Site -> JSON text, of all sites with metadata."""
        with self._connect() as db:
            text_of = {site: text for site, _, _, text in checked_rows(db, "sites") if text is not None}
            used = set(text_of.values())
            texts = {id: as_text(text) for id, text in checked_rows(db, "strings") if id in used}
        return {int(site): texts[text] for site, text in text_of.items() if text in texts}

    def is_growing(self) -> bool:
        """Whether its events are a journal, to which a program may still add."""
        with self._connect() as db:
            return self.state in ("recording", "closed") and db.execute("SELECT 1 FROM slices").fetchone() is None

    def one_state(self) -> AbstractContextManager[sqlite3.Connection]:
        """Within this context all calls of a thread see one state of a file that grows."""
        return self._connect()

    def stored_rows(self, lost: list[LostPart] | None = None) -> StoredRows | None:
        """Where the events of all threads are, for `events` within the same `one_state`. With `lost` what comes before
        the first damage of a table, and a sentence there about the rest; without it FormatError. None where a file of
        version 1.0 is damaged there."""
        with self._connect() as db:
            if has_parts(db):
                return find_rows(db, lost)
            try:
                return find_rows(db)
            except DAMAGE:
                return None

    def events(self, thread: int, lost: list[LostPart] | None = None, stored: StoredRows | None = None) -> ThreadEvents:
        """All events of a thread. With `lost` what comes before the first damage, and a sentence there about the rest;
        without it FormatError."""
        before = len(lost or ())
        stored = stored or self.stored_rows(lost)
        with self._connect() as db:
            found = _stored(db, thread, lost, stored)
            if not found.lanes and self.state != "finalised":
                found = self._from_journal(db, thread, lost, stored)
        lanes, instants, intact = nested_part(found.lanes, found.instants)
        unfinished = [(depth, at) for depth, at in found.unfinished if depth < len(lanes) and at < len(lanes[depth])]
        if intact:
            return ThreadEvents(found.lanes, found.instants, unfinished)
        sentence = f"thread {thread} has events that do not nest"
        if lost is None:
            raise FormatError(f"{self.path} is damaged: {sentence}.")
        if len(lost) == before and (stored is None or stored.is_whole):
            lost.append(LostPart("events", f"{sentence.capitalize()}; those from the first one on are left out."))
        return ThreadEvents(lanes, instants, unfinished)

    def series(self) -> list[SeriesRow]:
        """Lines of line graphs, graph by graph."""
        with self._connect() as db:
            graphs = {id: (as_text(name), as_text(unit)) for id, name, unit in sorted_rows(db, "graphs")}
            rows = sorted((graph, id, name) for id, graph, name in checked_rows(db, "series") if graph in graphs)
        return [SeriesRow(id, *graphs[graph], as_text(name), graph) for graph, id, name in rows]

    def samples(self, series: int) -> tuple[Ints, Floats]:
        """Times (ns since the epoch) and values of a series, in time order."""
        times, values = [], []
        with self._connect() as db:
            self._check(db, "samples")
            for id, _, n, _, time, value in _rows_of(db, "samples", "series", series):
                times.append(unpack_fixed(time, n, "<i8", f"samples row {id}"))
                values.append(unpack_fixed(value, n, "<f8", f"samples row {id}"))
        return np.maximum.accumulate(joined(times, "<i8")), joined(values, "<f8")

    def flow_points(self) -> Ints:
        """Points of flows in time order, a row each: flow, thread, time in ns since the epoch."""
        with self._connect() as db:
            is_there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'flow_points'").fetchone() is not None
            if not is_there and part_of(db, "flow_points") in (None, (0, 0)):
                return np.zeros((0, 3), np.int64)
            rows = np.array(list(checked_rows(db, "flow_points")), np.int64).reshape(-1, 4)
        return np.ascontiguousarray(rows[np.lexsort((rows[:, 0], rows[:, 3])), 1:])

    def flow_names(self, flows: list[int]) -> dict[int, str]:
        """Names of some flows."""
        with self._connect() as db:
            self._check(db, "flows")
            found = (db.execute("SELECT id, name FROM flows WHERE id = ?", (flow,)).fetchone() for flow in flows)
            return {int(row[0]): as_text(row[1]) for row in found if row is not None}

    def heatmaps(self) -> list[HeatmapRow]:
        """Heat maps in the order they were made."""
        with self._connect() as db:
            rows = sorted_rows(db, "heatmaps")
        return [
            HeatmapRow(
                id, as_text(name), as_text(unit), unpack_fixed(edges, len(edges) // 8, "<f8", f"heat map {name!r}")
            )
            for id, name, unit, edges in rows
        ]

    def heatmap_columns(self, heatmap: HeatmapRow) -> tuple[Ints, NDArray[np.uint32]]:
        """Times of the columns and a row of quantities for each: underflow, bins from the lowest up, overflow."""
        width = len(heatmap.edges) + 1
        times, columns = [], []
        with self._connect() as db:
            self._check(db, "HEATMAP_DATA")
            what = f"a column of heat map {heatmap.name!r}"
            for _, _, time, _, blob in _rows_of(db, "HEATMAP_DATA", "heatmap", heatmap.id):
                try:
                    column = decode_bins(blob, width)
                except ValueError as error:
                    raise FormatError(f"{what} is damaged: {error}") from None
                if len(column) != width:
                    raise FormatError(f"{what} is damaged: it has {len(column)} bins instead of {width}.")
                times.append(time)
                columns.append(column)
        table = np.array(columns, np.uint32).reshape(-1, width)
        return np.maximum.accumulate(np.array(times, np.int64)), table

    # -- opening

    def _check(self, db: sqlite3.Connection, *tables: str) -> None:
        """FormatError where a table is not what was written; one that was checked in this state is not read again."""
        for table in tables:
            part = None if self._is_verified else part_of(db, table)
            if part is not None and self._checked.get(table) != part:
                for _ in checked_rows(db, table):
                    pass
                self._checked[table] = part

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """A connection; values of another type or size than the tables say become a FormatError too."""
        with self._file.connect() as db:
            try:
                yield db
            except (TypeError, ValueError, OverflowError, LookupError) as error:
                raise FormatError(f"{self.path} is damaged: {str(error).splitlines()[0]}.") from error

    def _check_tables(self, db: sqlite3.Connection) -> None:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        required = {line.split("(")[0].split()[-1] for line in schema.TABLES.splitlines() if line.startswith("CREATE")}
        missing = sorted(required - tables)
        if missing:
            has = ", ".join(sorted(tables)[:8]) or "none"
            raise FormatError(
                f"{self.path} is an SQLite database but no host trace of ours: "
                f"it lacks the table {missing[0]} (it has: {has})."
            )

    def _check_version(self) -> None:
        version = self.meta.get("version", "")
        if self.meta.get("format") != schema.FORMAT or not version.split(".")[0].isdigit():
            raise FormatError(f"{self.path} is no host trace: its format is {self.meta.get('format')!r} {version!r}.")
        if int(version.split(".")[0]) > schema.MAJOR:
            raise FormatError(
                f"{self.path} has trace format {version}; this program reads up to {schema.MAJOR}.x: use a newer one."
            )
        if version != "1.0" and not self.has_checksums:
            raise FormatError(f"{self.path} is damaged: the checksums of its tables are missing.")

    def _from_journal(
        self, db: sqlite3.Connection, thread: int, lost: list[LostPart] | None, stored: StoredRows | None
    ) -> ThreadEvents:
        parts = list(nested_stretches(db, thread, self.names, clock_offset(db), lost, stored))
        depths = 1 + max((depth for part in parts for depth in part.lanes), default=-1)
        lanes = [_join_slices([part.lanes[depth] for part in parts if depth in part.lanes]) for depth in range(depths)]
        instants = _join_instants([part.instants for part in parts if part.instants is not None])
        return ThreadEvents(lanes, instants, [each for part in parts for each in part.unfinished])


def _stored(
    db: sqlite3.Connection, thread: int, lost: list[LostPart] | None, stored: StoredRows | None
) -> ThreadEvents:
    lanes: list[list[Slices]] = []
    for depth, slices in until_damage(_slices(db, thread, stored), f"Thread {thread}", lost):
        while len(lanes) <= depth:
            lanes.append([])
        lanes[depth].append(slices)
    instants = list(until_damage(_instants(db, thread, stored), f"Thread {thread}, instant events,", lost))
    if stored is not None:
        unfinished = stored.unfinished.get(thread, [])
        return ThreadEvents([_join_slices(lane) for lane in lanes], _join_instants(instants), unfinished)
    query = "SELECT depth, position FROM unfinished WHERE thread = ?"
    rows = until_damage(db.execute(query, (thread,)), f"Thread {thread}, the list of unfinished events,", lost)
    unfinished = [(int(depth), int(position)) for depth, position in rows]
    return ThreadEvents([_join_slices(lane) for lane in lanes], _join_instants(instants), unfinished)


def _slices(db: sqlite3.Connection, thread: int, stored: StoredRows | None = None) -> Iterator[tuple[int, Slices]]:
    """(depth, run of events) in the order written."""
    for id, _, depth, n, _, _, _, *blobs in rows_of(db, "slices", thread, stored):
        what = f"slices row {id}"
        if not 0 <= depth < schema.MAX_DEPTH:
            raise FormatError(f"{what} is damaged: depth {depth} is outside 0 to {schema.MAX_DEPTH - 1}.")
        start = unpack_fixed(blobs[0], n, "<i8", what)
        yield depth, Slices(start, *(unpack(blob, n, what) for blob in blobs[1:]))


def _instants(db: sqlite3.Connection, thread: int, stored: StoredRows | None = None) -> Iterator[Instants]:
    for id, _, n, _, _, _, *blobs in rows_of(db, "instants", thread, stored):
        what = f"instants row {id}"
        time = unpack_fixed(blobs[0], n, "<i8", what)
        yield Instants(time, *(unpack(blob, n, what) for blob in blobs[1:]))


def _rows_of(db: sqlite3.Connection, table: str, column: str, owner: int) -> Iterator[Row]:
    """The rows of a line graph or a heat map in the order written, each compared with its checksum."""
    is_checked = has_parts(db)
    for row in db.execute(f"SELECT {all_columns(table)} FROM {table} WHERE {column} = ? ORDER BY id", (owner,)):
        check_row(table, row, is_checked)
        yield row


def _join_slices(parts: list[Slices]) -> Slices:
    return Slices(
        joined([part.start for part in parts], "<i8"),
        joined([part.duration for part in parts], "<u8"),
        joined([part.site for part in parts], "<u4"),
        joined([part.parent for part in parts], "<u8"),
    )


def _join_instants(parts: list[Instants]) -> Instants:
    columns: list[NDArray[Any]] = [
        joined([getattr(part, name) for part in parts], "<i8" if name == "time" else "<u8")
        for name in ("time", "site", "depth", "parent")
    ]
    return Instants(*columns)


def _refuse_paraview(path: Path) -> None:
    """ParaView's parallel image data has the same extension; it is XML."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and (b"VTKFile" in head or b"<?xml" in head):
        raise FormatError(f"{path} is a ParaView image file (XML), not a host trace; open it in ParaView.")
