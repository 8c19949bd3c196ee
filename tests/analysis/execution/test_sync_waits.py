"""Who comes last at a sync: against an obvious twin that walks every tile of every step."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.waits import sync_waits
from popvision.analysis.insights.late import costs_of_waiting
from popvision.analysis.report.source import ReportSource
from tests.plain_report import PlainProgram, PlainReport, PlainVariable

TILES = 4
SYNC = PlainProgram("Sync", "Internal")
DATA = PlainVariable("weights", {0: 8})

steps = st.lists(
    st.one_of(
        st.just(SYNC),
        st.lists(st.integers(0, 9), min_size=TILES, max_size=TILES).map(
            lambda cycles: PlainProgram("OnTileExecute", "work", cycles)
        ),
    ),
    min_size=1,
    max_size=12,
)


def walked(leaves: list[PlainProgram]) -> list[tuple[int, int, int, int, int]]:
    """(step, last tile, cycles waited, longest wait, step that made it late) of each sync with waits."""
    clock, since, rows = [0] * TILES, [], []
    for number, leaf in enumerate(leaves):
        if leaf is not SYNC:
            spent = list(leaf.cycles)  # type: ignore[arg-type]
            since.append((number, spent))
            clock = [at + more for at, more in zip(clock, spent, strict=True)]
            continue
        last = clock.index(max(clock))
        waits = [clock[last] - at for at in clock]
        if sum(waits):
            above = [(spent[last] * TILES - sum(spent), -step) for step, spent in since]
            rows.append((number, last, sum(waits), max(waits), -max(above)[1] if above else -1))
        clock, since = [max(clock) + 10] * TILES, []
    return rows


@given(steps)
def test_waits_are_those_of_a_walk(leaves: list[PlainProgram]) -> None:
    with TemporaryDirectory() as folder:
        PlainReport(leaves, [DATA], TILES).write(Path(folder))
        source = ReportSource(Path(folder))
        waits = sync_waits(source, 0)
        columns = (waits.step, waits.last_tile, waits.waited, waits.longest, waits.cause_step)
        assert list(zip(*(each.tolist() for each in columns), strict=True)) == walked(leaves)
        costs = costs_of_waiting(source, 0)
        assert costs.waited.sum() == waits.waited.sum()
        assert costs.syncs.sum() == len(waits.step)
        assert sorted(costs.waited.tolist(), reverse=True) == costs.waited.tolist()


def test_a_row_of_a_step(tmp_path: Path) -> None:
    work = PlainProgram("OnTileExecute", "work", [5, 1, 1, 1])
    PlainReport([SYNC, work, SYNC, work], [DATA], TILES).write(tmp_path)
    waits = sync_waits(ReportSource(tmp_path), 0)
    assert (waits.of_step(0), waits.of_step(1), waits.of_step(2), waits.of_step(3)) == (None, None, 0, None)
    assert (waits.last_tile.tolist(), waits.waited.tolist(), waits.cause_program.tolist()) == ([0], [12], [2])


def test_an_unknown_ipu(tmp_path: Path) -> None:
    PlainReport([SYNC], [DATA], TILES).write(tmp_path)
    with pytest.raises(ValueError, match="there is no IPU 1: IPUs go from 0 to 0"):
        sync_waits(ReportSource(tmp_path), 1)
