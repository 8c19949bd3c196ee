"""Barriers.

Internal sync of one IPU: a tile's request reaches the sync controller `relative` cycles after it arrives, and the
release takes as long back; the controller adds the rest of the smallest round trip. Tile t therefore leaves at
max over tiles (arrival + relative) + minimum + relative(t). Published steps of the Mk2 model last 100 to 133 cycles
(published-numbers 3), with a maximum delay of 126. A sync between IPUs takes 600 cycles after the last arrival.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]

#: Cycles of a sync between all IPUs after the last tile arrives (published-numbers 3, getGlobalSyncCycles).
GLOBAL_SYNC_CYCLES = 600


def internal_sync_cycles(arrival: I8, minimum: int, relative: I8) -> I8:
    """Cycles each tile of one IPU spends in an internal sync, waiting included. All arrays: one entry per tile."""
    release = int((arrival + relative).max()) + minimum
    return np.asarray(release + relative - arrival, dtype=np.int64)


def external_sync_cycles(arrival: I8, cycles: int = GLOBAL_SYNC_CYCLES) -> I8:
    """Cycles each tile of the device spends in a sync between IPUs: all leave together."""
    return np.asarray(int(arrival.max()) + cycles - arrival, dtype=np.int64)
