"""The order in which the elements of a broadcast operand meet a run of the result.

A run of memory on a tile meets the operand's elements as [outer times [each of `size` elements `inner` times]]: a row
vector added to rows has inner 1, a column added to rows inner = columns, a single number size 1. A part of the run that
does not continue the pattern begins a new one. PopLibs' analysis (popops, ElementWise: BroadcastPatternAnalysis) reads
elements one by one; here each round finds one pattern of every run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.poplibs.pieces import Runs

#: largest number of patterns of one run; no vertex takes more
MOST_PATTERNS = 64


@dataclass(frozen=True)
class Segments:
    """Runs of one operand element: the same element for `length` elements of run `run`, from place `begin` of the run
    on."""

    run: Int64Array
    element: Int64Array
    begin: Int64Array
    length: Int64Array


@dataclass(frozen=True)
class Patterns:
    """`outer` times the `size` segments from `first` on, each `inner` elements long; runs in order."""

    run: Int64Array
    first: Int64Array
    size: Int64Array
    inner: Int64Array
    outer: Int64Array
    complete: BoolArray  #: per run: whether its patterns cover it

    @property
    def elements(self) -> Int64Array:
        """Elements of the run that each pattern covers."""
        return self.outer * self.size * self.inner


def segments_of(runs: Runs, operand: int) -> Segments:
    """The operand's elements along each run; equal adjacent ones form one segment."""
    elements = regions.elements(*runs.operands[operand])
    run = np.repeat(np.arange(len(runs.lengths)), runs.lengths)
    head = np.ones(len(elements), np.bool_)
    head[1:] = (elements[1:] != elements[:-1]) | (run[1:] != run[:-1])
    first = np.flatnonzero(head)
    of = run[first]
    begin = first - (np.cumsum(runs.lengths) - runs.lengths)[of]
    return Segments(of, elements[first], begin, np.diff(np.append(first, len(elements))))


def patterns_of(segments: Segments, runs: int) -> Patterns:
    """The patterns of each run, in order. There must be at least one run."""
    at = np.searchsorted(segments.run, np.arange(runs), side="left")
    end = np.searchsorted(segments.run, np.arange(runs), side="right")
    found: list[tuple[Int64Array, ...]] = []
    for _ in range(MOST_PATTERNS):
        active = np.flatnonzero(at < end)
        if not len(active):
            break
        size, outer = _next_pattern(segments, at[active], end[active])
        found.append((active, at[active], size, segments.length[at[active]], outer))
        at[active] += size * outer
    run, first, size, inner, outer = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(run, kind="stable")
    return Patterns(run[order], first[order], size[order], inner[order], outer[order], at == end)


@dataclass(frozen=True)
class _Spans:
    """Segments `begin .. begin + count` of several runs, one run after the other: `row` numbers the runs, `step` the
    segments."""

    begin: Int64Array
    count: Int64Array
    of: Int64Array
    step: Int64Array
    row: Int64Array

    def first(self, condition: BoolArray) -> Int64Array:
        """The first step of each span where the condition holds, else its count."""
        at = np.flatnonzero(condition)
        of, where = np.unique(self.of[at], return_index=True)
        found = self.count.copy()
        found[of] = self.step[at[where]]
        return found


def _spans(begin: Int64Array, count: Int64Array) -> _Spans:
    of = np.repeat(np.arange(len(count)), count)
    step = np.arange(len(of)) - (np.cumsum(count) - count)[of]
    return _Spans(begin, count, of, step, begin[of] + step)


def _next_pattern(segments: Segments, begin: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(size, outer) of the pattern that begins at segment `begin` of each run, before `end`.

    A pattern ends where the length changes. Its region is all elements up to the first that occurred before; the
    pattern continues while the region repeats as a whole."""
    spans = _spans(begin, end - begin)
    limit = spans.first(segments.length[spans.row] != segments.length[begin][spans.of])
    element = segments.element[spans.row]
    again = spans.first((element == segments.element[begin][spans.of]) & (spans.step > 0))
    again = np.where(again < limit, again, limit)
    size = _distinct(segments, begin, again)
    # Where an element other than the first occurs again, the region ends and does not repeat.
    expected = segments.element[begin[spans.of] + spans.step % size[spans.of]]
    last = np.minimum(spans.first(element != expected), limit)
    return size, np.maximum(last // size, 1)


def _distinct(segments: Segments, begin: Int64Array, count: Int64Array) -> Int64Array:
    """The number of segments from each begin on, at most `count`, before an element occurs again."""
    spans = _spans(begin, count)
    element = segments.element[spans.row]
    falls = np.zeros(len(element), np.bool_)
    falls[1:] = (element[1:] <= element[:-1]) & (spans.step[1:] > 0)
    fallen = np.bincount(spans.of[falls], minlength=len(count))
    # Each element occurs once in an ascending sequence, or in a rotated one. Other sequences are sorted.
    wrapped = (fallen == 1) & (segments.element[begin + count - 1] < segments.element[begin])
    doubtful = np.flatnonzero((fallen > 0) & ~wrapped)
    result = count.copy()
    if len(doubtful):
        part = _spans(begin[doubtful], count[doubtful])
        value = segments.element[part.row]
        order = np.lexsort((value, part.of))
        twice = np.zeros(len(order), np.bool_)
        same = (value[order[1:]] == value[order[:-1]]) & (part.of[order[1:]] == part.of[order[:-1]])
        twice[order[1:][same]] = True
        result[doubtful] = part.first(twice)
    return result
