"""Transfers of which any two rows of a sender are the same run, for different tiles, or have nothing in common.

Nearly all exchanges are so. One sort then says what is sent once and to how many; what overlaps in part, or goes to one
tile twice, is taken apart by `simulator.compiler.exchange.exchange` itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.lowering.arrange import Transfer


@dataclass(frozen=True)
class WholeRuns:
    """Runs by sender and place, each once; how many tiles get each."""

    sender: Int64Array
    start: Int64Array
    length: Int64Array
    item_bytes: Int64Array
    receivers: Int64Array

    def joined(self) -> tuple[Int64Array, Int64Array]:
        """(sender, bytes) after joining runs that touch. Items of different size are never in one run."""
        end = self.start + self.length
        apart = (self.start[1:] != end[:-1]) | (self.sender[1:] != self.sender[:-1])
        apart |= self.item_bytes[1:] != self.item_bytes[:-1]
        first = np.flatnonzero(np.append(True, apart))
        last = np.append(first[1:] - 1, len(end) - 1)
        return self.sender[first], (end[last] - self.start[first]) * self.item_bytes[first]


def whole_runs(transfer: Transfer) -> WholeRuns | None:
    """The runs of a transfer that has rows, or None where two rows overlap in part or a tile gets one twice."""
    width = int((transfer.start + transfer.length).max()) + 1
    place = transfer.src * width + transfer.start
    order = np.argsort(place, kind="stable")
    at, length = place[order], transfer.length[order]
    again = at[1:] == at[:-1]
    if not np.where(again, length[1:] == length[:-1], at[1:] >= at[:-1] + length[:-1]).all():
        return None
    fresh = np.append(True, ~again)
    head = np.flatnonzero(fresh)
    if len(head) < len(at):
        tiles = int(transfer.dst.max()) + 1
        wanted = np.sort((np.cumsum(fresh) - 1) * tiles + transfer.dst[order], kind="stable")
        if (wanted[1:] == wanted[:-1]).any():
            return None
    sender, start = np.divmod(at[head], width)
    return WholeRuns(sender, start, length[head], transfer.item_bytes[order[head]], np.diff(np.append(head, len(at))))
