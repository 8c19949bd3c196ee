"""`TraceWriter`: fills a .pvti file; standard library only, because it runs inside the traced program."""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from popvision.formats.pvti import schema
from popvision.formats.pvti.bins import encode_bins
from popvision.formats.pvti.summed_tables import SummedTables

PAGE_BYTES = 32768
"""A chunk of 131 kB in four pages instead of 32 takes half the time to insert; `finalise` repacks small files."""
WAL_BYTES = 1 << 23


class TraceWriter:
    """One open trace. Everything inside `transaction()` becomes readable together, also after a `kill -9`; a power
    failure leaves it as it was at some time after the last `sync`.

    The file is in WAL mode while it is written; `close` leaves one plain file unless a reader holds it.
    Raises `sqlite3.Error` or `OSError` when the file cannot be made or the disk is full.
    """

    def __init__(self, path: str | os.PathLike[str], meta: Mapping[str, object], *, clock_offset_ns: int) -> None:
        self.path = Path(path)
        self.clock_offset_ns = clock_offset_ns
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            raise FileExistsError(f"{self.path} exists already; a trace is never written over another.")
        self._open: sqlite3.Connection | None = None
        self._tables: SummedTables | None = None
        try:
            self._open = self._connect()
            self._create(meta)
        except BaseException:
            # A signal may interrupt this too; the next attempt must not find half a file.
            self.release()
            self.path.unlink(missing_ok=True)
            raise

    def _create(self, meta: Mapping[str, object]) -> None:
        self.connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        self.connection.execute("PRAGMA journal_mode = WAL")
        self._tune()
        kind = f"PRAGMA application_id = {schema.APPLICATION_ID};"
        self.connection.executescript(f"BEGIN; {kind} {schema.PARTS_TABLE} {schema.TABLES} COMMIT;")
        with self.transaction():
            self.set_meta("format", schema.FORMAT)
            self.set_meta("version", f"{schema.MAJOR}.{schema.MINOR}")
            self.set_meta("clock_offset_ns", self.clock_offset_ns)
            self.set_meta("state", "recording")
            for key, value in meta.items():
                self.set_meta(key, value)
        self.sync()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)

    @property
    def connection(self) -> sqlite3.Connection:
        """The database."""
        if self._open is None:
            raise ValueError(f"{self.path} is closed; nothing more can be written to it.")
        return self._open

    @property
    def tables(self) -> SummedTables:
        """For producers that write nested slices themselves (`finalise.write_slices`); inside `transaction()`."""
        if self._tables is None:
            self._tables = SummedTables(self.connection)
        return self._tables

    def _tune(self) -> None:
        # Written pages belong to the operating system, so they outlive a killed program without any fsync. A traced
        # thread waits for the disk once in WAL_BYTES; `sync` is for another one.
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: rolled back when the block raises."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.tables.write_sums()
        except BaseException:
            self.connection.execute("ROLLBACK")
            self._tables = None
            raise
        self.connection.execute("COMMIT")

    def set_meta(self, key: str, value: object) -> None:
        """Set one row of `meta`; values are stored as text."""
        self.tables.put("meta", (key, str(value)))

    def add_process(self, id: int, pid: int, parent_pid: int | None, name: str) -> None:
        """The process whose threads follow."""
        self.tables.put("processes", (id, pid, parent_pid, clean(name)))

    def set_thread(self, id: int, process: int, tid: int, name: str) -> None:
        """A thread, or a new name for it."""
        self.tables.put("threads", (id, process, tid, clean(name)))

    def set_channel(self, id: int, name: str, enabled: bool) -> None:
        """A channel, or its new state."""
        self.tables.put("channels", (id, clean(name), int(enabled)))

    def add_string(self, id: int, text: str) -> None:
        """A text that sites refer to."""
        self.tables.put("strings", (id, clean(text)))

    def add_strings(self, rows: Iterable[tuple[int, str]]) -> None:
        """Many texts with new ids: id and text of each."""
        self.tables.add_all("strings", ((id, clean(text)) for id, text in rows))

    def add_sites(self, rows: Iterable[tuple[int, int, int, int | None]]) -> None:
        """Many sites with new ids, each as `add_site` takes it."""
        self.tables.add_all("sites", rows)

    def add_site(self, id: int, channel: int, label: int, metadata: int | None) -> None:
        """Channel, label and metadata of the events with this site; label and metadata are ids of strings."""
        self.tables.put("sites", (id, channel, label, metadata))

    def add_events(self, thread: int, codes: Sequence[int], times: Sequence[int]) -> None:
        """One chunk of a thread's journal in the order of events: codes (`schema`) and monotonic times in ns."""
        data = struct.pack(f"<{len(codes)}q{len(times)}q", *codes, *times)
        low, high = times[0] + self.clock_offset_ns, times[-1] + self.clock_offset_ns
        self.tables.append("raw_chunks", (thread, len(times), low, high), (data,))

    def add_graph(self, id: int, name: str, unit: str) -> None:
        """A line graph; its series follow."""
        self.tables.put("graphs", (id, clean(name), clean(unit)))

    def add_series(self, id: int, graph: int, name: str) -> None:
        """A line of a graph."""
        self.tables.put("series", (id, graph, clean(name)))

    def add_samples(self, series: int, times: Sequence[int], values: Sequence[float]) -> None:
        """Samples of a series in time order; times in ns since the epoch."""
        time, value = little_endian(array("q", times)), little_endian(array("d", values))
        self.tables.append("samples", (series, len(times)), (time, value))

    def add_heatmap(self, id: int, name: str, unit: str, edges: Sequence[float]) -> None:
        """A heat map over bins between ascending edges."""
        blob = little_endian(array("d", edges))
        self.tables.put("heatmaps", (id, clean(name), clean(unit), blob))

    def add_heatmap_column(self, heatmap: int, time_ns: int, quantities: Sequence[int]) -> None:
        """One histogram: underflow, a quantity per bin, overflow."""
        self.tables.append("HEATMAP_DATA", (heatmap, time_ns), (encode_bins(quantities),))

    def add_flow(self, id: int, name: str) -> None:
        """A flow, or a new name for it; its points follow."""
        self._make_flow_tables()
        self.tables.put("flows", (id, clean(name)))

    def add_flows(self, names: Iterable[str], points: Iterable[tuple[int, int, int]]) -> None:
        """The flows of a trace, numbered from 1 on, and their points: flow, thread, time in ns since the epoch."""
        self._make_flow_tables()
        self.tables.add_all("flows", ((id, clean(name)) for id, name in enumerate(names, start=1)))
        self.tables.add_all("flow_points", ((id, *point) for id, point in enumerate(points, start=1)))

    def _make_flow_tables(self) -> None:
        for statement in schema.FLOW_TABLES.split(";")[:-1]:
            self.connection.execute(statement)

    def add_flow_point(self, flow: int, thread: int, time_ns: int) -> None:
        """The innermost event of a thread at a time, ns since the epoch, is the next one of a flow."""
        self.tables.add("flow_points", (self.tables.rows("flow_points") + 1, flow, thread, time_ns))

    def sync(self) -> None:
        """Wait until what was written is on the disk and outlives a power failure, beside other threads that write."""
        with suppress(FileNotFoundError):  # closed by another thread, which has synced
            log = os.open(f"{self.path}-wal", os.O_RDONLY)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    def close(self) -> None:
        """Mark the trace closed, fold the WAL into the file and let go of it; idempotent."""
        if self._open is None:
            return
        try:
            with self.transaction():
                self.set_meta("state", "closed")
            one_file(self.connection)
        finally:
            self.release()

    def release(self) -> None:
        """Close the connection and stay in recording state: for a fork, where a child must not inherit it."""
        db, self._open, self._tables = self._open, None, None
        if db is not None:
            db.close()

    def reopen(self) -> None:
        """Open the connection again after `release`."""
        if self._open is None:
            self._open = self._connect()
            self._tune()


def one_file(db: sqlite3.Connection) -> None:
    """Checkpoint and leave WAL mode; a reader that holds the file keeps it in WAL mode, which is no error."""
    try:
        db.execute("PRAGMA busy_timeout = 0")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError:
        pass


def little_endian(numbers: array[int] | array[float]) -> bytes:
    """The bytes of an array as files hold them, whatever this machine's byte order."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def clean(text: str) -> str:
    """A text that SQLite can store: lone surrogates (undecodable file names) become '?', NUL becomes U+2400."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "␀")
