"""`popvision query`: read-only SQL over a report."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import echo, make_table, progress

if TYPE_CHECKING:
    from popvision.query import Answer

#: Characters of the meaning of a column.
_MOST_MEANING = 200


@click.command(name="query")
@click.argument("report", type=click.Path(path_type=Path))
@click.argument("sql", required=False)
@click.option("--views", "list_views", is_flag=True, help="List the views with their columns and units.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: columns, rows, more, verified.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with texts that no spreadsheet runs as a formula.")
@click.option(
    "--limit", type=click.IntRange(0, 10_000_000), default=1_000, show_default=True, help="Maximum number of rows."
)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="Rows to skip first.")
@click.option(
    "--timeout", type=click.FloatRange(0.01, 86_400), default=30.0, show_default=True, help="Maximum time in seconds."
)
@click.option(
    "--engine",
    type=click.Choice(["sqlite", "duckdb"]),
    default="sqlite",
    show_default=True,
    help="Database that runs the query.",
)
def command(
    report: Path,
    sql: str | None,
    list_views: bool,
    as_json: bool,
    as_csv: bool,
    limit: int,
    offset: int,
    timeout: float,
    engine: str,
) -> None:
    """Run SQL over REPORT, a profile.pop or its folder: a SELECT over the views of docs/query.md (--views) and the
    tables of the file. Nothing is written. SQL may be "-" to read it from stdin."""
    from popvision.analysis.report.source import ReportSource
    from popvision.query import Limits, ask

    if as_json and as_csv:
        raise click.UsageError("give --json or --csv, not both.")
    if sql is None and not list_views:
        raise click.UsageError("give a SELECT, or --views to list the views.")
    ReportSource(report)  # what is no report has its own sentence
    if list_views or sql is None:
        if as_json:
            click.echo(json.dumps(_views(), indent=2))
        else:
            _print_views()
        return
    text = sys.stdin.read() if sql == "-" else sql
    limits = Limits(seconds=timeout, rows=limit, skip=offset)
    with progress("Running the query"):
        answer = ask(report, text, limits, engine)
    _show(answer, as_json, as_csv)
    if answer.verified != "yes" and not as_json:
        click.echo(
            f"popvision: verified: {answer.verified}; tables without checksums, or large ones, were read.", err=True
        )
    if answer.more and not as_json:
        click.echo(f"popvision: more than {limit:,} rows; --limit and --offset show others.", err=True)


def _show(answer: Answer, as_json: bool, as_csv: bool) -> None:
    from popvision.export.cells import safe_cell

    if as_json:
        facts = {
            "columns": answer.columns,
            "rows": answer.rows,
            "more": answer.more,
            "verified": answer.verified,
        }
        click.echo(json.dumps(facts, ensure_ascii=True))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([safe_cell(name) for name in answer.columns])
        writer.writerows([safe_cell(cell) for cell in row] for row in answer.rows)
    else:
        echo(make_table(answer.columns, answer.rows))


def _views() -> list[dict[str, Any]]:
    from popvision.query.views import VIEWS

    return [
        {
            "view": each.name,
            "about": each.about,
            "fast_with": each.fast,
            "columns": [{"name": c.name, "unit": c.unit, "about": c.about} for c in each.columns],
        }
        for each in VIEWS.values()
    ]


def _print_views() -> None:
    for number, each in enumerate(_views()):
        fast = f" Fast with: {each['fast_with']}." if each["fast_with"] else ""
        rows = [(f"  {column['name']}", column["unit"], column["about"]) for column in each["columns"]]
        table = make_table(("column", "unit", "meaning"), rows, most=_MOST_MEANING, header=False)
        echo(*([""] if number else []), f"{each['view']}: {each['about']}{fast}", table)
