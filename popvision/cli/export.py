"""`popvision export`: a table of a report as CSV or JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from popvision.cli.console import progress


@click.command(name="export")
@click.argument("table", type=click.Choice(["intervals", "tiles", "steps", "liveness"]))
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["csv", "json"]), default="csv", show_default=True, help="Format."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File; stdout by default.")
def command(table: str, report: Path, format_: str, output: Path | None) -> None:
    """Write a table of REPORT, a profile.pop or its folder.

    \b
    intervals  begin, end and numbers of tiles that compute, exchange and sync
    tiles      bytes of memory of each tile
    steps      cycles of every execution step on every IPU
    liveness   live bytes at each liveness index
    """
    from popvision.analysis.report.origin import provenance_line
    from popvision.analysis.report.source import ReportSource
    from popvision.export.tables import TABLES
    from popvision.export.writing import WRITERS, write_file

    source = ReportSource(report)
    with progress(f"Reading {table}"):
        columns = TABLES[table](source)
    if not columns:
        click.echo(
            f"popvision: {source.label} holds no data for {table!r}; run the program with autoReport.all.", err=True
        )
        raise SystemExit(1)
    provenance, write = provenance_line(source), WRITERS[format_]
    if output is None:
        write(columns, provenance, sys.stdout)
    else:
        write_file(output, lambda stream: write(columns, provenance, stream))
        click.echo(f"Wrote {output}", err=True)
