"""What counted compute sets took in a run: the cycles of all tiles of the device, one array for equal ones.

A compute set whose counts equal those of its last execution costs a comparison; others cost a schedule of their
vertices, and a digest of the result. Arrays take `_MAX_BYTES` at most, however long a run is: beyond them an execution
is kept as the cycles of its slowest tile, which all tiles then take. The run is as long as before, since a compute set
ends with a sync; what tiles wait in the sync counts as theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from simulator.arrays import Int64Array, IntegerArray, UInt64Array
from simulator.codelets.compiled.counted_costs import cycles_of_parts
from simulator.compiler.cost.counted_sets import CountedSet

#: Bytes of distinct arrays; once they are full, the next run begins without any.
_MAX_BYTES = 128 << 20

Parts = Sequence[UInt64Array]
"""Parts of issue slots of the vertices of each block that counts, of one replica."""


class StepCounts:
    """`sets`: the counted compute sets. Executions are known by the numbers of their cycles, which stay valid until
    `begin` drops all of them."""

    def __init__(self, sets: Mapping[int, CountedSet]) -> None:
        self.sets = sets
        self._clear()

    def begin(self) -> bool:
        """Begin a run. True where all numbers given so far became invalid, because they are too many."""
        full = self._bytes >= _MAX_BYTES
        if full:
            self._clear()
        return full

    def number(self, compute_set: int, replicas: Sequence[Parts]) -> int:
        """The number of the cycles of one execution. `replicas`: what the vertices of each replica counted."""
        last = self._last.get(compute_set)
        if last is not None and _equal(last[0], replicas):
            return last[1]
        counted = self.sets[compute_set]
        kinds = counted.counting_kinds()
        cycles = np.concatenate(
            [
                counted.cycles_of([cycles_of_parts(p, kind) for p, kind in zip(parts, kinds, strict=True)])
                for parts in replicas
            ]
        )
        number = self._number_of(cycles)
        self._last[compute_set] = [[part.copy() for part in parts] for parts in replicas], number
        return number

    def cycles(self, number: int) -> Int64Array:
        """The cycles of each tile of the device."""
        return self._arrays[number].astype(np.int64)

    def _number_of(self, cycles: Int64Array) -> int:
        key = hashlib.blake2b(cycles.tobytes(), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is not None:
            return number
        longest = int(cycles.max(initial=0))
        if self._bytes >= _MAX_BYTES:
            alike = self._alike.get(longest)
            if alike is None:
                alike = self._alike[longest] = len(self._arrays)
                self._arrays.append(np.broadcast_to(np.int64(longest), cycles.shape))
            return alike
        kept = cycles.astype(np.int32) if longest < 2**31 else cycles
        number = self._numbers[key] = len(self._arrays)
        self._bytes += kept.nbytes
        self._arrays.append(kept)
        return number

    def _clear(self) -> None:
        self._arrays: list[IntegerArray] = []
        self._bytes = 0
        self._alike: dict[int, int] = {}  # numbers of arrays in which all tiles take as long
        self._numbers: dict[bytes, int] = {}
        self._last: dict[int, tuple[list[list[UInt64Array]], int]] = {}


def _equal(before: Sequence[Parts], after: Sequence[Parts]) -> bool:
    return all(
        np.array_equal(one, other)
        for parts, others in zip(before, after, strict=True)
        for one, other in zip(parts, others, strict=True)
    )
