"""Lines of the user's file: nothing lost, nothing counted twice, against plain SQL and the debug file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import NOWHERE, at_line, file_table, line_figures, line_table
from popvision.analysis.source_code.text import source_text
from tests.analysis.source_code.source_case import NAME, line_of, run_program
from tests.reports import write_tiny


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(run_program(tmp_path_factory.mktemp("source")))


def by_line(source: ReportSource, query: str) -> dict[int, int]:
    """Sum of (debug_id, value) rows of a query by line, as debug.json has it; line 0 without one."""
    contexts = {each["id"]: each for each in json.loads((source.folder / "debug.json").read_bytes())["contexts"]}
    sums: dict[int, int] = {}
    with closing(sqlite3.connect(source.reader.path)) as db:
        for debug_id, value in db.execute(query):
            context = contexts.get(debug_id)
            line = context["line"] if context and context["file"] == NAME else 0
            sums[line] = sums.get(line, 0) + value
    return sums


def test_lines_and_what_is_not_attributed_add_up(source: ReportSource) -> None:
    found = line_figures(source)
    assert found.missing == []
    assert found.cycles is not None
    assert found.received is not None
    assert found.live is not None
    assert found.cycles.sum() == source.reader.total_cycles()
    assert found.received.sum() == source.reader.steps_on_ipu(0).data_in.sum()
    assert found.live.sum() == peak(curve(source)).total
    assert min(found.cycles.min(), found.received.min(), found.live.min()) >= 0
    assert found.programs.sum() == len(source.reader.programs().type)
    assert found.cycles[NOWHERE] < found.cycles.sum() / 2


def test_figures_of_lines_are_those_of_sql(source: ReportSource) -> None:
    steps = "FROM programs p JOIN steps s ON s.program = p.id JOIN steps_by_ipu i ON i.step_id = s.id"
    cycles = by_line(source, f"SELECT p.debug_id, i.cycles {steps}")
    received = by_line(source, f"SELECT p.debug_id, i.data_in {steps}")
    table = line_table(source, NAME)
    for column, expected in (("cycles", cycles), ("received", received)):
        found = dict(zip(table["line"].tolist(), table[column].tolist(), strict=True))
        assert {line: value for line, value in found.items() if value} == {
            line: value for line, value in expected.items() if line and value
        }
    assert {"add", "copy"} <= {mark for mark in ("add", "copy") if cycles.get(line_of(mark))}


def test_variables_weigh_on_the_line_that_made_them(source: ReportSource) -> None:
    table = viewer_frame(line_table(source, NAME)).set_index("line")
    assert table["live_bytes"][line_of("a")] == table["live_bytes"][line_of("b")] == 256 * 4
    programs, variables = at_line(source, NAME, line_of("a"))
    assert programs.tolist() == []
    assert [source.reader.variables().name[v] for v in variables.tolist()] == ["a"]  # type: ignore[union-attr]
    assert len(at_line(source, NAME, line_of("host"))[0]) > 0
    assert at_line(source, NAME, 1)[0].tolist() == []


def test_files_add_up_too(source: ReportSource) -> None:
    table = file_table(source)
    assert list(table["file"]) == [NAME, ""]
    assert table["cycles"].sum() == source.reader.total_cycles()
    assert table["lines"][1] == 0


def test_the_text_is_in_the_report(source: ReportSource) -> None:
    text = source_text(source, NAME)
    assert text.lines[line_of("add") - 1].endswith("# line add")
    assert text.problem == ""


def test_sources_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_SOURCES", "off")
    source = ReportSource(run_program(tmp_path))
    for name in ("debug.json", "debug.cbor"):
        assert b"mapTensorLinearly(graph" not in (tmp_path / name).read_bytes()
    text = source_text(source, NAME)
    assert "POPVISION_SOURCES" in text.problem
    assert text.lines == []
    assert line_figures(source).cycles.sum() == source.reader.total_cycles()  # type: ignore[union-attr]


def test_a_report_without_debug_information_says_so(tmp_path: Path) -> None:
    source = ReportSource(write_tiny(tmp_path))
    with pytest.raises(NotRecordedError, match="outputDebugInfo"):
        line_figures(source)


def test_a_variable_of_no_line_is_not_attributed(source: ReportSource) -> None:
    found = line_figures(source)
    variables = source.reader.variables()
    assert variables is not None
    none = np.asarray(variables.debug_id) < 0
    assert (found.places.variable[none] == NOWHERE).all()
