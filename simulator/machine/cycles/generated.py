"""Vertices whose code PopLibs writes for one expression (MapGeneratedVertex).

Source: PopLibs' public ExpressionGenerator, which sets these as the estimates of the vertices that it adds.
"""

from __future__ import annotations

import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, vector_width, whole

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
