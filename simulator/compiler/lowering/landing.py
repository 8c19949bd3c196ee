"""Landing: what of a transfer can go straight to its place, and what lands in a buffer and is unpacked on its tile.

The fabric moves whole words. Rows that follow each other in the memory of one sender and of one receiver are a stretch.
A stretch goes straight to its place where it begins at a word at both ends and fills its last word, or ends where the
destination's bytes on the tile end (allocations are padded to 8 bytes). Any other lands: its words, with what else
they hold, arrive in the landing buffer of the receiver, and an on-tile copy moves its bytes from there.

A message (one sender, one receiver) of many small fragments may land too, although it need not. The compiler chooses by
cost: straight, each fragment after the first needs three instructions of always-live code and may need more cycles than
its words; landed, the message is one fragment, and the on-tile copy costs what `simulator.machine.local_copy` says.
A byte of exchange code weighs CYCLES_PER_CODE_BYTE cycles. Fitted between two published programs: the columns of 100
single words of a halo exchange land (module text of `simulator.machine.local_copy`), so it is more than 1.19; the
matmul chain's operands of rows of eight words come straight into their gather buffers, for its published time has no
room for copies of them (published-numbers 6.1), so it is less than 1.33.

What lands may be packed by its sender instead: `simulator.compiler.lowering.packing`.

Sorts of the rows by receiver; a few columns of them in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.grouping import in_order
from simulator.compiler.ir.transfers import Arrivals, Transfer
from simulator.machine import exchange as fabric
from simulator.machine import local_copy
from simulator.machine.cycles.rounding import WORKERS

#: Cycles that a byte of always-live exchange code weighs. Fitted, see the module text.
CYCLES_PER_CODE_BYTE = 1.25
#: Pairs of tiles up to this many times the number of rows are counted in a table.
PAIRS_PER_ROW = 8


@dataclass(frozen=True)
class Landing:
    """Rows of a transfer that land, and what unpacking moves. `place`: byte offset of each such row in the landing
    buffer of its receiver; the others have one entry per tile."""

    rows: BoolArray
    place: Int64Array
    buffer: Int64Array  #: bytes of the landing buffer
    moved: Int64Array  #: bytes unpacked
    runs: Int64Array  #: runs of memory unpacked


def fills_words(source: Int64Array, target: Int64Array, size: Int64Array, last: BoolArray) -> BoolArray:
    """Flag runs at these byte offsets that begin at a word at both ends and fill their last word, or are the `last`
    bytes of the destination."""
    word = fabric.WORD_BYTES
    return np.asarray((source % word == 0) & (target % word == 0) & ((size % word == 0) | last))


def land(
    transfer: Transfer,
    source: Int64Array,
    variable: Int64Array,
    target: Int64Array,
    last: BoolArray,
    ipu_of_tile: Int64Array,
) -> tuple[Arrivals, Landing]:
    """Choose the rows that land. Row i of the transfer lies `source[i]` bytes into the memory of its sender's variable
    and goes `target[i]` bytes into the memory of `variable[i]` on its receiver, whose `last` bytes it may be."""
    if not len(transfer):
        return nothing_lands(len(ipu_of_tile))
    return landing_of(stretches(transfer, source, variable, target, last, ipu_of_tile), len(ipu_of_tile))


def nothing_lands(tiles: int) -> tuple[Arrivals, Landing]:
    """What `land` gives for a transfer without rows."""
    none, empty = np.zeros(tiles, np.int64), np.zeros(0, np.bool_)
    return Arrivals(np.zeros(0, np.int64), empty), Landing(empty, np.zeros(0, np.int64), none, none, none)


def landing_of(s: Stretches, tiles: int) -> tuple[Arrivals, Landing]:
    """What `land` gives for the rows of these stretches."""
    order, src, dst, size, at, fragment = s.order, s.src, s.dst, s.size, s.at, s.fragment
    head, number, length, landing = s.head, s.number, s.length, s.landing
    words = words_of_rows(at, size, head, number)
    begins = fragment & ~landing[number]
    place_of_stretch, buffer, first = _stack(src[head], dst[head], at[head], length, landing, tiles)
    begins[head[first]] = True
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    lands = landing[number]
    place = place_of_stretch[number] + at - at[head][number]
    moved = np.bincount(dst[lands], weights=size[lands], minlength=tiles).astype(np.int64)
    unpacked = np.bincount(dst[head][landing], minlength=tiles).astype(np.int64)
    found = Landing(lands[back], place[back][lands[back]], buffer, moved, unpacked)
    return Arrivals(words[back], begins[back]), found


@dataclass(frozen=True)
class Stretches:
    """The rows of a transfer in order of receiver and place there, and their stretches. `order` to `fragment` have an
    entry per row, in that order; the others one per stretch."""

    order: Int64Array
    src: Int64Array
    dst: Int64Array
    size: Int64Array
    at: Int64Array
    to: Int64Array
    fragment: BoolArray  #: begins a fragment
    number: Int64Array  #: the row's stretch
    head: Int64Array  #: first row
    length: Int64Array  #: bytes
    last: BoolArray  #: the destination's last bytes on the tile
    landing: BoolArray


def stretches(
    transfer: Transfer,
    source: Int64Array,
    variable: Int64Array,
    target: Int64Array,
    last: BoolArray,
    ipu_of_tile: Int64Array,
) -> Stretches:
    """The stretches of a transfer with rows; arguments as for `land`."""
    rows, tiles = len(transfer), len(ipu_of_tile)
    order = by_place(transfer.dst, variable, target)
    src, dst, size = (column[order] for column in (transfer.src, transfer.dst, transfer.bytes))
    at, to = source[order], target[order]
    fragment, stretch = np.ones(rows, np.bool_), np.ones(rows, np.bool_)
    apart = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1]) | (np.diff(variable[order]) != 0)
    apart |= to[1:] != (to + size)[:-1]
    fragment[1:] = apart
    stretch[1:] = apart | (at[1:] != (at + size)[:-1])
    head = np.flatnonzero(stretch)
    ends = last[order][np.append(head[1:] - 1, rows - 1)]
    length = np.add.reduceat(size, head)
    within = ipu_of_tile[src[head]] == ipu_of_tile[dst[head]]
    landing = within & ~fills_words(at[head], to[head], length, ends)
    landing |= within & _small(src[head] * tiles + dst[head], length, fragment[head])
    number = np.cumsum(stretch) - 1
    return Stretches(order, src, dst, size, at, to, fragment, number, head, length, ends, landing)


def by_place(dst: Int64Array, variable: Int64Array, target: Int64Array) -> Int64Array:
    """Rows in order of receiver, variable and offset there."""
    variables, span = int(variable.max(initial=0)) + 1, int(target.max(initial=0)) + 1
    fits = (int(dst.max(initial=0)) + 1) * variables * span < 1 << 62
    if fits and min(int(variable.min(initial=0)), int(target.min(initial=0))) >= 0:
        return in_order((dst * variables + variable) * span + target)[0]
    return np.lexsort((target, variable, dst))


def _small(message: Int64Array, length: Int64Array, begins: BoolArray) -> BoolArray:
    """Flag the stretches of messages whose fragments are so many and so small that landing costs less."""
    number = message
    if int(message.max(initial=0)) > PAIRS_PER_ROW * len(message):
        _, number = np.unique(message, return_inverse=True)
    fragments = np.bincount(number, weights=begins)
    counts, size = np.bincount(number), np.bincount(number, weights=length)
    words = np.bincount(number, weights=fabric.words(length))
    code = CYCLES_PER_CODE_BYTE * fabric.CODE_PER_FRAGMENT * (fragments - 1)
    straight = code + np.maximum(fabric.INSTRUCTIONS_PER_FRAGMENT * fragments - words, 0)
    unpacking = local_copy.CYCLES_PER_RUN * counts + size / local_copy.BYTES_PER_CYCLE
    unpacking += WORKERS * local_copy.START_CYCLES
    return np.asarray((straight > unpacking)[number])


def words_of_rows(at: Int64Array, size: Int64Array, head: Int64Array, number: Int64Array) -> Int64Array:
    """The words of each row; a word that two rows of a stretch share counts for the first."""
    begin = at[head] - at[head] % fabric.WORD_BYTES
    before, after = at - begin[number], at + size - begin[number]
    counted = fabric.words(before)
    counted[head] = 0
    return np.asarray(fabric.words(after) - counted, np.int64)


def _stack(
    src: Int64Array, dst: Int64Array, at: Int64Array, length: Int64Array, landing: BoolArray, tiles: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(offset of each stretch in its landing buffer, bytes of the buffers, first stretches of messages). A stretch
    keeps its place within a word."""
    place = np.full(len(src), -1, np.int64)
    chosen = np.flatnonzero(landing)
    order = chosen[np.lexsort((at[chosen], src[chosen], dst[chosen]))]
    skew = at[order] % fabric.WORD_BYTES
    room = fabric.WORD_BYTES * fabric.words(skew + length[order])
    end = np.cumsum(room)
    begins = np.append(True, np.diff(dst[order]) != 0)[: len(order)]
    first = np.flatnonzero(begins)
    base = np.repeat((end - room)[first], np.diff(np.append(first, len(order))))
    place[order] = end - room - base + skew
    buffer = np.bincount(dst[order], weights=room, minlength=tiles).astype(np.int64)
    messages = np.append(True, (np.diff(dst[order]) != 0) | (np.diff(src[order]) != 0))[: len(order)]
    return place, buffer, order[messages]
