"""Element-wise vertices of popops: unary, binary, and broadcasts of a scalar or a vector.

Source: published-numbers 7.1 (PopLibs cycle estimators). `n` counts elements of the vertex: for 1-D MultiVertex forms
the whole run of the tile, shared by six workers; for 2-D worker forms one row of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles import rates
from simulator.machine.cycles.rounding import I8, ceil_div, per_worker, vector_width, whole

_CHEAP = ("ADD", "SUBTRACT", "MULTIPLY")


def binary_loop(op: str, dtype: str, n: npt.ArrayLike, in_place: bool) -> I8:
    """Thread cycles of the inner loop: ceil(n/u) * cpl; per-vector forms add 2 (1 in place) for ADD, SUBTRACT and
    MULTIPLY and 5 for the rest."""
    rate = rates.rate_of(rates.BINARY, op, dtype)
    cycles = rate.cycles
    if rate.form == "plus":
        cycles += (1 if in_place else 2) if op in _CHEAP else 5
    return ceil_div(n, rate.elements) * cycles


def binary_1d(op: str, dtype: str, n: npt.ArrayLike, in_place: bool = False) -> I8:
    """Tile cycles of BinaryOp1D: 6 * (29 float | 26 other + L) + 11; in place 6 * (58 + L) + 11; L of ceil(n/6)."""
    prologue = 58 if in_place else (29 if dtype == "float" else 26)
    return 6 * (prologue + binary_loop(op, dtype, per_worker(n), in_place)) + 11


def binary_2d(op: str, dtype: str, rows: npt.ArrayLike, in_place: bool = False) -> I8:
    """Thread cycles of one row of BinaryOp2D; add `binary_2d_base` once per vertex."""
    return binary_loop(op, dtype, rows, in_place)


def binary_2d_base(in_place: bool = False) -> int:
    """Thread cycles of a BinaryOp2D vertex before its first row: 5, in place 20."""
    return 20 if in_place else 5


def unary_loop(op: str, dtype: str, n: npt.ArrayLike, in_place: bool) -> I8:
    """Thread cycles of the inner loop: ceil(n/u) * cpl, or (cpl + 4) * (n + w - 1) // w for the per-vector forms."""
    if in_place and dtype in rates.UNARY_IN_PLACE.get(op, {}):
        rate = rates.UNARY_IN_PLACE[op][dtype]
    else:
        rate = rates.rate_of(rates.UNARY, op, dtype)
    cycles = rate.cycles + (4 if rate.form == "plus" else 0)
    return ceil_div(n, rate.elements) * cycles


def unary_1d(op: str, dtype: str, n: npt.ArrayLike, in_place: bool = False) -> I8:
    """Tile cycles of UnaryOp1D: 6 * (17 (EXP 33) + L) + 20; in place 6 * (55 + L) + 20; L of ceil(n/6)."""
    prologue = 55 if in_place else (33 if op == "EXPONENT" else 17)
    return 6 * (prologue + unary_loop(op, dtype, per_worker(n), in_place)) + 20


def unary_2d_base() -> int:
    """Thread cycles of a UnaryOp2D vertex before its first row."""
    return 20


def broadcast_scalar_loop(op: str, dtype: str, n: npt.ArrayLike) -> I8:
    """Thread cycles of the inner loop of a tensor with one scalar: ceil(n/u) * (cpl + 1), or + 4 for per-vector
    forms other than ADD, SUBTRACT and MULTIPLY; unrolled loops add nothing."""
    if dtype in rates.BROADCAST_SCALAR.get(op, {}):
        rate = rates.BROADCAST_SCALAR[op][dtype]
    elif dtype in ("int", "uint") and dtype in rates.BINARY.get(op, {}):
        rate = rates.BROADCAST_SCALAR_INT
    else:
        rate = rates.rate_of(rates.BINARY, op, dtype)
    cycles = rate.cycles
    if rate.form == "plus":
        cycles += 1 if op in _CHEAP else 4
    return ceil_div(n, rate.elements) * cycles


def broadcast_scalar_1d(op: str, dtype: str, n: npt.ArrayLike) -> I8:
    """Tile cycles of BroadcastScalar1D: 6 * (20 + L) + 11; L of ceil(n/6)."""
    return 6 * (20 + broadcast_scalar_loop(op, dtype, per_worker(n))) + 11


def broadcast_outer_by_row(op: str, dtype: str, rows: npt.ArrayLike, columns: npt.ArrayLike) -> I8:
    """Tile cycles of BroadcastVectorOuterByRow, one scalar of the vector per row:
    6 * (15 + ceil(rows/6) * (7 | 25 misaligned + loops * (cpl + 1))) + 11; misaligned = columns not whole vectors."""
    columns = whole(columns)
    loop = broadcast_scalar_loop(op, dtype, columns)
    entry = np.where(columns % vector_width(dtype) == 0, 7, 25)
    return whole(6 * (15 + per_worker(rows) * (entry + loop)) + 11)


def broadcast_inner_1d(op: str, dtype: str, length: npt.ArrayLike, blocks: npt.ArrayLike, in_place: bool = False) -> I8:
    """Tile cycles of BroadcastVectorInner1D with one slice: a vector of `length` repeated over `blocks` rows.

    ADD/SUBTRACT: 13 + 6 * worker + 6 + 18 (ADD in place + 12 only); MULTIPLY: 13 + 6 * (17 float | 24 half) +
    6 * worker + 12; DIVIDE: 13 + 6 * (19 | 24) + 6 * core + 5.
    worker = 17 float | 19 half (+ 7 if length is odd) + core."""
    length, blocks = whole(length), per_worker(blocks)
    is_float = dtype == "float"
    if op == "DIVIDE":
        return 13 + 6 * (19 if is_float else 24) + 6 * _inner_divide(length, blocks) + 5
    core = 7 + length * (8 + 2 * blocks) if is_float else _inner_half(op, length, blocks)
    worker = (17 if is_float else 19) + 7 * (length % 2) + core
    if op == "MULTIPLY":
        return 13 + 6 * (17 if is_float else 24) + 6 * worker + 12
    return 13 + 6 * worker + (12 if in_place and op == "ADD" else 24)


def _inner_divide(length: I8, blocks: I8) -> I8:
    """Even lengths: 10 + (length/2) * (11 + 6 * (blocks - 1)); odd ones pay one more pair."""
    return whole(10 + ceil_div(length, 2) * (11 + 6 * (blocks - 1)))


def _inner_half(op: str, length: I8, blocks: I8) -> I8:
    if op == "MULTIPLY":
        vector = 9 + (length // 4) * (7 + 2 * blocks)
        return np.where(length % 4 == 0, vector, 8 + length * (5 + 9 * blocks))
    single = 2 + np.where(blocks == 1, 4 + 7 * (length // 8), 5 + (length // 8) * (15 + 2 * (blocks - 1)))
    double = 4 + 6 + (length // 4) * (13 + 2 * (blocks // 2 - 1) + blocks % 2)
    scalar = 6 + length * (5 + 9 * blocks)
    fours = np.where((length % 4 == 0) & (blocks >= 2), double, scalar)
    return whole(5 + np.where(length % 8 == 0, single, fours))
