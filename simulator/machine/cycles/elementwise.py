"""Element-wise vertices: unary and binary operators, select, clamp, generated expressions (MapGeneratedVertex), and
poplin's InverseStdDeviation. Broadcasts: `broadcast`.

`n` counts elements of the vertex: for 1-D MultiVertex forms the whole run of the tile, shared by six workers; for 2-D
worker forms one row of it.

Sources: published-numbers 7.1 (PopLibs cycle estimators). Generated code: PopLibs' public ExpressionGenerator, which
sets these as the estimates of the vertices that it adds. InverseStdDeviation: PopLibs' public cycle estimator.
"""

from __future__ import annotations

import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles import rates
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, vector_width, whole

#: operators with assembly for float and half, whose per-vector loops cost less
CHEAP = ("ADD", "SUBTRACT", "MULTIPLY")
_FLOATING = ("float", "half")


def binary_loop(op: str, dtype: str, n: npt.ArrayLike, in_place: bool, *, interleaved: bool = False) -> Int64Array:
    """Thread cycles of the inner loop: ceil(n/u) * cpl; per-vector forms add 2 for ADD, SUBTRACT and MULTIPLY on
    float and half (1 in place with both operands in interleaved memory) and 5 for the rest."""
    rate = rates.rate_of(rates.BINARY, op, dtype)
    cycles = rate.cycles
    if rate.form == "plus":
        cheap = op in CHEAP and dtype in _FLOATING
        cycles += (1 if in_place and interleaved else 2) if cheap else 5
    return ceil_div(n, rate.elements) * cycles


def binary_1d(
    op: str, dtype: str, n: npt.ArrayLike, in_place: bool = False, *, interleaved: bool = False
) -> Int64Array:
    """Tile cycles of BinaryOp1D: 6 * (29 float | 26 other + L) + 11; in place 6 * (58 + L) + 11; L of ceil(n/6)."""
    prologue = 58 if in_place else (29 if dtype == "float" else 26)
    return 6 * (prologue + binary_loop(op, dtype, per_worker(n), in_place, interleaved=interleaved)) + 11


def binary_2d(
    op: str, dtype: str, rows: npt.ArrayLike, in_place: bool = False, *, interleaved: bool = False
) -> Int64Array:
    """Thread cycles of one row of BinaryOp2D; add `binary_2d_base` once per vertex."""
    return binary_loop(op, dtype, rows, in_place, interleaved=interleaved)


def binary_2d_base(in_place: bool = False) -> int:
    """Thread cycles of a BinaryOp2D vertex before its first row: 5, in place 20."""
    return 20 if in_place else 5


def unary_loop(op: str, dtype: str, n: npt.ArrayLike, in_place: bool) -> Int64Array:
    """Thread cycles of the inner loop: ceil(n/u) * cpl, or (cpl + 4) * (n + w - 1) / w rounded down for the
    per-vector (w = vector width) and per-element (w = 1) forms."""
    if in_place and dtype in rates.UNARY_IN_PLACE.get(op, {}):
        rate = rates.UNARY_IN_PLACE[op][dtype]
    else:
        rate = rates.rate_of(rates.UNARY, op, dtype)
    if rate.form == "loop":
        return ceil_div(n, rate.elements) * rate.cycles
    return whole((rate.cycles + 4) * (whole(n) + rate.elements - 1) // rate.elements)


def unary_1d(op: str, dtype: str, n: npt.ArrayLike, in_place: bool = False) -> Int64Array:
    """Tile cycles of UnaryOp1D: 6 * (17 (EXP 33) + L) + 20; in place 6 * (55 + L) + 20; L of ceil(n/6)."""
    prologue = 55 if in_place else (33 if op == "EXPONENT" else 17)
    return 6 * (prologue + unary_loop(op, dtype, per_worker(n), in_place)) + 20


def unary_2d_base() -> int:
    """Thread cycles of a UnaryOp2D vertex before its first row."""
    return 20


#: thread cycles of Select, Clamp and HadamardProd vertices before their first row, and of BroadcastSelect
SELECT_BASE = CLAMP_BASE = HADAMARD_BASE = 5
BROADCAST_SELECT_BASE = 10


def select_row(n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of Select: 6 + 5 n."""
    return 6 + 5 * whole(n)


def broadcast_select_row(n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of BroadcastSelect on elements of four bytes: 8 + 4 n."""
    return 8 + 4 * whole(n)


#: thread cycles of BroadcastSelectorSelect before its first row (PopLibs estimator)
SELECTOR_SELECT_BASE = 12


def selector_select_row(element_bytes: int, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of BroadcastSelectorSelect, which copies it: 35 + bytes / 4 + 5 (bytes mod 4)."""
    size = whole(n) * element_bytes
    return whole(35 + size // 4 + 5 * (size % 4))


def clamp_row(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of Clamp: 6 + 2 (n + v - 1) / v rounded down; integers 6 + 7 n."""
    if dtype not in _FLOATING:
        return 6 + 7 * whole(n)
    width = vector_width(dtype)
    return whole(6 + 2 * (whole(n) + width - 1) // width)


def hadamard_row(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of HadamardProd: 6 + 2 ceil(n / v)."""
    return 6 + 2 * ceil_div(n, vector_width(dtype))


# ---- generated code --------------------------------------------------------------------------------------------------

#: cycles before the loop of a worker vertex and of a MultiVertex (PopLibs' estimator)
WORKER_START, MULTI_START = 13, 20


def generated_body(dtype: str, operators: int, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles that one operand of n elements adds: operators * (n // v + n mod v), v of the first operand."""
    width = vector_width(dtype)
    return whole((whole(n) // width + whole(n) % width) * operators)


def generated_worker(body: Int64Array) -> Int64Array:
    """Thread cycles of a worker vertex of generated code: 13 + sum over operands of operators * (n // v + n mod v)."""
    return whole(WORKER_START + body)


def generated_multi(body: Int64Array) -> Int64Array:
    """Tile cycles of a MultiVertex of generated code: 20 + sum over operands of operators * (n // v + n mod v), rounded
    up to whole sixths; n of the whole tile."""
    return ceil_div(MULTI_START + body, WORKERS) * WORKERS


# ---- statistics ------------------------------------------------------------------------------------------------------

#: thread cycles beside the rows
INVERSE_STD_DEVIATION_BASE = 6


def inverse_std_deviation_row(n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of InverseStdDeviation on n channels: 4 + 5 for each pair, in float whatever the type
    (three vector operations and two roots); 6 for the vertex."""
    width = vector_width("float")
    return whole(4 + (3 + width) * ceil_div(whole(n), width))
