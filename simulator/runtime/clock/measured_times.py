"""What the host took for the transfers of a run, in cycles of the device: a queue per FIFO, which the clock reads in
order (`POPVISION_HOST_CLOCK=measured`).

A stream that is split moves in several copies; each has an equal share of the time of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.ir.program_table import Work
from simulator.compiler.machine import Machine
from simulator.runtime.clock.host_queue import fifo_of


class MeasuredTimes:
    """`seconds`: (replica, seconds) of each transfer, by stream; "" is work that belongs to none. The transfers of a
    copy are in order of replicas; a broadcast has one for all replicas."""

    def __init__(self, seconds: Mapping[str, Sequence[tuple[int, float]]], machine: Machine) -> None:
        self._cycles = {stream: _by_transfer(of, machine) for stream, of in seconds.items()}
        self._none = np.zeros(machine.num_replicas, np.int64)
        self._taken: dict[str, int] = {}

    def take(self, work: Work) -> Int64Array:
        """The cycles of each replica for the next transfer of a StreamCopyBegin; 0 where no code of the host runs."""
        if not (work.stream or work.host_called):
            return self._none
        fifo = fifo_of(work)
        self._taken[fifo] = self._taken.get(fifo, 0) + 1
        return self._of(work, self._taken[fifo] - 1)

    def ahead(self, work: Work, transfers: int) -> int:
        """The cycles for the transfer that comes so many after the last one taken, in the slowest replica."""
        return int(self._of(work, self._taken.get(fifo_of(work), 0) - 1 + transfers).max())

    def _of(self, work: Work, number: int) -> Int64Array:
        known = self._cycles.get(work.stream, [])
        share = work.part.of if work.stream and work.part is not None else 1
        return known[number] // share if number < len(known) else self._none


def _by_transfer(seconds: Sequence[tuple[int, float]], machine: Machine) -> list[Int64Array]:
    """The cycles of each replica, by transfer."""
    first = [i for i, (replica, _) in enumerate(seconds) if replica == 0]
    found = []
    for begin, end in zip(first, [*first[1:], len(seconds)], strict=True):
        cycles = [round(time * machine.clock_hz) for _, time in seconds[begin:end]]
        found.append(np.resize(np.array(cycles, np.int64), machine.num_replicas))
    return found
