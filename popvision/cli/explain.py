"""`popvision explain`: how a figure of a report comes about, down to formulas and their sources."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from popvision.formats.errors import FormatError


@click.command(name="explain")
@click.argument("report", type=click.Path(path_type=Path))
@click.argument("program", type=int, required=False)
@click.option("--tile", type=int, help="Derive the cycles of this tile; the busiest by default.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(report: Path, program: int | None, tile: int | None, as_json: bool) -> None:
    """Say where the figures of PROGRAM (its id, as the views and the summary show it) in REPORT come from: each term
    with its value, its formula or rule, the publication, and whether that is exact, fitted or a guess. Without
    PROGRAM: what the report's total cycles and its memory consist of. Only what REPORT stores is shown."""
    from popvision.analysis.explain import explain_program
    from popvision.analysis.explain_report import explain_report
    from popvision.analysis.explain_text import derivation_text, program_text
    from popvision.analysis.explained import Derivation
    from popvision.analysis.provenance import provenance_line
    from popvision.analysis.source import ReportSource

    if program is None and tile is not None:
        raise click.UsageError("--tile needs a program id: popvision explain REPORT PROGRAM --tile T.")
    source = ReportSource(report)
    head = provenance_line(source)
    if source.reader.meta.get("whatIf"):
        head += f"\nWhat-if: {source.reader.meta['whatIf']}"

    def plain(part: Derivation) -> dict[str, Any]:
        return asdict(part) | {"sum": part.sum, "complete": part.complete}

    if program is None:
        parts = explain_report(source)
        text = "\n\n".join(derivation_text(part) for part in parts) or "The report holds neither runs nor memory."
        facts: dict[str, Any] = {"derivations": [plain(part) for part in parts]}
    else:
        try:
            found = explain_program(source, program, tile)
        except ValueError as error:
            raise FormatError(f"{source.label}: {error}.") from None
        text = program_text(found).rstrip("\n")
        facts = asdict(found) | {"derivations": [plain(part) for part in found.derivations]}
    click.echo(json.dumps({"provenance": head} | facts, indent=2) if as_json else f"{head}\n\n{text}")
