"""Arrange copies between tensors: the transfers between tiles, and the copies within tiles.

A run whose two ends lie on different tiles goes by exchange. A run within a tile is copied there after the exchange.
The fabric moves whole words to whole words: a run goes straight to its place where it begins at a word at both ends and
fills its last word (or ends where the variable's bytes on that tile end). Every other run lands in a buffer of the
receiving tile, and the on-tile copy after the exchange unpacks it (`simulator.compiler.lowering.landing`), or is packed
by its sender before (`simulator.compiler.lowering.packing`).

Three rules save work:

- A constant of one value is not sent; the tiles that need it write it themselves. (Published: the padding of the matmul
  chain occupies no always-live memory, and its copy ends with a long on-tile copy; published-numbers 6.1.)
- A tile with at most 640 bytes of its own sends them to itself in the exchange within its IPU, if that makes the
  exchange hardly longer. Packets to other IPUs carry no such rows. They have the same tile at both ends and are not
  counted as traffic. (A guess from the chain's four copies, which leave up to 128, 512, 544 and 768 bytes on a few
  tiles: the second and third have no on-tile copy in the published tree, the fourth has one. With all local runs copied
  on tile, the second and third would take twice their published time. Time does not explain the on-tile copy of the 768
  bytes: sent with the exchange, their tiles would receive 320 words, the busiest tile receives 328. Nor does their
  share of what a tile receives, which is larger for the 512 bytes of the second copy.)
- Between a message of the host and its tensor (`host_messages`) tiles send themselves everything: the published compute
  of tutorial 6 on Mk2 has no room for copies, and its exchange is longer than a tile's share of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.compiler.ir.accesses import Accesses, elements_of
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.transfers import Arrivals, LocalCopy, Transfer
from simulator.compiler.lowering.landing import (
    Landing,
    Stretches,
    fills_words,
    land,
    landing_of,
    nothing_lands,
    stretches,
)
from simulator.compiler.lowering.operand_pieces import Unmapped, check_mapped
from simulator.compiler.lowering.packing import Packing, pack
from simulator.machine import exchange as fabric


@dataclass(frozen=True)
class Runs:
    """Runs of a copy, each with the destination of its first element, and the rows of the ElementMap at both ends."""

    transfer: Transfer
    to: Int64Array
    from_row: Int64Array
    to_row: Int64Array

    def take(self, keep: BoolArray) -> Runs:
        return Runs(self.transfer.take(keep), self.to[keep], self.from_row[keep], self.to_row[keep])


#: Most bytes that a tile sends to itself. Fitted: 544 are sent, 768 are not; see the module text.
SELF_SENT_BYTES = 640

#: The busiest tile of the IPU may send or receive 1/32 more words. A guess.
SELF_SENT_SLACK = 32


@dataclass(frozen=True)
class Sending:
    """How the rows of a transfer lie: byte offsets at their senders, `_places` at their receivers, and stretches."""

    source: Int64Array
    places: tuple[Int64Array, Int64Array, BoolArray]
    stretches: Stretches


@dataclass(frozen=True)
class CopyArrangement:
    transfer: Transfer
    arrivals: Arrivals
    local: LocalCopy
    accesses: Accesses  #: of the copies within tiles
    sent: Runs  #: those of `transfer`
    near: Runs  #: copied within tiles
    filled: Runs  #: constants that tiles write
    landing: Landing  #: rows of `sent` that are unpacked after the exchange
    packing: Packing | None = None  #: rows of `sent` that are packed before it
    sending: Sending | None = None  #: of `sent`, of which `pack_copy` takes what it packs; None for no rows

    @property
    def copies(self) -> list[LocalCopy]:
        """The copies within tiles."""
        return [self.local] if self.packing is None else [self.packing.copy, self.local]

    @property
    def packed(self) -> Runs | None:
        """The rows of `sent` that are packed, None for none."""
        return None if self.packing is None else self.sent.take(self.packing.rows)

    def wire(self, emap: ElementMap) -> Transfer:
        """The rows as they are sent."""
        return self.transfer if self.packing is None else self.packing.wire(self.transfer, int(emap.end[-1]))


def arrange_copy(
    source: tuple[Int64Array, Int64Array],
    destination: tuple[Int64Array, Int64Array],
    emap: ElementMap,
    ipu_of_tile: Int64Array,
    unmapped: Unmapped,
    fills: BoolArray | None = None,
    *,
    of_host: bool = False,
) -> CopyArrangement:
    """Arrange a copy between tensors given by their regions (starts, lengths), of equally many elements. `fills` flags
    variables that are constants of one value. `of_host`: one end is a message of the host, of which tiles send
    themselves all that they may. Raises what `unmapped` makes for an element without a tile."""
    tiles = len(ipu_of_tile)
    runs = paired_runs(source, destination, emap, unmapped)
    every, to = runs.transfer, runs.to
    fill = np.zeros(len(every), np.bool_) if fills is None else fills[emap.variable[runs.from_row]]
    far = (every.src != every.dst) & ~fill
    near = ~far & ~fill
    tile, size = _joined_runs(every.take(near), to[near])
    inside = far & (ipu_of_tile[every.src] == ipu_of_tile[every.dst])
    self_sending = np.full(tiles, inside.any())  # without a message to another tile there is no exchange
    if not of_host:
        self_sending = _tiles_that_send_to_themselves(every.take(inside), tile, size, every.dst[fill], ipu_of_tile)
    self_sending[every.dst[near][~_fills_words(runs.take(near), emap)]] = False
    far |= near & self_sending[every.dst]
    on_tile = ~self_sending[tile]
    sent, copied, filling = runs.take(far), runs.take(near & ~far), runs.take(fill)
    sending = _sending(sent, emap, ipu_of_tile)
    arrivals, landing = nothing_lands(tiles) if sending is None else landing_of(sending.stretches, tiles)
    moved = _per_tile(tile[on_tile], size[on_tile], tiles) + landing.moved
    count = np.bincount(tile[on_tile], minlength=tiles).astype(np.int64) + landing.runs
    filled = _per_tile(every.dst[fill], every.bytes[fill], tiles)
    local = LocalCopy(moved, count, np.zeros(tiles, np.int64), filled)
    accesses = _within_tiles(copied, filling, sent.take(landing.rows))
    return CopyArrangement(sent.transfer, arrivals, local, accesses, sent, copied, filling, landing, sending=sending)


def _sending(sent: Runs, emap: ElementMap, ipu_of_tile: Int64Array) -> Sending | None:
    if not len(sent.transfer):
        return None
    source, places = _offsets(sent.transfer, sent.from_row, emap), _places(sent, emap)
    return Sending(source, places, stretches(sent.transfer, source, *places, ipu_of_tile))


def pack_copy(plain: CopyArrangement, ipu_of_tile: Int64Array) -> CopyArrangement | None:
    """The same copy with what its senders may pack; None where they pack nothing."""
    sent, sending = plain.sent, plain.sending
    if sending is None or not plain.landing.rows.any():
        return None
    packing = pack(sent.transfer, sending.stretches, plain.local)
    if packing is None:
        return None
    arrivals, landing = land(sent.transfer, packing.sent_from(sending.source), *sending.places, ipu_of_tile)
    moved = plain.local.moved - plain.landing.moved + landing.moved
    runs = plain.local.runs - plain.landing.runs + landing.runs
    return replace(
        plain,
        arrivals=arrivals,
        local=replace(plain.local, moved=moved, runs=runs),
        accesses=_within_tiles(plain.near, plain.filled, sent.take(landing.rows)),
        landing=landing,
        packing=packing,
        sending=None,
    )


def _within_tiles(copied: Runs, filling: Runs, landed: Runs) -> Accesses:
    """The elements that the copies within tiles access."""
    own = copied.transfer
    written = elements_of([(part.to, part.transfer.length) for part in (copied, filling, landed)])
    return Accesses(elements_of([(own.start, own.length)]), written)


def sender_offsets(transfer: Transfer, emap: ElementMap) -> Int64Array:
    """The byte offset of each row in its variable at the sender; variables lie far apart."""
    return _offsets(transfer, emap.find(transfer.start) if len(transfer) else np.empty(0, np.int64), emap)


def _offsets(transfer: Transfer, row: Int64Array, emap: ElementMap) -> Int64Array:
    """`sender_offsets` of runs in these rows of the ElementMap."""
    return np.asarray(emap.offset(row, transfer.start) + emap.variable[row] * _VARIABLES_APART, dtype=np.int64)


#: Bytes between the variables of a sender in `sender_offsets`: more than a tile has, and a multiple of a word.
_VARIABLES_APART = 1 << 32


def _places(runs: Runs, emap: ElementMap) -> tuple[Int64Array, Int64Array, BoolArray]:
    """(key of the destination variable, byte offset there, flag) of runs; the flag says that a run ends where the
    variable's bytes on the tile end."""
    row = runs.to_row
    offset = emap.offset(row, runs.to)
    last = offset + runs.transfer.bytes >= emap.held[row] * emap.item_bytes[row]
    return emap.variable[row], offset, last


def _fills_words(runs: Runs, emap: ElementMap) -> BoolArray:
    """Flag the runs that an exchange can move straight to their place."""
    _, offset, last = _places(runs, emap)
    source = emap.offset(runs.from_row, runs.transfer.start)
    return fills_words(source, offset, runs.transfer.bytes, last)


def paired_runs(
    source: tuple[Int64Array, Int64Array],
    destination: tuple[Int64Array, Int64Array],
    emap: ElementMap,
    unmapped: Unmapped,
) -> Runs:
    """The runs of a copy, each on one tile at either end."""
    src, dst = emap.cut(*source), emap.cut(*destination)
    check_mapped(src, emap, unmapped)
    check_mapped(dst, emap, unmapped)
    src_end, dst_end = np.cumsum(src.length), np.cumsum(dst.length)
    end = regions.distinct(np.concatenate([src_end, dst_end]))
    begin = np.concatenate([[0], end[:-1]])[: len(end)]
    s = np.searchsorted(src_end, begin, side="right")
    d = np.searchsorted(dst_end, begin, side="right")
    start = src.start[s] + begin - (src_end[s] - src.length[s])
    to = dst.start[d] + begin - (dst_end[d] - dst.length[d])
    from_row, to_row = src.row[s], dst.row[d]
    rows = Transfer(emap.tile[from_row], emap.tile[to_row], start, end - begin, emap.item_bytes[from_row])
    return Runs(rows, to, from_row, to_row)


def _joined_runs(runs: Transfer, to: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(tile, bytes) of runs within tiles after joining runs that are adjacent in both tensors."""
    if len(runs) == 0:
        return runs.dst, runs.dst
    order = np.lexsort((to, runs.dst))
    tile, start, length, to = (column[order] for column in (runs.dst, runs.start, runs.length, to))
    fresh = np.ones(len(tile), np.bool_)
    fresh[1:] = tile[1:] != tile[:-1]
    fresh[1:] |= (start[1:] != (start + length)[:-1]) | (to[1:] != (to + length)[:-1])
    head = np.flatnonzero(fresh)
    return tile[head], np.add.reduceat(runs.bytes[order], head)


def _tiles_that_send_to_themselves(
    transfer: Transfer, tile: Int64Array, size: Int64Array, filling: Int64Array, ipu_of_tile: Int64Array
) -> BoolArray:
    """Flag tiles that send their own runs to themselves: few bytes, no constants to write, and fewer words to move than
    the busiest tile of the IPU. `transfer` = rows between tiles within IPUs."""
    tiles = len(ipu_of_tile)
    received, sent = (_per_tile(t, fabric.words(transfer.bytes), tiles) for t in (transfer.dst, transfer.src))
    moved = np.maximum(received, sent)
    busiest = np.zeros(int(ipu_of_tile.max(initial=0)) + 1, np.int64)
    np.maximum.at(busiest, ipu_of_tile, moved)
    words = _per_tile(tile, fabric.words(size), tiles)
    few = (words > 0) & (_per_tile(tile, size, tiles) <= SELF_SENT_BYTES)
    few[filling] = False
    return np.asarray(few & (moved + words <= (busiest + busiest // SELF_SENT_SLACK)[ipu_of_tile]))


def _per_tile(tile: Int64Array, size: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=size, minlength=tiles).astype(np.int64)
