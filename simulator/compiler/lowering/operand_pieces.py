"""The operands of the vertices of a compute set: the pieces of their edges, in columns, inputs and outputs apart.

A piece is a run of elements on one tile. An operand is what must be one run of memory: a vector, a scalar, or a row of
a vector of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Elements
from simulator.compiler.ir.element_map import ElementMap, Pieces

if TYPE_CHECKING:
    from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock


_NONE = np.empty(0, np.int64)

Unmapped = Callable[[int, int], Exception]
"""(variable, element within it) -> the exception for an element without a tile."""


@dataclass(frozen=True)
class Operands:
    """Pieces of one field of one block that a compute set reads (or writes), with the tile of their vertex. `gathered`:
    in the gather buffer; `spread`: copied there from the message buffer; `own`: gathered for this vertex, not for an
    earlier one of the tile that reads the same; `place`: byte offset in the gather, message or output buffer of the
    tile, -1 = used in place."""

    block: VertexBlock
    field: str
    tile: Int64Array
    pieces: Pieces
    operand: Int64Array  #: which operand each piece belongs to
    gathered: BoolArray
    spread: BoolArray
    own: BoolArray
    place: Int64Array


@dataclass
class Side:
    """The pieces of all inputs (or outputs) of a compute set, in columns. Pieces of an operand follow each other."""

    tile: Int64Array
    pieces: Pieces
    operand: Int64Array
    size: Int64Array
    local: BoolArray
    shareable: BoolArray
    source: Int64Array  #: byte offset of each piece in its variable's memory where it lies
    follows: BoolArray  #: continues the piece before in the memory of the vertex's own tile
    fields: list[tuple[VertexBlock, str, int]]  #: with their number of pieces

    def elements(self, chosen: BoolArray) -> Elements:
        return self.pieces.start[chosen], self.pieces.length[chosen]

    def per_operand(self, weights: BoolArray | Int64Array | None = None) -> Int64Array:
        return np.bincount(self.operand, weights).astype(np.int64)

    def last(self) -> BoolArray:
        """Flags of the last piece of each operand."""
        return np.append(self.operand[1:] != self.operand[:-1], True)[: len(self.operand)]

    def continues(self, at: Int64Array, chosen: BoolArray) -> BoolArray:
        """Flags of chosen pieces at the address where the chosen piece before, of the same operand, ends."""
        follows = np.zeros(len(at), np.bool_)
        follows[1:] = (self.operand[1:] == self.operand[:-1]) & chosen[1:] & chosen[:-1]
        follows[1:] &= at[1:] == (at + self.size)[:-1]
        return follows

    def operands(self, gathered: BoolArray, spread: BoolArray, own: BoolArray, place: Int64Array) -> list[Operands]:
        if not self.fields:
            return []
        ends = np.cumsum([n for _, _, n in self.fields]).tolist()
        made = []
        for (block, name, n), end in zip(self.fields, ends, strict=True):
            at = slice(end - n, end)
            columns = (self.tile[at], self.pieces.take(at), self.operand[at], gathered[at], spread[at], own[at])
            made.append(Operands(block, name, *columns, place[at]))
        return made


def check_mapped(pieces: Pieces, emap: ElementMap, unmapped: Unmapped) -> None:
    """Raise for the first piece without a tile."""
    bad = np.flatnonzero(emap.tile[pieces.row] < 0)
    if len(bad):
        row = int(pieces.row[bad[0]])
        variable = int(emap.variable[row])
        first = int(np.flatnonzero(emap.variable == variable)[0])
        raise unmapped(variable, int(pieces.start[bad[0]] - emap.begin[first]))


def sides_of(blocks: Iterable[VertexBlock], emap: ElementMap, unmapped: Unmapped) -> tuple[Side, Side]:
    """(inputs, outputs) of a compute set."""
    fields = [
        _Field(block, name, edges, block.type.fields_by_name[name])
        for block in blocks
        for name, edges in block.edges.items()
    ]
    inputs = _joined([field for field in fields if field.spec.direction in ("in", "inout")], emap)
    outputs = _joined([field for field in fields if field.spec.direction in ("out", "inout")], emap)
    if emap.has_unmapped and any((emap.tile[side.pieces.row] < 0).any() for side in (inputs, outputs)):
        for field in fields:
            check_mapped(emap.cut(field.edges.starts, field.edges.lengths), emap, unmapped)
    return inputs, outputs


class _Field(NamedTuple):
    block: VertexBlock
    name: str
    edges: FieldEdges
    spec: FieldSpec


def _joined(fields: list[_Field], emap: ElementMap) -> Side:
    """The pieces of all fields, whose regions are cut in one go; operands are numbered over all of them."""
    columns = ([f.edges.starts for f in fields], [f.edges.lengths for f in fields])
    pieces = emap.cut(*(np.concatenate([_NONE, *column]) for column in columns))
    borders = np.append(0, np.cumsum([len(f.edges.starts) for f in fields])).astype(np.int64)
    cuts = np.searchsorted(pieces.region, borders).tolist()
    first, operand, tile = 0, [_NONE], [_NONE]
    for f, border, begin, end in zip(fields, borders.tolist(), cuts[:-1], cuts[1:], strict=False):
        region = pieces.region[begin:end]
        region -= border  # number within the field
        owner = f.edges.vertex_of_region(len(f.block))[region]
        tile.append(f.block.tiles[owner].astype(np.int64))
        numbers = _operands(f.spec, f.edges, owner, region)
        operand.append(numbers + first)
        first += int(numbers[-1]) + 1 if len(numbers) else 0
    tiles, item_bytes, sizes = np.concatenate(tile), emap.item_bytes[pieces.row], np.diff(cuts)
    side = Side(
        tiles,
        pieces,
        np.concatenate(operand),
        pieces.length * item_bytes,
        emap.tile[pieces.row] == tiles,
        np.repeat(np.array([f.spec.direction == "in" for f in fields], np.bool_), sizes),
        emap.offset(pieces.row, pieces.start),
        np.zeros(len(tiles), np.bool_),
        [(f.block, f.name, size) for f, size in zip(fields, sizes.tolist(), strict=True)],
    )
    next_ = np.flatnonzero(side.continues(side.source, side.local))
    side.follows[next_] = emap.variable[pieces.row[next_]] == emap.variable[pieces.row[next_ - 1]]
    return side


def _operands(spec: FieldSpec, edges: FieldEdges, owner: Int64Array, region: Int64Array) -> Int64Array:
    """The operand that each piece of a field belongs to, in ascending order. `owner`, `region`: those of the pieces."""
    if spec.kind in ("scalar", "scalars"):
        return np.arange(len(region), dtype=np.int64)
    if spec.kind == "vector":
        return owner
    if edges.row_offsets is None:
        return region
    return np.searchsorted(edges.row_offsets, region, side="right") - 1
