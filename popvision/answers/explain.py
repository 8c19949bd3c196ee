"""Where a figure comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from popvision.analysis.explain.derivation import Derivation
from popvision.analysis.explain.explain import ProgramExplanation, explain_program
from popvision.analysis.explain.report import explain_report
from popvision.analysis.report.provenance import provenance_line
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def explanation(source: ReportSource, program: int | None, tile: int | None) -> ProgramExplanation | list[Derivation]:
    """Of a program, or of the report's cycles and memory. Raises FormatError for a program or tile that is not
    there."""
    if program is None:
        return explain_report(source)
    try:
        return explain_program(source, program, tile)
    except ValueError as error:
        raise FormatError(f"{source.label}: {error}.") from None


def explain_answer(source: ReportSource, program: int | None = None, tile: int | None = None) -> dict[str, Any]:
    """provenance and derivations: figure, value, unit, sum of the terms, complete (whether they give all of it), terms
    (text, value, sign, provenance, source) and notes; of a program also program, type, name, tile, phase."""
    found = explanation(source, program, tile)
    derivations = found if isinstance(found, list) else found.derivations
    facts: dict[str, Any] = {} if isinstance(found, list) else asdict(found)
    facts["derivations"] = [asdict(each) | {"sum": each.sum, "complete": each.complete} for each in derivations]
    return {"provenance": provenance_text(source)} | facts


def provenance_text(source: ReportSource) -> str:
    """Who made the report; also what was assumed in its place (what-if)."""
    what_if = source.reader.meta.get("whatIf")
    return provenance_line(source) + (f"\nWhat-if: {what_if}" if what_if else "")
