"""Bytes that move together, and the buffers that they come from or go to."""

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


def rows_of(transfer: Transfer, keep: BoolArray) -> Transfer:
    """Some rows of a transfer."""
    columns = (transfer.src, transfer.dst, transfer.start, transfer.length, transfer.item_bytes)
    return Transfer(*(column[keep] for column in columns))


def buffer_address(
    claims: Claims, row: int, tile: Int64Array, offset: Int64Array, size: Int64Array, name: str
) -> Int64Array:
    """The address of things that lie at `offset` in the buffer of variable row `row` on each tile. Raises poplar_error
    where the report gives the buffer no room for them."""
    begin, room = claims.begin[row, tile], claims.size[row, tile]
    bad = np.flatnonzero((begin == NOWHERE) | (offset + size > room))
    if len(bad):
        t = int(tile[bad[0]])
        raise poplar_error(
            f"Buffer '{name}' wants {int((offset + size)[bad[0]])} bytes on tile {t}, but the report gives it "
            f"{int(room[bad[0]])}."
        )
    return np.asarray(begin + offset, dtype=np.int64)


def packets_of(
    claims: Claims, row: int, name: str, rows: Transfer, source: Slots, emap: ElementMap, shift: int
) -> tuple[Moved, Slots]:
    """What fills the packet buffers of an exchange between IPUs, and where the packets lie: what a tile sends, each
    element once, in ascending order. `row` = variable row of the buffer, `shift` = first tile of the replica."""
    tile, start, length = union_in_groups(rows.src + shift, rows.start, rows.length, int(emap.end[-1]))
    cut = emap.cut(start, length)
    item, tile = emap.item_bytes[cut.row], tile[cut.region]
    size = cut.length * item
    address = buffer_address(claims, row, tile, stacked(tile, size), size, name)
    packets = Slots(f"packet buffer '{name}'", tile, cut.start, cut.length, item, address)
    return Moved(source.bytes_of(tile, cut.start, cut.length, item), bytes_from(address, size)), packets
