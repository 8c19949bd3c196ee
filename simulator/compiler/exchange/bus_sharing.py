"""Words that the two tiles of a shared exchange bus receive at the same time.

Two tiles share a bus that is 8 bytes wide (`simulator.machine.physical_tiles` says which). When both receive the same
run of elements from the same sender, it arrives at 8 bytes a cycle: half the time for either (published-numbers 7.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from simulator.compiler.lowering.arrange import Transfer


def received_by_both(transfer: Transfer, bus_of_tile: Int64Array) -> BoolArray:
    """For each row of a transfer whether the bus partner of its receiver gets the same run from the same sender."""
    both = np.zeros(len(transfer), np.bool_)
    if len(transfer) < 2:
        return both
    before, after = _neighbours(transfer, bus_of_tile[transfer.dst])
    same = transfer.dst[before] != transfer.dst[after]
    for column in (transfer.src, transfer.length, transfer.item_bytes):
        same &= column[before] == column[after]
    both[before[same]] = both[after[same]] = True
    return both


def _neighbours(transfer: Transfer, bus: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Pairs of rows on one bus that begin at one element, among them every run that stands beside the same run to the
    bus partner. One sort finds them where no bus gets more than two runs that begin at one element, as in nearly all
    exchanges; five keys in the others."""
    place = bus * (int(transfer.start.max()) + 1) + transfer.start
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    if (ordered[2:] == ordered[:-2]).any():
        order = np.lexsort((transfer.dst, transfer.length, transfer.start, transfer.src, bus))
        ordered = place[order]
    beside = np.flatnonzero(ordered[1:] == ordered[:-1])
    return order[beside], order[beside + 1]
