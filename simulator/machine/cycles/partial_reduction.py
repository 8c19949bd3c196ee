"""poplin::ReduceAdd, the vertex that adds the partial sums of a convolution or matrix product: tile cycles.

One vertex on each tile that adds; it deals its outputs to six workers. Source: PopLibs' public cycle estimator of
ReduceAdd (the rows of published-numbers 7.4 are of popops' reduction vertices, another library). With the exchange of
the partial sums it gives the published Reduce0 steps of published-numbers 6.1 within 5 %; the form with a single input
would be 12 to 18 % short."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, vector_width, whole

#: depth of the partial sums from which a second, then a third stage is planned (published-numbers 7.4)
TWO_STAGES, THREE_STAGES = 16, 125


def accumulator(dtype: str) -> int:
    """Partial sums that one accumulator instruction takes: 4 floats or 8 halves."""
    return 4 if dtype == "float" else 8


def reduce_add(dtype: str, out_dtype: str, outputs: npt.ArrayLike, depth: npt.ArrayLike) -> Int64Array:
    """Tile cycles to add `depth` rows of partial sums into `outputs` results, each row a vector of its own:

    6 (32 + [2 depth + (13 float | 11 half partials)] + share (c depth + post)), with a = 4 floats | 8 halves,
    c = a / vector width + 1, post = 7 float | 9 half partials, 1 less for half results; loops = outputs / a rounded
    down and one for each power of two in the rest; share = loops / 6 rounded down; the bracket where loops are left
    over and outputs is no multiple of a; loops left over with a multiple of a make share one more."""
    n, p = whole(outputs), whole(depth)
    a = accumulator(dtype)
    step = a // vector_width(dtype) + 1
    rest = n % a
    loops = n // a + sum((rest >> bit) & 1 for bit in range(a.bit_length() - 1))
    share, left = loops // WORKERS, loops % WORKERS > 0
    short = left & (rest > 0)
    share = share + (left & (rest == 0))
    post = (7 if dtype == "float" else 9) - (out_dtype != "float")
    tail = np.where(short, 2 * p + (13 if dtype == "float" else 11), 0)
    return whole(WORKERS * (32 + tail + (step * p + post) * share))


def reduce_add_single_input(
    dtype: str, out_dtype: str, outputs: npt.ArrayLike, depth: npt.ArrayLike, interleaved: bool
) -> Int64Array:
    """Tile cycles where the `depth` rows that came by exchange lie in one block and the tile's own row apart:

    33 + 6 (20 + ceil(outputs / a / 6) (c depth + post)), c = a / vector width, halved in interleaved memory; post = 8
    float to float, 7 float to half, 10 half to float, 9 half to half. outputs is a multiple of a."""
    a = accumulator(dtype)
    load = vector_width(dtype) * (2 if interleaved else 1)
    step = a // min(a, load)
    post = {"float": 8, "half": 10}[dtype] - (out_dtype != "float")
    share = ceil_div(whole(outputs) // a, WORKERS)
    return whole(33 + WORKERS * (20 + (step * whole(depth) + post) * share))


def stage_depths(depth: int, multi_stage: bool = True) -> list[int]:
    """Rows that each stage but the last leaves for the next: none below a depth of 16, one stage's below 125, else two
    stages'. Of the two whole numbers around depth ** ((stages - 1) / stages) the one that makes the tiles receive
    fewer messages is taken (the sum over stages of rows added)."""
    stages = 1 + (depth >= TWO_STAGES) + (depth >= THREE_STAGES) if multi_stage else 1
    return _depths(depth, stages)[0]


def _depths(depth: int, stages: int) -> tuple[list[int], float]:
    if stages == 1:
        return [], float(depth)
    low = int(float(depth) ** ((stages - 1.0) / stages))
    choices = []
    for rows in (low, low + 1):
        further, cost = _depths(rows, stages - 1)
        choices.append(([rows, *further], cost + depth / rows))
    return choices[0] if choices[0][1] < choices[1][1] else choices[1]
