"""Content-addressed store of arrays: equal contents get the same id and are written once."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

import zstandard

from popvision.arrays import AnyArray
from popvision.formats.profile.arrays import ArrayRow, array_crc, compress, stored_bytes

_INSERT = "INSERT INTO arrays(id, dtype, n, codec, crc32, data) VALUES (?, ?, ?, ?, ?, ?)"
_FLUSH_BYTES = 4 << 20


class ArrayStore:
    """Hands out array ids within one transaction at a time; `commit` or `rollback` follows the database's own."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._new: dict[bytes, int] = {}
        self._rows: list[ArrayRow] = []
        self._waiting = 0
        self._memo: tuple[list[object], Any] | None = None
        self._new_memo: tuple[list[object], Any] | None = None
        self._compressor = zstandard.ZstdCompressor(level=1, write_checksum=False)

    def add(self, db: sqlite3.Connection, values: AnyArray | None, dtype: str | None = None) -> int:
        """Id of the array with these values; -1 for None. With `dtype` the values are not searched for their range."""
        if values is None:
            return -1
        dtype, raw = stored_bytes(values, dtype)
        digest = hashlib.blake2b(raw, digest_size=16, salt=dtype.encode()).digest()
        stored = self._ids.get(digest) or self._new.get(digest)
        if stored:
            return stored
        identity = len(self._ids) + len(self._new) + 1
        codec, data = compress(raw, self._compressor)
        crc = array_crc(identity, dtype, len(values), codec, raw)
        self._rows.append((identity, dtype, len(values), codec, crc, data))
        self._new[digest] = identity
        self._waiting += len(data)
        if self._waiting > _FLUSH_BYTES:
            self.flush(db)
        return identity

    def flush(self, db: sqlite3.Connection) -> None:
        """Inserts the arrays that were added since the last call."""
        db.executemany(_INSERT, self._rows)
        self._rows, self._waiting = [], 0

    def recall(self, objects: Sequence[object]) -> Any:
        """The value that `remember` last stored for these same objects in a committed transaction, else None."""
        if self._memo is None or len(self._memo[0]) != len(objects):
            return None
        same = all(a is b for a, b in zip(self._memo[0], objects, strict=True))
        return self._memo[1] if same else None

    def remember(self, objects: Sequence[object], value: Any) -> None:
        """Store a value computed from these objects, which must not change afterwards."""
        self._new_memo = (list(objects), value)

    def commit(self) -> None:
        self._ids.update(self._new)
        self._new = {}
        self._memo, self._new_memo = self._new_memo or self._memo, None

    def rollback(self) -> None:
        self._new, self._rows, self._waiting = {}, [], 0
        self._new_memo = None
