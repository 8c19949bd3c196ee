"""A mipmap of one lane's events over time, for drawing more events than there are pixels.

At a width w the events that begin in [k w, (k + 1) w) become one block from the first begin to the last end, with their
number, the sum of their durations and the name of the longest. Blocks of one width never overlap. The finest level
merges about four events per block where events are dense, each further one has blocks four times as wide.

A level keeps of a block its first event, the sum and the name: begin, end and count follow from the lane. These take
9 bytes a block where there are less than 256 names; all levels together 3 bytes an event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.arrays import AnyArray, Int64Array, UInt32Array, UnsignedArray

#: Lanes with fewer events are always drawn event by event.
FEW = 2048
FEWEST_BLOCKS = 256
#: A level's blocks are 2^COARSER times as wide as those of the level before.
COARSER = 2
_NAME_BITS = 20


@dataclass(frozen=True)
class Blocks:
    """Blocks of events of one lane, in time order.

    `count` events lie in each; one with count 1 is exactly that event. `busy` is the sum of the events' durations in
    ns, `first` the position of the first event in its lane, `name` that of the longest event."""

    start: Int64Array
    end: Int64Array
    busy: Int64Array
    count: Int64Array
    name: UInt32Array
    first: Int64Array

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Level:
    """The blocks of one width: the events of a block begin in one span of 2^shift ns. `first`, `busy` and `name` are as
    in `Blocks`, in as few bytes as hold them; `start` and `duration` are the columns of the lane."""

    shift: int
    start: Int64Array
    duration: UnsignedArray
    first: UnsignedArray
    busy: AnyArray
    name: UnsignedArray

    def __len__(self) -> int:
        return len(self.first)

    def between(self, begin: int, end: int) -> tuple[int, int]:
        """Numbers of the blocks that overlap [begin, end), first and exclusive last."""
        at_begin = np.searchsorted(self.start, np.int64(begin), "right")
        at_end = np.searchsorted(self.start, np.int64(end), "left")
        low = max(0, self._begun(int(at_begin)) - 1)
        if low < len(self) and self.blocks(low, low + 1).end[0] <= begin:
            low += 1
        return low, max(low, self._begun(int(at_end)))

    def blocks(self, low: int = 0, high: int | None = None) -> Blocks:
        """Blocks [low, high), by default all."""
        high = len(self) if high is None else high
        first = self.first[low:high].astype(np.int64)
        after = np.append(first[1:], int(self.first[high]) if high < len(self) else len(self.start))[: len(first)]
        end = self.start[after - 1] + self.duration[after - 1].astype(np.int64)
        busy, name = self.busy[low:high].astype(np.int64), self.name[low:high].astype(np.uint32)
        return Blocks(self.start[first], end, busy, after - first, name, first)

    def _begun(self, events: int) -> int:
        """The number of blocks whose first event is among the first `events` of the lane."""
        # The type of the column, since NumPy would copy the column into that of a Python number.
        return (
            len(self) if events >= len(self.start) else int(np.searchsorted(self.first, self.first.dtype.type(events)))
        )


@dataclass(frozen=True)
class Mipmap:
    """Levels from the finest to the coarsest; none for a lane of few events."""

    levels: list[Level]

    def for_width(self, width_ns: float) -> Level | None:
        """The coarsest level whose blocks begin within `width_ns`; None when even the finest is too coarse."""
        coarsest = None
        for level in self.levels:
            if (1 << level.shift) <= width_ns:
                coarsest = level
        return coarsest


def build_mipmap(start: Int64Array, duration: UnsignedArray, name: UnsignedArray) -> Mipmap:
    """The levels of a lane; about half a second for ten million events."""
    if len(start) < FEW:
        return Mipmap([])
    shift = usual_shift(start)
    first = block_bounds(start, shift)
    while len(first) > len(start) // 2:
        shift += 1
        first = block_bounds(start, shift)
    levels = [finest_level(start, duration, name, shift, first)]
    while len(levels[-1]) > FEWEST_BLOCKS:
        shift += COARSER
        blocks = coarser_blocks(levels[-1].blocks(), shift)
        levels.append(_level(shift, start, duration, blocks.first, blocks.busy, blocks.name))
    return Mipmap(levels)


def usual_shift(start: Int64Array) -> int:
    """Width of the finest blocks: about four events begin in one, where their rate is the usual one of the lane."""
    stride = max(1, len(start) // 65536)
    # The time of `stride` events, at some thousand places of the lane.
    places = np.arange(0, len(start) - stride, stride * max(1, len(start) // (stride * 4096)))
    gap = np.median(start[places + stride] - start[places]) / stride
    return max(2, int(4 * gap).bit_length())


def block_bounds(start: Int64Array, shift: int) -> Int64Array:
    """Positions of the first event of each block."""
    bucket = start >> shift
    return np.concatenate([[0], np.flatnonzero(bucket[1:] != bucket[:-1]) + 1])


def finest_level(
    start: Int64Array, duration: UnsignedArray, name: UnsignedArray, shift: int, first: Int64Array | None = None
) -> Level:
    """Blocks of 2^shift ns of the events of a lane; `first` are their bounds where these are known."""
    first = block_bounds(start, shift) if first is None else first
    busy = np.add.reduceat(duration, first, dtype=np.int64)
    return _level(shift, start, duration, first, busy, _longest(duration, name, first))


def coarser_blocks(blocks: Blocks, shift: int) -> Blocks:
    """Blocks of 2^shift ns of narrower ones."""
    first = block_bounds(blocks.start, shift)
    last = np.append(first[1:], len(blocks)) - 1
    average = (blocks.busy // blocks.count).astype(np.uint64)
    return Blocks(
        blocks.start[first],
        blocks.end[last],
        np.add.reduceat(blocks.busy, first),
        np.add.reduceat(blocks.count, first),
        _longest(average, blocks.name, first),
        blocks.first[first],
    )


def _level(
    shift: int, start: Int64Array, duration: UnsignedArray, first: Int64Array, busy: Int64Array, name: UInt32Array
) -> Level:
    return Level(shift, start, duration, narrow(first), narrow(busy), narrow(name))


def narrow(values: AnyArray) -> UnsignedArray:
    """Whole numbers from 0 up, in as few bytes as hold the largest."""
    return values.astype(np.min_scalar_type(int(values.max()) if len(values) else 0))


def _longest(duration: UnsignedArray, name: UnsignedArray, first: Int64Array) -> UInt32Array:
    """Name of the longest event of each block; of equally long ones, the name with the highest number."""
    keys = np.minimum(duration.astype(np.uint64), np.uint64(2 ** (64 - _NAME_BITS) - 1))
    keys <<= np.uint64(_NAME_BITS)
    keys |= np.minimum(name.astype(np.uint64), np.uint64(2**_NAME_BITS - 1))
    return (np.maximum.reduceat(keys, first) & np.uint64(2**_NAME_BITS - 1)).astype(np.uint32)
