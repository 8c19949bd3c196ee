"""Reads arrays by id, in batches: one range scan where ids are dense, else 512 ids a statement."""

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
    """The arrays in the order of `ids`, in their stored types; a repeated id is read once.

    Raises FormatError for an unknown id or a damaged array."""
    decompressor = zstandard.ZstdDecompressor()
    distinct = sorted(set(ids))
    arrays = {row[0]: decode(row, decompressor) for row in _rows(db, distinct)}
    lost = [identity for identity in distinct if identity not in arrays]
    if lost:
        raise FormatError(f"array {lost[0]} is not in the file; it is damaged.")
    return [arrays[identity] for identity in ids]


def _rows(db: sqlite3.Connection, ids: list[int]) -> Iterable[ArrayRow]:
    """Rows by ascending, distinct ids."""
    if not ids:
        return
    if ids[-1] - ids[0] < 2 * len(ids):
        selected = set(ids)
        rows = db.execute(f"{_SELECT} BETWEEN ? AND ? ORDER BY id", (ids[0], ids[-1]))
        yield from (row for row in rows if row[0] in selected)
        return
    for begin in range(0, len(ids), _BATCH):
        batch = ids[begin : begin + _BATCH]
        yield from db.execute(f"{_SELECT} IN ({','.join('?' * len(batch))})", batch)
