"""Reduction vertices of popops.

Source: published-numbers 7.4. All but the last are worker vertices: thread cycles.
The accumulator holds a = 4 floats or 8 halves for ADD and SQUARE_ADD, one vector otherwise.
"""

from __future__ import annotations

import numpy.typing as npt

from simulator.machine.cycles.rounding import I8, ceil_div, vector_width, whole

#: partials per output from which two, then three stages are planned
TWO_STAGES, THREE_STAGES = 16, 125

_POST = {("float", "float"): 5, ("half", "half"): 8, ("half", "float"): 7, ("float", "half"): 8}


def accumulator_width(op: str, dtype: str) -> int:
    """Elements that one pass accumulates: 4 floats or 8 halves for ADD and SQUARE_ADD, else one vector."""
    return 2 * vector_width(dtype) if op in ("ADD", "SQUARE_ADD") else vector_width(dtype)


def stages(partials: int) -> int:
    """Stages planned for `partials` values per output: one below 16, two below 125, else three."""
    return 1 + (partials >= TWO_STAGES) + (partials >= THREE_STAGES)


def single_output(op: str, dtype: str, n: npt.ArrayLike, out_dtype: str = "float") -> I8:
    """One scalar from one region of n elements: 17 + cpl * (n // a) + (n mod a), + 5 if the output is not float;
    cpl = max(a / v, 1)."""
    a = accumulator_width(op, dtype)
    n = whole(n)
    return 17 + max(a // vector_width(dtype), 1) * (n // a) + n % a + (0 if out_dtype == "float" else 5)


def strided(op: str, dtype: str, outputs: npt.ArrayLike, partials: npt.ArrayLike, *, out_dtype: str = "float") -> I8:
    """Outputs whose `partials` terms lie a constant stride apart:
    5 + 11 + ceil(out / e) * (3 + post + (3 + cpOp * (partials - 1))), e = accumulator width.

    post: float to float 5, half to half 8, half to float 7; cpOp = accumulator width / vector width."""
    e = accumulator_width(op, dtype)
    cycles_per_op = max(e // vector_width(dtype), 1)
    inner = 3 + cycles_per_op * (whole(partials) - 1)
    return 5 + 11 + ceil_div(outputs, e) * (3 + _POST.get((dtype, out_dtype), 5) + inner)


def continuous(op: str, dtype: str, outputs: npt.ArrayLike, partials: npt.ArrayLike) -> I8:
    """Outputs that are each one contiguous run of `partials` elements: 17 + out * (cpOp * (p // e) + 12), + 2 where
    the number of outputs is odd."""
    e = accumulator_width(op, dtype)
    outputs, partials = whole(outputs), whole(partials)
    return 17 + outputs * (max(e // vector_width(dtype), 1) * (partials // e) + 12) + 2 * (outputs % 2)
