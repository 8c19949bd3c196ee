"""Reduction vertices of popops.

Source: published-numbers 7.4. All but scalar multi-stage reductions are worker vertices: thread cycles.
The accumulator holds a = 4 floats or 8 halves for ADD and SQUARE_ADD, one vector v otherwise; a load brings one
vector, two in interleaved memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import ceil_div, vector_width, whole

_LOGICAL = ("LOGICAL_AND", "LOGICAL_OR")
#: cycles of one LOG_ADD of a vector in the strided form, and of an element in the others
_LOG_ADD = {"half": 13, "float": 23}
_LOG_ADD_ELSEWHERE = 20


def accumulator_width(op: str, dtype: str) -> int:
    """Elements that one pass accumulates: 4 floats or 8 halves for ADD and SQUARE_ADD, else one vector."""
    return 2 * vector_width(dtype) if op in ("ADD", "SQUARE_ADD") else vector_width(dtype)


def _load_width(op: str, dtype: str, interleaved: bool) -> int:
    return min(accumulator_width(op, dtype), vector_width(dtype) * (2 if interleaved else 1))


def single_output(
    op: str, dtype: str, n: npt.ArrayLike, out_dtype: str = "float", *, interleaved: bool = False
) -> Int64Array:
    """One scalar from one region of n elements: 17 + cpl * n / a + (n mod a), + 5 if the output is not float;
    cpl = max(a / v, 1), 1 in interleaved memory; the quotient is rounded down after multiplying."""
    a = accumulator_width(op, dtype)
    n = whole(n)
    cycles = max(a // _load_width(op, dtype, interleaved), 1)
    return whole(17 + cycles * n // a + n % a + (0 if out_dtype == "float" else 5))


def _post(op: str, dtype: str, out_dtype: str, update: bool) -> int:
    """Cycles that end a strided loop and store: half to half 8, half to float ADD 7 (others 8), float ADD 5
    (others 4); an update adds 3 (float), 2 to 5 (half)."""
    if dtype != "half":
        return (5 if op == "ADD" else 4) + ((2 if out_dtype == "half" else 3) if update else 0)
    adds = op == "ADD" and out_dtype == "float"
    more = (5 if adds else (2 if op == "ADD" else 3)) if update else 0
    return (7 if adds else 8) + more


def strided(
    op: str,
    dtype: str,
    outputs: npt.ArrayLike,
    partials: npt.ArrayLike,
    *,
    out_dtype: str = "float",
    outer: npt.ArrayLike = 1,
    stride: npt.ArrayLike | None = None,
    interleaved: bool = False,
    update: bool = False,
) -> Int64Array:
    """Outputs whose `partials` terms lie a constant stride apart, `outer` such runs of each:
    5 + 11 + ceil(out / e) * (3 + post + outer (3 + cpOp (partials - 1))), e = gcd(min(a, v), stride): one vector
    (two in interleaved memory); cpOp = 1, LOG_ADD 13 half | 23 float. stride None = a multiple of e."""
    e = whole(_load_width(op, dtype, interleaved))
    if stride is not None:
        e = np.gcd(e, whole(stride))
    cycles_per_op = _LOG_ADD[dtype] if op == "LOG_ADD" else 1
    inner = whole(outer) * (3 + cycles_per_op * (whole(partials) - 1))
    return whole(5 + 11 + ceil_div(outputs, e) * (3 + _post(op, dtype, out_dtype, update) + inner))


def continuous(
    op: str, dtype: str, outputs: npt.ArrayLike, partials: npt.ArrayLike, *, interleaved: bool = False
) -> Int64Array:
    """Outputs that are each one contiguous run of `partials` elements: 17 + out * (cpOp (p // e) + 12), + 2 where the
    number of partials is odd; e = one vector (two in interleaved memory), cpOp = 1, LOG_ADD 20."""
    e = _load_width(op, dtype, interleaved)
    outputs, partials = whole(outputs), whole(partials)
    per_op = _LOG_ADD_ELSEWHERE if op == "LOG_ADD" else 1
    return whole(17 + outputs * (per_op * (partials // e) + 12) + 2 * (partials % 2))


#: thread cycles of a generic Reduce vertex beside its reductions; LOGICAL_* and LOG_ADD are compiled C++
GENERIC_BASE, GENERIC_COMPILED_BASE = 33, 31


def generic(
    op: str,
    dtype: str,
    outputs: npt.ArrayLike,
    edges: npt.ArrayLike,
    partials: npt.ArrayLike,
    *,
    out_dtype: str = "float",
    update: bool = False,
) -> Int64Array:
    """Thread cycles of one reduction of a generic Reduce vertex (several regions), add `GENERIC_BASE` once:
    24 + 2 log2 a + V (6 + (2 + update) min(a, v_out) + 1) + 10 V P + V A (7 + a / v) + remainders, V = outputs // a,
    P = `edges` (regions of partials), A = `partials` = accumulations (elements of partials / outputs).
    A remainder of r outputs (each power of two below a that their number contains) adds 5 + (2 + update)
    min(r, v_out) + 10 P + A (5 + loads). MAX, MIN and MUL, which do not accumulate, take 2 to 3 cycles less a loop.
    LOGICAL_AND, LOGICAL_OR and LOG_ADD: 8 + 22 P + (24 + c) * elements of partials, c = 1 | 12; add
    `GENERIC_COMPILED_BASE` once."""
    outputs, p, a_count = whole(outputs), whole(edges), whole(partials)
    if op in _LOGICAL or op == "LOG_ADD":
        return whole(8 + 22 * p + (24 + (12 if op == "LOG_ADD" else 1)) * a_count * outputs)
    a, v, v_out = accumulator_width(op, dtype), vector_width(dtype), vector_width(out_dtype)
    accumulates = a > v
    vectors, checks = outputs // a, a.bit_length() - 1

    def store(width: int) -> int:
        return (2 + update) * min(width, v_out) + accumulates

    cycles = 24 + 2 * checks + vectors * ((5 if accumulates else 3) + store(a) + 1)
    cycles = cycles + 10 * vectors * p + vectors * a_count * ((4 if accumulates else 2) + a // v + 3)
    for bit in range(checks):
        width = 1 << bit
        loads = width // min(width, v)
        one = (4 if accumulates else 2) + store(width) + 10 * p + a_count * (5 + loads)
        cycles = cycles + np.where(outputs & width, one, 0)
    return whole(cycles)
