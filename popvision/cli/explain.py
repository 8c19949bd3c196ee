"""`popvision explain`: the terms of a figure, with formulas and sources."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(name="explain")
@click.argument("report", type=click.Path(path_type=Path))
@click.argument("program", type=int, required=False)
@click.option("--tile", type=int, help="Explain the cycles of this tile; the busiest tile by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(report: Path, program: int | None, tile: int | None, as_json: bool) -> None:
    """Explain the figures of PROGRAM (its id, as the viewer and the summary show it): each term with its value, formula
    or rule, publication, and whether it is exact, fitted, given by the program or a guess. Without PROGRAM, explain the
    total cycles and the memory of REPORT. Every term is read from REPORT; nothing is computed again."""
    from popvision.analysis.explain.explain import derivation_text, program_text
    from popvision.analysis.report.source import ReportSource
    from popvision.answers.explain import explain_answer, explanation, provenance_text

    if program is None and tile is not None:
        raise click.UsageError("--tile needs a program id: popvision explain REPORT PROGRAM --tile T.")
    source = ReportSource(report)
    if as_json:
        click.echo(json.dumps(explain_answer(source, program, tile), indent=2))
        return
    explained = explanation(source, program, tile)
    if isinstance(explained, list):
        text = "\n\n".join(derivation_text(part) for part in explained) or "The report has neither runs nor memory."
    else:
        text = program_text(explained).rstrip("\n")
    click.echo(f"{provenance_text(source)}\n\n{text}")
