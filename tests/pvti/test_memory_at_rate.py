"""A program that records half a million begins and ends a second needs no more memory the longer it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.host_trace_spans import EVENTS_PER_SECOND, memory_at_rate


@pytest.mark.parametrize("seconds", [6, pytest.param(600, marks=pytest.mark.fuzz)])
def test_memory_is_flat(tmp_path: Path, seconds: int) -> None:
    rows, size = memory_at_rate(tmp_path, seconds)
    settled = next(resident for at, _, resident in rows if at >= min(seconds / 3, 20))
    elapsed, events, last = rows[-1]
    assert last - settled < 4 << 20
    assert size == pytest.approx(16 * events, rel=0.25)  # with what SQLite adds and has not yet folded in
    # Other programs use the machine too; a tracer that kept up with a tenth only would have shown nothing.
    assert events / elapsed > EVENTS_PER_SECOND / 10
