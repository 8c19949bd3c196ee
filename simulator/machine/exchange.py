"""Exchange between the tiles of one IPU, and between IPUs: constants and pure functions.

A tile receives and sends one 4-byte word per cycle; a word sent to several tiles is sent once. Every tile that takes
part pays a fixed start (program launch and pipeline); the static schedule hides distances. Sources: the planner rule
cycles = bytes / 4 (published-numbers 7.7), and a published exchange of three tiles that receive 40, 36 and 40 bytes:
70 cycles with an active-tile balance of 99.5 %, which is (70 + 69 + 70) / 3 / 70, so a start of 60 cycles plus one
cycle per word of the tile itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]

#: Bytes a tile moves per cycle, each way.
WORD_BYTES = 4

#: Cycles before the first word moves, for every tile that takes part. Fitted, see the module text.
LAUNCH_CYCLES = 60
LAUNCH_SOURCE = "fitted: 70 cycles for 10 words received (published-numbers 3)"

#: Code of an exchange on one tile: 20 bytes for each tile taking part (wait, delay, count, return), three instructions
#: per contiguous run received, one per run sent. Fitted to 140 bytes for four runs received on three tiles.
CODE_PER_TILE = 20
CODE_PER_RUN_RECEIVED = 12
CODE_PER_RUN_SENT = 4

#: Most words that one send instruction moves (published-numbers 1).
MAX_WORDS_PER_SEND = 4148

#: Bytes per tile cycle through the links of one IPU, each way: ten links of 64 GB/s in both directions together at
#: 1.33 GHz = 10 * 32e9 / 1.33e9. Fitted: how many links join two IPUs depends on the system.
GLOBAL_BYTES_PER_CYCLE = 240.0

#: Cycles before the first packet moves between IPUs (published-numbers 3 gives 600 for a global sync; the path is
#: travelled once). Fitted.
GLOBAL_LAUNCH_CYCLES = 300


def words(size: npt.NDArray[Any]) -> I8:
    """Words that hold `size` bytes each, rounded up: a run never shares a word with another."""
    return np.asarray((size + (WORD_BYTES - 1)) // WORD_BYTES, dtype=np.int64)


def exchange_cycles(rx_words: I8, tx_words: I8, rate: float = float(WORD_BYTES)) -> I8:
    """Cycles per tile of an exchange in which each tile receives and sends so many words; 0 where it does neither.

    `rate` is bytes per cycle and tile (4 on all known targets)."""
    busy = np.maximum(rx_words, tx_words)
    moving = np.ceil(busy * (WORD_BYTES / rate)).astype(np.int64)
    return np.asarray(np.where(busy > 0, LAUNCH_CYCLES + moving, 0), dtype=np.int64)


def global_exchange_cycles(bytes_in_or_out: I8, ipu_of_tile: I8) -> I8:
    """Cycles per tile of an exchange between IPUs: all tiles of an IPU share its links, so each of them that takes
    part is busy until the last byte of that IPU has passed."""
    per_ipu = np.bincount(ipu_of_tile, weights=bytes_in_or_out).astype(np.int64)
    duration = GLOBAL_LAUNCH_CYCLES + np.ceil(per_ipu / GLOBAL_BYTES_PER_CYCLE).astype(np.int64)
    return np.asarray(np.where(bytes_in_or_out > 0, duration[ipu_of_tile], 0), dtype=np.int64)


def exchange_code_bytes(rx_runs: I8, tx_runs: I8) -> I8:
    """Bytes of exchange code per tile for so many contiguous runs received and sent."""
    taking_part = (rx_runs > 0) | (tx_runs > 0)
    code = CODE_PER_TILE + CODE_PER_RUN_RECEIVED * rx_runs + CODE_PER_RUN_SENT * tx_runs
    return np.asarray(np.where(taking_part, code, 0), dtype=np.int64)
