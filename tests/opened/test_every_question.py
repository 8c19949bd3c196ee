"""Every question of every sample, intact, damaged or foreign: an answer or an error of one sentence."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.frames import unit_of
from popvision.opened.report import OpenedReport
from popvision.questions import QUESTIONS
from tests.questions.test_every_way import ARGUMENTS
from tests.reports import write_tiny
from tests.samples import SAMPLES

#: Arguments of questions that need other ones than those of every way.
_NEEDED: dict[str, dict[str, object]] = {
    "source_lines": {"file": "nowhere.py"},
    "variable_bytes_by_tile": {"chosen": [0, 1]},
    "query": {"sql": "select count(*) as n from steps"},
    "messages": {"program": 3},
}

#: Question -> arguments.
ASKED = {name: _NEEDED.get(name) or ARGUMENTS.get(name, {}) for name in {*QUESTIONS, "query"} - {"compared_programs"}}


def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "profile.pop"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table steps(id integer primary key, type integer, program integer, compute_set integer)")
        db.execute("create table steps_by_ipu(step_id integer, ipu integer, cycles integer, cycles_base integer)")
        db.execute("create table programs(id integer primary key, name text)")
        db.execute("create table memory_by_tile(tile integer primary key, total integer)")
        db.execute("create table something_new(a, b)")
        db.execute("insert into steps values (0, 7, 0, -1)")
        db.execute("insert into steps_by_ipu values (0, 0, 10, 0)")
        db.execute("insert into programs values (0, 'p')")
        db.execute("insert into memory_by_tile values (0, 100)")
        db.commit()
    return path


def cut(tmp_path: Path) -> Path:
    """A report whose second half was overwritten."""
    shutil.copy(SAMPLES / "matmul_chain" / "profile.pop", tmp_path)
    path = tmp_path / "profile.pop"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
    return path


def answered(report: OpenedReport) -> list[str]:
    """The questions that were answered; the others raised one sentence."""
    found, sentences = [], []
    for name, arguments in ASKED.items():
        try:
            answer = getattr(report, name)(**arguments)
        except (FormatError, NotRecordedError) as problem:
            sentences.append(str(problem))
            continue
        assert isinstance(answer, (pd.DataFrame, np.ndarray, dict))
        if isinstance(answer, pd.DataFrame):
            assert {"units", "provenance"} <= set(answer.attrs)
            assert all(unit_of(name) == unit for name, unit in answer.attrs["units"].items())
        found.append(name)
    assert all(each.strip() and "\n" not in each for each in sentences)
    assert repr(report).startswith("Report ")
    assert report._repr_html_().startswith("<div>")
    return found


def test_questions_are_all_of_them() -> None:
    public = {name for name in dir(OpenedReport) if not name.startswith("_")}
    others = {"close", "source", "path", "lost", "verified", "traces", "intervals", "compared_programs", "pva"}
    assert public == set(ASKED) | others
    assert all(getattr(OpenedReport, name).__doc__ for name in public)


def test_a_whole_sample_answers_all() -> None:
    lacking = set(ASKED) - set(answered(OpenedReport(SAMPLES / "replicated_training")))
    # program 3 moves nothing between tiles, no such file, no lightweight profiling, no archive
    assert lacking <= {"messages", "source_lines", "blocks", "binary_bytes"}, lacking


def test_a_report_that_never_ran() -> None:
    found = set(answered(OpenedReport(SAMPLES / "out_of_memory")))
    assert {"tiles", "liveness", "programs", "summary"} <= found
    assert not {"cycles_by_tile", "phases"} & found


def test_other_files(tmp_path: Path) -> None:
    for name, make in (("foreign", foreign), ("cut", cut)):
        folder = tmp_path / name
        folder.mkdir()
        path = make(folder)
        for salvage in (False, True):
            try:
                report = OpenedReport(path, salvage=salvage)
            except FormatError:
                continue
            found = answered(report)
            assert "facts" in found or not salvage
    assert answered(OpenedReport(SAMPLES / "damaged", salvage=True))


def test_a_tiny_report_without_lowered_variables_of_all_tiles(tmp_path: Path) -> None:
    found = set(answered(OpenedReport(write_tiny(tmp_path / "r"))))
    debug = {"operations", "source_files", "source_lines"}
    lowered = {"lowered_variables", "variable_bytes_by_tile", "peak_variables", "liveness_over_time"}  # of a tile
    others = {"always_live_variables", "blocks", "binary_bytes", "worker_lanes"}
    assert set(ASKED) - found == debug | lowered | others


def test_what_a_foreign_report_lacks_is_missing_and_not_zero(tmp_path: Path) -> None:
    report = OpenedReport(foreign(tmp_path))
    found = set(answered(report))
    assert "query" in found
    assert not {"tiles", "memory", "lowered_variables", "cycles_by_tile", "exchanges", "liveness"} & found
    assert report.query("select cycles from steps_by_ipu").cycles.tolist() == [10]
