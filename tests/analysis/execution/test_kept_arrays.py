"""Arrays that a report keeps: what they hold, how often they are read, and how many are kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from popvision.analysis.execution.kept_arrays import KeptArrays, kept_arrays, read_cycles
from popvision.analysis.execution.raster import Grid, raster
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from popvision.formats.generate import Size, generate


class Stored:
    """Array n is four times n; `read` counts."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[Any]:
        self.read += ids
        return [np.full(4, each, np.uint16 if narrow else np.int64) for each in ids]


def values(arrays: list[Any]) -> list[int]:
    return [int(each[0]) for each in arrays]


def test_an_array_is_read_once() -> None:
    stored = Stored()
    kept = KeptArrays(stored)
    assert values(kept.arrays([3, 1, 3], narrow=True)) == [3, 1, 3]
    assert values(kept.arrays([1, 2, 3], narrow=True)) == [1, 2, 3]
    assert stored.read == [3, 1, 2]


def test_what_finds_no_room_is_read_again() -> None:
    stored = Stored()
    kept = KeptArrays(stored, most_bytes=16)  # two arrays of 8 bytes
    assert values(kept.arrays([1, 2, 3], narrow=True)) == [1, 2, 3]
    assert kept.is_full
    assert values(kept.arrays([3, 2, 1], narrow=True)) == [3, 2, 1]
    assert stored.read == [1, 2, 3, 3]


def test_two_threads_read_an_array_once() -> None:
    class Slow(Stored):
        begun, go = threading.Event(), threading.Event()

        def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[Any]:
            self.begun.set()
            assert self.go.wait(60)
            return super().arrays(ids, narrow=narrow)

    stored = Slow()
    kept = KeptArrays(stored)
    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(kept.arrays, [1, 2], narrow=True) for _ in range(2)]
        assert stored.begun.wait(60)
        stored.go.set()
        assert [values(each.result()) for each in found] == [[1, 2], [1, 2]]
    assert stored.read == [1, 2]


def test_wide_arrays_are_not_kept() -> None:
    stored = Stored()
    kept = KeptArrays(stored)
    found = kept.arrays([5]) + kept.arrays([5])
    assert [each.dtype for each in found] == [np.int64, np.int64]
    assert stored.read == [5, 5]


def test_a_picture_is_the_same_with_and_without(tmp_path: Path) -> None:
    generate(tmp_path / "profile.pop", Size(intervals=20_000, kind="repeat", tiles=16, layers=5))
    source = ReportSource(tmp_path)
    read_cycles(source, 0)
    steps = timeline(source, 0)
    grid = Grid(int(steps.end[-1]) * 1024 // 50 + 1, 0, 50, 8)
    kept = raster(steps.spans, kept_arrays(source), steps.tiles, grid)
    assert kept.any()
    assert np.array_equal(kept, raster(steps.spans, source.reader, steps.tiles, grid))
