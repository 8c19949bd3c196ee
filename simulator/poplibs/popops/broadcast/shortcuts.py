"""Tiles that must take the general vertex for a broadcast operand, determined from regions without reading elements.

A region of the operand is a run of different elements. A large tensor with a row vector added to it has a region for
each row; `broadcast.patterns`, which reads elements, would need many times the memory of the tensor.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import BoolArray
from simulator.poplibs.pieces import Runs
from simulator.poplibs.popops.broadcast.choice import INNER_OPERATORS, MOST_SCALARS


def surely_general(op: str, dtype: str, runs: Runs, operand: int) -> BoolArray:
    """For each run: True if its tile must take the general vertex, False if its patterns decide."""
    tiles, tile = np.unique(runs.tiles, return_inverse=True)
    count, lengths = len(tiles), runs.operands[operand][1]
    of = np.repeat(tile, np.diff(runs.offsets[operand]))
    # More different elements than the scalar form takes, one of which occurs only once in its place.
    many = np.bincount(of, lengths - 1, count) > MOST_SCALARS
    alone = np.bincount(of, lengths >= 3, count) > 0
    if op not in INNER_OPERATORS or (dtype == "float" and op != "DIVIDE"):
        return np.asarray((many & alone)[tile])
    single = np.bincount(tile, minlength=count) == 1
    return np.asarray((many & alone & single)[tile] & _unfinished(runs, operand))


def _unfinished(runs: Runs, operand: int) -> BoolArray:
    """Runs that meet one vector repeatedly and end within it, or that do not meet it twice."""
    starts, lengths = runs.operands[operand]
    offsets = runs.offsets[operand]
    pieces = np.diff(offsets)
    if not len(starts) or (pieces == 0).any():
        return np.zeros(len(pieces), np.bool_)
    head, last = offsets[:-1], offsets[1:] - 1
    again = starts[np.minimum(head + 1, last)]
    period = np.where(pieces > 1, starts[head] + lengths[head] - again, runs.lengths)
    run = np.repeat(np.arange(len(pieces)), pieces)
    inside = np.arange(len(starts)) - head[run]
    regular = (inside == 0) | (starts == again[run])
    regular &= (inside == 0) | (inside == pieces[run] - 1) | (lengths == period[run])
    regular &= lengths <= period[run]
    cyclic = (np.bincount(run, ~regular, len(pieces)) == 0) & (period > 0)
    safe = np.maximum(period, 1)
    return np.asarray(cyclic & ((runs.lengths % safe != 0) | (runs.lengths // safe <= 1)))


def chunks(runs: Runs, most: int) -> list[BoolArray]:
    """Masks of runs, in whole tiles of about this many elements each at most."""
    if not len(runs.tiles):
        return []
    tile = np.unique(runs.tiles, return_inverse=True)[1]
    before = np.cumsum(np.bincount(tile, runs.lengths)) - np.bincount(tile, runs.lengths)
    number = (before // most).astype(np.int64)[tile]
    return [number == n for n in np.unique(number)]
