"""Packets between IPUs: what travels over the links is cut into packets, each with a header in front of its bytes."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array

#: Most bytes that one packet carries (published-numbers 1: largest tlink payload).
PAYLOAD_BYTES = 1024

#: Bytes of a packet's header in the sender's memory. A guess: two words, as an address and a length need.
HEADER_BYTES = 8


def packets(sent: Int64Array) -> Int64Array:
    """Packets per tile for so many bytes sent: bytes are put in order first, so only the last packet is short."""
    return np.asarray(-(-sent // PAYLOAD_BYTES), dtype=np.int64)
