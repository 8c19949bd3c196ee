"""Matching of programs without a name of their own, and of renamed ones, by their place in the tree.

A container without a name matches the one that holds most of its matched children. Then, from the roots down,
the children of two matched parents are aligned: syncs and other nameless programs match the next one of their
type between the same matched neighbours; a named program without a partner matches the only candidate there: as
many programs of its type are left in the gap on both sides. That last pair is a rename.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from popvision.analysis.compare.align import align
from popvision.analysis.compare.keyed import Pairing
from popvision.arrays import BoolArray, Int64Array, IntegerArray
from popvision.formats.profile.model import Programs

#: Larger than any number of a type.
NO_TYPE = 1 << 16


@dataclass(frozen=True)
class Tree:
    """Programs of one report. `type` is a number below NO_TYPE, equal in both reports; `nameless` programs are known
    by their place only."""

    programs: Programs
    type: Int64Array
    nameless: BoolArray

    def children(self, program: int) -> Int64Array:
        begin, end = self.programs.child_offsets[program], self.programs.child_offsets[program + 1]
        return np.asarray(self.programs.children[begin:end], np.int64)

    def roots(self, owner: str) -> Int64Array:
        is_child = np.zeros(len(self.type), bool)
        is_child[self.programs.children] = True
        return np.array([row for row in np.flatnonzero(~is_child) if self.programs.owner[row] == owner], np.int64)

    def parent(self) -> Int64Array:
        """The only parent of each program, -1 where it has none or several."""
        counts = np.diff(self.programs.child_offsets)
        children = np.asarray(self.programs.children, np.int64)
        parent = np.full(len(self.type), -1, np.int64)
        parent[children] = np.repeat(np.arange(len(counts)), counts)
        parent[np.bincount(children, minlength=len(parent)) != 1] = -1
        return parent


def match_by_place(source: Tree, target: Tree, pairing: Pairing, how: int) -> None:
    """Adds what the tree says to what keys have matched."""
    _containers(source, target, pairing, how)
    waiting = [
        *((source.roots(owner), target.roots(owner)) for owner in ("control", "function")),
        *_open_parents(source, target, pairing),
    ]
    inner = [(np.diff(tree.programs.child_offsets) > 0).tolist() for tree in (source, target)]
    while waiting:
        rows, columns = waiting.pop()
        for row, column in _children(source, target, (rows, columns), pairing, how):
            if inner[0][row] and inner[1][column]:
                waiting.append((source.children(row), target.children(column)))


def _open_parents(source: Tree, target: Tree, pairing: Pairing) -> list[tuple[Int64Array, Int64Array]]:
    """Children of matched parents that have unmatched children on both sides."""
    opens = []
    for tree, partner in ((source, pairing.target_of), (target, pairing.source_of)):
        counts = np.diff(tree.programs.child_offsets)
        owner = np.repeat(np.arange(len(counts)), counts)
        opens.append(np.bincount(owner[partner[tree.programs.children] < 0], minlength=len(counts)) > 0)
    rows = np.flatnonzero(opens[0] & (pairing.target_of >= 0))
    rows = rows[opens[1][pairing.target_of[rows]]]
    return [(source.children(row), target.children(int(pairing.target_of[row]))) for row in rows.tolist()]


def _containers(source: Tree, target: Tree, pairing: Pairing, how: int) -> None:
    above_source, above_target = source.parent(), target.parent()
    width = len(target.type)
    while True:
        children = np.flatnonzero((pairing.target_of >= 0) & (above_source >= 0))
        rows, columns = above_source[children], above_target[pairing.target_of[children]]
        able = (columns >= 0) & (pairing.target_of[rows] < 0) & (pairing.source_of[columns] < 0)
        able &= (source.type[rows] == target.type[columns]) & source.nameless[rows] & target.nameless[columns]
        pairs, votes = np.unique(rows[able] * width + columns[able], return_counts=True)
        if not len(pairs):
            return
        chosen = _mutual(pairs // width, pairs % width, votes)
        pairing.add(*chosen, how)


def _mutual(rows: Int64Array, columns: Int64Array, votes: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Of candidates, most votes first, each row and each column once."""
    order = np.argsort(-votes, kind="stable")
    rows, columns = rows[order], columns[order]
    first_row = np.zeros(len(rows), bool)
    first_row[np.unique(rows, return_index=True)[1]] = True
    first_column = np.zeros(len(rows), bool)
    first_column[np.unique(columns, return_index=True)[1]] = True
    best = first_row & first_column  # the candidate with most votes is always among them
    return rows[best], columns[best]


def _children(
    source: Tree, target: Tree, siblings: tuple[Int64Array, Int64Array], pairing: Pairing, how: int
) -> list[tuple[int, int]]:
    """Pairs added among two lists of siblings."""
    rows, columns = siblings
    free_rows, free_columns = pairing.target_of[rows] < 0, pairing.source_of[columns] < 0
    if not free_rows.any() or not free_columns.any():
        return []
    unnamed = NO_TYPE + len(pairing.source_of)  # larger codes stand for one program each
    alone = np.where(source.nameless[rows], source.type[rows], unnamed + np.arange(len(rows)))
    one = np.where(free_rows, alone, NO_TYPE + pairing.target_of[rows])
    alone = np.where(target.nameless[columns], target.type[columns], unnamed + len(rows) + np.arange(len(columns)))
    other = np.where(free_columns, alone, NO_TYPE + columns)
    i, j = align(one, other)
    new = free_rows[i] & free_columns[j]
    added = _add(pairing, zip(rows[i[new]].tolist(), columns[j[new]].tolist(), strict=True), how)
    named = free_rows & ~source.nameless[rows], free_columns & ~target.nameless[columns]
    if not named[0].any() or not named[1].any():
        return added
    renamed: list[tuple[int, int]] = []
    for begin, end, first, last in _gaps(i, j, len(rows), len(columns)):
        left, right = rows[begin:end][named[0][begin:end]], columns[first:last][named[1][first:last]]
        renamed += _same_types(source, target, left.tolist(), right.tolist())
    return added + _add(pairing, renamed, how)


def _add(pairing: Pairing, pairs: Iterable[tuple[int, int]], how: int) -> list[tuple[int, int]]:
    """The pairs that were free; a body called from several places is taken at the first."""
    taken = []
    for row, column in pairs:
        if pairing.target_of[row] < 0 and pairing.source_of[column] < 0:
            pairing.target_of[row], pairing.source_of[column], pairing.how[row] = column, row, how
            taken.append((row, column))
    return taken


def _gaps(i: IntegerArray, j: IntegerArray, rows: int, columns: int) -> list[tuple[int, int, int, int]]:
    """(begin, end, begin, end) of what lies between aligned pairs on both sides."""
    ends = np.append(i, rows), np.append(j, columns)
    starts = np.append(0, i + 1), np.append(0, j + 1)
    some = np.flatnonzero((ends[0] > starts[0]) & (ends[1] > starts[1]))
    return [(int(starts[0][k]), int(ends[0][k]), int(starts[1][k]), int(ends[1][k])) for k in some]


def _same_types(source: Tree, target: Tree, left: list[int], right: list[int]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    source_types, target_types = Counter(source.type[left].tolist()), Counter(target.type[right].tolist())
    for type, count in source_types.items():
        if target_types[type] == count:
            same_type = [row for row in left if source.type[row] == type]
            pairs += zip(same_type, [row for row in right if target.type[row] == type], strict=True)
    return pairs
