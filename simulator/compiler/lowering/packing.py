"""Packing: senders gather pieces of their memory into a buffer, from which an exchange sends them as one run.

Where a receiver wants bytes at consecutive addresses that do not lie so at their sender (a column of halves), the
exchange alone moves a word for each piece, needs a send for each, and the receiver unpacks them
(`simulator.compiler.lowering.landing`). A sender that packs them first sends half or a quarter of the words with one
instruction, straight to their place, and does the work of the on-tile copy itself: a gain where many senders share what
one receiver would do, and where words count.

The unit is a fragment: what one sender sends to consecutive addresses of a receiver. One of several stretches, any of
which lands, is packed where the sender's whole packing takes fewer cycles than its receiver saves in unpacking, in
words, and in code of sends at the weight of `landing.CYCLES_PER_CODE_BYTE`. Fragments of the same elements for several
receivers are packed once and sent once. The copy as a whole is then kept as it costs less, packed or not
(`simulator.compiler.lowering.exchange_plans`).

Operands of vertices are packed by the same rule, where what their senders pack goes straight into the gather buffer
(`pack_pieces`). Pieces that a vertex uses where they arrive have no copy to save, and pieces between IPUs travel in
packets, which are filled by copies in any case.

Cost: sorts of the rows by receiver, as in `landing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Float64Array, Int64Array
from simulator.compiler.ir.grouping import mixed
from simulator.compiler.ir.transfers import LocalCopy, Transfer
from simulator.compiler.lowering.landing import (
    CYCLES_PER_CODE_BYTE,
    PAIRS_PER_ROW,
    Stretches,
    by_place,
    fills_words,
    stretches,
)
from simulator.machine import exchange as fabric
from simulator.machine.local_copy import local_copy_cycles

#: Keeps offsets in pack buffers apart from those in variables; a multiple of a word.
PACKED = 1 << 61


@dataclass(frozen=True)
class Packing:
    """Rows of a transfer that their senders pack. `place`: byte offset of each such row in the pack buffer of its
    sender; rows of one content share it. `copy`: what packing moves on each tile, and the bytes of the buffers."""

    rows: BoolArray
    place: Int64Array
    copy: LocalCopy

    def sent_from(self, source: Int64Array) -> Int64Array:
        """Where each row lies at its sender: in the pack buffer, or else at `source` bytes of its memory."""
        at = source.copy()
        at[self.rows] = PACKED + self.place
        return at

    def wire(self, transfer: Transfer, free: int) -> Transfer:
        """The rows as they are sent: packed ones as bytes of pack buffers, which begin at element `free` of a space
        behind all variables."""
        start, length, item_bytes = transfer.start.copy(), transfer.length.copy(), transfer.item_bytes.copy()
        start[self.rows], length[self.rows] = free + self.place, transfer.bytes[self.rows]
        item_bytes[self.rows] = 1
        return Transfer(transfer.src, transfer.dst, start, length, item_bytes)


def pack(transfer: Transfer, s: Stretches, unpacking: LocalCopy, *, straight_only: bool = False) -> Packing | None:
    """Choose the fragments that senders pack; None for none. `unpacking`: the copies within tiles after the exchange if
    nothing is packed. `straight_only`: those that go straight to their place then."""
    tiles = len(unpacking.moved)
    of_row = np.cumsum(s.fragment) - 1
    of_stretch = of_row[s.head]
    first = np.flatnonzero(s.fragment)
    src, dst, count = s.src[first], s.dst[first], np.bincount(of_stretch)
    chosen = (count > 1) & (np.bincount(of_stretch, s.landing) > 0) & (src != dst)
    if not chosen.any():
        return None
    content = _contents(transfer, s, first, of_row, src)
    last_stretch = np.append(np.flatnonzero(np.diff(of_stretch)), len(of_stretch) - 1)
    size = np.bincount(of_stretch, s.length).astype(np.int64)
    straight = fills_words(np.zeros_like(size), s.to[first], size, s.last[last_stretch])
    chosen &= straight | (not straight_only)
    if not chosen.any():
        return None
    words = fabric.words(s.at[s.head] % fabric.WORD_BYTES + s.length)
    words_saved = np.bincount(of_stretch, words).astype(np.int64) - fabric.words(size)
    landed = np.bincount(of_stretch, s.landing).astype(np.int64)
    landed_bytes = np.bincount(of_stretch, s.landing * s.length).astype(np.int64)

    def sums(tile: Int64Array, value: Int64Array, keep: BoolArray) -> Int64Array:
        return np.bincount(tile[keep], value[keep], tiles).astype(np.int64)

    kept = chosen & _firsts(content, chosen)
    packing = local_copy_cycles(sums(src, size, kept), sums(src, count, kept), np.zeros(tiles, np.int64))
    saved_code = CYCLES_PER_CODE_BYTE * fabric.CODE_PER_RUN_SENT * sums(src, count - 1, kept)
    none = np.zeros(tiles, np.int64)
    filled = none if unpacking.filled is None else unpacking.filled
    before = local_copy_cycles(unpacking.moved, unpacking.runs, filled)
    moved = unpacking.moved - sums(dst, landed_bytes - np.where(straight, 0, size), chosen)
    runs = unpacking.runs - sums(dst, landed - np.where(straight, 0, 1), chosen)
    gain = before - local_copy_cycles(moved, runs, filled) + sums(dst, words_saved, chosen)
    chosen &= _pays(packing[src], gain[dst] + saved_code[src])
    if not chosen.any():
        return None
    return _placed(s, chosen, content, of_row, size, count, tiles)


def _pays(cycles: Int64Array, saved: Float64Array) -> BoolArray:
    """Flag fragments whose sender takes fewer cycles than packing saves."""
    return np.asarray(cycles < saved)


def _contents(transfer: Transfer, s: Stretches, first: Int64Array, of_row: Int64Array, src: Int64Array) -> Int64Array:
    """The number of each fragment's content: its sender and its elements in order."""
    position = np.arange(len(of_row)) - first[of_row]
    start, length = transfer.start[s.order], transfer.length[s.order]
    digest = mixed((mixed(start) * np.uint64(3) + mixed(length + (position << 32))).astype(np.int64))
    total = np.add.reduceat(digest, first)
    order = np.lexsort((total, src))
    apart = np.append(True, (np.diff(src[order]) != 0) | (total[order][1:] != total[order][:-1]))
    number = np.empty(len(src), np.int64)
    number[order] = np.cumsum(apart) - 1
    return number


def _firsts(content: Int64Array, chosen: BoolArray) -> BoolArray:
    """Flag the first chosen fragment of each content."""
    at = np.flatnonzero(chosen)
    _, index = np.unique(content[at], return_index=True)
    flags = np.zeros(len(content), np.bool_)
    flags[at[index]] = True
    return flags


def _placed(
    s: Stretches,
    chosen: BoolArray,
    content: Int64Array,
    of_row: Int64Array,
    size: Int64Array,
    count: Int64Array,
    tiles: int,
) -> Packing:
    """Contents one after another in the buffer of their sender, each at a word."""
    first = np.flatnonzero(s.fragment)
    src = s.src[first]
    kept = np.flatnonzero(_firsts(content, chosen))
    order = kept[np.argsort(src[kept], kind="stable")]
    room = fabric.WORD_BYTES * fabric.words(size[order])
    end = np.cumsum(room)
    begins = np.flatnonzero(np.append(True, np.diff(src[order]) != 0)[: len(order)])
    base = np.repeat((end - room)[begins], np.diff(np.append(begins, len(order))))
    place_of_content = np.zeros(int(content.max()) + 1, np.int64)
    place_of_content[content[order]] = end - room - base
    place = place_of_content[content[of_row]] + s.to - s.to[first[of_row]]
    back = np.empty(len(of_row), np.int64)
    back[s.order] = np.arange(len(of_row))
    rows = chosen[of_row][back]
    moved, runs, buffer = (
        np.bincount(src[order], v, tiles).astype(np.int64) for v in (size[order], count[order], room)
    )
    return Packing(rows, place[back][rows], LocalCopy(moved, runs, buffer))


@dataclass(frozen=True)
class PackedPieces:
    """Pieces of operands that their senders pack: flags, the byte offset of each flagged one in the pack buffer of its
    sender, and what packing moves."""

    pieces: BoolArray
    place: Int64Array
    copy: LocalCopy

    def of_rows(self, at: Int64Array, before: int) -> Packing:
        """The packing of a transfer of `before` other rows and one for each of the pieces `at`."""
        where = np.full(len(self.pieces), -1, np.int64)
        where[self.pieces] = self.place
        rows = np.append(np.zeros(before, np.bool_), self.pieces[at])
        return Packing(rows, where[at][self.pieces[at]], self.copy)


def pack_pieces(
    candidates: BoolArray,
    transfer: Transfer,
    lies: tuple[Int64Array, Int64Array, BoolArray],
    unpacking: LocalCopy,
    ipu_of_tile: Int64Array,
) -> PackedPieces | None:
    """Choose, of the candidate pieces of operands, those that their senders pack; None for none. The transfer has a row
    for each candidate; `lies` are their byte offsets at the sender and in the gather buffer, and flags of the last ones
    of operands; `unpacking` is the gather copy if nothing is packed."""
    source, place, last = lies
    if not _some_in_pieces(transfer, source, place):
        return None
    s = stretches(transfer, source, np.zeros_like(place), place, last, ipu_of_tile)
    packing = pack(transfer, s, unpacking, straight_only=True)
    if packing is None:
        return None
    pieces = np.zeros(len(candidates), np.bool_)
    pieces[np.flatnonzero(candidates)[packing.rows]] = True
    return PackedPieces(pieces, packing.place, packing.copy)


def _some_in_pieces(transfer: Transfer, source: Int64Array, place: Int64Array) -> bool:
    """Whether some row continues another of its message at the receiver, but not at the sender: only such can pack."""
    tiles = int(max(transfer.src.max(), transfer.dst.max())) + 1
    if tiles * tiles <= PAIRS_PER_ROW * len(transfer) and np.bincount(transfer.src * tiles + transfer.dst).max() < 2:
        return False
    order = by_place(transfer.dst, np.zeros_like(place), place)
    src, dst, size, at, to = (c[order] for c in (transfer.src, transfer.dst, transfer.bytes, source, place))
    follows = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1])
    if not follows.any():
        return False
    return bool((follows & (to[1:] == (to + size)[:-1]) & (at[1:] != (at + size)[:-1])).any())
