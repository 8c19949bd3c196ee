"""Products of medium size: the same values, and none that would wake BLAS's threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplibs.poplin.products import blas_threads, blocked

LIMIT = 2**18


def close(found: Any, left: Any, right: Any) -> None:
    exact = left.astype(np.float64) @ right.astype(np.float64)
    assert found.shape == exact.shape
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4 * np.sqrt(left.shape[-1]))


def matrices(m: int, k: int, n: int, stack: tuple[int, ...] = (), seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(*stack, m, k)), rng.normal(size=(*stack, k, n))
    return left.astype(np.float32), right.astype(np.float32)


@given(*[st.integers(0, 150)] * 3, st.sampled_from([(), (1,), (3,)]), st.booleans(), st.booleans())
def test_any_product(m: int, k: int, n: int, stack: tuple[int, ...], turned: bool, other_turned: bool) -> None:
    left, right = matrices(m, k, n, stack)
    if turned:
        left = np.ascontiguousarray(left.swapaxes(-1, -2)).swapaxes(-1, -2)
    if other_turned:
        right = np.ascontiguousarray(right.swapaxes(-1, -2)).swapaxes(-1, -2)
    close(blocked.multiply(left, right), left, right)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(8, 128, 512), (968, 32, 64), (1, 2048, 2048), (3000, 700, 1), (7, 300000, 2), (224, 128, 512), (64, 512, 512)],
)
def test_no_block_wakes_threads(m: int, k: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    whole = np.matmul

    def watched(left: Any, right: Any, out: Any = None) -> Any:
        sizes.append(left.shape[-2] * left.shape[-1] * right.shape[-1])
        return whole(left, right, out=out)

    left, right = matrices(m, k, n)
    monkeypatch.setattr(blocked, "can_be_set", lambda: False)
    monkeypatch.setattr(blocked.np, "matmul", watched)
    found = blocked.multiply(left, right)
    monkeypatch.undo()
    close(found, left, right)
    assert sum(sizes) == m * k * n
    assert max(sizes) <= max(LIMIT, k)
    assert len(sizes) <= 8 * m * k * n / LIMIT + 1  # blocks are not much smaller than they may be


@pytest.mark.skipif(not blas_threads.can_be_set(), reason="NumPy's BLAS takes no number of threads")
def test_blas_uses_one_thread_meanwhile() -> None:
    functions = blas_threads.thread_functions()
    assert functions is not None
    before = functions.get()
    functions.set(2)
    try:
        with blas_threads.in_one_thread(), blas_threads.in_one_thread():
            assert functions.get() == 1
        assert functions.get() == 2
        with pytest.raises(ValueError, match="stop"), blas_threads.in_one_thread():
            raise ValueError("stop")
        assert functions.get() == 2
    finally:
        functions.set(before)


def test_a_blas_without_threads_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes where NumPy has another BLAS."""
    monkeypatch.setattr(blas_threads, "thread_functions", lambda: None)
    left, right = matrices(64, 128, 128)
    with blas_threads.in_one_thread():
        close(left @ right, left, right)
    close(blocked.multiply(left, right), left, right)
