"""The operands of the vertices of a compute set: the pieces of their edges, in columns, inputs and outputs apart.

A piece is a run of elements on one tile. An operand is what must be one run of memory: a vector, a scalar, or a row of
a vector of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
        cuts = np.cumsum([n for _, _, n in self.fields])[:-1].astype(np.int64)
        columns = [np.split(column, cuts) for column in (np.arange(len(self.tile)), gathered, spread, own, place)]
        return [
            Operands(block, name, self.tile[at], self.pieces.take(at), self.operand[at], g, s, o, p)
            for (block, name, _), at, g, s, o, p in zip(self.fields, *columns, strict=True)
        ]


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
    inputs: list[_Field] = []
    outputs: list[_Field] = []
    for block in blocks:
        vertex_tile = block.tiles.astype(np.int64)
        for name, edges in block.edges.items():
            spec = block.type.fields_by_name[name]
            owner = edges.vertex_of_region(len(block))
            pieces = emap.cut(edges.starts, edges.lengths)
            check_mapped(pieces, emap, unmapped)
            operand = _operands(spec, edges, owner, pieces)
            of = _Field(block, name, vertex_tile[owner[pieces.region]], pieces, operand, spec.direction == "in")
            if spec.direction in ("in", "inout"):
                inputs.append(of)
            if spec.direction in ("out", "inout"):
                outputs.append(of)
    return _joined(inputs, emap), _joined(outputs, emap)


@dataclass(frozen=True)
class _Field:
    block: VertexBlock
    name: str
    tile: Int64Array
    pieces: Pieces
    operand: Int64Array
    shareable: bool


def _joined(fields: list[_Field], emap: ElementMap) -> Side:
    """The columns of all fields; operands are numbered over all of them."""
    names = ("region", "start", "length", "row")
    columns = [np.concatenate([_NONE, *(getattr(f.pieces, name) for f in fields)]) for name in names]
    pieces = Pieces(*columns)
    first, operand = 0, [_NONE]
    for f in fields:
        operand.append(f.operand + first)
        first += int(f.operand[-1]) + 1 if len(f.operand) else 0
    tile = np.concatenate([_NONE, *(f.tile for f in fields)])
    sizes = [len(f.tile) for f in fields]
    side = Side(
        tile,
        pieces,
        np.concatenate(operand),
        pieces.length * emap.item_bytes[pieces.row],
        emap.tile[pieces.row] == tile,
        np.repeat(np.array([f.shareable for f in fields], np.bool_), sizes),
        emap.offset(pieces.row, pieces.start),
        np.zeros(len(tile), np.bool_),
        [(f.block, f.name, size) for f, size in zip(fields, sizes, strict=True)],
    )
    side.follows[1:] = side.continues(side.source, side.local)[1:] & (np.diff(emap.variable[pieces.row]) == 0)
    return side


def _operands(spec: FieldSpec, edges: FieldEdges, owner: Int64Array, pieces: Pieces) -> Int64Array:
    """The operand that each piece belongs to, in ascending order."""
    if spec.kind in ("scalar", "scalars"):
        return np.arange(len(pieces.row), dtype=np.int64)
    if spec.kind == "vector":
        return owner[pieces.region]
    if edges.row_offsets is None:
        return pieces.region
    return np.searchsorted(edges.row_offsets, pieces.region, side="right") - 1
