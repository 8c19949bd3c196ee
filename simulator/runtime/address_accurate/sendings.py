"""Exchanges as bytes that move from tile to tile, within an IPU or through packets between IPUs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.transfers import Transfer
from simulator.runtime.address_accurate.claims import Claims
from simulator.runtime.address_accurate.moves import Moved, packets_of, rows_of
from simulator.runtime.address_accurate.slots import Slots, bytes_from


@dataclass(frozen=True)
class Sending:
    """Rows of a transfer (tiles of one replica), the slots that they come from, and the address of each row's first
    byte where it arrives."""

    rows: Transfer
    source: Slots
    target: Int64Array

    def take(self, keep: BoolArray) -> Sending:
        """Some of the rows."""
        return Sending(rows_of(self.rows, keep), self.source, self.target[keep])

    def moved(self, shift: int) -> Moved:
        """Straight from tile to tile; `shift` = first tile of the replica that sends."""
        r = self.rows
        source = self.source.bytes_of(r.src + shift, r.start, r.length, r.item_bytes)
        return Moved(source, bytes_from(self.target, r.bytes))

    def through_packets(self, claims: Claims, row: int, name: str, emap: ElementMap, shift: int) -> tuple[Moved, Moved]:
        """(into the packet buffers, from there to the receivers)."""
        filled, packets = packets_of(claims, row, name, self.rows, self.source, emap, shift)
        return filled, Sending(self.rows, packets, self.target).moved(shift)


def check_sent(claims: Claims, program: int, name: str, src: Int64Array, dst: Int64Array, size: Int64Array) -> None:
    """Raises poplar_error where what is about to move is not what the report's messages of the program say."""
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
