"""`popvision diff`: two reports compared, for people, programs and continuous integration."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from popvision.analysis.compare.limits import Limit, Outcome
    from popvision.analysis.compare.report_diff import ReportDiff
    from popvision.export.diff_rows import TextTable

#: Exit code when a limit is broken.
BROKEN = 3

#: Exit code of wrong usage, and of a report that cannot be read.
UNREADABLE = 2


@click.command(name="diff")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout instead of text.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Also write Markdown to this file; - = stdout alone.")
@click.option(
    "--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write JUnit XML: a case per limit."
)
@click.option("--fail-on", help='Limits, such as "cycles>+2%,peak>+1%,tiles_over>0"; exit code 3 when one is broken.')
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Rows of each list; 0 = all.")
@click.option("--all", "everything", is_flag=True, help="Also the figures that are the same.")
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
    """Compare report SOURCE with report TARGET: a profile.pop or its folder each.

    A difference is target - source. Exit codes: 0 fine, 3 a limit is broken, 2 wrong usage or a report that cannot be
    read. docs/compare.md lists the metrics that limits name.
    """
    from popvision.formats.errors import FormatError

    if as_json and markdown == Path("-"):
        raise click.UsageError("--json and --markdown - both write to stdout: give --markdown a file.")
    if junit is not None and not fail_on:
        raise click.UsageError("--junit writes one case per limit: give limits with --fail-on.")
    limits = _limits(fail_on)
    try:
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
    from rich.console import Console
    from rich.text import Text

    from popvision.export.diff_rows import diff_tables, outcome_line, steps_line

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 160)
    console.print(Text(f"Source  {diff.source.label}  {diff.source.reader.path}"))
    console.print(Text(f"Target  {diff.target.label}  {diff.target.reader.path}"))
    tables = diff_tables(diff, top, everything=everything)
    if not tables:
        console.print(Text("No differences."))
    for table in tables:
        _print_table(console, table)
    console.print()
    console.print(Text(steps_line(diff)))
    for note in diff.notes:
        console.print(Text(f"Note: {note}", style="yellow"))
    for outcome in outcomes:
        mark = Text("BROKEN " if outcome.broken else "ok     ", style="bold red" if outcome.broken else "green")
        console.print(mark + Text(f"{outcome.limit.text}   {outcome_line(outcome)}", style="not bold default"))


def _print_table(console: Console, table: TextTable) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.print(Text(table.title, style="bold") + Text(f"  {table.note}" if table.note else "", style="dim not bold"))
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in table.columns:
        grid.add_column(name, justify="right" if name in table.numbers else "left", overflow="fold")
    for index, row in enumerate(table.rows):
        tone = table.tone[index] if table.tone else 0
        cells = [Text(cell) for cell in row]
        if tone and "Difference" in table.columns:
            cells[table.columns.index("Difference")].stylize("yellow" if tone > 0 else "cyan")
        grid.add_row(*cells)
    console.print(grid)
