"""`popvision trend FOLDER`: figures over commits, from a folder of reports; fails a job when limits are broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from popvision.cli.console import echo, make_table
from popvision.cli.report_place import ReportPlace

if TYPE_CHECKING:
    from popvision.catalogue import Change

#: Exit code when a limit is broken, as of `popvision diff`.
BROKEN = 3


@click.command(name="trend")
@click.argument("folder", type=ReportPlace())
@click.option("--metric", default="cycles", show_default=True, help="The metric to print (docs/compare.md).")
@click.option("--where", default="", metavar="SQL", help="Condition on columns of the catalogue.")
@click.option("--against", type=click.Choice(["previous", "first"]), default="previous", show_default=True)
@click.option("--fail-on", help='Limits such as "cycles>+2%,peak>+1%"; exit code 3 when one is broken.')
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: Path | str, metric: str, where: str, against: str, fail_on: str | None, as_json: bool) -> None:
    """Compare the last report of each series below FOLDER, or below an address (s3://...), with the one before.

    A series is the reports that differ only in their commit, in the order of the commits (docs/sweeps.md). Exit codes:
    0 success, 1 bad input, 2 wrong usage, 3 a limit is broken."""
    from popvision.analysis.compare.limits import LimitError, parse_limits
    from popvision.analysis.compare.metrics import BY_NAME
    from popvision.catalogue import check_trend, refresh, select_reports
    from popvision.formats.errors import FormatError

    if metric not in BY_NAME:
        raise click.BadParameter(f"there is no metric {metric!r}; the metrics are {', '.join(BY_NAME)}.")
    try:
        limits = [] if fail_on is None else parse_limits(fail_on)
    except LimitError as problem:
        raise click.BadParameter(str(problem), param_hint="--fail-on") from None
    refresh(folder)
    changes = check_trend(select_reports(folder, where=where), limits, against_first=against == "first")
    if not changes:
        raise FormatError(f"{folder} holds no two reports that differ only in their commit: nothing can be compared.")
    if as_json:
        click.echo(json.dumps([_document(change, metric) for change in changes], indent=1))
    else:
        _print(changes, metric)
    if any(outcome.broken for change in changes for outcome in change.outcomes):
        raise SystemExit(BROKEN)


def _document(change: Change, metric: str) -> dict[str, object]:
    return {
        "series": change.series,
        "reports": change.reports,
        "commits": change.commits,
        "metric": metric,
        "values": change.values[metric],
        "compared_with": change.before,
        "limits": [
            {"limit": each.limit.text, "broken": each.broken, "problem": each.problem} for each in change.outcomes
        ],
    }


def _print(changes: list[Change], metric: str) -> None:
    from popvision.export.diff_rows import outcome_line

    for change in changes:
        name = ", ".join(f"{axis} = {value}" for axis, value in change.series.items()) or "all reports"
        click.echo(name)
        rows = [
            (commit[:12] or None, report, None if value is None else int(value) if value.is_integer() else value)
            for commit, report, value in zip(change.commits, change.reports, change.values[metric], strict=True)
        ]
        echo(make_table(("commit", "report", metric), rows, most=1_000))
        for outcome in change.outcomes:
            click.echo(f"{'BROKEN' if outcome.broken else 'ok'}  {outcome.limit.text}  {outcome_line(outcome)}")
