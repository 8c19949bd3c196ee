"""Links between IPUs: their number, the way of a message, and the time of an exchange between IPUs.

IPUs form a ladder: 2k and 2k + 1 are a pair on one card, and each has a counterpart on the next card, k + 1. A link
carries 64 GB/s both directions together, three of them join the IPUs of a pair (published-numbers 3, the C2 card); the
128 Gb/s x 6 within a card of an early IPU Model (published there too) are the same 96 GB/s. Two links lead to each
counterpart, as a cable between two C600 cards carries. Messages go to the partner's side first, then along the ladder,
link by link; in a torus the last card is joined to the first and messages take the shorter way round.

Messages share a link that they pass, so an exchange ends on an IPU when the last byte of its messages has passed the
busiest link of their ways: launch + 15 ns for each link after the first + bytes of that link at its rate; and not
before its busiest tile has put its words on the exchange of its own IPU or taken them off. The 15 ns are
published for syncs (published-numbers 3) and a guess for data; the launch is half of a sync between IPUs, which crosses
the links twice.

Data on the links is cut into packets, each with a header in front of its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Float64Array, Int64Array
from simulator.machine.host_exchange import HEADER_PER_TILE
from simulator.machine.sync import GLOBAL_SYNC_CYCLES

#: One link, each way (published-numbers 3: 64 GB/s both ways).
LINK_BYTES_PER_SECOND = 32e9

#: Links between the IPUs of a pair (published-numbers 3) and to each counterpart on the next card (documentation of the
#: C600: a cable between two cards carries two links).
LINKS_TO_PARTNER = 3
LINKS_ALONG = 2

#: Of each link after the first (published-numbers 3, for syncs).
SECONDS_PER_HOP = 15e-9

#: Cycles before the first packet moves, see the module text.
LAUNCH_CYCLES = GLOBAL_SYNC_CYCLES // 2
SOURCE = "fitted: links of 64 GB/s (published-numbers 3), launch and ladder guessed: simulator/machine/links.py"

#: Most bytes that one packet carries (published-numbers 1: largest tlink payload).
PACKET_PAYLOAD_BYTES = 1024

#: Bytes of a packet's header in the sender's memory, as long as that of packets to the host.
PACKET_HEADER_BYTES = HEADER_PER_TILE

_PARTNER, _UP, _DOWN = range(3)
_DIRECTIONS = 3


@dataclass(frozen=True)
class Links:
    """The links of a device of `ipus` IPUs whose tiles have this clock."""

    ipus: int
    clock_hz: float
    torus: bool = False

    @property
    def bytes_per_cycle(self) -> Float64Array:
        """Bytes per tile cycle to the partner, up and down the ladder."""
        links = np.array([LINKS_TO_PARTNER, LINKS_ALONG, LINKS_ALONG])
        return np.asarray(links * LINK_BYTES_PER_SECOND / self.clock_hz, dtype=np.float64)

    @property
    def bytes_per_cycle_of_ipu(self) -> float:
        """Bytes per tile cycle that an IPU can send over all its links; 0 for an IPU alone."""
        cards = -(-self.ipus // 2)
        along = 0 if cards < 2 else 1 if cards == 2 and not self.torus else 2
        rates = self.bytes_per_cycle
        return float((rates[_PARTNER] if self.ipus > 1 else 0.0) + along * rates[_UP])

    def ways(self, src: Int64Array, dst: Int64Array) -> tuple[Int64Array, Int64Array]:
        """(message, link) of every link that messages from IPU `src[i]` to IPU `dst[i]` pass, in order. Link =
        3 * IPU it leaves + direction (partner, up, down)."""
        messages, links = [], []
        at, number = src.copy(), np.arange(len(src))
        across = (at ^ dst) & 1 == 1
        messages.append(number[across])
        links.append(_DIRECTIONS * at[across] + _PARTNER)
        at = np.where(across, at ^ 1, at)
        cards = max(1, -(-self.ipus // 2))
        while True:
            left = dst // 2 - at // 2
            if self.torus:
                left = (left + cards // 2) % cards - cards // 2
            moving = left != 0
            if not moving.any():
                return np.concatenate(messages), np.concatenate(links)
            up = left > 0
            messages.append(number[moving])
            links.append((_DIRECTIONS * at + np.where(up, _UP, _DOWN))[moving])
            at = np.where(moving, (at + np.where(up, 2, -2)) % (2 * cards), at)

    def exchange_cycles(
        self, src: Int64Array, dst: Int64Array, size: Int64Array, busiest_tile: Int64Array | None = None
    ) -> Int64Array:
        """Cycles until the messages of each IPU have passed, 0 for one without messages. Row i: `size[i]` bytes from
        IPU `src[i]` to another IPU, `dst[i]`. `busiest_tile`: cycles per IPU that a tile needs for its words."""
        message, link = self.ways(src, dst)
        count = _DIRECTIONS * max(self.ipus + self.ipus % 2, 1)
        load = np.bincount(link, weights=size[message], minlength=count)
        time = np.ceil(load / np.tile(self.bytes_per_cycle, count // _DIRECTIONS)).astype(np.int64)
        tiles = np.zeros(self.ipus, np.int64) if busiest_tile is None else busiest_tile
        slowest = np.maximum(tiles[src], tiles[dst])
        np.maximum.at(slowest, message, time[link])
        hops = np.bincount(message, minlength=len(src)) - 1
        cycles = LAUNCH_CYCLES + slowest + np.ceil(hops * SECONDS_PER_HOP * self.clock_hz).astype(np.int64)
        out = np.zeros(self.ipus, np.int64)
        np.maximum.at(out, src, cycles)
        np.maximum.at(out, dst, cycles)
        return out

    def replica_cycles(self, sent: Int64Array, busiest_tile: Int64Array) -> Int64Array:
        """Cycles of each IPU of a replica that sends `sent` bytes to the same IPU of another replica and receives as
        many: replicas of one IPU are partners, others lie along the ladder."""
        rate = self.bytes_per_cycle[_PARTNER if self.ipus == 1 else _UP]
        passing = np.maximum(np.ceil(sent / rate).astype(np.int64), busiest_tile)
        return np.asarray(np.where(sent > 0, LAUNCH_CYCLES + passing, 0), dtype=np.int64)


def packets(sent: Int64Array) -> Int64Array:
    """Packets that each tile sends for so many bytes; they are put in order first, so only the last one is short."""
    return np.asarray(-(-sent // PACKET_PAYLOAD_BYTES), dtype=np.int64)
