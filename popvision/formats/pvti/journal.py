"""Nests the journal of a thread, stretch by stretch."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError
from popvision.formats.integrity import LostPart
from popvision.formats.pvti.checked_tables import checked_rows
from popvision.formats.pvti.columns import unpack_fixed
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.nesting import Nested, Nester
from popvision.formats.pvti.salvage import until_damage
from popvision.formats.pvti.stored_rows import StoredRows, rows_of

STRETCH = 1 << 19
"""Begins and ends nested at a time: a few tens of megabytes, however long the trace is."""


def nested_stretches(
    db: sqlite3.Connection,
    thread: int,
    names: Names,
    clock_offset_ns: int,
    lost: list[LostPart] | None = None,
    stored: StoredRows | None = None,
) -> Iterator[Nested]:
    """What a thread's journal says, in bounded memory; the last one closes what was never ended.

    Raises FormatError for a damaged chunk; with `lost` the journal ends there, and a sentence says so.
    """
    nester = Nester(names.of_site)
    pieces: list[NDArray[np.int64]] = []
    waiting = 0
    for columns in until_damage(_chunks(db, thread, stored), f"Thread {thread}", lost):
        pieces.append(columns)
        waiting += columns.shape[1]
        if waiting >= STRETCH:
            yield _nest(nester, pieces, clock_offset_ns)
            pieces, waiting = [], 0
    if pieces:
        yield _nest(nester, pieces, clock_offset_ns)
    yield nester.finish()


def _chunks(db: sqlite3.Connection, thread: int, stored: StoredRows | None) -> Iterator[NDArray[np.int64]]:
    """Codes and times of each chunk, [2, events]."""
    for id, _, n, _, _, _, data in rows_of(db, "raw_chunks", thread, stored):
        yield unpack_fixed(data, 2 * n, "<i8", f"journal chunk {id}").reshape(2, n)


def _nest(nester: Nester, pieces: list[NDArray[np.int64]], clock_offset_ns: int) -> Nested:
    codes, times = np.concatenate(pieces, axis=1)
    return nester.feed(codes, times + clock_offset_ns)


def clock_offset(db: sqlite3.Connection) -> int:
    """Nanoseconds to add to a journal's times; FormatError when the file does not say."""
    meta: dict[str, str] = dict(checked_rows(db, "meta"))
    try:
        return int(meta["clock_offset_ns"])
    except (TypeError, ValueError, LookupError):
        raise FormatError("the trace is damaged: meta.clock_offset_ns is missing or not a number.") from None
