"""Columns that grow at their end: arrays with room, whose filled part is handed out as views.

What was handed out stays where it is; only the last event of a lane, and the last block of a mipmap, may still change
in it: an event that had not ended, and the block that it is in.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from popvision.analysis.trace.columns import Lane
from popvision.analysis.trace.mipmap import (
    COARSER,
    FEW,
    FEWEST_BLOCKS,
    Blocks,
    Level,
    Mipmap,
    block_bounds,
    build_mipmap,
    coarser_blocks,
    finest_level,
    usual_shift,
)
from popvision.arrays import AnyArray, Int64Array
from popvision.formats.pvti.columns import Slices

_ROOM = 64


class GrowingColumn:
    """One column, or a table whose rows are added."""

    def __init__(self, dtype: Any, width: tuple[int, ...] = ()) -> None:
        self._store = np.zeros((_ROOM, *width), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, values: AnyArray, at: int | None = None) -> None:
        """Add values; with `at` they take the place of all from there on."""
        at = self._length if at is None else at
        length = at + len(values)
        if length > len(self._store):
            store = np.zeros((max(length, 2 * len(self._store)), *self._store.shape[1:]), self._store.dtype)
            store[:at] = self._store[:at]
            self._store = store
        self._store[at:length] = values
        self._length = length

    @property
    def view(self) -> AnyArray:
        """The filled part."""
        return self._store[: self._length]


class GrowingLane:
    """Events of one lane: those that ended, and at most one more that has not."""

    def __init__(self) -> None:
        self._ended = 0
        self._start, self._duration = GrowingColumn(np.int64), GrowingColumn(np.uint64)
        self._site, self._name, self._parent = (GrowingColumn(np.uint32) for _ in range(3))
        self._mipmap = GrowingMipmap()
        self._found: dict[str, tuple[int, GrowingColumn]] = {}  # label -> events looked at, positions
        self._lock = threading.Lock()

    def add(self, slices: Slices, of_site: Int64Array, is_open: bool = False) -> None:
        """Events that follow; one that is open is given anew at each reading."""
        for column, values in (
            (self._start, slices.start),
            (self._duration, slices.duration),
            (self._site, slices.site),
            (self._name, of_site[slices.site]),
            (self._parent, slices.parent),
        ):
            column.put(values, self._ended)
        if not is_open:
            self._ended += len(slices)

    def without_open(self) -> None:
        """Forget the event that had not ended."""
        for column in (self._start, self._duration, self._site, self._name, self._parent):
            column.put(column.view[:0], self._ended)

    def positions_of(self, label: str, names: Int64Array) -> AnyArray:
        """Positions of the events with a label, which `names` are of; each event is looked at once."""
        with self._lock:
            looked, positions = self._found.get(label, (0, GrowingColumn(np.int64)))
            ended = self._ended
            positions.put(looked + np.flatnonzero(np.isin(self._name.view[looked:ended], names)))
            self._found[label] = ended, positions
            return positions.view

    def lane(self) -> Lane:
        """The events so far."""
        start, duration, name = self._start.view, self._duration.view, self._name.view
        mipmap = self._mipmap.extended(start, duration, name)
        return Lane(start, duration, self._site.view, name, self._parent.view, mipmap)


class GrowingMipmap:
    """The mipmap of a growing lane. Blocks before the last one of a level stay; where the rate of events has changed
    when a lane has doubled, its blocks are made anew with another width, so that an event costs the same on average."""

    def __init__(self) -> None:
        self._levels: list[_GrowingLevel] = []
        self._built, self._shift = 0, 0

    def extended(self, start: Int64Array, duration: AnyArray, name: AnyArray) -> Mipmap:
        """The levels, given all events of the lane."""
        if len(start) < FEW:
            return Mipmap([])
        if len(start) >= 2 * self._built:
            self._built = len(start)
            shift = usual_shift(start)
            if shift != self._shift:
                self._shift = shift
                self._levels = _levels_of(build_mipmap(start, duration, name))
        self._extend(start, duration, name)
        return Mipmap([level.level(start, duration) for level in self._levels])

    def _extend(self, start: Int64Array, duration: AnyArray, name: AnyArray) -> None:
        finest = self._levels[0]
        tail = finest.tail
        added = finest_level(start[tail:], duration[tail:], name[tail:], finest.shift).blocks()
        finest.replace_last(added, tail)
        for finer, level in zip(self._levels, self._levels[1:], strict=False):
            level.extend(finer.level(start, duration))
        top = self._levels[-1]
        while len(top) > FEWEST_BLOCKS:
            level = _GrowingLevel(top.shift + COARSER)
            level.extend(top.level(start, duration))
            self._levels.append(level)
            top = level


_COLUMNS = {"first": np.int64, "busy": np.int64, "name": np.uint32}


class _GrowingLevel:
    """Blocks of one width. `tail` is the position, among events or the blocks of the finer level, where the last block
    begins: it may not be full."""

    def __init__(self, shift: int) -> None:
        self.shift, self.tail = shift, 0
        self._columns = {name: GrowingColumn(dtype) for name, dtype in _COLUMNS.items()}

    def __len__(self) -> int:
        return len(self._columns["first"])

    def level(self, start: Int64Array, duration: AnyArray) -> Level:
        """The level, given the columns of the lane."""
        first, busy, name = (column.view for column in self._columns.values())
        return Level(self.shift, start, duration, first, busy, name)

    def put(self, blocks: Blocks, at: int) -> None:
        for name, column in self._columns.items():
            column.put(getattr(blocks, name), at)

    def replace_last(self, blocks: Blocks, tail: int) -> None:
        """Blocks of events from `tail` on, which the last block began with."""
        self.put(blocks, max(0, len(self) - 1))
        self._columns["first"].view[len(self) - len(blocks) :] += tail
        self.tail = int(self._columns["first"].view[-1])

    def extend(self, finer: Level) -> None:
        """Take up what has changed of the finer level, given as a whole."""
        part = finer.blocks(self.tail)
        self.put(coarser_blocks(part, self.shift), max(0, len(self) - 1))
        self.tail += int(block_bounds(part.start, self.shift)[-1])


def _levels_of(mipmap: Mipmap) -> list[_GrowingLevel]:
    levels: list[_GrowingLevel] = []
    finer: Int64Array | None = None
    for level in mipmap.levels:
        grown = _GrowingLevel(level.shift)
        blocks = level.blocks()
        grown.put(blocks, 0)
        last = blocks.first[-1]
        grown.tail = int(last) if finer is None else int(np.searchsorted(finer, last))
        finer = blocks.first
        levels.append(grown)
    return levels
