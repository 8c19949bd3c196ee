"""A mipmap of one lane's events over time, for drawing more events than there are pixels.

At a width w the events that begin in [k w, (k + 1) w) become one block from the first begin to the last end, with their
number, the sum of their durations and the name of the longest. Blocks of one width never overlap. The finest level
merges about four events per block where events are dense, each further one has blocks four times as wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.arrays import Int64Array, UInt32Array, UnsignedArray

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
    """The blocks of one width: the events of a block begin in one span of 2^shift ns."""

    shift: int
    blocks: Blocks


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
    level = finest_level(start, duration, name, shift)
    while len(level.blocks) > len(start) // 2:
        shift += 1
        level = finest_level(start, duration, name, shift)
    levels = [level]
    while len(level.blocks) > FEWEST_BLOCKS:
        level = Level(level.shift + COARSER, coarser_blocks(level.blocks, level.shift + COARSER))
        levels.append(level)
    return Mipmap(levels)


def usual_shift(start: Int64Array) -> int:
    """Width of the finest blocks: about four events begin in one, where their rate is the usual one of the lane."""
    stride = max(1, len(start) // 65536)
    gap = np.median(np.diff(start[::stride])) / stride
    return max(2, int(4 * gap).bit_length())


def block_bounds(start: Int64Array, shift: int) -> Int64Array:
    """Positions of the first event of each block."""
    bucket = start >> shift
    return np.concatenate([[0], np.flatnonzero(bucket[1:] != bucket[:-1]) + 1])


def finest_level(start: Int64Array, duration: UnsignedArray, name: UnsignedArray, shift: int) -> Level:
    """Blocks of 2^shift ns of the events of a lane."""
    first = block_bounds(start, shift)
    last = np.append(first[1:], len(start)) - 1
    longest = _longest(duration, name, first)
    end = start[last] + duration[last].astype(np.int64)
    busy = np.add.reduceat(duration, first, dtype=np.int64)
    return Level(shift, Blocks(start[first], end, busy, last - first + 1, longest, first))


def _longest(duration: UnsignedArray, name: UnsignedArray, first: Int64Array) -> UInt32Array:
    """Name of the longest event of each block; of equally long ones, the name with the highest number."""
    keys = np.minimum(duration.astype(np.uint64), np.uint64(2 ** (64 - _NAME_BITS) - 1))
    keys <<= np.uint64(_NAME_BITS)
    keys |= np.minimum(name.astype(np.uint64), np.uint64(2**_NAME_BITS - 1))
    return (np.maximum.reduceat(keys, first) & np.uint64(2**_NAME_BITS - 1)).astype(np.uint32)


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
