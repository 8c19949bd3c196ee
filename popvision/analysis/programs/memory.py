"""Most bytes live while a program runs: the maximum of the liveness curve over its indices and those of all below it.

The curve is that of one replica or of one IPU, always-live bytes included. A function has one place in the tree and
several in the static order; a Call covers the places of its own call alone, the function all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import curve
from popvision.analysis.programs.program_tree import TreeRows, roots, tree_rows
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.tiles import Where
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


UNKNOWN = -1


def peak_live(source: ReportSource, ipu: int | None = None) -> Int64Array:
    """Bytes by program, UNKNOWN (-1) for programs without a liveness index at or below them (syncs have none).

    Raises NotRecordedError when the report holds no liveness, ValueError for an IPU that is not there."""
    return source.kept.recent(("program_peak_live", ipu), lambda: _peaks(source, ipu))


def _peaks(source: ReportSource, ipu: int | None) -> Int64Array:
    line = curve(source, Where("all", 0) if ipu is None else Where("ipu", ipu))
    live = line.not_always_live + line.always_live
    programs = programs_of(source)
    own = np.full(len(programs.type), UNKNOWN, np.int64)
    np.maximum.at(own, line.program, live)
    trees = [tree_rows(source, root.program) for root in roots(source)]
    if programs.callee is not None:
        _add_calls(own, np.asarray(programs.callee), line.program, live, trees)
    elif "Call" in programs.type:  # what a Call covers is not known, so nothing above one is either
        own[np.array(programs.type) == "Call"] = np.iinfo(np.int64).max
    result = own.copy()
    for rows in trees:
        at = np.arange(len(rows.program))
        result[rows.program] = range_maxima(own[rows.program], at, at + rows.size)
    return np.where(result == np.iinfo(np.int64).max, UNKNOWN, result)


def _add_calls(own: Int64Array, callee: Int64Array, order: Int64Array, live: Int64Array, trees: list[TreeRows]) -> None:
    """Give each Call the most over its own places: its index and those of the function's body after it."""
    length = _lengths(callee, order, trees)
    calls = np.flatnonzero(callee >= 0)
    places = np.flatnonzero(np.isin(order, calls))
    if not len(places):
        return
    ends = np.minimum(places + 1 + length[callee[order[places]]], len(live))
    np.maximum.at(own, order[places], range_maxima(live, places, ends))


def _lengths(callee: Int64Array, order: Int64Array, trees: list[TreeRows]) -> Int64Array:
    """Indices that one pass over each program takes in the static order: its own and those below and called."""
    present = np.zeros(len(callee), np.int64)
    present[order] = 1
    length = present.copy()
    for _ in range(len(callee)):  # calls nest; each turn settles one more level of them
        own = present + np.where(callee >= 0, length[callee], 0)
        covered = own.copy()
        for rows in trees:
            running = np.concatenate([[0], np.cumsum(own[rows.program])])
            at = np.arange(len(rows.program))
            covered[rows.program] = running[at + rows.size] - running[at]
        covered = np.minimum(covered, len(order))
        if np.array_equal(covered, length):
            break
        length = covered
    return length


def range_maxima(values: Int64Array, begin: Int64Array, end: Int64Array) -> Int64Array:
    """Maximum of `values[begin[i]:end[i]]` for each i, none empty, by maxima over blocks of powers of two."""
    levels = [np.asarray(values, np.int64)]
    while 2 ** len(levels) <= len(values):
        below, half = levels[-1], 2 ** (len(levels) - 1)
        levels.append(np.maximum(below[:-half], below[half:]))
    result = np.empty(len(begin), np.int64)
    level = np.frexp((end - begin).astype(np.float64))[1] - 1
    for each in np.unique(level).tolist():
        rows = np.flatnonzero(level == each)
        block = levels[each]
        result[rows] = np.maximum(block[begin[rows]], block[end[rows] - 2**each])
    return result
