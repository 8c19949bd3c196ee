"""Copies between host and tiles: three parts, Begin (barrier, host answers), Mid (packets move), End (rearrangement).

The IPU Model has an ideal host: published control copies of one word take 114 and 128 cycles in all (published-numbers
6.1), and the link moves 8.0 GB/s over the whole IPU (poplar-model 5.3), so 6.0 bytes a cycle at 1.33 GHz and 5.0 at
1.6. On simulated hardware the constants are the medians of a published Mk2 trace (published-numbers 3): 155 / 1,513 /
87 for a control copy, 77-88 thousand / 1,491-1,771 / 79.5-84 thousand for a data stream of one word, and 20 GB/s
(poplar-model 4). So latency and bandwidth are apart: Begin and End are the host's answers, Mid the bytes. An answer
takes time, not cycles (60 us): a faster tile clock counts more cycles. It is a documented constant, so that device time
does not depend on the machine that simulates; `POPVISION_HOST_CLOCK=measured` puts the measured time of callbacks in
its place, by the same rules (`runtime/clock/measured_times.py`).

The traced stream leads to the device, and its callback does not prefetch: the device asks, the host answers when it has
called `fetch`, and again when it has called `complete`. Which copies need no answer of the host, and so begin and end
like a control copy:

- A transfer to the device that the host has prefetched. An inference: both find their data in the host's memory.
- A transfer to the host for which a place in the stream's buffer is free: the tiles write, and the host calls the
  callback while the program goes on. An inference from PopTorch's user guide, where a loop of an input, compute and an
  output waits at Begin and End of both copies, and with buffering at none of them; and from the name of an option of
  the TensorFlow driver, target.useBufferedCompletions, that it turns off only to verify transfers. The documented
  depth is that of inputs; outputs have as many places as the deepest input (a guess: the guide sets one depth only).
  With exchange.streamBufferOverlap=any a buffer is shared, so outputs wait as inputs do.
- A copy of a remote buffer: that memory belongs to the device, and no code of the host runs. An inference.

A place that the device has used is ready again after `answer_cycles`, and the time of its bytes at the link's rate (a
guess: the host's own copy, which is not published); `runtime/clock/host_queue.py` has the queue. A callback's first
transfer after a load is not prefetched, nor a buffer's first one of a run.

A second published control copy waited 35,183,056 cycles for the host and ended after 205,246. The work of the host then
is not known, so no rule follows.
"""

from __future__ import annotations

import math
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


def answer_cycles(link: HostLink) -> int:
    """Cycles in which the host notices what the device did and answers: the part of a data copy's Begin that a control
    copy, for which the host need not be asked, does not have."""
    return link.begin_data - link.begin_control


def host_link(*, hardware: bool, clock_hz: float, write_combining: bool = False) -> HostLink:
    """The link of an IPU at this tile clock."""
    base = HARDWARE if hardware else MODEL
    faster = clock_hz / base.clock_hz if hardware else 1.0  # the host does not know the tiles' clock
    return replace(
        base,
        begin_data=round(base.begin_data * faster),
        end_data=round(base.end_data * faster),
        clock_hz=clock_hz,
        write_combining=write_combining,
    )


def passing_cycles(size: int, link: HostLink) -> int:
    """Cycles in which the bytes of a transfer of one IPU pass on the host's side."""
    return math.ceil(size / link.bytes_per_cycle)


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

#: Bytes of the link that a packet takes beyond those that its copy would need in order: the header, sequence number,
#: checksum and framing of a packet of PCI Express. A guess: the published 8.0 GB/s include what full packets take.
FURTHER_PACKET_BYTES = 24
#: Cycles that it takes on its tile, where other tiles' packets pass meanwhile: routing a command of the host, which a
#: bare-metal implementer published (published-numbers 3). That it belongs to a packet is a guess.
FURTHER_PACKET_CYCLES = 73

#: A copy that is optimised for memory or rearranged on the host sends its packets in a loop: ld32 of the packet's
#: address and brnz around the packet's instructions, each in an issue slot of its own.
LOOP_CODE = 2 * INSTRUCTION_BYTES
LOOP_CYCLES = 2 * WORKERS


def mid_cycles(
    size: Int64Array, ipu_of_tile: Int64Array, link: HostLink, further: Int64Array | None = None
) -> Int64Array:
    """Cycles per tile of the transfer proper of `size` bytes per tile: the tiles of an IPU share its link, so each
    that takes part is busy until the last byte has passed; a tile moves 4 bytes a cycle at the most. `further`: packets
    per tile beyond those of data in order."""
    ipus = int(ipu_of_tile.max(initial=0)) + 1
    further = np.zeros_like(size) if further is None else further
    longest = np.zeros(ipus, np.int64)
    np.maximum.at(longest, ipu_of_tile, -(-size // TILE_BYTES_PER_CYCLE) + FURTHER_PACKET_CYCLES * further)
    passing = size + FURTHER_PACKET_BYTES * further
    shared = np.ceil(np.bincount(ipu_of_tile, weights=passing) / link.bytes_per_cycle).astype(np.int64)
    duration = link.mid + np.maximum(shared, longest)
    return np.asarray(np.where(size > 0, duration[ipu_of_tile], 0), dtype=np.int64)


def packets(size: Int64Array, link: HostLink, *, to_device: bool) -> Int64Array:
    """Packets that carry `size` bytes in order, per tile or run."""
    to_host = COMBINED_PACKET_BYTES if link.write_combining else TO_HOST_PACKET_BYTES
    return np.asarray(-(-size // (LONG_PACKET_BYTES if to_device else to_host)), dtype=np.int64)
