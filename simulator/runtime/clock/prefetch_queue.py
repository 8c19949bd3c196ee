"""A bounded queue for each stream to the device: the transfers that its host end prefetches, in order.

A stream with `bufferingDepth` d has room for d transfers in the host's memory. The host fills one after another; each
takes the same number of cycles, and begins when the one before is done and a place is free: when the device takes a
transfer, its place is. Only times to come are kept, at most d for each stream, so a state of the clock stays small and
recurs in a loop; places without a time hold a transfer that is ready.

That the host fills the places of one stream one after another, and those of several streams at once, is a guess: it has
a thread for callbacks, but what a callback takes is not modelled.
"""

from __future__ import annotations

from typing import NamedTuple

Ready = tuple[tuple[str, int], ...]
"""When the host will have prefetched transfers: (FIFO, clock), sorted; those that are ready are left out."""

#: The clock of a stream that has prefetched nothing: the host is asked when the device wants the transfer.
NEVER = 1 << 60


def later(ready: Ready, cycles: int) -> Ready:
    """The same times, counted from so many cycles later."""
    if not ready:
        return ready
    return tuple((fifo, at if at == NEVER else at - cycles) for fifo, at in ready if at > cycles)


class PrefetchQueue(NamedTuple):
    """The queue of one FIFO: clocks at which transfers will be ready, ascending; `depth` places; `cycles` to
    prefetch one."""

    fifo: str
    pending: tuple[int, ...]
    depth: int
    cycles: int

    @classmethod
    def of(cls, ready: Ready, fifo: str, depth: int, cycles: int) -> PrefetchQueue:
        """The queue of this FIFO among those of all."""
        return cls(fifo, tuple(at for name, at in ready if name == fifo), depth, cycles)

    @property
    def is_cold(self) -> bool:
        """True while nothing was prefetched."""
        return self.pending == (NEVER,)

    @property
    def next_at(self) -> int:
        """The clock at which the next transfer is ready; 0 where one is."""
        return 0 if len(self.pending) < self.depth else self.pending[0]

    def taken(self, at: int) -> PrefetchQueue:
        """The queue after the device took the next transfer, which was ready: the host fills its place."""
        waiting = self.pending if len(self.pending) < self.depth else self.pending[1:]
        begin = max(at, waiting[-1]) if waiting else at
        return self._replace(pending=(*waiting, begin + self.cycles))

    def started(self, at: int) -> PrefetchQueue:
        """The queue when the host begins to prefetch, all places free."""
        return self._replace(pending=tuple(at + (n + 1) * self.cycles for n in range(self.depth)))

    def put_in(self, ready: Ready) -> Ready:
        """The times of all FIFOs, with this one's in place of those before."""
        others = [entry for entry in ready if entry[0] != self.fifo]
        return tuple(sorted([*others, *((self.fifo, at) for at in self.pending)]))
