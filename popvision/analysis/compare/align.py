"""Alignment of two sequences in order: the longest common subsequence by Myers' O(ND) difference.

Among equally long ones the earliest elements match, so of three equal elements of which one is gone the last is
unmatched. The work has a budget; beyond it, elements that stand once in either sequence come first, and the rest
between them matches the k-th of each code with its k-th.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from popvision.arrays import Int64Array, IntegerArray

#: Elementary comparisons before exactness is given up: about a tenth of a second.
BUDGET = 1_000_000

_Span = tuple[int, int, int, int]


def align(source: IntegerArray, target: IntegerArray) -> tuple[Int64Array, Int64Array]:
    """Positions (i, j), both ascending, with source[i] == target[j] everywhere."""
    first = _common_prefix(source, target)
    last = _common_prefix(source[first:][::-1], target[first:][::-1])
    rows, columns = _Alignment(source, target).run((first, len(source) - last, first, len(target) - last))
    head = np.arange(first)
    tails = np.arange(len(source) - last, len(source)), np.arange(len(target) - last, len(target))
    return np.concatenate([head, rows, tails[0]]), np.concatenate([head, columns, tails[1]])


def _common_prefix(source: IntegerArray, target: IntegerArray) -> int:
    length = min(len(source), len(target))
    differing = source[:length] != target[:length]
    first = int(np.argmax(differing)) if length else 0
    return first if length and differing[first] else length


class _Alignment:
    def __init__(self, source: IntegerArray, target: IntegerArray) -> None:
        self.source, self.target = source.tolist(), target.tolist()
        self.pairs: list[tuple[int, int]] = []
        self.budget = BUDGET

    def run(self, span: _Span) -> tuple[Int64Array, Int64Array]:
        """Pairs of everything inside the span."""
        exact = self._myers(span)
        if exact is not None:
            self.pairs = exact
        else:
            self.budget = BUDGET
            self._between_anchors(span)
        self.pairs.sort()
        columns = np.array(self.pairs, np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    def _between_anchors(self, span: _Span) -> None:
        anchors = self._anchors(span)
        self.pairs += anchors
        row, column = span[0], span[2]
        for next_row, next_column in [*anchors, (span[1], span[3])]:
            inner = (row, next_row, column, next_column)
            exact = self._myers(inner)
            self.pairs += self._by_occurrence(inner) if exact is None else exact
            row, column = next_row + 1, next_column + 1

    def _anchors(self, span: _Span) -> list[tuple[int, int]]:
        """Codes that stand once on each side, the longest run of them that is in order on both."""
        once_source = _single_positions(self.source, span[0], span[1])
        once_target = _single_positions(self.target, span[2], span[3])
        pairs = [(row, once_target[code]) for code, row in once_source.items() if code in once_target]
        return _longest_ascending(sorted(pairs))

    def _by_occurrence(self, span: _Span) -> list[tuple[int, int]]:
        seen: dict[int, int] = {}
        place: dict[tuple[int, int], int] = {}
        for column in range(span[2], span[3]):
            code = self.target[column]
            seen[code] = seen.get(code, -1) + 1
            place[code, seen[code]] = column
        seen.clear()
        pairs = []
        for row in range(span[0], span[1]):
            code = self.source[row]
            seen[code] = seen.get(code, -1) + 1
            if (code, seen[code]) in place:
                pairs.append((row, place[code, seen[code]]))
        return _longest_ascending(pairs)

    def _myers(self, span: _Span) -> list[tuple[int, int]] | None:
        """The longest common subsequence of the span; None when the budget ends first."""
        row, end_row, column, end_column = span
        n, m = end_row - row, end_column - column
        if n == 0 or m == 0:
            return []
        source, target = self.source[row:end_row], self.target[column:end_column]
        reach = {1: 0}
        trace: list[dict[int, int]] = []
        for edits in range(n + m + 1):
            trace.append(dict(reach))
            self.budget -= edits
            for diagonal in range(-edits, edits + 1, 2):
                down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
                x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
                began = x
                while x < n and x - diagonal < m and x - diagonal >= 0 and source[x] == target[x - diagonal]:
                    x += 1
                self.budget -= x - began + 1
                reach[diagonal] = x
                if x >= n and x - diagonal >= m:
                    return _walk_back(trace, n, m, row, column)
            if self.budget < 0:
                return None
        return []


def _walk_back(trace: list[dict[int, int]], n: int, m: int, row: int, column: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    x, y = n, m
    for edits in range(len(trace) - 1, -1, -1):
        reach = trace[edits]
        diagonal = x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        left_x = reach[before] if edits else 0
        left_y = left_x - before if edits else 0
        while x > left_x and y > left_y and x > 0 and y > 0:
            x, y = x - 1, y - 1
            pairs.append((row + x, column + y))
        x, y = left_x, left_y
    return pairs


def _single_positions(codes: list[int], begin: int, end: int) -> dict[int, int]:
    position_of: dict[int, int] = {}
    for position in range(begin, end):
        position_of[codes[position]] = -1 if codes[position] in position_of else position
    return {code: position for code, position in position_of.items() if position >= 0}


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs ascending in the first number, the longest run ascending in the second too."""
    ends: list[int] = []
    ending: list[int] = []
    before: list[int] = []
    for index, (_, column) in enumerate(pairs):
        length = bisect_left(ends, column)
        before.append(ending[length - 1] if length else -1)
        if length == len(ends):
            ends.append(column)
            ending.append(index)
        else:
            ends[length], ending[length] = column, index
    chosen = []
    index = ending[-1] if ending else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]
