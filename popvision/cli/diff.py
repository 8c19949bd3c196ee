"""`popvision diff`: compare two reports, for people, programs and continuous integration."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from popvision.cli.console import echo, make_table, progress
from popvision.opened.printable import printable

if TYPE_CHECKING:
    from popvision.analysis.compare.limits import Limit, Outcome
    from popvision.analysis.compare.report_diff import ReportDiff
    from popvision.export.diff_rows import TextTable

#: Exit code when a limit is broken.
BROKEN = 3

#: Exit code of wrong usage and of an unreadable report.
UNREADABLE = 2

#: Characters of a cell: no name or path is cut.
_MOST_CHARACTERS = 1_000


@click.command(name="diff")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write Markdown too; - = print only Markdown.")
@click.option(
    "--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML too, with a case per limit."
)
@click.option("--fail-on", help='Limits such as "cycles>+2%,peak>+1%,tiles_over>0"; exit code 3 when one is broken.')
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Rows of each list; 0 = all.")
@click.option("--all", "everything", is_flag=True, help="Show equal figures too.")
def command(
    source: Path,
    target: Path,
    as_json: bool,
    markdown: Path | None,
    junit: Path | None,
    fail_on: str | None,
    top: int,
    everything: bool,
) -> None:
    """Compare report TARGET with report SOURCE; each is a profile.pop or its folder.

    A difference is target - source. Exit codes: 0 success, 2 wrong usage or an unreadable report, 3 a limit is broken.
    docs/compare.md lists the metrics for limits.
    """
    from popvision.formats.errors import FormatError

    if as_json and markdown == Path("-"):
        raise click.UsageError("--json and --markdown - both write to stdout: give --markdown a file.")
    if junit is not None and not fail_on:
        raise click.UsageError("--junit writes one case per limit: give limits with --fail-on.")
    limits = _limits(fail_on)
    try:
        with progress("Comparing"):
            diff, outcomes = _compare(source, target, limits)
        _write(diff, outcomes, markdown, junit, top)
    except FormatError as problem:
        click.echo(f"popvision: {problem}", err=True)
        raise SystemExit(UNREADABLE) from None
    if as_json:
        from popvision.export.diff_json import diff_document

        click.echo(json.dumps(diff_document(diff, outcomes, top), indent=2))
    elif markdown != Path("-"):
        _print(diff, outcomes, top, everything)
    if any(outcome.broken for outcome in outcomes):
        raise SystemExit(BROKEN)


def _limits(text: str | None) -> list[Limit]:
    from popvision.analysis.compare.limits import LimitError, parse_limits

    try:
        return [] if text is None else parse_limits(text)
    except LimitError as problem:
        raise click.BadParameter(str(problem), param_hint="--fail-on") from None


def _compare(source: Path, target: Path, limits: list[Limit]) -> tuple[ReportDiff, list[Outcome]]:
    from popvision.analysis.compare.limits import check_limits
    from popvision.analysis.compare.report_diff import compare_reports
    from popvision.analysis.report.source import ReportSource

    diff = compare_reports(ReportSource(source), ReportSource(target))
    return diff, check_limits(limits, diff.figures)


def _write(diff: ReportDiff, outcomes: list[Outcome], markdown: Path | None, junit: Path | None, top: int) -> None:
    from popvision.export.diff_junit import diff_junit
    from popvision.export.diff_markdown import diff_markdown

    if markdown == Path("-"):
        sys.stdout.write(diff_markdown(diff, outcomes, top))
    elif markdown is not None:
        _save(markdown, diff_markdown(diff, outcomes, top))
    if junit is not None:
        _save(junit, diff_junit(diff, outcomes))


def _save(path: Path, document: str) -> None:
    from popvision.export.writing import write_file

    def write(stream: IO[str]) -> None:
        stream.write(document)

    write_file(path, write)


def _print(diff: ReportDiff, outcomes: list[Outcome], top: int, everything: bool) -> None:
    from rich.text import Text

    from popvision.analysis.compare.what_changed import nothing_changed, waterfalls
    from popvision.export.diff_rows import diff_tables, outcome_line, steps_line

    sides = (("Source", diff.source), ("Target", diff.target))
    reports = [(side, source.label, str(source.reader.path)) for side, source in sides]
    echo(make_table(("side", "name", "file"), reports, most=_MOST_CHARACTERS, header=False))
    unchanged = nothing_changed(waterfalls(diff.source, diff.target))
    if unchanged:
        echo("", unchanged)
    tables = diff_tables(diff, top, everything=everything)
    if not tables:
        echo("No differences.")
    for table in tables:
        _print_table(table)
    echo("", steps_line(diff))
    echo(*(Text(printable(f"Note: {note}"), style="yellow") for note in diff.notes))
    if outcomes:
        rows = [("BROKEN" if each.broken else "ok", each.limit.text, outcome_line(each)) for each in outcomes]
        echo(
            make_table(
                ("outcome", "limit", "measured"),
                rows,
                most=_MOST_CHARACTERS,
                header=False,
                style=_outcome_style(outcomes),
            )
        )


def _outcome_style(outcomes: list[Outcome]) -> Callable[[int, int], str]:
    def style(row: int, column: int) -> str:
        return "" if column else "bold red" if outcomes[row].broken else "green"

    return style


def _print_table(table: TextTable) -> None:
    from rich.text import Text

    def style(row: int, column: int) -> str:
        tone = table.tone[row] if table.tone and table.columns[column] == "Difference" else 0
        return "yellow" if tone > 0 else "cyan" if tone < 0 else ""

    title = Text(table.title, style="bold")
    if table.note:
        title.append(f"  {printable(table.note)}", style="dim not bold")
    rows = make_table(table.columns, table.rows, most=_MOST_CHARACTERS, right=table.numbers, style=style)
    echo("", title, rows)
