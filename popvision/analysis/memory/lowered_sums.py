"""Allocations of many tiles grouped by class, variable and name: bytes of each variable, in one reading of the file.

Obvious way: a dictionary from (class, variable, name) to bytes, filled allocation by allocation. Tiles that were laid
out alike share their columns (the file stores them once), so the bytes of all tiles with the same three key columns
add up row by row first; the rest is sorted by one combined key and equal neighbours are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


_KEYS = ("eq_class", "variable", "name")

#: Rows of tiles that wait to be added up: what all tiles have at once would take a gigabyte.
_ROWS_AT_ONCE = 500_000


@dataclass(frozen=True)
class AllocationSums:
    """Rows of distinct (eq_class, variable, name), ordered by these; `name` is -1 where there is a variable."""

    eq_class: Int64Array
    variable: Int64Array
    name: Int64Array
    bytes: Int64Array


def allocation_sums(source: ReportSource, tiles: Sequence[int]) -> AllocationSums:
    """Bytes per class, variable and (where there is no variable) name over all of `tiles`.

    Raises NotRecordedError when one of them has no lowered variables.
    """
    nothing = np.empty(0, dtype=np.int64)
    sums, seen, rows = AllocationSums(nothing, nothing, nothing, nothing), 0, 0
    waiting: list[tuple[Int64Array, ...]] = []
    for batch in source.reader.lowered_tiles(tiles, (*_KEYS, "bytes")):
        seen += len(batch)
        for part in _alike([columns for _, columns in batch]):
            waiting.append(part)
            rows += len(part[0])
            if rows > max(_ROWS_AT_ONCE, len(sums.bytes)):
                sums, waiting, rows = _add_parts(sums, waiting), [], 0
    if seen < len(tiles):
        raise NotRecordedError(LOWERED_VARIABLES)
    return _add_parts(sums, waiting)


def _add_parts(sums: AllocationSums, parts: list[tuple[Int64Array, ...]]) -> AllocationSums:
    """Sums with more rows; they stay about as many as there are variables, however many tiles are added."""
    all_parts = [(sums.eq_class, sums.variable, sums.name, sums.bytes), *parts]
    return add_equal(*(np.concatenate([part[column] for part in all_parts]) for column in range(4)))


def _alike(columns: list[dict[str, npt.NDArray[np.integer]]]) -> Iterator[tuple[Int64Array, ...]]:
    """(eq_class, variable, name, bytes) of each distinct layout of a batch, bytes added over the tiles that have it."""
    sums: dict[tuple[int, ...], tuple[dict[str, npt.NDArray[np.integer]], Int64Array]] = {}
    for tile in columns:
        shape = tuple(id(tile[name]) for name in _KEYS)
        if shape in sums:
            np.add(sums[shape][1], tile["bytes"], out=sums[shape][1], casting="unsafe")
        else:
            sums[shape] = (tile, tile["bytes"].astype(np.int64))
    for tile, size in sums.values():
        eq_class, variable, name = (tile[key].astype(np.int64) for key in _KEYS)
        yield eq_class, variable, np.where(variable >= 0, -1, name), size


def add_equal(eq_class: Int64Array, variable: Int64Array, name: Int64Array, size: Int64Array) -> AllocationSums:
    """Rows of equal class, variable and name added up, in that order. Keys are at least -1."""
    if not len(size):
        return AllocationSums(eq_class, variable, name, size)
    order = _order(eq_class, variable, name)
    keys = [column[order] for column in (eq_class, variable, name)]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in keys], axis=0)
    first = np.flatnonzero(new)
    classes, variables, names = (column[first] for column in keys)
    return AllocationSums(classes, variables, names, np.add.reduceat(size[order], first))


def _order(eq_class: Int64Array, variable: Int64Array, name: Int64Array) -> npt.NDArray[np.intp]:
    """Rows by class, then variable, then name: by one combined key where it fits into 63 bits."""
    variables, names = int(variable.max()) + 2, int(name.max()) + 2
    if (int(eq_class.max()) + 2) * variables * names < 2**62:
        return np.argsort(((eq_class + 1) * variables + variable + 1) * names + name + 1, kind="stable")
    return np.lexsort((name, variable, eq_class))
