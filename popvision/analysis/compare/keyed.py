"""Matching of rows by keys: numbers that are equal in both reports for equal things. Sorts, no pairwise search.

A key that stands once in either report matches. A key that stands several times (an unrolled loop) matches by its lines
where they name every row of the report that has fewer, else in order, between rows that already match; rows of
one key that changed their order match the k-th with the k-th.
"""

from __future__ import annotations

import numpy as np

from popvision.analysis.compare.align import align
from popvision.arrays import Int64Array, IntegerArray


class Pairing:
    """A matching that grows: for each source row the target row or -1, and the rule that matched it.

    `context` numbers rows of either report that have no key but tell where others belong (the type of a sync); -1 =
    nothing to go by."""

    def __init__(
        self, source_rows: int, target_rows: int, context: tuple[Int64Array, Int64Array] | None = None
    ) -> None:
        self.context = context or (np.full(source_rows, -1, np.int64), np.full(target_rows, -1, np.int64))
        self.target_of = np.full(source_rows, -1, np.int64)
        self.source_of = np.full(target_rows, -1, np.int64)
        self.how = np.zeros(source_rows, np.uint8)

    def add(self, source: IntegerArray, target: IntegerArray, how: int) -> None:
        """Takes pairs whose rows are free on both sides."""
        self.target_of[source] = target
        self.source_of[target] = source
        self.how[source] = how

    def match_keys(
        self, keys: tuple[IntegerArray, IntegerArray], how: int, lines: tuple[IntegerArray, IntegerArray] | None = None
    ) -> None:
        """Matches free rows with the same key; a negative key is none."""
        free_keys = tuple(
            np.where(partner < 0, key, -1) for key, partner in zip(keys, (self.target_of, self.source_of), strict=True)
        )
        once = [_standing_once(key) for key in free_keys]
        _, rows, columns = np.intersect1d(free_keys[0][once[0]], free_keys[1][once[1]], return_indices=True)
        self.add(once[0][rows], once[1][columns], how)
        free_keys = self._free(free_keys)
        if lines is not None:
            self._by_lines(free_keys, lines, how)
            free_keys = self._free(free_keys)
        if np.intersect1d(free_keys[0][free_keys[0] >= 0], free_keys[1][free_keys[1] >= 0]).size:
            self._in_order(free_keys, how)
            self.add(*kth_with_kth(self._free(free_keys)), how)

    def _free(self, keys: tuple[Int64Array, ...]) -> tuple[Int64Array, Int64Array]:
        return np.where(self.target_of < 0, keys[0], -1), np.where(self.source_of < 0, keys[1], -1)

    def _by_lines(
        self, keys: tuple[Int64Array, Int64Array], lines: tuple[IntegerArray, IntegerArray], how: int
    ) -> None:
        """Matches groups of a key in which every row of the smaller side has a partner on its own line."""
        rows = [np.flatnonzero(key >= 0) for key in keys]
        both = [np.stack([keys[side][rows[side]], lines[side][rows[side]]], axis=1) for side in (0, 1)]
        codes = np.unique(np.concatenate(both), axis=0, return_inverse=True)[1].reshape(-1)
        one, other = (np.full(len(key), -1, np.int64) for key in keys)
        one[rows[0]], other[rows[1]] = codes[: len(rows[0])], codes[len(rows[0]) :]
        source, target = kth_with_kth((one, other))
        size = max(int(keys[0].max(initial=0)), int(keys[1].max(initial=0))) + 1
        smaller = np.minimum(*(np.bincount(key[key >= 0], minlength=size) for key in keys))
        complete = np.bincount(keys[0][source], minlength=size) == smaller
        taken = complete[keys[0][source]]
        self.add(source[taken], target[taken], how)

    def _in_order(self, keys: tuple[Int64Array, Int64Array], how: int) -> None:
        """Aligns both reports; earlier pairs and their neighbours are fixed points."""
        size = max(int(keys[0].max(initial=0)), int(keys[1].max(initial=0))) + 1
        context = size + len(self.source_of)
        alone = context + 1 + max(int(each.max(initial=0)) for each in self.context)
        others = alone + len(self.target_of)
        source_codes = np.where(self.context[0] >= 0, context + self.context[0], alone + np.arange(len(self.target_of)))
        target_codes = np.where(
            self.context[1] >= 0, context + self.context[1], others + np.arange(len(self.source_of))
        )
        source = np.where(self.target_of >= 0, size + self.target_of, np.where(keys[0] >= 0, keys[0], source_codes))
        target = np.where(
            self.source_of >= 0, size + np.arange(len(target_codes)), np.where(keys[1] >= 0, keys[1], target_codes)
        )
        rows, columns = align(source, target)
        new = (keys[0][rows] >= 0) & (keys[1][columns] >= 0)
        self.add(rows[new], columns[new], how)


def _standing_once(keys: Int64Array) -> Int64Array:
    values, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.asarray(np.sort(first[(counts == 1) & (values >= 0)]), np.int64)


def kth_with_kth(keys: tuple[Int64Array, Int64Array]) -> tuple[Int64Array, Int64Array]:
    """The k-th row of each key with the k-th row of the same key on the other side."""
    numbered = [_number_repeats(key) for key in keys]
    shift = 1 + max(int(count.max(initial=0)) for _, count in numbered)
    codes = [keys[side][rows] * shift + count for side, (rows, count) in enumerate(numbered)]
    _, one, other = np.intersect1d(codes[0], codes[1], assume_unique=True, return_indices=True)
    return numbered[0][0][one], numbered[1][0][other]


def _number_repeats(keys: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Rows with a key, and how many rows of the same key stand before each."""
    rows = np.flatnonzero(keys >= 0)
    order = np.argsort(keys[rows], kind="stable")
    ordered = keys[rows][order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    count = np.empty(len(rows), np.int64)
    count[order] = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    return rows, count
