"""Turn the journal of a closed trace into nested slices, in place."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from popvision.formats.pvti.columns import Instants, Slices, pack
from popvision.formats.pvti.journal import clock_offset, nested_stretches
from popvision.formats.pvti.names import read_names
from popvision.formats.pvti.nesting import Nested
from popvision.formats.pvti.stored_rows import find_rows
from popvision.formats.pvti.summed_tables import SummedTables
from popvision.formats.pvti.writer import TraceWriter, one_file

_SMALL_FILE = 8 << 20


def finalise(path: str | os.PathLike[str]) -> None:
    """Nest all events of a trace that nobody writes any more and drop its journal; a finalised trace stays as it is.

    One transaction: a kill leaves the journal whole, and readers nest it by themselves. Raises `sqlite3.Error` when
    the file cannot be written, FormatError when a chunk is damaged.
    """
    db = sqlite3.connect(Path(path), isolation_level=None, timeout=1.0)
    try:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT value FROM meta WHERE key = 'state'").fetchone() == ("finalised",):
            db.execute("ROLLBACK")
            return
        names, offset, stored = read_names(db, path), clock_offset(db), find_rows(db)
        tables = SummedTables(db)
        for (thread,) in db.execute("SELECT id FROM threads ORDER BY id").fetchall():
            for nested in nested_stretches(db, thread, names, offset, stored=stored):
                write_nested(tables, thread, nested)
            chunks = stored.ids["raw_chunks"].get(thread, [])
            db.executemany("DELETE FROM raw_chunks WHERE id = ?", [(chunk,) for chunk in chunks])
        tables.clear("raw_chunks")
        tables.put("meta", ("state", "finalised"))
        tables.write_sums()
        db.execute("COMMIT")
        _repack(db, Path(path))
    finally:
        db.close()


def finalise_closed(writer: TraceWriter) -> None:
    """End a trace whose events were written as nested slices, without a journal."""
    with writer.transaction():
        writer.set_meta("state", "finalised")
    one_file(writer.connection)
    if writer.path.stat().st_size < _SMALL_FILE:
        _repack(writer.connection, writer.path)
    writer.release()


def _repack(db: sqlite3.Connection, path: Path) -> None:
    """Give the journal's space back; small files also get small pages. SQLite waits for the disk: a power failure
    leaves the trace as it was before or after."""
    if path.stat().st_size < _SMALL_FILE:
        db.execute("PRAGMA page_size = 4096")
    db.execute("VACUUM")


def write_nested(tables: SummedTables, thread: int, nested: Nested) -> None:
    """Insert what one stretch of a thread completed."""
    for depth, slices in nested.lanes.items():
        write_slices(tables, thread, depth, slices)
    if nested.instants is not None:
        write_instants(tables, thread, nested.instants)
    write_unfinished(tables, thread, nested.unfinished)


def write_unfinished(tables: SummedTables, thread: int, places: list[tuple[int, int]]) -> None:
    """Events that never ended: their depths and positions."""
    for depth, position in places:
        tables.add("unfinished", (thread, depth, position))


def write_slices(tables: SummedTables, thread: int, depth: int, slices: Slices) -> None:
    """One row: a run of events of one lane, after the ones written before."""
    blobs = (
        slices.start.astype("<i8").tobytes(),
        pack(slices.duration),
        pack(slices.site),
        pack(slices.parent),
    )
    low, high = int(slices.start[0]), int(slices.start[-1]) + int(slices.duration[-1])
    tables.append("slices", (thread, depth, len(slices), low, high), blobs)


def write_instants(tables: SummedTables, thread: int, instants: Instants) -> None:
    """One row: a run of instant events of a thread, after the ones written before."""
    blobs = (
        instants.time.astype("<i8").tobytes(),
        pack(instants.site),
        pack(instants.depth),
        pack(instants.parent),
    )
    low, high = int(instants.time[0]), int(instants.time[-1])
    tables.append("instants", (thread, len(instants), low, high), blobs)
