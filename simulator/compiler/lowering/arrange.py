"""Arrange compute sets: what moves between tiles, and within them, before and after a compute set runs. Copies:
`simulator.compiler.lowering.arrange_copies`.

A vertex works on memory of its own tile. An operand (an edge of the vertex that must be one run of memory)

- is used in place when it is one local run; pieces that follow each other in a variable's memory on the tile are one;
- comes by exchange into the message buffer, and is used there, when all of it is remote and its pieces follow each
  other there;
- is gathered into a buffer of the tile otherwise, once for all vertices of the tile that read the same pieces.

The message buffer holds the elements that a tile receives in ascending order, runs of whole words as they lie at their
senders. The exchange writes remote pieces of gathered operands straight into the gather buffer where they fill words at
both ends; others come into the message buffer and are copied from there with the local ones (they are *spread*). An
operand that is wholly remote is spread as a whole where that costs less (`_costs_less_spread`): a broadcast vector is
received once.

Senders may pack pieces that would be spread (`simulator.compiler.lowering.packing`); these come straight too.

Published figures say that a tile takes up to some 560 bytes of its own from the exchange where it sends them to others
anyway, with no copy (derived in benchmarks/validation/tutorial6.py). Here they are gathered on the tile.

Outputs mirror this. An output piece that does not fill words where it belongs lands in a buffer there and is unpacked
with the scattering of the others (`simulator.compiler.lowering.landing`).

Sorts of the pieces of one compute set, in columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Accesses, Elements, elements_of
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.grouping import mixed, union_in_groups
from simulator.compiler.ir.transfers import EMPTY_TRANSFER, Arrivals, LocalCopy, Transfer
from simulator.compiler.lowering.landing import CYCLES_PER_CODE_BYTE, Landing, fills_words, land
from simulator.compiler.lowering.operand_pieces import Operands, Side, Unmapped, sides_of
from simulator.compiler.lowering.packing import PackedPieces, Packing, pack_pieces
from simulator.machine import exchange as fabric
from simulator.machine import local_copy

if TYPE_CHECKING:
    from simulator.graph.vertices import VertexBlock


_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class ComputeArrangement:
    before: Transfer  #: rows into message buffers, then rows into gather buffers, each in order
    arriving: Arrivals  #: those of `before`
    message: Int64Array  #: bytes per tile of message buffers
    message_place: Int64Array  #: byte offset there of each row into message buffers
    gather: LocalCopy
    after: Transfer
    delivered: Arrivals  #: those of `after`
    landing: Landing  #: rows of `after` that are unpacked
    output: Int64Array  #: bytes per tile of outputs waiting to be sent
    scatter: LocalCopy
    accesses: Accesses  #: of the compute set itself: elements used in place
    gathered: Elements  #: elements copied into gather buffers within their tile
    scattered: Elements  #: elements copied back from them, or unpacked, within their tile
    inputs: Sequence[Operands]
    outputs: Sequence[Operands]
    packing: Packing | None = None  #: rows of `before` that are packed by their senders

    @property
    def copies(self) -> list[LocalCopy]:
        """The copies within tiles before the compute set."""
        return [self.gather] if self.packing is None else [self.packing.copy, self.gather]

    @property
    def message_rows(self) -> int:
        """Rows of `before` into message buffers."""
        return len(self.message_place)


def arrange_compute_set(
    blocks: Iterable[VertexBlock], emap: ElementMap, ipu_of_tile: Int64Array, unmapped: Unmapped
) -> list[ComputeArrangement]:
    """The arrangements of a compute set, of which the compiler takes the one that costs least: senders pack nothing,
    and, where they may, senders pack. Raises what `unmapped` makes for an element without a tile."""
    inputs, outputs = sides_of(blocks, emap, unmapped)
    buffers = _gather_buffers(inputs, emap, len(ipu_of_tile))
    plain, outgoing = _incoming(inputs, buffers, emap, len(ipu_of_tile)), _outgoing(outputs, emap, ipu_of_tile)
    arranged = [_arrangement(inputs, plain, outputs, outgoing)]
    packed = _packed_pieces(inputs, plain, emap, ipu_of_tile)
    if packed is not None:
        incoming = _incoming(inputs, buffers, emap, len(ipu_of_tile), packed)
        arranged.append(_arrangement(inputs, incoming, outputs, outgoing))
    return arranged


def _arrangement(inputs: Side, incoming: _Incoming, outputs: Side, outgoing: _Outgoing) -> ComputeArrangement:
    used = [side.local & ~gathered for side, gathered in ((inputs, incoming.gathered), (outputs, outgoing.gathered))]
    landed = outgoing.after.start[outgoing.landing.rows], outgoing.after.length[outgoing.landing.rows]
    return ComputeArrangement(
        incoming.before,
        incoming.arriving,
        incoming.message.size,
        incoming.message.place,
        incoming.copy,
        outgoing.after,
        outgoing.delivered,
        outgoing.landing,
        outgoing.output,
        outgoing.copy,
        Accesses(elements_of([inputs.elements(used[0])]), elements_of([outputs.elements(used[1])])),
        elements_of([inputs.elements(inputs.local & incoming.gathered & incoming.own)]),
        elements_of([outputs.elements(outputs.local & outgoing.gathered), landed]),
        inputs.operands(incoming.gathered, incoming.spread, incoming.own, incoming.place),
        outputs.operands(outgoing.gathered, np.zeros_like(outgoing.gathered), outgoing.gathered, outgoing.place),
        incoming.packing,
    )


# Inputs


@dataclass(frozen=True)
class _Message:
    """The message buffers: rows sorted by receiver and element, their byte offsets, bytes per tile."""

    rows: Transfer
    place: Int64Array
    size: Int64Array
    span: int

    def addresses(self, tile: Int64Array, start: Int64Array) -> Int64Array:
        """The byte offset of elements that the buffers hold."""
        at = np.searchsorted(self.rows.dst * self.span + self.rows.start, tile * self.span + start, side="right") - 1
        return np.asarray(self.place[at] + (start - self.rows.start[at]) * self.rows.item_bytes[at], np.int64)


@dataclass(frozen=True)
class _Incoming:
    before: Transfer
    arriving: Arrivals
    message: _Message
    copy: LocalCopy
    gathered: BoolArray
    spread: BoolArray
    own: BoolArray
    place: Int64Array
    packing: Packing | None


@dataclass(frozen=True)
class _GatherBuffers:
    """What the gather buffers hold, whoever sends it."""

    pieces: BoolArray  #: of the operands there
    spread: BoolArray  #: those of operands that are spread as a whole
    owner: Int64Array  #: per operand the first one there with the same pieces, or itself

    def own(self, operand: Int64Array) -> BoolArray:
        """Flags of the pieces that are gathered for their own operand. `operand`: that of each piece."""
        return np.asarray(self.pieces & (self.owner[operand] == operand))


def _gather_buffers(side: Side, emap: ElementMap, tiles: int) -> _GatherBuffers:
    gathered, spread = _gathered(side, emap, tiles)
    return _GatherBuffers(gathered, spread, _earliest(side, gathered))


def _incoming(
    side: Side, buffers: _GatherBuffers, emap: ElementMap, tiles: int, packed: PackedPieces | None = None
) -> _Incoming:
    remote = ~side.local
    gathered, spread = buffers.pieces, buffers.spread
    own = buffers.own(side.operand)
    place = _stacked(side, own, tiles)
    straight = own & remote & ~spread
    straight &= fills_words(side.source, np.maximum(place, 0), side.size, side.last())
    if packed is not None:
        straight |= packed.pieces
    spread = own & remote & ~straight
    message = _messages(side, (remote & ~gathered) | spread, emap, tiles)
    waiting = remote & ~gathered
    place[waiting] = message.addresses(side.tile[waiting], side.pieces.start[waiting])
    copy = _gathering(side, own, spread, message, _buffer(side, own, tiles), tiles)
    packing = None if packed is None else packed.of_rows(np.flatnonzero(straight), len(message.rows))
    before, arriving = _rows_before(side, straight, message, emap, packing)
    _copy_places(side, gathered & ~own, buffers.owner, place)
    return _Incoming(before, arriving, message, copy, gathered, spread, own, place, packing)


def _packed_pieces(side: Side, plain: _Incoming, emap: ElementMap, ipu_of_tile: Int64Array) -> PackedPieces | None:
    """The pieces that senders may pack, of those that are spread otherwise; None for none."""
    spread = plain.spread
    if not spread.any():
        return None
    row = side.pieces.row[spread]
    start, length = side.elements(spread)
    rows = Transfer(emap.tile[row], side.tile[spread], start, length, emap.item_bytes[row])
    source = side.source[spread] + emap.variable[row] * _VARIABLES_APART
    padded = side.last() & (side.per_operand(side.size) >= fabric.WORD_BYTES)[side.operand]
    return pack_pieces(spread, rows, (source, plain.place[spread], padded[spread]), plain.copy, ipu_of_tile)


#: Bytes between the variables of a sender: more than a tile has, and a multiple of a word.
_VARIABLES_APART = 1 << 32


def _gathered(side: Side, emap: ElementMap, tiles: int) -> tuple[BoolArray, BoolArray]:
    """(pieces of operands in the gather buffer, those of them that are spread as a whole)."""
    none = np.zeros(len(side.tile), np.bool_)
    if len(side.tile) == 0 or int(side.per_operand().max()) <= 1:
        return none, none
    near, count = side.per_operand(side.local), side.per_operand()
    partly: BoolArray = (side.per_operand(~side.follows) > 1) & (near > 0)
    away = ((near == 0) & (count > 1))[side.operand]
    if not away.any():
        return partly[side.operand], none
    wholly_remote = (near == 0)[side.operand]
    message = _messages(side, wholly_remote, emap, tiles)
    at = np.zeros(len(side.tile), np.int64)
    at[wholly_remote] = message.addresses(side.tile[wholly_remote], side.pieces.start[wholly_remote])
    broken: BoolArray = side.per_operand(away & ~side.continues(at, away)) > 1
    spread = broken & _costs_less_spread(side, broken)
    return (partly | broken)[side.operand], spread[side.operand]


def _costs_less_spread(side: Side, broken: BoolArray) -> BoolArray:
    """Flag the operands for which a gather copy from the message buffer costs less than fragments straight into the
    gather buffer, by the rule of `simulator.compiler.lowering.landing`."""
    count, size = side.per_operand(), side.per_operand(side.size)
    chosen = broken[side.operand]
    end = int((side.pieces.start + side.pieces.length).max()) + 1
    owner, _, length = union_in_groups(side.operand[chosen], side.pieces.start[chosen], side.pieces.length[chosen], end)
    elements = np.bincount(side.operand[chosen], side.pieces.length[chosen], len(count))
    distinct = np.bincount(owner, length, len(count)) / np.maximum(elements, 1)
    code = CYCLES_PER_CODE_BYTE * fabric.CODE_PER_FRAGMENT * count
    words = size / fabric.WORD_BYTES
    straight = np.maximum(words, fabric.INSTRUCTIONS_PER_FRAGMENT * count) + code
    copied = local_copy.CYCLES_PER_RUN * count + size / local_copy.BYTES_PER_CYCLE
    return np.asarray(straight > words * distinct + copied)


def _earliest(side: Side, chosen: BoolArray) -> Int64Array:
    """Per operand the first chosen operand of the same tile with the same pieces in the same order (itself if none is
    earlier). Fields that vertices write keep their own."""
    at = np.flatnonzero(chosen)
    operand = side.operand[at]
    fresh = np.append(True, operand[1:] != operand[:-1])[: len(at)]
    head = np.flatnonzero(fresh)
    earliest = np.arange(int(side.operand[-1]) + 1 if len(side.operand) else 0)
    if len(head) < 2 or int(np.bincount(side.tile[at[head]]).max()) < 2:
        return earliest
    count = np.diff(np.append(head, len(at)))
    position = np.arange(len(at)) - np.repeat(head, count)
    start, length = side.pieces.start[at], side.pieces.length[at]
    digests = mixed(start) * np.uint64(3) + mixed(length + (position << 32))
    digest = np.add.reduceat(mixed(digests.astype(np.int64)), head)
    tile, alone = side.tile[at[head]], ~side.shareable[at[head]]
    order = np.lexsort((digest, count, tile, np.where(alone, operand[head] + 1, 0)))
    columns = [column[order] for column in (digest, count, tile)]
    apart = np.ones(len(head), np.bool_)
    apart[1:] = alone[order][1:] | alone[order][:-1]
    for column in columns:
        apart[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(apart)
    earliest[operand[head][order]] = operand[head][order][first][np.cumsum(apart) - 1]
    return earliest


def _copy_places(side: Side, shared: BoolArray, owner: Int64Array, place: Int64Array) -> None:
    """Give the shared pieces the places of those of the operand's owner."""
    if not shared.any():
        return
    count = side.per_operand()
    first = np.cumsum(count) - count
    at = np.flatnonzero(shared)
    place[at] = place[first[owner[side.operand[at]]] + at - first[side.operand[at]]]


def _stacked(side: Side, chosen: BoolArray, tiles: int) -> Int64Array:
    """Byte offsets of chosen pieces in a buffer of their tile, in order; -1 for the others. An operand begins at a
    word; operands of one element stand behind the others."""
    place = np.full(len(side.tile), -1, np.int64)
    at = np.flatnonzero(chosen)
    if not len(at):
        return place
    head, size = _heads(side, at)
    single = size < fabric.WORD_BYTES
    order = np.lexsort((single, side.tile[at[head]]))
    room = np.where(single, size, fabric.WORD_BYTES * fabric.words(size))[order]
    end = np.cumsum(room)
    tile = side.tile[at[head]][order]
    first = np.flatnonzero(np.append(True, np.diff(tile) != 0))
    base = np.repeat((end - room)[first], np.diff(np.append(first, len(tile))))
    begin = np.empty(len(head), np.int64)
    begin[order] = end - room - base
    before = np.cumsum(side.size[at]) - side.size[at]
    number = np.repeat(np.arange(len(head)), np.diff(np.append(head, len(at))))
    place[at] = begin[number] + before - before[head][number]
    return place


def _buffer(side: Side, chosen: BoolArray, tiles: int) -> Int64Array:
    """Bytes per tile of the buffer in which `_stacked` places the chosen pieces."""
    at = np.flatnonzero(chosen)
    if not len(at):
        return np.zeros(tiles, np.int64)
    head, size = _heads(side, at)
    room = np.where(size < fabric.WORD_BYTES, size, fabric.WORD_BYTES * fabric.words(size))
    return _per_tile(side.tile[at[head]], room, tiles)


def _heads(side: Side, at: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(first of the pieces `at` of each operand, bytes of these pieces)."""
    head = np.flatnonzero(np.append(True, np.diff(side.operand[at]) != 0))
    return head, np.add.reduceat(side.size[at], head)


def _messages(side: Side, chosen: BoolArray, emap: ElementMap, tiles: int) -> _Message:
    """The message buffers of the chosen pieces."""
    if not chosen.any():
        return _Message(EMPTY_TRANSFER, _NONE, np.zeros(tiles, np.int64), 1)
    span = int(emap.end[-1])
    start, length = side.elements(chosen)
    to, start, length = union_in_groups(side.tile[chosen], start, length, span)
    cut = emap.cut(start, length)
    rows = Transfer(emap.tile[cut.row], to[cut.region], cut.start, cut.length, emap.item_bytes[cut.row])
    skew = emap.offset(cut.row, cut.start) % fabric.WORD_BYTES
    room = fabric.WORD_BYTES * fabric.words(skew + rows.bytes)
    end = np.cumsum(room)
    first = np.flatnonzero(np.append(True, np.diff(rows.dst) != 0))
    base = np.repeat((end - room)[first], np.diff(np.append(first, len(rows))))
    return _Message(rows, end - room - base + skew, _per_tile(rows.dst, room, tiles), span + 1)


def _gathering(
    side: Side, own: BoolArray, spread: BoolArray, message: _Message, buffer: Int64Array, tiles: int
) -> LocalCopy:
    """The copy into gather buffers; what lies one after another at its source is one run."""
    copied = own & (side.local | spread)
    at = np.zeros(len(side.tile), np.int64)
    at[spread] = message.addresses(side.tile[spread], side.pieces.start[spread])
    begins = copied & ~((side.follows & own) | side.continues(at, spread))
    runs = np.bincount(side.tile[begins], minlength=tiles).astype(np.int64)
    return LocalCopy(_per_tile(side.tile[copied], side.size[copied], tiles), runs, buffer)


def _rows_before(
    side: Side, straight: BoolArray, message: _Message, emap: ElementMap, packing: Packing | None
) -> tuple[Transfer, Arrivals]:
    """The rows into message buffers and those straight into gather buffers."""
    m = message.rows
    words = fabric.words(message.place % fabric.WORD_BYTES + m.bytes)
    begins = np.append(True, (np.diff(m.dst) != 0) | (np.diff(m.src) != 0))[: len(m)]
    at = np.flatnonzero(straight)
    if not len(at):
        return m, Arrivals(words, begins)
    src, row = emap.tile[side.pieces.row[at]], side.pieces.row[at]
    own = (src, side.tile[at], side.pieces.start[at], side.pieces.length[at], emap.item_bytes[row])
    both = (np.concatenate(pair) for pair in zip((m.src, m.dst, m.start, m.length, m.item_bytes), own, strict=True))
    fresh = np.append(True, (np.diff(at) != 1) | (np.diff(side.operand[at]) != 0) | (np.diff(src) != 0))
    passing = fabric.words(side.size[at])
    if packing is not None:
        chosen = packing.rows[len(m) :]
        fresh[1:] |= chosen[1:] != chosen[:-1]
        passing[chosen] = fabric.words(packing.place + side.size[at[chosen]]) - fabric.words(packing.place)
    arriving = Arrivals(np.concatenate([words, passing]), np.concatenate([begins, fresh]))
    return Transfer(*both), arriving


# Outputs


@dataclass(frozen=True)
class _Outgoing:
    after: Transfer
    delivered: Arrivals
    landing: Landing
    output: Int64Array
    copy: LocalCopy
    gathered: BoolArray
    place: Int64Array


def _outgoing(side: Side, emap: ElementMap, ipu_of_tile: Int64Array) -> _Outgoing:
    tiles = len(ipu_of_tile)
    gathered = np.zeros(len(side.tile), np.bool_)
    if len(side.tile):
        partly = (side.per_operand(~side.follows) > 1) & (side.per_operand(side.local) > 0)
        gathered = partly[side.operand]
    sent = ~side.local & ~gathered
    place = np.where(gathered, _stacked(side, gathered, tiles), _stacked(side, sent, tiles))
    after, source, row = _rows_after(side, place, gathered, emap)
    target = emap.offset(row, after.start)
    last = target + after.bytes >= emap.held[row] * emap.item_bytes[row]
    delivered, landing = land(after, source, emap.variable[row], target, last, ipu_of_tile)
    copied = gathered & side.local
    begins = copied & ~side.follows
    moved = _per_tile(side.tile[copied], side.size[copied], tiles) + landing.moved
    runs = np.bincount(side.tile[begins], minlength=tiles).astype(np.int64) + landing.runs
    copy = LocalCopy(moved, runs, _buffer(side, gathered, tiles))
    return _Outgoing(after, delivered, landing, _buffer(side, sent, tiles), copy, gathered, place)


def _rows_after(
    side: Side, place: Int64Array, gathered: BoolArray, emap: ElementMap
) -> tuple[Transfer, Int64Array, Int64Array]:
    """(transfer from the vertices' tiles to the elements' tiles, byte offset of each row in its buffer, row of the
    element map). Pieces that follow each other at both ends are one row."""
    at = np.flatnonzero(~side.local)
    order = at[np.lexsort((side.pieces.start[at], side.tile[at]))]
    tile, start, length, row = (c[order] for c in (side.tile, side.pieces.start, side.pieces.length, side.pieces.row))
    source = place[order] + gathered[order] * _OTHER_BUFFER
    fresh = np.append(True, (np.diff(tile) != 0) | (np.diff(row) != 0))[: len(order)]
    fresh[1:] |= (start[1:] != (start + length)[:-1]) | (source[1:] != (source + side.size[order])[:-1])
    head = np.flatnonzero(fresh)
    joined = np.add.reduceat(length, head) if len(head) else length
    columns = (tile[head], emap.tile[row[head]], start[head], joined, emap.item_bytes[row[head]])
    return Transfer(*columns), source[head], row[head]


#: Keeps offsets in gather buffers apart from those in output buffers; a multiple of a word.
_OTHER_BUFFER = 1 << 40


def _per_tile(tile: Int64Array, size: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=size, minlength=tiles).astype(np.int64)
