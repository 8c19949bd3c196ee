"""The terms of a figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from popvision.analysis.explain.derivation import Derivation
from popvision.analysis.explain.explain import ProgramExplanation, explain_program
from popvision.analysis.explain.report import explain_report
from popvision.analysis.report.origin import provenance_line
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def explanation(source: ReportSource, program: int | None, tile: int | None) -> ProgramExplanation | list[Derivation]:
    """The derivations of a program, or of the report's cycles and memory. Raises FormatError for an unknown program or
    tile."""
    if program is None:
        return explain_report(source)
    try:
        return explain_program(source, program, tile)
    except ValueError as error:
        raise FormatError(f"{source.label}: {error}.") from None


def explain_answer(source: ReportSource, program: int | None = None, tile: int | None = None) -> dict[str, Any]:
    """provenance and derivations: figure, value, unit, sum of the terms, complete (the sum is the figure), terms (text,
    value, sign, provenance, source) and notes; for a program also program, type, name, tile, executions."""
    explained = explanation(source, program, tile)
    derivations = explained if isinstance(explained, list) else explained.derivations
    facts: dict[str, Any] = {} if isinstance(explained, list) else asdict(explained)
    facts["derivations"] = [asdict(each) | {"sum": each.sum, "complete": each.complete} for each in derivations]
    return {"provenance": provenance_text(source)} | facts


def provenance_text(source: ReportSource) -> str:
    """The producer of the report, and the constants that a what-if changed."""
    what_if = source.reader.meta.get("whatIf")
    return provenance_line(source) + (f"\nWhat-if: {what_if}" if what_if else "")
