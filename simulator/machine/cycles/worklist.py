"""Partition of the positions of a partial convolution over the six workers of a tile.

PopLibs cuts the rows of a tile's output into equal parts: with R rows (batch included) and six workers a row is cut
into s = 6 / gcd(R, 6) parts, every worker gets R * s / 6 parts that follow each other, and parts of one row are one
work item. Cycles of a vertex are those of its longest worker, which pays per item and per position.
Source: the partition that published-numbers 7.5 sums over ("Σ rows"); public in PopLibs' convolution planner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, whole

Item = Callable[[Int64Array], Int64Array]
"""Cycles of work items by their positions."""


class Worklists(NamedTuple):
    """Work items of the six workers; every array has shape (6, ...), one column per tile (or candidate plan).
    A worker has one item of `first` positions, then `between` items of `width`, then one of `last`; an item of 0
    positions does not exist. `rounds` kernel positions have these items each."""

    first: Int64Array
    between: Int64Array
    width: Int64Array
    last: Int64Array
    rounds: int = 1

    @property
    def items(self) -> Int64Array:
        return (self.first > 0) + self.between + whole(self.last > 0)

    def longest(self, item: Item) -> Int64Array:
        """The largest sum over workers of `item(positions)`, of one round."""
        return whole(self._sums(item).max(axis=0))

    def by_round(self, item: Item) -> tuple[Int64Array, int]:
        """(sums of [a round, worker, column], how often each round is there)."""
        return self._sums(item)[None], self.rounds

    def _sums(self, item: Item) -> Int64Array:
        ends = np.where(self.first > 0, item(self.first), 0) + np.where(self.last > 0, item(self.last), 0)
        return whole(ends + self.between * item(self.width))


class ListedWork(NamedTuple):
    """The work items of vertices one by one: `column` (the vertex), kernel position, worker and positions of each item.
    Padding has no items. A vertex that works on `height` rows of the kernel at a time has a round for all of them, as
    long as that of the fullest."""

    column: Int64Array
    kernel: Int64Array
    worker: Int64Array
    positions: Int64Array
    columns: int
    kernels: int
    inner: int = 1  #: kernel positions along the innermost dimension
    height: int = 1

    def by_round(self, item: Item) -> tuple[Int64Array, int]:
        """(sums of [a round, worker, column], how often each round is there: once)."""
        shape = self.kernels, WORKERS, self.columns
        place = (self.kernel * WORKERS + self.worker) * self.columns + self.column
        sums = np.bincount(place, weights=item(self.positions), minlength=self.kernels * WORKERS * self.columns)
        by_kernel = whole(sums).reshape(shape)
        if self.height == 1:
            return by_kernel, 1
        rows = by_kernel.reshape(-1, self.inner, WORKERS, self.columns)
        starts = np.arange(0, len(rows), self.height)
        return np.maximum.reduceat(rows, starts, axis=0).reshape(-1, WORKERS, self.columns), 1


Work = Worklists | ListedWork


def deal(rows: npt.ArrayLike, width: npt.ArrayLike, rounds: int = 1) -> Worklists:
    """Deal `rows` rows of `width` positions each to six workers, in each of `rounds` rounds."""
    rows, width = np.broadcast_arrays(whole(rows), whole(width))
    parts = WORKERS // np.gcd(rows, WORKERS)
    share = rows * parts // WORKERS
    worker = np.arange(WORKERS).reshape(-1, *[1] * rows.ndim)
    begin, end = worker * share, (worker + 1) * share
    first_row, first_part = np.divmod(begin, parts)
    last_row, last_part = np.divmod(end, parts)
    one_row = first_row == last_row
    cut = first_part * width // parts
    first = np.where(one_row, last_part * width // parts - cut, width - cut)
    between = np.where(one_row, 0, last_row - first_row - 1)
    last = np.where(one_row, 0, last_part * width // parts)
    return Worklists(whole(first), whole(between), whole(np.broadcast_to(width, first.shape)), whole(last), rounds)
