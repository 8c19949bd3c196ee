"""Liveness over device time against the definition, step by step, and against raw rows of the tiny report."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.liveness.device_time import TimedSteps, indices_of_steps, timed_steps
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from tests.analysis.memory.memory_case import make_case, write_case
from tests.reports import write_tiny


def slow_indices(order: list[int], program: list[int]) -> list[int]:
    found, before = [], -1
    for each in program:
        places = [index for index, there in enumerate(order) if there == each]
        if places:
            before = next((place for place in places if place > before), places[0]) if len(places) > 1 else places[0]
        found.append(before if places else -1)
    return found


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 6), max_size=25))
def test_each_step_takes_the_next_index_of_its_program(order: list[int], program: list[int]) -> None:
    found = indices_of_steps(np.array(order, dtype=np.int64), np.array(program, dtype=np.int64))
    assert found.tolist() == slow_indices(order, program)


def test_times_are_those_of_the_file(tmp_path: Path) -> None:
    profile = write_tiny(tmp_path)
    source = ReportSource(profile.parent)
    found = timed_steps(source, 0, 0)
    with sqlite3.connect(profile) as db:
        steps = db.execute("select id, program from steps where run = 0 order by id").fetchall()
        order = [row[0] for row in db.execute("select program from liveness order by liveness_index")]
        cycles = db.execute(
            "select sum(cycles) from steps_by_ipu where ipu = 0 and step_id in (select id from steps where run = 0)"
        ).fetchone()[0]
    assert found.step.tolist() == [row[0] for row in steps]
    assert found.index.tolist() == slow_indices(order, [row[1] for row in steps])
    assert int((found.end - found.begin).sum()) == cycles
    assert (found.end[:-1] == found.begin[1:]).all()


def test_a_step_without_index_carries_the_one_before() -> None:
    no = np.zeros(5, dtype=np.int64)
    steps = TimedSteps(0, 0, no, no, no, np.array([-1, 4, -1, -1, 2]))
    assert steps.carried().tolist() == [-1, 4, 4, 4, 2]


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    source = write_case(tmp_path / "case", make_case(1))
    with pytest.raises(NotRecordedError, match="outputExecutionProfile"):
        timed_steps(source, 0, 0)
    tiny = ReportSource(write_tiny(tmp_path / "tiny").parent)
    with pytest.raises(ValueError, match="run 99 does not exist"):
        timed_steps(tiny, 99, 0)
