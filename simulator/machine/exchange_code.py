"""Exchange code for speed or for size (opt.internalExchangeOptimisationTarget).

For speed every fragment that a tile receives has three instructions of its own (`simulator.machine.exchange`).
The documentation says that the other targets save always-live memory at the expense of speed, not how. A guess that
does so: a tile loops over a table with a word for each fragment, and pays those three instructions as cycles of the
loop.

- "cycles": straight code everywhere;
- "memory": the table on every tile where it is smaller;
- "balanced": the table where it is smaller and the tile still ends no later than the last tile of the exchange.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.exchange import CODE_PER_FRAGMENT

GOALS = ("cycles", "balanced", "memory")

#: Guesses: bytes of the loop and of a table entry, and cycles of three instructions for each fragment
#: (published-numbers 3: three instructions control a fragment).
LOOP_BYTES = 24
ENTRY_BYTES = 4
CYCLES_PER_FRAGMENT = 3
SOURCE = "guess: exchange code from a table, simulator/machine/exchange_code.py"


def optimised_exchange(
    target: str, code: Int64Array, cycles: Int64Array, fragments: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Code bytes and cycles per tile of an exchange whose straight form has `code` and `cycles`."""
    if target == "cycles":
        return code, cycles
    saved = (CODE_PER_FRAGMENT - ENTRY_BYTES) * fragments - LOOP_BYTES
    longer = cycles + CYCLES_PER_FRAGMENT * fragments
    looped = (saved > 0) & (cycles > 0)
    if target == "balanced":
        looped &= longer <= cycles.max(initial=0)
    return np.where(looped, code - saved, code), np.where(looped, longer, cycles)
