"""Transfers between tiles and copies within tiles, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.machine import exchange as fabric

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Transfer:
    """Runs between tiles: row i moves `length[i]` elements of `item_bytes[i]` bytes, from element `start[i]` of the
    element space. The same element sent to several tiles is one multicast."""

    src: Int64Array
    dst: Int64Array
    start: Int64Array
    length: Int64Array
    item_bytes: Int64Array

    def __len__(self) -> int:
        return len(self.src)

    def take(self, rows: BoolArray) -> Transfer:
        """The flagged rows."""
        if rows.all():
            return self
        columns = (self.src, self.dst, self.start, self.length, self.item_bytes)
        return Transfer(*(column[rows] for column in columns))

    @property
    def bytes(self) -> Int64Array:
        return np.asarray(self.length * self.item_bytes, dtype=np.int64)


@dataclass(frozen=True)
class Arrivals:
    """How the rows of a transfer arrive: the `words` that pass for each, and flags of rows that begin a fragment.

    The fabric moves whole words, so a row takes every word that it touches at its sender. A fragment comes from one
    sender to consecutive addresses of the receiver."""

    words: Int64Array
    begins: BoolArray

    def take(self, rows: BoolArray) -> Arrivals:
        """Those of the flagged rows."""
        return Arrivals(self.words[rows], self.begins[rows])


def separate_arrivals(transfer: Transfer) -> Arrivals:
    """Every row begins at a word of its own at both ends and is a fragment."""
    return Arrivals(fabric.words(transfer.bytes), np.ones(len(transfer), np.bool_))


EMPTY_TRANSFER = Transfer(_NONE, _NONE, _NONE, _NONE, _NONE)


@dataclass(frozen=True)
class LocalCopy:
    """A copy within tiles. Per tile: bytes moved, contiguous runs, bytes of the buffer that it fills or empties (0 for
    a copy between variables), bytes of constants that it writes (None = none). `counted`: counters of compute sets
    count it."""

    moved: Int64Array
    runs: Int64Array
    buffer: Int64Array
    filled: Int64Array | None = None
    counted: bool = True

    def __bool__(self) -> bool:
        return bool(self.runs.any()) or (self.filled is not None and bool(self.filled.any()))
