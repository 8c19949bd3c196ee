"""Copies between host and tiles: three parts, Begin (barrier, host answers), Mid (packets move), End (rearrangement).

The IPU Model has an ideal host: published control copies of one word take 114 and 128 cycles in all (published-numbers
6.1), and the link moves 8.0 GB/s over the whole IPU (poplar-model 5.3), so 6.0 bytes a cycle at 1.33 GHz and 5.0 at
1.6. On simulated hardware the constants are the medians of a published Mk2 trace (published-numbers 3): 155 / 1,513 /
87 for a control copy, 77-88 thousand / 1,491-1,771 / 79.5-84 thousand for a data stream of one word, and 20 GB/s
(poplar-model 4). Waiting for the host is a documented constant, so that device time does not depend on the machine that
simulates; `POPVISION_HOST_CLOCK=measured` puts the measured time of callbacks in its place.

A stream to the device whose host end prefetches needs no answer of the host once the transfer lies ready: its copy then
begins and ends like a control copy. The host begins to prefetch when the device takes the transfer before, and has it
after `prefetch_cycles`; a copy that comes earlier waits for the rest. A stream's `bufferingDepth` is the number of
transfers that can lie ready (runtime/clock/prefetch_queue.py). A callback's first transfer after a load is not
prefetched, nor a buffer's first one of a run. That a prefetched copy costs what a control copy costs is an inference:
both find their data in the host's memory.

A second published control copy waited 35,183,056 cycles for the host and ended after 205,246. The work of the host then
is not known, so no rule follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.cycles.rounding import WORKERS
from simulator.machine.exchange import CODE_PER_FRAGMENT


@dataclass(frozen=True)
class HostLink:
    """Cycles of the three parts; the bandwidth is shared by all tiles of an IPU."""

    begin_control: int
    begin_data: int  #: host wait included
    mid: int
    end_control: int
    end_data: int
    bytes_per_second: float
    clock_hz: float
    source: str
    write_combining: bool = False  #: the gateway joins what tiles send to the host

    @property
    def bytes_per_cycle(self) -> float:
        """Bytes per tile clock cycle of all tiles of an IPU together."""
        return self.bytes_per_second / self.clock_hz


HARDWARE = HostLink(
    begin_control=155,  # and end_control: published (published-numbers 3); the other cycles are fitted medians
    begin_data=80_000,
    mid=1_500,
    end_control=87,
    end_data=81_000,
    bytes_per_second=20e9,
    clock_hz=1.33e9,
    source="fitted: medians of a published Mk2 trace (published-numbers 3), 20 GB/s",
)
#: How the cycles of a copy from or to an ideal host divide: fitted to 114 and 128 in all. No host is waited for, so
#: data takes what control takes.
MODEL_BEGIN, MODEL_MID, MODEL_END = 90, 20, 10
MODEL = HostLink(
    begin_control=MODEL_BEGIN,
    begin_data=MODEL_BEGIN,
    mid=MODEL_MID,
    end_control=MODEL_END,
    end_data=MODEL_END,
    bytes_per_second=8e9,
    clock_hz=1.33e9,
    source="fitted: 114 and 128 cycles per control copy (published-numbers 6.1), 8.0 GB/s",
)


def prefetch_cycles(link: HostLink) -> int:
    """Cycles in which the host prefetches a transfer, from the moment at which it has a free place for it: the part
    of a data copy's Begin that a control copy, for which the host need not be asked, does not have."""
    return link.begin_data - link.begin_control


def host_link(*, hardware: bool, clock_hz: float, write_combining: bool = False) -> HostLink:
    """The link of an IPU at this tile clock."""
    return replace(HARDWARE if hardware else MODEL, clock_hz=clock_hz, write_combining=write_combining)


#: Bytes of one packet's payload, to a tile and to the host (published-numbers 1). Packets to a tile that carry up to 60
#: bytes are of a shorter kind; the saving is not public, so they count like the others.
LONG_PACKET_BYTES = 1024
TO_HOST_PACKET_BYTES = 256

#: Bytes of one packet to the host where the gateway combines writes. A guess: the documentation says only that
#: target.gatewayWriteCombining improves code for the host's side of the gateway. Here packets to the host become as
#: long as packets to a tile: fewer packets, less code, fewer headers.
COMBINED_PACKET_BYTES = LONG_PACKET_BYTES

#: Bytes that one tile sends or receives per cycle (published-numbers 1).
TILE_BYTES_PER_CYCLE = 4

#: Packet headers: 8 bytes on every tile, 4 more per packet (published: 8.3 to 8.6 B per tile). Fitted.
HEADER_PER_TILE = 8
HEADER_PER_PACKET = 4

#: Host exchange code: published 290 B per tile for a program with two inputs and one output. Fitted: the control
#: copies cost every tile 200, each data stream 30. A packet is controlled as a fragment from another tile is.
CODE_PER_TILE = 200
CODE_PER_STREAM = 30
CODE_PER_PACKET = CODE_PER_FRAGMENT

#: Bytes to which rows of remote buffers are padded. A guess: only that "padding is added to meet any alignment
#: constraints of the hardware" is public; 64 is a line of the host's memory.
REMOTE_ROW_ALIGNMENT = 64

#: A copy that is optimised for memory or rearranged on the host sends its packets in a loop: ld32 of the packet's
#: address and brnz around the packet's instructions, each in an issue slot of its own.
LOOP_CODE = 2 * INSTRUCTION_BYTES
LOOP_CYCLES = 2 * WORKERS


def mid_cycles(size: Int64Array, ipu_of_tile: Int64Array, link: HostLink) -> Int64Array:
    """Cycles per tile of the transfer proper of `size` bytes per tile: the tiles of an IPU share its link, so each
    that takes part is busy until the last byte has passed; a tile moves 4 bytes a cycle at the most."""
    ipus = int(ipu_of_tile.max(initial=0)) + 1
    largest = np.zeros(ipus, np.int64)
    np.maximum.at(largest, ipu_of_tile, size)
    shared = np.ceil(np.bincount(ipu_of_tile, weights=size) / link.bytes_per_cycle).astype(np.int64)
    duration = link.mid + np.maximum(shared, -(-largest // TILE_BYTES_PER_CYCLE))
    return np.asarray(np.where(size > 0, duration[ipu_of_tile], 0), dtype=np.int64)


def packets(size: Int64Array, link: HostLink, *, to_device: bool) -> Int64Array:
    """Packets per tile that carry `size` bytes: data is put in order on the tile before it is sent."""
    to_host = COMBINED_PACKET_BYTES if link.write_combining else TO_HOST_PACKET_BYTES
    return np.asarray(-(-size // (LONG_PACKET_BYTES if to_device else to_host)), dtype=np.int64)
