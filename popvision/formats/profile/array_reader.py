"""Arrays out of the database, by id, in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import zstandard

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.arrays import ArrayRow, decode

_SELECT = "SELECT id, dtype, n, codec, crc32, data FROM arrays WHERE id"
_BATCH = 512


def read_arrays(db: sqlite3.Connection, ids: Sequence[int]) -> list[AnyArray]:
    """The arrays with these ids, in the order asked for, in their stored types; an id asked twice is read once.

    Raises FormatError for an unknown id or a damaged array."""
    decompressor = zstandard.ZstdDecompressor()
    wanted = sorted(set(ids))
    found = {row[0]: decode(row, decompressor) for row in _rows(db, wanted)}
    lost = [identity for identity in wanted if identity not in found]
    if lost:
        raise FormatError(f"array {lost[0]} is not in the file; it is damaged.")
    return [found[identity] for identity in ids]


def _rows(db: sqlite3.Connection, wanted: list[int]) -> Iterable[ArrayRow]:
    """Rows by id: one range scan where ids are dense, batches of ids else."""
    if not wanted:
        return
    if wanted[-1] - wanted[0] < 2 * len(wanted):
        inside = set(wanted)
        rows = db.execute(f"{_SELECT} BETWEEN ? AND ? ORDER BY id", (wanted[0], wanted[-1]))
        yield from (row for row in rows if row[0] in inside)
        return
    for begin in range(0, len(wanted), _BATCH):
        batch = wanted[begin : begin + _BATCH]
        yield from db.execute(f"{_SELECT} IN ({','.join('?' * len(batch))})", batch)
