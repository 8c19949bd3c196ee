"""Changes a trace as a writer would: its checksums stay right, or it has none, as in version 1.0."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from popvision.formats.pvti.schema import BLOBS, CHECKED
from popvision.formats.pvti.summed_tables import SummedTables, blobs_checksum


def set_meta(path: Path, key: str, value: str) -> None:
    """Another value of a row of `meta`."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("BEGIN")
        tables = SummedTables(db)
        tables.put("meta", (key, value))
        tables.write_sums()


def without_checksums(path: Path) -> Path:
    """The trace as version 1.0 wrote it: only blobs have checksums."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE parts")
        db.execute("UPDATE meta SET value = '1.0' WHERE key = 'version'")
        for table, blobs in BLOBS.items():
            for id, *data in db.execute(f"SELECT {CHECKED[table][0]}, {', '.join(blobs)} FROM {table}").fetchall():
                db.execute(f"UPDATE {table} SET crc = ? WHERE id = ?", (blobs_checksum(None, data), id))
    return path
