"""Bottom-up call tree: labels by self time, and inside each the calls that led to it.

Each path of the call tree hands its self time to its own label and to every call above it, so that the outermost
totals add up to all self time, and a label that calls itself counts once. All paths climb together, a call at a time,
and those with the same labels on the way are one row. One sort of the paths per depth.
"""

from __future__ import annotations

import numpy as np

from popvision.analysis.trace.call_paths import PathColumns
from popvision.analysis.trace.calls import CallTree, depth_first
from popvision.analysis.trace.statistics import sums
from popvision.arrays import Int64Array


def bottom_up(tree: CallTree) -> CallTree:
    """The tree of callers. `total` of a row is self time of the outermost label while it was called so, `self_time` the
    part of it that nothing called; `count` the events of the outermost label; times in ns. Rows without time are left
    out. `longest` is the longest event of the row's own label on the paths that it stands for."""
    leaf = np.flatnonzero(tree.self_time > 0)
    at = leaf  # where each path has climbed to
    above = np.full(len(leaf), -1)  # the row of the call below, which stands above in this tree
    levels: list[PathColumns] = []
    rows = 0
    while len(leaf):
        keys, row = np.unique((above + 1) << 32 | tree.name[at], return_inverse=True)
        time, has_no_caller = tree.self_time[leaf], tree.parent[at] < 0
        longest = tree.longest[at[_first_largest(row, time, len(keys))]]
        count, total, own, matched = (
            sums(row, values, len(keys))
            for values in (tree.count[leaf], time, np.where(has_no_caller, time, 0), tree.matched[at])
        )
        depth = np.full(len(keys), len(levels))
        name = keys & 0xFFFFFFFF
        levels.append(PathColumns((keys >> 32) - 1, depth, name, count, total, own, longest, matched))
        on = ~has_no_caller
        leaf, at, above = leaf[on], tree.parent[at[on]], rows + row[on]
        rows += len(keys)
    return depth_first(PathColumns.joined(levels), tree.omitted)


def _first_largest(row: Int64Array, values: Int64Array, rows: int) -> Int64Array:
    """Where the largest value of each row is, the first of equal ones."""
    most = np.zeros(rows, np.int64)
    np.maximum.at(most, row, values)
    place = np.zeros(rows, np.int64)
    found = np.flatnonzero(values == most[row])[::-1]
    place[row[found]] = found  # the last to be written, the first of equal ones, stays
    return place
