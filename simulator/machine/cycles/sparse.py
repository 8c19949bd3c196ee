"""Vertices of popsparse that multiply a sparse operand known at compile time with a dense one.

Source: PopLibs' public planner of static sparse products (popsparse, StaticMatMulPartitioner of 2022), whose terms
for a vertex are taken as its estimate; the vertices have no estimators of their own there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, whole

#: blocks that have a vertex in assembly
BLOCK_LENGTHS = (4, 8, 16)
#: (retained cycles at the start, retained cycles of a row) of a worker by type and block length
_RETAINED = {
    ("half", 4): (17, 1),
    ("half", 8): (13, 1),
    ("half", 16): (13, 1),
    ("float", 4): (13, 1),
    ("float", 8): (13, 4),
    ("float", 16): (16, 4),
}
#: bytes of weights that the unit loads in a cycle
_WEIGHT_LOAD = 8


def _element_terms(dtype: str, n: int) -> tuple[int, int, int]:
    """(start, a row's first entry, a further entry) of a worker for n columns."""
    if dtype == "half":
        if n in (4, 8):
            return 31, 7 + n // 8, 1 + n // 4
        rest = int(n % 8 != 0)
        return 33, 11 + n // 8 * 14 + rest * 9, n // 8 * 3 + rest * 2
    if n in (2, 4):
        return 28 + n // 2, 4 + n // 2, 1 + n // 2
    rest = int(n % 4 != 0)
    return 31, 12 + n // 4 * 10 + rest * 10, n // 4 * 3 + rest * 2


def element_product(dtype: str, n: int, rows: npt.ArrayLike, entries: npt.ArrayLike) -> Int64Array:
    """Thread cycles of a worker of StaticSparseDenseElementWise with so many rows and non-zeros: half 33 + rows * (11 +
    14 (n / 8) + 9) + (entries - rows) * (3 (n / 8) + 2), n = 4 | 8: 31 + 7 | 8 a row + 2 | 3 an entry; float 31 +
    rows * (12 + 10 (n / 4) + 10) + (entries - rows) * (3 (n / 4) + 2), n = 2 | 4: 29 | 30 + 5 | 6 a row + 2 | 3 an
    entry."""
    start, row, entry = _element_terms(dtype, n)
    rows, entries = whole(rows), whole(entries)
    return whole(start + rows * row + np.maximum(entries - rows, 0) * entry)


def block_product(dtype: str, length: int, n_worker: int, rows: npt.ArrayLike, blocks: npt.ArrayLike) -> Int64Array:
    """Tile cycles of StaticSparseDenseMatMulBlock: 30 + 6 retained + rows * (17 + 6 retained) + blocks * (16 + bytes of
    a block / 8 + 6 * columns' cycles of a worker)."""
    start, row = _RETAINED[dtype, length]
    size = 4 if dtype == "float" else 2
    load = length * length * size // _WEIGHT_LOAD
    inner = _columns(dtype, length, n_worker)
    return whole(
        30 + WORKERS * start + whole(rows) * (17 + WORKERS * row) + whole(blocks) * (16 + load + WORKERS * inner)
    )


def _columns(dtype: str, length: int, n: int) -> int:
    """Thread cycles of a worker for its n columns of one block."""
    if dtype == "half":
        if length == 4:
            return 7 + n if n <= 2 else 13 + n
        return (14 if length == 8 else 19) + (n - 1) * length // 4
    if length < 16:
        return (12 if length == 4 else 19) + (n - 1) * length
    return 29 * 2 if n == 1 else (37 + (n - 1) * 8) * 2


def zeroing(dtype: str, elements: npt.ArrayLike) -> Int64Array:
    """Tile cycles of setting partial results to zero: 6 * (12 + bytes / 8 shared by six workers)."""
    size = 4 if dtype == "float" else 2
    return whole(WORKERS * (12 + ceil_div(whole(elements) * size // 8, WORKERS)))


def zeroes_partials(dtype: str, length: int) -> bool:
    """Whether the vertex sets its partial results to zero first: with halves and small blocks that costs nothing."""
    return dtype == "float" and length > 4
