"""Matrix products of medium size, which BLAS computes in the calling thread.

A program runs many products of a few million multiply-adds. OpenBLAS wakes its threads from 2^18 of these on, and where
other processes keep the cores busy, waiting for the last thread takes many times the work itself (a product of 0.1 ms
took 10 ms on two cores with a load of 3). BLAS is therefore told to use one thread for them; large ones, for which
threads pay whatever the load, are left to it. Where it cannot be told, the products are cut into blocks below that
limit, which takes up to eight times as long for a long inner dimension. The sum over that dimension is never cut."""

from __future__ import annotations

import numpy as np

from simulator.arrays import AnyArray
from simulator.poplibs.poplin.products.blas_threads import can_be_set, in_one_thread

#: OpenBLAS computes products up to this many multiply-adds in the calling thread
#: (interface/gemm.c: SMP_THRESHOLD_MIN 65536 x GEMM_MULTITHREAD_THRESHOLD 4)
_IN_ONE_THREAD = 2**18
#: from here on threads save more than waking them can cost
_WORTH_THREADS = 2**25
#: rows and columns of a block come in these units, which BLAS's inner loops take whole
_UNIT = 16


def multiply(left: AnyArray, right: AnyArray) -> AnyArray:
    """left @ right for stacks [..., m, k] and [..., k, n] of floats."""
    (m, k), n = left.shape[-2:], right.shape[-1]
    if not _IN_ONE_THREAD < m * k * n < _WORTH_THREADS:
        return np.asarray(left @ right)
    if can_be_set():
        with in_one_thread():
            return np.asarray(left @ right)
    rows, columns = _block(m, n, max(1, _IN_ONE_THREAD // k))
    outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    out = np.empty((*outer, m, n), np.result_type(left, right))
    for top in range(0, m, rows):
        for begin in range(0, n, columns):
            place = (..., slice(top, top + rows), slice(begin, begin + columns))
            np.matmul(left[..., top : top + rows, :], right[..., begin : begin + columns], out=out[place])
    return out


def _block(m: int, n: int, elements: int) -> tuple[int, int]:
    """Rows and columns of blocks of about this many elements (at least one): near a square, in units of BLAS's own
    blocks."""
    side = max(1, int(elements**0.5))
    rows = _in_units(side if n >= side else max(1, elements // n), m)
    return rows, _in_units(max(1, elements // rows), n)


def _in_units(size: int, limit: int) -> int:
    return limit if size >= limit else size - size % _UNIT if size > _UNIT else size
