"""Tiles per phase over time, by hand and against counting cycle by cycle."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.execution.intervals import interval_table, write_intervals
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES
from tests.reports import TILES, write_tiny

BY_HAND = [
    (0, 5, 3, 0, 1),
    (5, 10, 2, 0, 2),
    (10, 20, 1, 0, 3),
    (20, 23, 0, 0, 4),
    (23, 27, 2, 2, 0),
    (27, 28, 3, 0, 1),
    (28, 37, 2, 0, 2),
    (37, 43, 1, 0, 3),
]


@pytest.fixture
def source(tmp_path: Path) -> ReportSource:
    return ReportSource(write_tiny(tmp_path))


def test_rows_by_hand(source: ReportSource) -> None:
    stream = io.StringIO()
    assert write_intervals(source, stream) == len(BY_HAND)
    assert [tuple(map(int, line.split(","))) for line in stream.getvalue().splitlines()] == BY_HAND


def test_three_counts_add_up_to_all_tiles(source: ReportSource) -> None:
    table = interval_table(source)
    assert np.all(table.computing + table.exchanging + table.syncing == TILES)
    assert np.array_equal(table.begin[1:], table.end[:-1])


def test_counting_every_cycle_gives_the_same(source: ReportSource) -> None:
    reader = source.reader
    counts = np.zeros((int(reader.runs().cycles.sum()), 3), int)
    column = {"compute": 0, "exchange": 1, "global exchange": 1, "host": 1, "sync": 2}
    types = reader.steps().type
    for step, base, start, cycles in reader.intervals(0, 0, len(types)):
        for first, length in zip(start.tolist(), cycles.tolist(), strict=True):
            phase = PHASE_OF_TYPE[PROGRAM_TYPES[int(types[step])]]
            counts[base + first : base + first + length, column[phase]] += 1
    for tail in reader.run_tail(0, 0).tolist():
        counts[len(counts) - tail :, 2] += 1
    table = interval_table(source)
    rows = np.stack([table.computing, table.exchanging, table.syncing], axis=1)
    assert np.array_equal(np.repeat(rows, table.end - table.begin, axis=0), counts)
