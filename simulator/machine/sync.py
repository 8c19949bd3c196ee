"""Cycles of barriers: internal syncs of an IPU, and syncs between IPUs.

Internal sync of one IPU: a tile's request reaches the sync controller `relative` cycles after it arrives, and the
release takes as long back; the controller adds the rest of the smallest round trip. Tile t therefore leaves at
max over tiles (arrival + relative) + round trip + relative(t).

Published syncs of the Mk2 model last 100 to 133 cycles, the largest delay is 126 (published-numbers 3), and the eleven
syncs of one program read from pixels last 88 to 133, +- 8 (6.1): the long ones where all tiles arrive together (after
copies of the host and the broadcast), the short ones where some tile is last. So 100 cycles if the last to arrive is
the nearest tile, 126 if it is the farthest: `minIPUSyncDelay` = 100 is the shortest sync, the spread one way is 26, and
the nearest tile's own round trip 74. Which tiles are near is not published. With the controller at the far end of the
columns nine or ten of the eleven syncs come out within 16 cycles (it depends on the plan), with the controller at their
bases, where tile 0 is, or in the middle four to six. The sync after the broadcast (133 published) does not. The largest
published relative delay of an acknowledgement (54 cycles, constants of the headers) as the one-way spread gives 72 to
126, which contradicts the published range.

A sync between IPUs: 600 cycles after the last arrival on the newest target (published-numbers 3), for all targets
here; IPUModel.globalSyncCycles replaces it. Older multi-IPU targets of PopLibs' tests have ceil(15 ns * clock * 2 *
(1 + IPUs / 4)), 60 to 240 cycles: a tenth of what newer ones measure, so not used.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array

#: Cycles of a sync between all IPUs after the last tile arrives (published-numbers 3, getGlobalSyncCycles).
GLOBAL_SYNC_CYCLES = 600


def round_trip(shortest: int, relative: Int64Array) -> int:
    """Round trip of the nearest tile, in cycles, if a sync takes `shortest` cycles when that tile is the last."""
    return max(0, shortest - (int(relative.max()) if len(relative) else 0))


def internal_sync_cycles(arrival: Int64Array, minimum: int, relative: Int64Array) -> Int64Array:
    """Cycles each tile of one IPU spends in an internal sync, waiting included. `minimum` = round trip of the nearest
    tile, `relative` = cycles to the controller, one way. All arrays: one entry per tile."""
    release = int((arrival + relative).max()) + minimum
    return np.asarray(release + relative - arrival, dtype=np.int64)


def external_sync_cycles(arrival: Int64Array, cycles: int = GLOBAL_SYNC_CYCLES) -> Int64Array:
    """Cycles each tile of the device spends in a sync between IPUs: all leave together."""
    return np.asarray(int(arrival.max()) + cycles - arrival, dtype=np.int64)
