"""`popvision summary`: the profile summary as text, or its figures as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click


@click.command(name="summary")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Headline figures as JSON.")
@click.option("--steps", is_flag=True, help="Also every execution step.")
@click.option("--variables", is_flag=True, help="Also what is live at each liveness index.")
@click.option("--per-ipu", is_flag=True, help="Also memory of each IPU.")
def command(report: Path, as_json: bool, steps: bool, variables: bool, per_ipu: bool) -> None:
    """Summarise REPORT, a profile.pop or its folder: target, graph, memory and cycles, in the layout of Poplar's
    printProfileSummary. What a damaged report has lost stands on stderr; the exit code is 1 where the summary
    itself needs some of it."""
    from popvision.analysis.report.provenance import provenance_line
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.summary.facts import headline
    from popvision.analysis.summary.profile_summary import SummaryOptions, profile_summary

    source = ReportSource(report, salvage=True)
    if as_json:
        text = json.dumps({"provenance": provenance_line(source)} | asdict(headline(source)), indent=2) + "\n"
    else:
        shown = SummaryOptions(show_execution_steps=steps, show_var_storage=variables, show_per_ipu_memory=per_ipu)
        text = profile_summary(source, shown)
    if source.lost:  # what could not be summarised at all has said so by now
        more = f"; and {len(source.lost) - 1:,} more (popvision info names them)" if len(source.lost) > 1 else ""
        click.echo(f"popvision: {source.reader.path} is damaged; lost: {source.lost[0].rstrip('.')}{more}.", err=True)
    click.echo(text, nl=False)
