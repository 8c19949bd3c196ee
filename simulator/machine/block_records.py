"""Cost of lightweight profiling to a tile: bytes of its records, and cycles to write them.

The figures are fitted to the published output of Graphcore's lightweight profiling tutorial (published-numbers 5.3),
which was measured on a Mk2:

- a buffer of 1,000 bytes held 83 records: 41 whole blocks, and the beginning of a 42nd. So a record takes 12 bytes (a
  64-bit cycle count and a word that names the block) and 4 bytes count them;
- two operations of c cycles in one block took 7,237.6 cycles (mean of ten); with a block around the second one, the
  first with the time up to the second block's beginning took 3,680.6, the second 3,623 and the rest 73. The four
  equations give c = 3,614.6, and 66, 8 and 65 cycles before, inside and after the inner block, here in whole cycles;
- between the parts of stream copies lie 36 cycles. That they lie before a part, not after it, is a guess.

The time to find a buffer full is not public; it counts as the time to write a record, a guess.
"""

from __future__ import annotations

#: Bytes of a record (the beginning or the end of a block), and of the count of records in a buffer.
RECORD_BYTES = 12
COUNT_BYTES = 4

#: Cycles that recording adds before the recorded beginning of a block, between its two records, and after its end.
BEFORE_BLOCK = 66
INSIDE_BLOCK = 8
AFTER_BLOCK = 65

#: Cycles between the recorded parts of stream copies.
BEFORE_STREAM_PART = 36

BUFFER_SOURCE = "exact: profiler.blocks.bufferSize (1,000 B by default), on tiles that record blocks"


def capacity(buffer_bytes: int) -> int:
    """Records that a buffer of so many bytes takes."""
    return max(0, (buffer_bytes - COUNT_BYTES) // RECORD_BYTES)
