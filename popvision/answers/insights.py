"""What stands out in a report: findings as a dict and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from popvision.analysis.insights.late import costs_of_waiting
from popvision.analysis.insights.rules import insights
from popvision.analysis.insights.unusual import unusual
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.answers.explain import provenance_text
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.insights.finding import Evidence, Finding, Insights
    from popvision.analysis.report.source import ReportSource

#: Rows of the tiles that make others wait, in a dict and as text.
_WAITS, _WAITS_OF_TEXT = 20, 3
#: Short words for what a finding of no bound says.
_UNITS = {"cycles": "cycles", "bytes": "B"}


def insights_answer(source: ReportSource) -> dict[str, Any]:
    """The findings with their evidence, and who makes the tiles wait.

    Keys: provenance, cycles, apart (what is in no share, a sentence or ""), phases (cycles by phase), ipu, used
    (bytes), findings (rule, sentence, saves, unit, share, share_of, formula, evidence, change), further (findings left
    out, by rule), not_looked_at (rule, reason), unusual (a sentence or "") and waits: of the tiles that come last at
    syncs, most waiting first, tile, program (-1 unknown), name, syncs, waited (tile cycles), mean (waited / tiles),
    longest and first_step."""
    found = insights(source)
    more = {"unusual": unusual(source, found), "waits": _waits(source, found.ipu)}
    return {"provenance": provenance_text(source)} | asdict(found) | more


def insights_text(source: ReportSource) -> str:
    """The same as text, for a terminal: each finding with its bound, formula, places and one change to try."""
    found = insights(source)
    lines = [provenance_text(source), "", *_head(found), ""]
    if not found.findings:
        lines.append("Nothing stands out.")
    for number, finding in enumerate(found.findings, 1):
        lines += [*_finding(number, finding), ""]
    waits = _waits(source, found.ipu)[:_WAITS_OF_TEXT]
    if waits:
        lines += ["Who makes the tiles wait at syncs (mean wait of all tiles):", *map(_wait, waits), ""]
    lines += [f"{count:,} more of {rule}." for rule, count in found.further.items()]
    reasons: dict[str, list[str]] = {}
    for each in found.not_looked_at:
        reasons.setdefault(each.reason, []).append(each.rule)
    lines += [f"Not looked at ({', '.join(rules)}): {reason}" for reason, rules in reasons.items()]
    return "\n".join(lines).rstrip("\n")


def _waits(source: ReportSource, ipu: int) -> list[dict[str, Any]]:
    """The rows, none where no run was recorded or single tiles are unknown."""
    try:
        if ipu < 0 or tiles_unknown(source):
            return []
        costs = costs_of_waiting(source, ipu)
        names = source.reader.programs().name
    except (NotRecordedError, FormatError):
        return []
    return [
        {
            "tile": int(costs.tile[row]),
            "program": int(costs.program[row]),
            "name": names[int(costs.program[row])] if costs.program[row] >= 0 else "",
            "syncs": int(costs.syncs[row]),
            "waited": int(costs.waited[row]),
            "mean": int(costs.mean[row]),
            "longest": int(costs.longest[row]),
            "first_step": int(costs.first_step[row]),
        }
        for row in range(min(len(costs.tile), _WAITS))
    ]


def _wait(row: dict[str, Any]) -> str:
    after = f" after {row['name']}" if row["name"] else ""
    times = "sync" if row["syncs"] == 1 else f"{row['syncs']:,} syncs"
    return f"   tile {row['tile']:,} at {times}{after}: {row['mean']:,} cycles, at most {row['longest']:,} at one"


def _head(found: Insights) -> list[str]:
    lines, cycles = [], found.cycles
    if cycles:
        shares = ", ".join(
            f"{name} {spent / cycles:.1%}" for name, spent in sorted(found.phases.items(), key=lambda p: -p[1])
        )
        lines.append(f"Time: {cycles:,} device cycles in all recorded runs: {shares}.")
    if found.apart:
        lines.append(found.apart)
    if found.used:
        lines.append(f"Memory: {found.used:,} B in use on all tiles, gaps excluded.")
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
        *([f"   try         {finding.change}"] if finding.change else []),
    ]


def _place(evidence: Evidence) -> str:
    number = f" {evidence.id}" if evidence.id >= 0 and evidence.kind != "tile" else ""
    line = f", {evidence.file}:{evidence.line}" if evidence.file else ""
    kind = evidence.kind.replace("_", " ")
    name = evidence.name if evidence.kind == "tile" else f"{kind}{number} {evidence.name}"
    return f"{name}: {evidence.value:,} {_UNITS[evidence.unit]}{line}"
