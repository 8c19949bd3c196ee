"""Producer, counts and sizes of a .pvti by plain SQL, without NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.pvti import schema

_COUNTED = ("processes", "threads", "channels", "graphs", "series", "heatmaps")
#: Events are stored in several tables: two journal entries make one span until the file is finalised.
_EVENTS = {"slices": "spans", "instants": "instant_events", "raw_chunks": "journal_entries_not_yet_nested"}


def overview(path: str | Path) -> dict[str, Any]:
    """Facts of the trace as plain values. Raises FormatError when the file cannot be read as one."""
    with SqliteFile(path, "host trace").connect() as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"meta", "threads", "raw_chunks"} <= tables:
            raise FormatError(f"{path} is no host trace of popvision: its tables are {', '.join(sorted(tables))}.")
        facts: dict[str, Any] = {"kind": ".pvti host trace", "file_bytes": Path(path).stat().st_size}
        facts |= dict(db.execute("SELECT key, value FROM meta ORDER BY key"))
        version = str(facts.get("version", ""))
        if version.partition(".")[0].isdigit() and int(version.partition(".")[0]) > schema.MAJOR:
            raise FormatError(
                f"{path} has trace format {version}; this program reads up to {schema.MAJOR}.x: use a newer one."
            )
        rows = {t: int(db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]) for t in _COUNTED if t in tables}
        for table, what in _EVENTS.items():
            rows[what] = int(db.execute(f"SELECT total(n) FROM {table}").fetchone()[0])
        facts["rows"] = rows
        return facts
