"""Counts, sizes and versions of a profile.pop by plain SQL, without NumPy, in a few milliseconds."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.formats.newer import refuse_newer
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.profile.schema import FORMAT_VERSION, TABLES
from popvision.formats.profile.table_names import column_names, is_ours, missing, unknown

#: Tables whose rows are worth counting, and what a row is.
_COUNTED = {
    "programs": "programs",
    "compute_sets": "compute_sets",
    "vertex_types": "vertex_types",
    "memory_by_tile": "tiles_with_memory",
    "variables": "variables",
    "liveness": "liveness_indices",
    "runs": "runs",
    "steps": "execution_steps",
}

#: Facts of the target that are ids of arrays.
ARRAYS_OF_TARGET = ("physical_tile", "relative_sync_delay")


def overview(path: str | Path) -> dict[str, Any]:
    """Facts of the report as plain values. Raises FormatError when the file cannot be read; what a foreign database
    does not hold is left out."""
    with SqliteFile(path, "profile.pop").connect() as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        ours = is_ours(db)
        meta = _meta(db, path, ours) if "meta" in tables else {}
        _refuse_newer(path, str(meta.get("formatVersion", "")))
        facts: dict[str, Any] = {"kind": "profile.pop", "file_bytes": Path(path).stat().st_size}
        facts |= {key: meta[key] for key in sorted(meta) if key not in ("engineOptions", "targetOptions")}
        if isinstance(facts.get("target"), dict):  # arrays stand there as ids, which say nothing to a reader
            facts["target"] = {k: v for k, v in facts["target"].items() if k not in ARRAYS_OF_TARGET}
        facts["rows"] = {
            what: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table, what in _COUNTED.items()
            if table in tables
        }
        if ours:
            for table in ("meta", "runs"):
                _check(db, path, table)
            _check_counts(db, path, facts["rows"])
        if "runs" in tables and {"cycles", "truncated"} <= column_names(db, "runs"):
            cycles, truncated = db.execute("SELECT total(cycles), total(truncated) FROM runs").fetchone()
            facts |= {"total_cycles": int(cycles), "truncated_runs": int(truncated)}
        return facts if ours else facts | _foreign(db)


def _check(db: sqlite3.Connection, path: str | Path, name: str) -> None:
    """Raises FormatError when a small table does not match its checksums (see checksum.columns_crc)."""
    table = TABLES[name]
    columns = table.selected(column for column, _ in table.columns)
    rows = db.execute(f"SELECT {columns} FROM {name} ORDER BY {', '.join(table.key)}").fetchall()
    begin = 0
    for count, expected in db.execute("SELECT rows, crc32 FROM parts WHERE name = ? ORDER BY part", (name,)):
        chunk, crc = rows[begin : begin + count], 0
        try:
            for (_, kind), values in zip(table.columns, zip(*chunk, strict=True), strict=False):
                text = "\0".join(values).encode() + b"\0" if kind == "t" else struct.pack(f"<{len(values)}q", *values)
                crc = zlib.crc32(text, crc)
        except (TypeError, ValueError, struct.error):
            crc = -1
        if crc != expected:
            raise FormatError(f"{path}: table {name} is damaged: rows from {begin} on do not match their checksum.")
        begin += count
    if begin != len(rows):
        raise FormatError(f"{path}: table {name} is damaged: it has {len(rows)} rows, its checksums cover {begin}.")


def _check_counts(db: sqlite3.Connection, path: str | Path, counted: dict[str, int]) -> None:
    """Raises FormatError when a table has another number of rows than its checksums cover."""
    for table, what in _COUNTED.items():
        covered = int(db.execute("SELECT total(rows) FROM parts WHERE name = ?", (table,)).fetchone()[0])
        if counted.get(what, 0) != covered:
            rows = counted.get(what, 0)
            raise FormatError(f"{path}: table {table} is damaged: it has {rows} rows, its checksums cover {covered}.")


def _foreign(db: sqlite3.Connection) -> dict[str, Any]:
    return {"origin": "written by another tool, without checksums", "missing": missing(db), "unread": unknown(db)}


def _refuse_newer(path: str | Path, version: str) -> None:
    if version.partition(".")[0].isdigit():
        refuse_newer(path, version, FORMAT_VERSION[0])


def _meta(db: sqlite3.Connection, path: str | Path, ours: bool) -> dict[str, Any]:
    try:
        return {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM meta")}
    except (ValueError, TypeError, sqlite3.OperationalError):
        if not ours:
            return {}  # another tool's table of that name
        raise FormatError(f"{path}: table meta is damaged: a value is not JSON.") from None
