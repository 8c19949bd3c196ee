"""`popvision insights`: what costs time or memory, where, and what could be changed."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(name="insights")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(report: Path, as_json: bool) -> None:
    """Say what stands out in REPORT: causes that cost cycles or bytes, largest first, each with an upper bound of what
    it could save and the bound's formula, the places (programs, tiles, variables, lines of source), and one change to
    try. Bounds of several findings overlap. What REPORT does not hold is listed as not looked at."""
    from popvision.analysis.report.source import ReportSource
    from popvision.answers.insights import insights_answer, insights_text
    from popvision.cli.paging import echo_lost

    source = ReportSource(report, salvage=True)
    click.echo(json.dumps(insights_answer(source), indent=2) if as_json else insights_text(source))
    echo_lost(report, source.lost)
