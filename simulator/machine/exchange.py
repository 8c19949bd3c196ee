"""Exchange between the tiles of one IPU: constants and pure functions. Between IPUs: `simulator.machine.links`.

A tile receives and sends one 4-byte word per cycle; a word sent to several tiles is sent once. A word travels: out of
its tile, along its column to the base, across to the other side of the chip if the receiver's column lies there, and
along that column. The static schedule needs one clock: tiles released early by the sync before it wait for the last
one (their lead). A tile sends its farthest words first, so an exchange ends on it with the latest of

    lead + launch + words sent,
    lead + launch + nearest distance + words received,
    lead + launch + distance + words of each message,
    lead + launch + instructions: a send for each run (of MAX_WORDS_PER_SEND words at most) and three for each fragment
    received after the first, one a cycle.

Sources. Three instructions control a fragment that a tile receives (published-numbers 3); one a cycle is a guess, the
rate at which a tile sends words. The chain's exchanges (6.1) do not reach this bound: 629 instructions at the most, for
4,752 words. The first of tutorial 6 does (200 fragments of a word on a tile) and is nearer to two cycles a fragment
than to three (`benchmarks/validation/tutorial6.py`).

One word a cycle: the planner rule cycles = bytes / 4 (published-numbers 7.7). Launch: three neighbouring
tiles that receive 40, 36 and 40 bytes take 70 cycles with an active-tile balance of 99.5 %, which is
(70 + 69 + 70) / 3 / 70, so 60 cycles plus one per word of the tile itself (published-numbers 3). Distance: the
published pipeline constants (published-numbers 1) give 17 + 19 cycles to the opposite side; a cycle per island of four
tiles is a guess. One word from tile 0 to all others then takes 60 + 36 + 22 + 1 = 119 cycles on Mk2; published 123 +- 8
(6.1). Two other readings of that figure do not hold elsewhere: a launch of 122 cycles for all exchanges contradicts the
70 cycles above, and two control words instead of one explain one cycle of the 62 missing.

Words alone bound an exchange here, as if its schedule had no holes. The published spans demand it: if each run started
as soon as its two tiles are free, the chain's second reduction would take 1,920 cycles for 1,024 words, but its
published span is shorter than ours. One copy (copy8 of 6.1) takes 62 cycles more than its words; the reason is not
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.physical_tiles import Places

#: Bytes a tile moves per cycle, each way.
WORD_BYTES = 4

#: Pipeline of a word between neighbouring tiles: send to exchange 8, multiplexer 7, fabric 9, into memory 7; exact,
#: published-numbers 1.
PIPELINE_CYCLES = 8 + 7 + 9 + 7

#: What the supervisor does before the first word of an exchange is sent. Fitted: 70 - 10 words - the pipeline.
START_CYCLES = 29

#: Cycles before the first word arrives from a neighbour, for every tile that takes part.
LAUNCH_CYCLES = START_CYCLES + PIPELINE_CYCLES
LAUNCH_SOURCE = "fitted: 70 cycles for 10 words received (published-numbers 3); 31 of them pipeline (1)"

#: To a column on the other side of the chip: column base to opposite side 17, opposite side to column base 19; exact,
#: published-numbers 1.
CROSSING_CYCLES = 17 + 19

#: Along a column, per island of four tiles. A guess, see the module text.
CYCLES_PER_ISLAND = 1
DISTANCE_SOURCE = "36 cycles across the chip (published-numbers 1), 1 per island of 4 tiles (guess; 6.1: 123 cycles)"

#: Code of an exchange on one tile: 20 bytes for each tile taking part (wait, delay, count, return), three instructions
#: per fragment received, one send per run (published-numbers 1, 3). The 20 are fitted to 140 bytes for a published
#: exchange of three tiles.
CODE_PER_TILE = 20

#: Instructions of a fragment received (published-numbers 3), and of a run sent (published-numbers 1: a send moves up to
#: 4,148 words).
INSTRUCTIONS_PER_FRAGMENT = 3
INSTRUCTIONS_PER_RUN_SENT = 1

CODE_PER_FRAGMENT = INSTRUCTION_BYTES * INSTRUCTIONS_PER_FRAGMENT
CODE_PER_RUN_SENT = INSTRUCTION_BYTES * INSTRUCTIONS_PER_RUN_SENT

#: Most words that one send instruction moves (published-numbers 1).
MAX_WORDS_PER_SEND = 4148


def words(size: AnyArray) -> Int64Array:
    """Words that hold `size` bytes each, rounded up: a run never shares a word with another."""
    return np.asarray((size + (WORD_BYTES - 1)) // WORD_BYTES, dtype=np.int64)


def moving_cycles(count: Int64Array, rate: float = float(WORD_BYTES)) -> Int64Array:
    """Cycles in which so many words pass at `rate` bytes a cycle."""
    return np.asarray(np.ceil(count * (WORD_BYTES / rate)), dtype=np.int64)


def distance_cycles(sender: Places, receiver: Places) -> Int64Array:
    """Cycles that a word needs between tiles at these places beyond the pipeline between neighbours."""
    islands = sender.island + receiver.island
    crosses = sender.side != receiver.side
    return np.asarray(CYCLES_PER_ISLAND * islands + CROSSING_CYCLES * crosses, dtype=np.int64)


@dataclass(frozen=True)
class Way:
    """The effect of distance on the cycles of an exchange; one entry per tile, in cycles."""

    nearest: Int64Array  #: least distance of what it receives
    latest: Int64Array  #: largest distance of a message plus the cycles that the message takes to pass
    lead: Int64Array  #: by how much it leaves a sync before the last tile


def exchange_cycles(
    rx_words: Int64Array,
    tx_words: Int64Array,
    rate: float = float(WORD_BYTES),
    way: Way | None = None,
    instructions: Int64Array | int = 0,
) -> Int64Array:
    """Cycles per tile of an exchange in which each tile receives and sends so many words; 0 where it does neither.

    `rate` is bytes per cycle and tile (4 on all known targets). No `way`: all tiles are neighbours. `instructions`:
    what `instructions` gives."""
    received, sent = moving_cycles(rx_words, rate), np.maximum(moving_cycles(tx_words, rate), instructions)
    moving = np.maximum(received, sent)
    if way is not None:
        moving = np.maximum(np.maximum(received + way.nearest, way.latest), sent) + way.lead
    busy = (rx_words > 0) | (tx_words > 0)
    return np.asarray(np.where(busy, LAUNCH_CYCLES + moving, 0), dtype=np.int64)


def instructions(rx_fragments: Int64Array, sends: Int64Array) -> Int64Array:
    """Instructions per tile, between its first word and its last, that control so many fragments received and runs
    sent. Those of the first fragment are part of the launch."""
    return np.asarray(INSTRUCTIONS_PER_FRAGMENT * np.maximum(rx_fragments - 1, 0) + sends, dtype=np.int64)


def exchange_code_bytes(rx_fragments: Int64Array, tx_runs: Int64Array) -> Int64Array:
    """Bytes of exchange code per tile for so many fragments received and runs sent."""
    taking_part = (rx_fragments > 0) | (tx_runs > 0)
    code = CODE_PER_TILE + CODE_PER_FRAGMENT * rx_fragments + CODE_PER_RUN_SENT * tx_runs
    return np.asarray(np.where(taking_part, code, 0), dtype=np.int64)
