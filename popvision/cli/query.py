"""`popvision query`: read-only SQL over a report."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from popvision.query import Answer

#: Bytes of memory that SQLite may take.
_HEAP = 1 << 30


@click.command(name="query")
@click.argument("report", type=click.Path(path_type=Path))
@click.argument("sql", required=False)
@click.option("--views", "list_views", is_flag=True, help="List the views with their columns and units instead.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: columns, rows, more.")
@click.option("--csv", "as_csv", is_flag=True, help="As CSV, texts safe for spreadsheets.")
@click.option("--limit", type=click.IntRange(0, 10_000_000), default=1_000, show_default=True, help="Rows at most.")
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="Rows to leave out first.")
@click.option("--timeout", type=click.FloatRange(0.01, 86_400), default=30.0, show_default=True, help="Seconds.")
@click.option("--engine", type=click.Choice(["sqlite", "duckdb"]), default="sqlite", show_default=True)
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
    """Answer SQL over REPORT, a profile.pop or its folder: a SELECT over the views of docs/query.md (--views) and the
    tables of the file. Nothing is ever written; "-" reads the SQL from stdin."""
    from popvision.analysis.report.source import ReportSource
    from popvision.query import Limits, run_query

    if as_json and as_csv:
        raise click.UsageError("give --json or --csv, not both.")
    if sql is None and not list_views:
        raise click.UsageError("give a SELECT, or --views for what it can select from.")
    source = ReportSource(report)
    if list_views or sql is None:
        click.echo(json.dumps(_views(), indent=2) if as_json else _views_text())
        return
    text = sys.stdin.read() if sql == "-" else sql
    limits = Limits(seconds=timeout, rows=limit, skip=offset, heap=_HEAP)
    if engine == "duckdb":
        from popvision.query.duck import run_duckdb

        found = run_duckdb(source, text, limits)
    else:
        found = run_query(source, text, limits)
    _show(found, as_json, as_csv)
    if found.more and not as_json:
        click.echo(f"popvision: more than {limit:,} rows; --limit and --offset show others.", err=True)


def _show(found: Answer, as_json: bool, as_csv: bool) -> None:
    from popvision.cli.text_table import text_table
    from popvision.export.cells import safe_cell

    if as_json:
        facts = {"columns": found.columns, "rows": found.rows, "more": found.more}
        click.echo(json.dumps(facts, ensure_ascii=True))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([safe_cell(name) for name in found.columns])
        writer.writerows([safe_cell(cell) for cell in row] for row in found.rows)
    else:
        click.echo(text_table(found.columns, found.rows))


def _views() -> list[dict[str, Any]]:
    from popvision.query import VIEWS

    return [
        {
            "view": each.name,
            "about": each.about,
            "fast_with": each.fast,
            "columns": [{"name": c.name, "unit": c.unit, "about": c.about} for c in each.columns],
        }
        for each in VIEWS.values()
    ]


def _views_text() -> str:
    lines = []
    for each in _views():
        fast = f" Fast with: {each['fast_with']}." if each["fast_with"] else ""
        lines.append(f"{each['view']}: {each['about']}{fast}")
        lines += [f"    {c['name']:<24} {c['unit']:<7} {c['about']}" for c in each["columns"]]
        lines.append("")
    return "\n".join(lines).rstrip()
