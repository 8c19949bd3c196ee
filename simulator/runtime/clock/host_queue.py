"""A bounded queue for each stream: the places in the host's memory that its transfers pass through, in order.

A stream to the device with `bufferingDepth` d has d places that the host fills ahead of time (it prefetches); a stream
from the device has places that the host empties. A place that the device has used is ready for it again `answer` cycles
later, when the host has noticed, plus the time in which the bytes of the transfer pass on the host's side. Notices
overlap, bytes follow each other: with d places, d transfers are ready within one answer.

Only times to come are kept, at most one for each place, so a state of the clock stays small and recurs in a loop;
places without a time are ready.

That notices overlap follows from a published figure (the buffering page of PopTorch's user guide): a deeper buffer
removes waits that one place leaves, which no depth could if the host gave one answer after another. That it serves all
streams at once is a guess. What callbacks do in their time is not modelled; where it was measured, it stands for
the time of the bytes, and the host notices at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simulator.compiler.ir.program_table import Work

Ready = tuple[tuple[str, int], ...]
"""When places will be ready: (FIFO, clock), sorted; those that are ready are left out."""

#: The clock of a stream that has prefetched nothing: the host is asked when the device wants the transfer.
NEVER = 1 << 60


def fifo_of(work: Work) -> str:
    """The FIFO of a copy of a stream: a stream that is split has one for each part."""
    return work.stream if work.part is None or work.part.of == 1 else f"{work.stream}/{work.part.number}"


def later(ready: Ready, cycles: int) -> Ready:
    """The same times, counted from so many cycles later."""
    if not ready:
        return ready
    return tuple((fifo, at if at == NEVER else at - cycles) for fifo, at in ready if at > cycles)


class HostQueue(NamedTuple):
    """The queue of one FIFO: clocks at which places will be ready, ascending; `depth` places; `answer` cycles until the
    host notices. `passing`: cycles for the bytes of a transfer."""

    fifo: str
    pending: tuple[int, ...]
    depth: int
    answer: int

    @classmethod
    def of(cls, ready: Ready, fifo: str, depth: int, answer: int) -> HostQueue:
        """The queue of this FIFO among those of all."""
        return cls(fifo, tuple(at for name, at in ready if name == fifo), depth, answer)

    @property
    def is_cold(self) -> bool:
        """True while nothing was prefetched."""
        return self.pending == (NEVER,)

    @property
    def next_at(self) -> int:
        """The clock at which the next place is ready; 0 where one is."""
        return 0 if len(self.pending) < self.depth else self.pending[0]

    def used(self, at: int, passing: int) -> HostQueue:
        """The queue after the device used the next place, which was ready, and left it to the host at this clock."""
        waiting = self.pending if len(self.pending) < self.depth else self.pending[1:]
        noticed = at + self.answer
        begin = max(noticed, waiting[-1]) if waiting else noticed
        return self._replace(pending=(*waiting, begin + passing))

    def started(self, at: int, passing: Sequence[int]) -> HostQueue:
        """The queue when the host begins to prefetch, all places free; `passing` of each."""
        return self._replace(pending=tuple(at + self.answer + sum(passing[: n + 1]) for n in range(self.depth)))

    def put_in(self, ready: Ready) -> Ready:
        """The times of all FIFOs, with this one's in place of those before."""
        others = [entry for entry in ready if entry[0] != self.fifo]
        return tuple(sorted([*others, *((self.fifo, at) for at in self.pending)]))
