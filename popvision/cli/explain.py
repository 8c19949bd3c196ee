"""`popvision explain`: how a figure of a report comes about, down to formulas and their sources."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(name="explain")
@click.argument("report", type=click.Path(path_type=Path))
@click.argument("program", type=int, required=False)
@click.option("--tile", type=int, help="Derive the cycles of this tile; the busiest by default.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(report: Path, program: int | None, tile: int | None, as_json: bool) -> None:
    """Say where the figures of PROGRAM (its id, as the views and the summary show it) in REPORT come from: each term
    with its value, its formula or rule, the publication, and whether that is exact, fitted or a guess. Without
    PROGRAM: what the report's total cycles and its memory consist of. Only what REPORT stores is shown."""
    from popvision.analysis.explain.text import derivation_text, program_text
    from popvision.analysis.report.source import ReportSource
    from popvision.answers.explain import explain_answer, explanation, head

    if program is None and tile is not None:
        raise click.UsageError("--tile needs a program id: popvision explain REPORT PROGRAM --tile T.")
    source = ReportSource(report)
    if as_json:
        click.echo(json.dumps(explain_answer(source, program, tile), indent=2))
        return
    found = explanation(source, program, tile)
    if isinstance(found, list):
        text = "\n\n".join(derivation_text(part) for part in found) or "The report holds neither runs nor memory."
    else:
        text = program_text(found).rstrip("\n")
    click.echo(f"{head(source)}\n\n{text}")
