"""On-tile copies: bytes that move within a tile, and constants that are written where they are needed.

Copies are worker vertices: a thread starts in 60 cycles, needs 12 more for each run of memory after its first, moves 8
bytes a cycle and takes 72 cycles at the least; the six workers of a tile share the bytes and the runs. A constant of
one value occupies no other memory; one worker writes it word by word. Sources (the 72 and the 28 are published, the
rest fitted:
the runtime's copy codelets are not public):

- Published summaries of IPU Model runs by vertex type. 63 ShortMemcpy took 72 thread cycles each (Poplar tutorial 7,
  published-numbers 7.3). A halo exchange of 100 x 100 blocks (a public repository, Poplar 1, Mk1) took 1,074,546 thread
  cycles in 13,964 ShortMemcpy and Memcpy64Bit, which are about 4,736 rows of 100 words and 9,228 single words:
  60 + words / 2. Its strided copies took 9,267 per tile in 8 DstStridedCopyDA32, six that deal 100 rows of 100 words
  and two columns of 100 words: with the same 60 and words / 2, 12 per run.
- A bare-metal implementer measured 288 cycles for a copy by six workers with its rendezvous, then 8 bytes a cycle:
  6 * 48, and the same rate (published-numbers 3).
- Copy9 of the matmul chain (published-numbers 6.1): 609 cycles with its exchange.
- Constants: copy6 of the matmul chain, 1,123 cycles with its exchange. The always-live memory of that program has no
  room for its padding constant, so nothing sends it. 128 words on a tile that received 128 others before take
  60 + 128 + 6 * (28 + 128) = 1,124 cycles.

Alternatives that were tried: rows of a halo by one worker each (as the counts of the halo exchange say) makes the
copies of the chain twice as long as published; 72 cycles + 8 bytes a tile cycle + 3 per run (the figures used before)
half as long; PopLibs' Fill (two words a cycle) for constants gives 700 in place of 1,123.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.machine.cycles.rounding import WORKERS

#: Thread cycles of any copy, exact: ShortMemcpy (published-numbers 7.3).
LEAST_CYCLES = 72

#: Thread cycles that each further run adds to a worker's share. Fitted, see the module text.
CYCLES_PER_RUN = 12

#: A copy of one run takes the least; bytes per cycle of a thread: exact (poplar-model: memcpyBytesPerCycle).
START_CYCLES = LEAST_CYCLES - CYCLES_PER_RUN
BYTES_PER_CYCLE = 8
COPY_SOURCE = "fitted: published copies by vertex type, see simulator/machine/local_copy.py"

#: Thread cycles of writing a constant by one worker: start, then a word a cycle, as PopLibs' Fill of bytes takes: 28 +
#: bytes / 4 (published-numbers 7.3).
FILL_START_CYCLES = 28
FILL_SOURCE = "fitted: 1,123 cycles of copy6 (published-numbers 6.1)"


def copy_threads(
    moved: Int64Array, runs: Int64Array, workers: Int64Array | int = WORKERS, rate: int = BYTES_PER_CYCLE
) -> Int64Array:
    """Thread cycles of the busiest of `workers` workers of each tile that moves so many bytes in so many runs, `rate`
    bytes a cycle; 0 for no run."""
    steps = np.maximum(-(-moved // rate), runs)  # a run takes one cycle at least
    further = np.maximum(-(-runs // workers) - 1, 0)
    cycles = START_CYCLES + CYCLES_PER_RUN * further + -(-steps // workers)
    return np.asarray(np.where(runs > 0, np.maximum(cycles, LEAST_CYCLES), 0), dtype=np.int64)


def copy_rate(memcpy_bytes_per_cycle: int, multi_access: bool) -> int:
    """Bytes a cycle of a copying thread. Without `multi_access` (opt.enableMultiAccessCopies) a load and its store take
    a cycle each."""
    return max(1, memcpy_bytes_per_cycle if multi_access else memcpy_bytes_per_cycle // 2)


def fill_threads(filled: Int64Array) -> Int64Array:
    """Thread cycles of the worker that writes so many bytes of constants on each tile."""
    return np.asarray(np.where(filled > 0, FILL_START_CYCLES + -(-filled // 4), 0), dtype=np.int64)


def local_copy_cycles(
    moved: Int64Array, runs: Int64Array, filled: Int64Array, rate: int = BYTES_PER_CYCLE
) -> Int64Array:
    """Tile cycles of the on-tile copies of one program; all arrays have one entry per tile. Where one worker writes
    constants, five copy."""
    copies = copy_threads(moved, runs, np.where(filled > 0, WORKERS - 1, WORKERS), rate)
    return WORKERS * np.maximum(copies, fill_threads(filled))


#: Types of copying vertices: a run that one worker moves in the least cycles, a longer run, and the several runs of a
#: worker. Names as published summaries have them; which of the strided types the runtime takes (it has a few, by the
#: side that is strided and the width of an access) is not public: the one of the halo exchange stands for all.
SHORT_COPY = "poplar_rt::ShortMemcpy"
LONG_COPY = "poplar_rt::Memcpy64Bit"
STRIDED_COPY = "poplar_rt::DstStridedCopyDA32"
#: No published summary names the vertex that writes a constant.
CONSTANT_WRITER = "(constants written)"


@dataclass(frozen=True)
class CopiesOfType:
    """Copying vertices of one type; per tile: instances, their thread cycles together, and records of their state
    (`footprint.COPY_VERTEX_STATE`): one for each run, and one for constants where nothing else is copied."""

    type: str
    count: Int64Array
    cycles: Int64Array
    records: Int64Array


def copies_by_type(
    moved: Int64Array, runs: Int64Array, filled: Int64Array, rate: int = BYTES_PER_CYCLE
) -> list[CopiesOfType]:
    """The vertices that do what `local_copy_cycles` counts, without idle workers; types of no vertex are left out.

    Where runs are as few as workers, a short run is a vertex of the least cycles, as the 63 ShortMemcpy that took 4,536
    cycles. Longer runs, and more of them, are shared: each worker is a vertex."""
    workers = np.where(filled > 0, WORKERS - 1, WORKERS)
    steps = np.maximum(-(-moved // rate), runs)
    few = runs <= workers
    short = (runs > 0) & few & (steps <= runs * (LEAST_CYCLES - START_CYCLES))
    shared = workers * START_CYCLES + CYCLES_PER_RUN * np.maximum(runs - workers, 0) + steps
    shared = np.maximum(shared, workers * LEAST_CYCLES)
    found = (
        _of_type(SHORT_COPY, short, runs, runs * LEAST_CYCLES, runs),
        _of_type(LONG_COPY, (runs > 0) & few & ~short, workers, shared, runs),
        _of_type(STRIDED_COPY, ~few, workers, shared, runs),
        _of_type(CONSTANT_WRITER, filled > 0, np.ones_like(runs), fill_threads(filled), runs == 0),
    )
    return [each for each in found if each.count.any()]


def _of_type(type: str, chosen: BoolArray, *columns: Int64Array | BoolArray) -> CopiesOfType:
    return CopiesOfType(type, *(np.where(chosen, column, 0).astype(np.int64) for column in columns))
