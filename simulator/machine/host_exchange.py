"""Copies between host and tiles: three parts, Begin (barrier, host answers), Mid (packets move), End (rearrangement).

The IPU Model has an ideal host: published control copies of one word take 114 and 128 cycles in all, and streams move
6.0 bytes per cycle over the whole IPU (published-numbers 6.1 and poplar-model 5.3). On simulated hardware the constants
are the medians of a published Mk2 trace (published-numbers 3): 155 / 1,513 / 87 for a control copy, 77-88 thousand /
1,491-1,771 / 79.5-84 thousand for a data stream of one word. Waiting for the host is a documented constant, so that
device time does not depend on the machine that simulates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HostLink:
    """Cycles of the three parts; `bytes_per_cycle` is shared by all tiles of an IPU."""

    begin_control: int
    begin_data: int  #: host wait included
    mid: int
    end_control: int
    end_data: int
    bytes_per_cycle: float
    source: str


MODEL = HostLink(90, 90, 20, 10, 10, 6.0, "fitted: 114 and 128 cycles per control copy, 6.0 B/cycle")
HARDWARE = HostLink(155, 80_000, 1_500, 87, 81_000, 15.0, "fitted: medians of a published Mk2 trace")

#: Bytes of one host packet's payload (published-numbers 1: long packets up to 1,024 B).
PACKET_BYTES = 1024

#: Packet headers: 8 bytes on every tile, 4 more per packet (published: 8.3 to 8.6 B per tile). Fitted.
HEADER_PER_TILE = 8
HEADER_PER_PACKET = 4

#: Host exchange code: published 290 B per tile for a program with two inputs and one output. Fitted: the control
#: copies cost every tile 200, each data stream 30, and 12 per packet.
CODE_PER_TILE = 200
CODE_PER_STREAM = 30
CODE_PER_PACKET = 12


def mid_cycles(size: I8, ipu_of_tile: I8, link: HostLink) -> I8:
    """Cycles per tile of the transfer proper of `size` bytes per tile: the tiles of an IPU share its link, so each
    that takes part is busy until the last byte has passed."""
    per_ipu = np.bincount(ipu_of_tile, weights=size).astype(np.int64)
    duration = link.mid + np.ceil(per_ipu / link.bytes_per_cycle).astype(np.int64)
    return np.asarray(np.where(size > 0, duration[ipu_of_tile], 0), dtype=np.int64)


def packets(size: I8) -> I8:
    """Packets per tile that carry `size` bytes: data is put in order on the tile before it is sent."""
    return np.asarray(-(-size // PACKET_BYTES), dtype=np.int64)
