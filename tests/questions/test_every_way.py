"""Every question, asked in every way, gives the same rows: frames are the measure of JSON, tools, files and SQL."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pytest
from click.testing import CliRunner

from popvision.agents.catalogue import Catalogue
from popvision.agents.tools import TOOLS
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.answers.page import Page
from popvision.answers.question import question_answer
from popvision.cli import group
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.report import OpenedReport
from popvision.query import Limits
from popvision.query.run import run_query
from popvision.query.views import VIEWS, WRITTEN
from popvision.questions import QUESTIONS
from popvision.questions.document import with_questions
from tests.samples import SAMPLES
from webapp.graph_analyser.memory.tables import tiles_table

REPORTS = sorted(path.parent.name for path in SAMPLES.glob("*/profile.pop") if path.parent.name != "damaged")

ROWS = 100

DOCUMENT = Path(__file__).parents[2] / "docs" / "open.md"

#: Rows, and units by column.
Rows: TypeAlias = tuple[list[dict[str, Any]], dict[str, str]]

#: Arguments of a second asking, and of questions that need some.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "tiles": {"replica": 0},
    "memory": {"by": "region"},
    "lowered_variables": {"tile": 1},
    "tile_variables": {"tile": 1},
    "tile_peak": {"tile": 1},
    "tile_vertices": {"tile": 1},
    "liveness": {"ipu": 0},
    "live_variables": {"index": 2},
    "peak_variables": {"tile": 1},
    "always_live_variables": {"ipu": 0},
    "liveness_over_time": {"tile": 1},
    "programs": {"ipu": 0},
    "tree": {"root": 2},
    "program_tiles": {"program": 3},
    "explain": {"program": 3},
    "vertices": {"compute_set": 0},
    "vertices_by_tile": {"compute_set": 0},
    "operations": {"by": "code_bytes"},
    "source_files": {"ipu": 0},
    "messages": {"program": 10},
    "steps_on_ipu": {"ipu": 0},
    "phases": {"ipu": 0},
    "window": {"begin": 10, "end": 1_000},
    "grouped_steps": {"by": "type"},
    "worker_lanes": {"compute_set": 0, "tile": 1},
    "blocks": {"tile": 1},
}

#: Tools with rows of more than one question; questions of the same names are asked as commands and frames alone.
COMPOUND_TOOLS = {"summary", "tree", "liveness"}

#: Questions that a view answers with other rows: the reason.
OTHER_ROWS = {
    "vertex_types": "vertices has a row per compute set and IPU",
    "steps": "execution_steps has a row per IPU",
    "messages": "exchange_messages has the messages of all programs",
    "blocks": "block_list has the blocks of all tiles",
    "explain": "cost_term_list has the terms as they are stored",
    "exchanges": "its view has a row per IPU",
    "tile_variables": "its view has the variables of all tiles",
    "lowered_variables": "its view has the allocations of all tiles",
    "live_variables": "its view has the variables of all indices",
    "program_tiles": "its view has all programs",
    "vertices_by_tile": "its view has a row per type and all compute sets",
    "phases": "phase_cycles has a row per IPU",
}


def plain(value: Any) -> Any:
    """The value as JSON has it."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {name: [plain(value) for value in frame[name].tolist()[:ROWS]] for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def words(arguments: dict[str, Any]) -> list[str]:
    return [word for name, value in arguments.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def told(command: str, question: str, report: Path, arguments: dict[str, Any], *options: str) -> str:
    done = CliRunner().invoke(group, [command, question, str(report), *words(arguments), *options])
    if isinstance(done.exception, FormatError | NotRecordedError):
        raise done.exception
    assert done.exit_code == 0 or "holds no rows" in done.output, done.output
    return done.stdout


def asked() -> list[tuple[str, dict[str, Any]]]:
    """Every question with rows that asks one report: as it is where it needs no argument, and with arguments."""
    askings: list[tuple[str, dict[str, Any]]] = []
    for name, question in QUESTIONS.items():
        if question.has_rows and not any(parameter.kind == "report" for parameter in question.parameters):
            needs = any(parameter.is_required for parameter in question.parameters)
            askings += [] if needs else [(name, {})]
            askings += [(name, ARGUMENTS[name])] if name in ARGUMENTS else []
    return askings


def test_every_question_is_asked() -> None:
    assert {name for name, _ in asked()} == {name for name, question in QUESTIONS.items() if question.has_rows} - {
        "compared_programs",
        "source_lines",
    }


#: Reports that a commit asks in every way: a run on the model, one on hardware, one that never ran. A command opens its
#: report anew for each question.
EVERY_WAY = ("matmul_chain_hardware", "out_of_memory", "pipeline")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[] if way == "tool" or name in EVERY_WAY else pytest.mark.long)
        for name in REPORTS
        for way in ("json", "tool", "csv")
    ],
)
def test_frames_json_tools_and_files_agree(name: str, way: str) -> None:
    folder = SAMPLES / name
    catalogue, report = Catalogue([folder]), OpenedReport(folder)
    different, answers = [], 0
    for question, arguments in asked():
        if way == "tool" and question in COMPOUND_TOOLS:
            continue
        expected = outcome(lambda: framed(report, question, arguments, way == "csv"))  # noqa: B023
        found = outcome(lambda: WAYS[way](question, folder, catalogue, arguments))  # noqa: B023
        if found != expected:
            different.append(f"{question} {arguments}: {found} is not {expected}"[:2_000])
        answers += not isinstance(expected, str)
    assert not different, "\n".join(different)
    assert answers > 20


def outcome(ask: Callable[[], Rows]) -> Rows | str:
    """The rows and their units, or the sentence that says why there are none."""
    try:
        return ask()
    except (FormatError, NotRecordedError) as problem:
        return str(problem)


def framed(report: OpenedReport, question: str, arguments: dict[str, Any], is_csv: bool) -> Rows:
    frame = getattr(report, question)(**arguments)
    rows = rows_of(frame)
    if is_csv:
        return [{column: in_csv(value) for column, value in row.items()} for row in rows], {}
    return rows, frame.attrs["units"]


def by_json(question: str, folder: Path, catalogue: Catalogue, arguments: dict[str, Any]) -> Rows:
    answer = json.loads(told("ask", question, folder, arguments, "--json", "--limit", str(ROWS)))
    return answer["rows"], answer["units"]


def by_tool(question: str, folder: Path, catalogue: Catalogue, arguments: dict[str, Any]) -> Rows:
    tool = TOOLS[question]
    answer = tool.answer(catalogue, tool.validate(arguments), Page(0, ROWS))
    return answer["rows"], answer["units"]


def by_csv(question: str, folder: Path, catalogue: Catalogue, arguments: dict[str, Any]) -> Rows:
    lines = told("export", question, folder, arguments).splitlines(keepends=True)
    table = list(csv.DictReader(io.StringIO("".join(lines[1:]))))
    return table[:ROWS], {}


def in_csv(value: Any) -> str:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@") else str(value)


WAYS = {"json": by_json, "tool": by_tool, "csv": by_csv}


@pytest.mark.parametrize("name", REPORTS)
def test_views_have_the_rows_of_the_frames(name: str) -> None:
    report = OpenedReport(SAMPLES / name)
    different, answers = [], 0
    for question in (question for question, arguments in asked() if not arguments and question not in OTHER_ROWS):
        view = VIEWS.get(WRITTEN.get(question, question))
        if view is None:
            continue
        try:
            frame = getattr(report, question)()
        except (FormatError, NotRecordedError):
            continue
        shared = [column.name for column in view.columns if column.name in frame.columns]
        selected = ", ".join(f'"{column}"' for column in shared)
        where = " where ipu = 0" if question == "steps_on_ipu" else ""
        found = run_query(report.source, f"select {selected} from {view.name}{where}", Limits(rows=ROWS)).rows
        expected = [tuple(row.values()) for row in rows_of(frame[shared])]
        if [tuple(map(as_sql, row)) for row in expected] != [tuple(map(as_sql, row)) for row in found]:
            different.append((question, view.name, shared, expected[:2], found[:2]))
        units = {column.name: column.unit for column in view.columns if column.name in frame.columns and column.unit}
        if units != {column: unit for column, unit in frame.attrs["units"].items() if column in shared}:
            different.append((question, view.name, units, frame.attrs["units"]))
        answers += 1
    assert not different, "\n".join(map(str, different))
    assert answers > 5


def as_sql(value: Any) -> Any:
    """Truth as a number, a list or a dict as its text; no phase and no phase are the same."""
    if isinstance(value, list | dict):
        return json.dumps(value, separators=(",", ":"))
    return None if value == "" else float(value) if isinstance(value, bool | int | float) else value


def test_every_question_has_a_view_or_a_reason() -> None:
    for name, question in QUESTIONS.items():
        if not question.has_rows or name in VIEWS or name in WRITTEN:
            continue
        needs = any(parameter.is_required for parameter in question.parameters)
        assert needs or not question.has_fixed_columns, name


def test_the_page_of_tiles_has_the_rows_of_the_question() -> None:
    report = OpenedReport(SAMPLES / "out_of_memory")
    shown = viewer_frame(tiles_table(report.source, None, {"replica": "all"}))
    frame = report.tiles().sort_values(["rank", "tile"])
    assert rows_of(shown) == rows_of(frame)
    excess = frame.including_gaps_bytes - frame.capacity_bytes
    assert 0 < frame.overflowed_bytes.sum() < frame.excess_bytes.sum() == excess.sum()


def test_the_document_lists_every_question_and_column() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_questions(text) == text, "python -m popvision.questions.document docs/open.md"


def test_what_the_second_of_two_reports_lost_is_said(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "pipeline", tmp_path / "cut")
    with closing(sqlite3.connect(tmp_path / "cut" / "profile.pop")) as db:
        db.execute("update variables set bytes = bytes + 1")
        db.commit()
    sound, cut = OpenedReport(SAMPLES / "pipeline"), OpenedReport(tmp_path / "cut", salvage=True)
    question = QUESTIONS["compared_programs"]
    whole = question_answer(question, sound.source, Page(0, 1), {"other": sound})
    assert (whole["verified"], whole["lost"], whole["other"]) == ("yes", [], "pipeline")
    assert cut.memory_totals() is not None
    with pytest.raises(FormatError):
        cut.variables()
    assert cut.verified == "partly"
    answer = question_answer(question, sound.source, Page(0, 1), {"other": cut})
    assert (answer["verified"], answer["lost"]) == ("partly", cut.lost)
    assert answer["lost"]
