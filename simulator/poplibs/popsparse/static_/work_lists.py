"""The lists of a tile's vertex: which rows and columns each of its workers multiplies.

A list holds numbers of 16 bits. Single elements: for each worker [rows, place of its lists, place of its values,
columns of the dense operand, the first of them, its first row], then for each row the number of its entries and the
place of each entry's dense row. Blocks: for each worker [first column, columns], then the number of rows, and for
each row its place, the number of its blocks and the places of their dense rows. Places of single elements count the
tile's dense elements, those of blocks 8 bytes of each row of a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.cycles import sparse as cycles
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.popsparse.static_.planner import Sizes

#: numbers of each worker at the begin of a list
ELEMENT_HEADER, BLOCK_HEADER = 6, 2


class Work(NamedTuple):
    """The list of a tile's vertex, and its tile cycles."""

    numbers: list[int]
    cycles: int


def work_of(sizes: Sizes, rows: Int64Array, columns: Int64Array, n: int) -> Work:
    """`rows`, `columns`: of each block of the tile, as places among those that it touches; rows ascend."""
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    entries = np.diff(np.append(starts, len(rows)))
    if sizes.block == 1:
        return _of_elements(sizes, starts, entries, columns, n)
    return _of_blocks(sizes, starts, entries, columns, n)


def _of_elements(sizes: Sizes, starts: Int64Array, entries: Int64Array, columns: Int64Array, n: int) -> Work:
    halves = 2 if len(starts) <= WORKERS // 2 and n % 8 == 0 else 1
    groups = WORKERS // halves
    bounds = _shared(entries, groups, halves == 1 and len(starts) <= WORKERS)
    header: list[list[int]] = [[0] * ELEMENT_HEADER for _ in range(WORKERS)]
    lists: list[int] = []
    spent = 0
    for group in range(groups):
        first, last = bounds[group], bounds[group + 1]
        place = ELEMENT_HEADER * WORKERS + len(lists)
        for row in range(first, last):
            begin, count = int(starts[row]), int(entries[row])
            lists += [count, *(columns[begin : begin + count] * n).tolist()]
        value = int(starts[first]) if first < last else 0
        for half in range(halves):
            left, right = _half(n, halves, half, sizes.vector)
            header[half * groups + group] = [last - first, place, value, right - left, left, first]
            taken = int(entries[first:last].sum())
            spent = max(spent, int(cycles.element_product(sizes.dtype, right - left, last - first, taken)))
    return Work([number for numbers in header for number in numbers] + lists, WORKERS * spent)


def _shared(entries: Int64Array, groups: int, one_each: bool) -> list[int]:
    """Rows shared out by their entries: group g has rows [bounds[g], bounds[g + 1])."""
    total, row, bounds = int(entries.sum()), 0, [0]
    for _ in range(groups):
        taken = 0
        while taken * groups < total and row < len(entries):
            taken += int(entries[row])
            row += 1
            if one_each:
                break
        bounds.append(row)
    bounds[-1] = len(entries)
    return bounds


def _half(n: int, halves: int, half: int, vector: int) -> tuple[int, int]:
    grains = n // vector
    each = -(-grains // halves)
    return min(half * each, grains) * vector, min((half + 1) * each, grains) * vector


def _of_blocks(sizes: Sizes, starts: Int64Array, entries: Int64Array, columns: Int64Array, n: int) -> Work:
    each = -(-n // WORKERS)
    numbers: list[int] = []
    for worker in range(WORKERS):
        first, last = min(worker * each, n), min((worker + 1) * each, n)
        numbers += [first if last > first else 0, last - first]
    unit = n // sizes.vector
    numbers.append(len(starts) - 1)
    for row, (begin, count) in enumerate(zip(starts.tolist(), entries.tolist(), strict=True)):
        numbers += [row * unit, count - 1, *(columns[begin : begin + count] * unit).tolist()]
    spent = int(cycles.block_product(sizes.dtype, sizes.block, each, len(starts), len(columns)))
    if cycles.zeroes_partials(sizes.dtype, sizes.block):
        spent += int(cycles.zeroing(sizes.dtype, len(starts) * n * sizes.block))
    return Work(numbers, spent)
