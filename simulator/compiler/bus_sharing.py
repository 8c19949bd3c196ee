"""Words that the two tiles of a shared exchange bus receive at the same time.

Two tiles share a bus that is 8 bytes wide (`simulator.machine.physical_tiles` says which). When both receive the same
run of elements from the same sender, it arrives at 8 bytes a cycle: half the time for either (published-numbers 7.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.machine import exchange as fabric

if TYPE_CHECKING:
    from simulator.compiler.arrange import Transfer

I8 = npt.NDArray[np.int64]


def shared_words(transfer: Transfer, bus_of_tile: I8) -> I8:
    """For each tile the words it receives that its bus partner receives too, run by run."""
    tiles = len(bus_of_tile)
    if len(transfer) < 2:
        return np.zeros(tiles, np.int64)
    bus = bus_of_tile[transfer.dst]
    order = np.lexsort((transfer.dst, transfer.length, transfer.start, transfer.src, bus))
    columns = [c[order] for c in (transfer.src, transfer.start, transfer.length, transfer.item_bytes, transfer.dst)]
    dst = columns[-1]
    bus = bus[order]
    same = (bus[1:] == bus[:-1]) & (dst[1:] != dst[:-1])
    for column in columns[:-1]:
        same &= column[1:] == column[:-1]
    both = np.zeros(len(dst), np.bool_)
    both[1:] |= same
    both[:-1] |= same
    words = fabric.words(columns[2] * columns[3])
    return np.bincount(dst[both], weights=words[both], minlength=tiles).astype(np.int64)
