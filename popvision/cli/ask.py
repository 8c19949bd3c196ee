"""`popvision ask`: any question to a report, a page of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import make_table
from popvision.cli.paging import open_report, page_options, show
from popvision.cli.question_commands import QuestionGroup, question_command

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.questions import Question


def _run(
    question: Question[Any, Any],
    report: Path,
    arguments: dict[str, Any],
    name: str,
    order: str,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    from popvision.answers.page import Page
    from popvision.answers.question import question_answer

    with open_report(report) as opened:
        page = Page(offset, limit)
        show(question_answer(question, opened.source, page, arguments, name=name, order=order), as_json, _tables)


def _tables(answer: dict[str, Any]) -> Sequence[Table]:
    rows = answer["rows"]
    columns = list(rows[0]) if rows else []
    titles = [column.replace("_", " ") for column in columns]
    return [make_table(titles, [list(row.values()) for row in rows])] if rows else []


def _command(question: Question[Any, Any]) -> click.Command:
    return question_command(
        question,
        _run,
        click.option("--name", default="", help="Show only rows in which a text contains this one (any case)."),
        click.option("--order", default="", help="A column: show its largest values first."),
        page_options(),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )


command = QuestionGroup(
    name="ask",
    make=_command,
    help="Ask REPORT a question: popvision ask tiles REPORT. The --help of each question lists its columns.",
)
