"""Arrange compute sets: what moves between tiles, and within them, before and after a compute set runs. Copies:
`simulator.compiler.lowering.arrange_copies`.

A vertex works on memory of its own tile. An operand (an edge of the vertex that must be one run of memory)

- is used in place when it is one local run; pieces that follow each other in a variable's memory on the tile are one;
- comes by exchange into a message buffer when all of it is remote;
- is gathered into a buffer of the tile when part of it is local and it is not one run. The exchange writes the remote
  parts of gathered operands straight into the gather buffer, so each of them is sent separately. Elements that several
  other operands of a tile read are sent to the tile once.

An operand that is wholly remote and holds an element several times (a broadcast vector) is received once and spread
into a gather buffer on the tile. Outputs mirror this.

Gather buffers hold the gathered pieces of one field of one block after another; message buffers hold the elements that
a tile receives in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Accesses, Elements, elements_of
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.ir.grouping import union_in_groups
from simulator.compiler.ir.transfers import EMPTY_TRANSFER, LocalCopy, Transfer

if TYPE_CHECKING:
    from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock


_NONE = np.empty(0, np.int64)
#: A remote operand that holds each element at least this often is received once and spread. A guess: no public source
#: gives Poplar's threshold.
REPEATS_OF_A_BROADCAST = 2

Unmapped = Callable[[int, int], Exception]
"""(variable, element within it) -> the exception for an element without a tile."""


@dataclass(frozen=True)
class Operands:
    """Pieces of one field of one block that a compute set reads (or writes), with the tile of their vertex. `gathered`:
    in the gather buffer; `spread`: copied there from the message buffer."""

    block: VertexBlock
    field: str
    tile: Int64Array
    pieces: Pieces
    gathered: BoolArray
    spread: BoolArray


@dataclass(frozen=True)
class ComputeArrangement:
    before: Transfer  #: rows into message buffers, then rows into gather buffers, each in order
    message: Int64Array  #: bytes per tile received into message buffers
    gather: LocalCopy
    after: Transfer
    output: Int64Array  #: bytes per tile of outputs waiting to be sent
    scatter: LocalCopy
    accesses: Accesses  #: of the compute set itself: elements used in place
    gathered: Elements  #: elements copied into gather buffers within their tile
    scattered: Elements  #: elements copied back from them within their tile
    message_rows: int  #: rows of `before` into message buffers
    inputs: Sequence[Operands]
    outputs: Sequence[Operands]


@dataclass
class _Side:
    """Collects the pieces of all inputs (or outputs) of a compute set."""

    tiles: int
    remote: list[tuple[Int64Array, Pieces, BoolArray]] = field(default_factory=list)  # (vertex tile, pieces, gathered)
    operands: list[Operands] = field(default_factory=list)
    in_place: list[Elements] = field(default_factory=list)
    copied: list[Elements] = field(default_factory=list)
    moved: Int64Array = field(init=False)
    runs: Int64Array = field(init=False)
    buffer: Int64Array = field(init=False)

    def __post_init__(self) -> None:
        self.moved, self.runs, self.buffer = (np.zeros(self.tiles, np.int64) for _ in range(3))

    def add(
        self,
        of: tuple[VertexBlock, str],
        tile: Int64Array,
        pieces: Pieces,
        operand: Int64Array | None,
        emap: ElementMap,
    ) -> None:
        local = emap.tile[pieces.row] == tile
        spread = _spread(operand, pieces, local)
        gathered = _gathered(operand, pieces, local, emap) | spread
        self.operands.append(Operands(*of, tile, pieces, gathered, spread))
        for parts, chosen in ((self.in_place, local & ~gathered), (self.copied, local & gathered)):
            if chosen.any():
                parts.append((pieces.start[chosen], pieces.length[chosen]))
        if gathered.any():
            size = pieces.length[gathered] * emap.item_bytes[pieces.row[gathered]]
            self.buffer += _per_tile(tile[gathered], size, self.tiles)
            near = (local | spread)[gathered]
            self.moved += _per_tile(tile[gathered][near], size[near], self.tiles)
            self.runs += np.bincount(tile[gathered][near], minlength=self.tiles)
        far = np.flatnonzero(~local)
        if len(far):
            self.remote.append((tile[far], pieces.take(far), (gathered & ~spread)[far]))

    def local_copy(self) -> LocalCopy:
        return LocalCopy(self.moved, self.runs, self.buffer)

    def joined(self) -> tuple[Int64Array, Pieces, BoolArray]:
        if not self.remote:
            return _NONE, Pieces(_NONE, _NONE, _NONE, _NONE), np.empty(0, np.bool_)
        tile, pieces, gathered = zip(*self.remote, strict=True)
        columns = (np.concatenate([getattr(p, c) for p in pieces]) for c in ("region", "start", "length", "row"))
        return np.concatenate(tile), Pieces(*columns), np.concatenate(gathered)


def arrange_compute_set(
    blocks: Iterable[VertexBlock], emap: ElementMap, tiles: int, unmapped: Unmapped
) -> ComputeArrangement:
    """Arrange a compute set. `tiles` = tiles of the device. Raises what `unmapped` makes for an element without a
    tile."""
    inputs, outputs = _Side(tiles), _Side(tiles)
    for block in blocks:
        vertex_tile = block.tiles.astype(np.int64)
        for name, edges in block.edges.items():
            spec = block.type.fields_by_name[name]
            owner = edges.vertex_of_region(len(block))
            pieces = emap.cut(edges.starts, edges.lengths)
            check_mapped(pieces, emap, unmapped)
            tile = vertex_tile[owner[pieces.region]]
            operand = _operands(spec, edges, owner, pieces)
            if spec.direction in ("in", "inout"):
                inputs.add((block, name), tile, pieces, operand, emap)
            if spec.direction in ("out", "inout"):
                outputs.add((block, name), tile, pieces, operand, emap)
    before, message, message_rows = _incoming(inputs, emap, tiles)
    after, output = _outgoing(outputs, emap, tiles)
    accesses = Accesses(elements_of(inputs.in_place), elements_of(outputs.in_place))
    copies = inputs.local_copy(), outputs.local_copy()
    return ComputeArrangement(
        before,
        message,
        copies[0],
        after,
        output,
        copies[1],
        accesses,
        elements_of(inputs.copied),
        elements_of(outputs.copied),
        message_rows,
        inputs.operands,
        outputs.operands,
    )


def check_mapped(pieces: Pieces, emap: ElementMap, unmapped: Unmapped) -> None:
    """Raise for the first piece without a tile."""
    bad = np.flatnonzero(emap.tile[pieces.row] < 0)
    if len(bad):
        row = int(pieces.row[bad[0]])
        variable = int(emap.variable[row])
        first = int(np.flatnonzero(emap.variable == variable)[0])
        raise unmapped(variable, int(pieces.start[bad[0]] - emap.begin[first]))


def _operands(spec: FieldSpec, edges: FieldEdges, owner: Int64Array, pieces: Pieces) -> Int64Array | None:
    """The operand that each piece belongs to; None where every edge is a single element."""
    if spec.kind in ("scalar", "scalars"):
        return None
    if spec.kind == "vector":
        return owner[pieces.region]
    if edges.row_offsets is None:
        return pieces.region
    return np.searchsorted(edges.row_offsets, pieces.region, side="right") - 1


def _gathered(operand: Int64Array | None, pieces: Pieces, local: BoolArray, emap: ElementMap) -> BoolArray:
    if operand is None or len(operand) == 0:
        return np.zeros(len(pieces.row), np.bool_)
    count = np.bincount(operand)
    if int(count.max()) <= 1:
        return np.zeros(len(operand), np.bool_)
    near = np.bincount(operand, weights=local)
    # Adjacent pieces of one variable on the tile are one run.
    apart = np.bincount(operand, weights=~_follows(operand, pieces, local, emap))
    return np.asarray(((apart > 1) & (near > 0))[operand])


def _spread(operand: Int64Array | None, pieces: Pieces, local: BoolArray) -> BoolArray:
    """Flag pieces of wholly remote operands that hold their elements REPEATS_OF_A_BROADCAST times or more. A few
    repeated elements, as in padding, are received several times."""
    none = np.zeros(len(pieces.row), np.bool_)
    if operand is None or len(operand) < 2:
        return none
    end = pieces.start + pieces.length
    # Nearly all operands are in ascending order and so hold each element once.
    back = (operand[1:] == operand[:-1]) & (pieces.start[1:] < end[:-1])
    if not back.any():
        return none
    candidates = np.bincount(operand[1:], back, int(operand.max()) + 1) > 0
    candidates &= np.bincount(operand, local, len(candidates)) == 0
    at = np.flatnonzero(candidates[operand])
    if not len(at):
        return none
    elements = np.bincount(operand, pieces.length, len(candidates))
    owner, _, size = union_in_groups(operand[at], pieces.start[at], pieces.length[at], int(end.max()))
    distinct_elements = np.bincount(owner, size, len(candidates))
    repeats = candidates & (elements >= REPEATS_OF_A_BROADCAST * distinct_elements)
    return np.asarray(repeats[operand])


def _follows(operand: Int64Array, pieces: Pieces, local: BoolArray, emap: ElementMap) -> BoolArray:
    """Flag pieces that continue the one before: same operand, same variable, both on the tile, no gap."""
    follows = np.zeros(len(operand), np.bool_)
    row = pieces.row
    at = emap.place[row] + pieces.start - emap.begin[row]
    same = (operand[1:] == operand[:-1]) & (emap.variable[row[1:]] == emap.variable[row[:-1]]) & local[1:] & local[:-1]
    follows[1:] = same & (at[1:] == (at + pieces.length)[:-1])
    return follows


def _incoming(side: _Side, emap: ElementMap, tiles: int) -> tuple[Transfer, Int64Array, int]:
    """(transfer before the compute set, bytes of the message buffers, number of rows into these). An element comes once
    per tile into the message buffer, and once per gathered operand."""
    tile, pieces, gathered = side.joined()
    if len(tile) == 0:
        return EMPTY_TRANSFER, np.zeros(tiles, np.int64), 0
    direct = ~gathered
    to, start, length = union_in_groups(tile[direct], pieces.start[direct], pieces.length[direct], int(emap.end[-1]))
    cut = emap.cut(start, length)
    message = Transfer(emap.tile[cut.row], to[cut.region], cut.start, cut.length, emap.item_bytes[cut.row])
    size = _per_tile(message.dst, message.bytes, tiles)
    if direct.all():
        return message, size, len(message)
    own = pieces.take(gathered)
    columns = (emap.tile[own.row], tile[gathered], own.start, own.length, emap.item_bytes[own.row])
    rows = (message.src, message.dst, message.start, message.length, message.item_bytes)
    both = (np.concatenate(pair) for pair in zip(rows, columns, strict=True))
    return Transfer(*both), size, len(message)


def _outgoing(side: _Side, emap: ElementMap, tiles: int) -> tuple[Transfer, Int64Array]:
    """(transfer after the compute set, from the vertex's tile to the element's tile; bytes of the output buffers)."""
    tile, pieces, gathered = side.joined()
    if len(tile) == 0:
        return EMPTY_TRANSFER, np.zeros(tiles, np.int64)
    size = pieces.length * emap.item_bytes[pieces.row]
    src, start, length = union_in_groups(tile, pieces.start, pieces.length, int(emap.end[-1]))
    cut = emap.cut(start, length)
    transfer = Transfer(src[cut.region], emap.tile[cut.row], cut.start, cut.length, emap.item_bytes[cut.row])
    return transfer, _per_tile(tile[~gathered], size[~gathered], tiles)


def _per_tile(tile: Int64Array, size: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=size, minlength=tiles).astype(np.int64)
