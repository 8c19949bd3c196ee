"""In which order the elements of a broadcast operand meet a run of the result.

A run of memory on a tile meets the operand's elements as [outer times [each of `size` elements `inner` times]]: a row
vector added to rows is inner 1, a column added to rows inner = columns, one number size 1. What does not go on in the
same way begins a new pattern. PopLibs' analysis (popops, ElementWise: BroadcastPatternAnalysis) reads elements one by
one; here all runs are read at once, one pattern of each in a round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.poplar import regions
from simulator.poplibs.pieces import Runs

I8 = npt.NDArray[np.int64]
B1 = npt.NDArray[np.bool_]

#: patterns of one run that are looked for; no vertex takes a run with more
MOST_PATTERNS = 64


@dataclass(frozen=True)
class Segments:
    """One element of the operand for `length` elements of run `run`, from place `begin` of the run on."""

    run: I8
    element: I8
    begin: I8
    length: I8


@dataclass(frozen=True)
class Patterns:
    """`outer` times the `size` segments from `first` on, each `inner` elements long; runs in order."""

    run: I8
    first: I8
    size: I8
    inner: I8
    outer: I8
    complete: B1  #: per run: whether its patterns cover it

    @property
    def elements(self) -> I8:
        """Elements of the run that each pattern covers."""
        return self.outer * self.size * self.inner


def segments_of(runs: Runs, operand: int) -> Segments:
    """The operand's elements along each run, equal neighbours as one."""
    elements = regions.elements(*runs.operands[operand])
    run = np.repeat(np.arange(len(runs.lengths)), runs.lengths)
    head = np.ones(len(elements), np.bool_)
    head[1:] = (elements[1:] != elements[:-1]) | (run[1:] != run[:-1])
    first = np.flatnonzero(head)
    of = run[first]
    begin = first - (np.cumsum(runs.lengths) - runs.lengths)[of]
    return Segments(of, elements[first], begin, np.diff(np.append(first, len(elements))))


def patterns_of(segments: Segments, runs: int) -> Patterns:
    """The patterns of every run, in order; there must be a run."""
    at = np.searchsorted(segments.run, np.arange(runs), side="left")
    end = np.searchsorted(segments.run, np.arange(runs), side="right")
    before = _last_occurrence(segments)
    found: list[tuple[I8, ...]] = []
    for _ in range(MOST_PATTERNS):
        active = np.flatnonzero(at < end)
        if not len(active):
            break
        size, outer = _next_pattern(segments, before, at[active], end[active])
        found.append((active, at[active], size, segments.length[at[active]], outer))
        at[active] += size * outer
    run, first, size, inner, outer = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(run, kind="stable")
    return Patterns(run[order], first[order], size[order], inner[order], outer[order], at == end)


def _last_occurrence(segments: Segments) -> I8:
    """The segment before it in the same run that has the same element, -1 = none."""
    before = np.full(len(segments.run), -1, np.int64)
    order = np.lexsort((segments.element, segments.run))
    same = segments.element[order[1:]] == segments.element[order[:-1]]
    same &= segments.run[order[1:]] == segments.run[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


def _next_pattern(segments: Segments, before: I8, begin: I8, end: I8) -> tuple[I8, I8]:
    """(size, outer) of the pattern that begins at segment `begin` of each run, which ends before `end`.

    It ends where another length comes. Up to the first element that was there already all are its region; from there
    on it lasts as long as the region repeats, in whole repeats."""
    count = end - begin
    offsets = np.cumsum(count) - count
    of = np.repeat(np.arange(len(count)), count)
    step = np.arange(len(of)) - offsets[of]
    row = begin[of] + step

    def first(condition: B1) -> I8:
        return np.asarray(np.minimum.reduceat(np.where(condition, step, count[of]), offsets))

    limit = first(segments.length[row] != segments.length[begin][of])
    again = first(before[row] >= begin[of])
    size = np.minimum(again, limit)
    expected = segments.element[begin[of] + step % size[of]]
    last = np.minimum(first(segments.element[row] != expected), limit)
    return size, np.where(again < limit, last // size, 1)
