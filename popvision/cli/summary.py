"""`popvision summary`: the profile summary as text, or its figures as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from popvision.cli.paging import echo_lost


@click.command(name="summary")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the main figures as JSON.")
@click.option("--steps", is_flag=True, help="Print every execution step too.")
@click.option("--variables", is_flag=True, help="Print the variables live at each liveness index too.")
@click.option("--per-ipu", is_flag=True, help="Print the memory of each IPU too.")
def command(report: Path, as_json: bool, steps: bool, variables: bool, per_ipu: bool) -> None:
    """Summarise REPORT, a profile.pop or its folder: target, graph, memory and cycles, in the layout of Poplar's
    printProfileSummary. Losses of a damaged report are listed on stderr; exit code 1 when the summary needs a lost
    part."""
    from popvision.analysis.report.origin import provenance_line
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.summary.headline import headline
    from popvision.analysis.summary.profile_summary import SummaryOptions, profile_summary

    source = ReportSource(report, salvage=True)
    if as_json:
        text = json.dumps({"provenance": provenance_line(source)} | asdict(headline(source)), indent=2) + "\n"
    else:
        shown = SummaryOptions(
            show_execution_steps=steps,
            show_var_storage=variables,
            show_per_ipu_memory=per_ipu,
            says_not_recorded=True,
            binary_units=True,
        )
        text = profile_summary(source, shown)
    echo_lost(source.reader.path, source.lost)  # complete only now, after everything was read
    click.echo(text, nl=False)
