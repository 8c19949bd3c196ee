"""GlobalPre: before an exchange between IPUs the sending tiles copy what they send into packet buffers.

The links take packets of consecutive bytes with a header in front; variables are neither consecutive nor have room for
headers. What arrives carries its address and needs no buffer. Source: poplar-model 3.2.5.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import BoolArray
from simulator.compiler.exchange.exchange import Exchange
from simulator.compiler.lowering.arrange import LocalCopy, Transfer


def packet_copy(exchange: Exchange, transfer: Transfer, crosses: BoolArray) -> LocalCopy:
    """The copy that fills the packet buffers of an exchange between IPUs: all bytes that a tile sends, from as many
    runs of memory as the `crosses` rows of the transfer begin (one that goes to several tiles counts once)."""
    runs = np.unique(np.stack([transfer.src[crosses], transfer.start[crosses]]), axis=1)[0]
    count = np.bincount(runs, minlength=len(exchange.tx)).astype(np.int64)
    return LocalCopy(exchange.tx, count, exchange.tx)
