"""Moves of bytes: within tiles, from tile to tile, and through packet buffers between IPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.grouping import union_in_groups
from simulator.compiler.ir.transfers import Transfer
from simulator.runtime.address_accurate.claims import NOWHERE, Claims
from simulator.runtime.address_accurate.slots import Slots, bytes_from, stacked


@dataclass(frozen=True)
class Moved:
    """Byte i goes from address `source[i]` to address `destination[i]`."""

    source: Int64Array
    destination: Int64Array


def joined(parts: Sequence[Moved]) -> Moved:
    """Several moves as one."""
    return Moved(np.concatenate([p.source for p in parts]), np.concatenate([p.destination for p in parts]))


def buffer_address(
    claims: Claims, row: int, tile: Int64Array, offset: Int64Array, size: Int64Array, name: str
) -> Int64Array:
    """The addresses at `offset` in the buffer of variable row `row` on each tile. Raises poplar_error where the buffer
    is too small in the report."""
    begin, room = claims.begin[row, tile], claims.size[row, tile]
    bad = np.flatnonzero((begin == NOWHERE) | (offset + size > room))
    if len(bad):
        t = int(tile[bad[0]])
        raise poplar_error(
            f"Buffer '{name}' needs {int((offset + size)[bad[0]])} bytes on tile {t}, but the report gives it "
            f"{int(room[bad[0]])}."
        )
    return np.asarray(begin + offset, dtype=np.int64)


def packets_of(
    claims: Claims, row: int, name: str, rows: Transfer, source: Slots, emap: ElementMap, shift: int
) -> tuple[Moved, Slots]:
    """(moves that fill the packet buffers of an exchange between IPUs, places of the packets). A tile sends each
    element once, in ascending order. `row` = variable row of the buffer, `shift` = first tile of the replica."""
    tile, start, length = union_in_groups(rows.src + shift, rows.start, rows.length, int(emap.end[-1]))
    cut = emap.cut(start, length)
    item, tile = emap.item_bytes[cut.row], tile[cut.region]
    size = cut.length * item
    address = buffer_address(claims, row, tile, stacked(tile, size), size, name)
    packets = Slots(f"packet buffer '{name}'", tile, cut.start, cut.length, item, address)
    return Moved(source.bytes_of(tile, cut.start, cut.length, item), bytes_from(address, size)), packets


@dataclass(frozen=True)
class Sending:
    """Rows of a transfer (tiles of one replica), the slots of their source, and the target address of each row.
    `packed`: the address in a pack buffer that each row is sent from, NOWHERE for those that come from their slots."""

    rows: Transfer
    source: Slots
    target: Int64Array
    packed: Int64Array | None = None

    def take(self, keep: BoolArray) -> Sending:
        """The flagged rows."""
        packed = None if self.packed is None else self.packed[keep]
        return Sending(self.rows.take(keep), self.source, self.target[keep], packed)

    def moved(self, shift: int) -> Moved:
        """The move from tile to tile; `shift` = first tile of the sending replica."""
        r = self.rows
        if self.packed is not None and (self.packed != NOWHERE).any():
            there = self.packed != NOWHERE
            at, size = self.packed[there], r.bytes[there]
            plain = Sending(r.take(~there), self.source, self.target[~there]).moved(shift)
            return joined([plain, Moved(bytes_from(at, size), bytes_from(self.target[there], size))])
        source = self.source.bytes_of(r.src + shift, r.start, r.length, r.item_bytes)
        return Moved(source, bytes_from(self.target, r.bytes))

    def through_packets(self, claims: Claims, row: int, name: str, emap: ElementMap, shift: int) -> tuple[Moved, Moved]:
        """(the move into packet buffers, the move from there to the receivers)."""
        filled, packets = packets_of(claims, row, name, self.rows, self.source, emap, shift)
        return filled, Sending(self.rows, packets, self.target).moved(shift)


def check_sent(claims: Claims, program: int, name: str, src: Int64Array, dst: Int64Array, size: Int64Array) -> None:
    """Raises poplar_error where the moved bytes differ from the report's messages of the program."""
    tiles = claims.begin.shape[1]
    found = np.zeros((tiles, tiles), np.int64)
    np.add.at(found, (src, dst), size)
    said = claims.sent.get(program, np.zeros((tiles, tiles), np.int64))
    wrong = np.argwhere(found != said)
    if len(wrong):
        a, b = wrong[0].tolist()
        raise poplar_error(
            f"'{name}' moves {int(found[a, b])} bytes from tile {a} to tile {b}, "
            f"but the report lists {int(said[a, b])}."
        )
