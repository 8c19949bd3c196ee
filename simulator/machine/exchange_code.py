"""Exchange code for speed or for size (opt.internalExchangeOptimisationTarget).

For speed every fragment that a tile receives has three instructions of its own (`simulator.machine.exchange`).
The documentation says that the other targets save always-live memory at the expense of speed, not how. This form
does so, a guess: a tile loops over a table with a word for each fragment, and pays those three instructions as cycles
of the loop.

- "cycles": straight code everywhere;
- "memory": the table on every tile where it is smaller;
- "balanced": the table where it is smaller and the tile still ends no later than the last tile of the exchange.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.exchange import CODE_PER_FRAGMENT, INSTRUCTIONS_PER_FRAGMENT, WORD_BYTES

GOALS = ("cycles", "balanced", "memory")

#: The loop: setzi table, setzi count; ld32 entry, put it, delay, brnz. An entry is a word.
LOOP_BYTES = 6 * INSTRUCTION_BYTES
ENTRY_BYTES = WORD_BYTES
SOURCE = "guess: exchange code from a table, simulator/machine/exchange_code.py"


def optimised_exchange(
    target: str, code: Int64Array, cycles: Int64Array, fragments: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Code bytes and cycles per tile of an exchange whose straight form has `code` and `cycles`."""
    if target == "cycles":
        return code, cycles
    saved = (CODE_PER_FRAGMENT - ENTRY_BYTES) * fragments - LOOP_BYTES
    longer = cycles + INSTRUCTIONS_PER_FRAGMENT * fragments
    looped = (saved > 0) & (cycles > 0)
    if target == "balanced":
        looped &= longer <= cycles.max(initial=0)
    return np.where(looped, code - saved, code), np.where(looped, longer, cycles)
