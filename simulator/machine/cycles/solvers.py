"""Vertices of poplin's solvers, which work on one block of a matrix each: thread cycles of a worker.

Source: PopLibs' public estimators (fits to the code of the codelets). `dim` = rows of the block.
"""

from __future__ import annotations

from simulator.arrays import Int64Array


def triangular_solve(dtype: str, lower: bool, dim: Int64Array) -> Int64Array:
    """TriangularSolve, for one right-hand side: float 3 n n / 2 + 180 n - 126 for a lower matrix, 27 n n / 4 +
    327 n / 2 + 54 for an upper one; half 3 n n / 4 + 318 n - 150, 135 n n / 16 + 1089 n / 4 + 12."""
    n = dim
    if dtype == "half":
        return 3 * n * n // 4 + 318 * n - 150 if lower else 135 * n * n // 16 + 1089 * n // 4 + 12
    return 3 * n * n // 2 + 180 * n - 126 if lower else 27 * n * n // 4 + 327 * n // 2 + 54


def triangular_inverse(dtype: str, lower: bool, dim: Int64Array) -> Int64Array:
    """TriangularInverse: float 6 n n n + 264 n n + 78 n - 120 for a lower matrix, 6 n n n + 51 n n + 213 n + 12 for an
    upper one; half 7 n n n + 387 n n / 2 + 272 n - 120, 7 n n n + 123 n n + 269 n - 24."""
    n = dim
    if dtype == "half":
        return 7 * n**3 + 387 * n * n // 2 + 272 * n - 120 if lower else 7 * n**3 + 123 * n * n + 269 * n - 24
    return 6 * n**3 + 264 * n * n + 78 * n - 120 if lower else 6 * n**3 + 51 * n * n + 213 * n + 12


def cholesky(dtype: str, dim: Int64Array) -> Int64Array:
    """Cholesky, in place: float n n n + 102 n n + 101 n + 102, half n n n / 2 + 795 n n / 4 + 191 n / 2 + 426."""
    n = dim
    if dtype == "half":
        return n**3 // 2 + 795 * n * n // 4 + 191 * n // 2 + 426
    return n**3 + 102 * n * n + 101 * n + 102
