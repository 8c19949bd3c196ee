"""What stands out in a report: findings as a dict and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from popvision.analysis.insights.rules import insights
from popvision.answers.explain import provenance_text

if TYPE_CHECKING:
    from popvision.analysis.insights.finding import Evidence, Finding
    from popvision.analysis.report.source import ReportSource

#: Short words for what a finding of no bound says.
_UNITS = {"cycles": "cycles", "bytes": "B"}


def insights_answer(source: ReportSource) -> dict[str, Any]:
    """provenance, cycles, phases (cycles by phase), ipu, used (bytes), findings (rule, sentence, saves, unit, share,
    share_of, formula, evidence, change), further (findings left out, by rule) and not_looked_at (rule, reason)."""
    return {"provenance": provenance_text(source)} | asdict(insights(source))


def insights_text(source: ReportSource) -> str:
    """The same as text, for a terminal: each finding with its bound, formula, places and one change to try."""
    found = insights(source)
    lines = [provenance_text(source), "", *_head(found.cycles, found.phases, found.used), ""]
    if not found.findings:
        lines.append("Nothing stands out.")
    for number, finding in enumerate(found.findings, 1):
        lines += [*_finding(number, finding), ""]
    lines += [f"{count:,} more of {rule}." for rule, count in found.further.items()]
    reasons: dict[str, list[str]] = {}
    for each in found.not_looked_at:
        reasons.setdefault(each.reason, []).append(each.rule)
    lines += [f"Not looked at ({', '.join(rules)}): {reason}" for reason, rules in reasons.items()]
    return "\n".join(lines).rstrip("\n")


def _head(cycles: int, phases: dict[str, int], used: int) -> list[str]:
    lines = []
    if cycles:
        shares = ", ".join(
            f"{name} {spent / cycles:.1%}" for name, spent in sorted(phases.items(), key=lambda p: -p[1])
        )
        lines.append(f"Time: {cycles:,} device cycles in all recorded runs: {shares}.")
    if used:
        lines.append(f"Memory: {used:,} B in use on all tiles, gaps excluded.")
    return lines


def _finding(number: int, finding: Finding) -> list[str]:
    bound = (
        f"at most {finding.saves:,} {_UNITS[finding.unit]} ({finding.share:.1%} {finding.share_of})"
        if finding.saves
        else "no bound"
    )
    return [
        f"{number}. {finding.sentence}",
        f"   could save  {bound}: {finding.formula}",
        *(f"   see         {_place(each)}" for each in finding.evidence),
        f"   try         {finding.change}",
    ]


def _place(evidence: Evidence) -> str:
    number = f" {evidence.id}" if evidence.id >= 0 and evidence.kind != "tile" else ""
    line = f", {evidence.file}:{evidence.line}" if evidence.file else ""
    kind = evidence.kind.replace("_", " ")
    name = evidence.name if evidence.kind == "tile" else f"{kind}{number} {evidence.name}"
    return f"{name}: {evidence.value:,} {_UNITS[evidence.unit]}{line}"
