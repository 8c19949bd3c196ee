"""`popvision export`: all rows of a question as CSV or JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.ask import QuestionGroup, question_command
from popvision.cli.console import progress

if TYPE_CHECKING:
    from popvision.questions import Question


def _run(
    question: Question[Any, Any], report: Path, arguments: dict[str, Any], format_: str, output: Path | None
) -> None:
    from popvision.analysis.report.origin import provenance_line
    from popvision.analysis.report.source import ReportSource
    from popvision.export.tables import exported
    from popvision.export.writing import WRITERS, write_file

    source = ReportSource(report)
    with progress(f"Reading {question.name}"):
        columns = exported(question, source, arguments)
    if not any(len(column) for column in columns.values()):
        click.echo(
            f"popvision: {source.label} holds no rows of {question.name!r}; run the program with autoReport.all.",
            err=True,
        )
        raise SystemExit(1)
    provenance, write = provenance_line(source), WRITERS[format_]
    if output is None:
        write(columns, provenance, sys.stdout)
    else:
        write_file(output, lambda stream: write(columns, provenance, stream))
        click.echo(f"Wrote {output}", err=True)


def _command(question: Question[Any, Any]) -> click.Command:
    formats, file = click.Choice(["csv", "json"]), click.Path(path_type=Path, dir_okay=False)
    return question_command(
        question,
        _run,
        click.option("--format", "format_", type=formats, default="csv", show_default=True, help="Format."),
        click.option("-o", "--output", type=file, help="File; stdout by default."),
    )


command = QuestionGroup(
    name="export",
    make=_command,
    help="Write the rows of a question to REPORT as CSV or JSON: popvision export steps REPORT -o steps.csv.",
)
