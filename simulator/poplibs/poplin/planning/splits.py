"""The ways to divide a convolution over tiles (parallel splits) and over time (serial splits), as columns.

A candidate gives each tile one share of the convolution groups, of each dimension of the field, of the input channels
and of the output channels. Shares are whole grains, of one size except the last. Where several numbers of shares leave
the same largest share, only the smallest is a candidate."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import AnyArray, Int64Array


class Splits(NamedTuple):
    """One entry per candidate."""

    groups: Int64Array
    field: tuple[Int64Array, ...]  #: one column per dimension of the field
    inp: Int64Array
    out: Int64Array
    in_serial: Int64Array  #: passes over the input channels, one after another
    out_serial: Int64Array  #: passes over the output channels

    @property
    def tiles(self) -> Int64Array:
        return self.groups * prod(self.field, start=np.ones_like(self.groups)) * self.inp * self.out

    @property
    def passes(self) -> Int64Array:
        return self.in_serial * self.out_serial

    def take(self, rows: AnyArray) -> Splits:
        """Some of the candidates, by mask or by index."""
        return Splits(self.groups[rows], tuple(f[rows] for f in self.field), *(c[rows] for c in self[2:]))


def share_counts(parts: int, limit: int) -> Int64Array:
    """The numbers of shares of `parts` grains to try: the smallest for each size of the largest share."""
    sizes = np.arange(1, parts + 1)
    counts = np.unique(-(-parts // sizes)).astype(np.int64)
    return counts[counts <= limit]


@lru_cache(maxsize=256)
def parallel(parts: tuple[int, ...], tiles: int) -> tuple[Int64Array, ...]:
    """All ways to cut dimensions of `parts` grains into at most `tiles` shares in all: one column per dimension."""
    columns: tuple[Int64Array, ...] = ()
    used = np.ones(1, np.int64)
    for count in parts:
        choices = share_counts(count, tiles)
        possible = np.searchsorted(choices, tiles // used, side="right")
        row = np.repeat(np.arange(len(used)), possible)
        chosen = choices[np.arange(len(row)) - np.repeat(np.cumsum(possible) - possible, possible)]
        columns = (*(column[row] for column in columns), chosen)
        used = used[row] * chosen
    return columns


def enumerate_splits(
    groups: int, field: tuple[int, ...], inp: int, out: int, tiles: int, serial: tuple[int, int] = (1, 1)
) -> Splits:
    """All parallel splits of one pass where the input and output channels take `serial` passes.

    groups, field, inp, out: grains of the whole convolution."""
    in_passes, out_passes = serial
    g, *fields, i, o = parallel((groups, *field, -(-inp // in_passes), -(-out // out_passes)), tiles)
    return Splits(g, tuple(fields), i, o, np.full_like(g, in_passes), np.full_like(g, out_passes))
