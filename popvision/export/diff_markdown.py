"""A comparison as Markdown, for a comment on a pull request. Names are escaped."""

from __future__ import annotations

import html
import re

from popvision.analysis.compare.limits import Outcome
from popvision.analysis.compare.report_diff import ReportDiff
from popvision.analysis.compare.what_changed import nothing_changed, waterfalls
from popvision.export.diff_rows import TextTable, diff_tables, outcome_line, steps_line

_SPECIAL = re.compile(r"([\\`*_\[\]|~#!])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def diff_markdown(diff: ReportDiff, outcomes: list[Outcome], most: int) -> str:
    """The document."""
    lines = [f"## {escaped(diff.source.label)} → {escaped(diff.target.label)}", ""]
    if outcomes:
        broken = sum(outcome.broken for outcome in outcomes)
        lines += [f"**{broken} of {len(outcomes)} limits broken**" if broken else "**All limits hold**", ""]
        lines += ["| | Limit | Measured |", "| --- | --- | --- |"]
        lines += [
            f"| {'broken' if each.broken else 'ok'} | {escaped(each.limit.text)} | {escaped(outcome_line(each))} |"
            for each in outcomes
        ]
        lines.append("")
    lines += [steps_line(diff), ""]
    lines += [line for note in diff.notes for line in (f"> {escaped(note)}", "")]
    unchanged = nothing_changed(waterfalls(diff.source, diff.target))
    if unchanged:
        lines += [unchanged, ""]
    for table in diff_tables(diff, most):
        lines += _table(table)
    lines.append("Difference = target - source.")
    return "\n".join(lines) + "\n"


def escaped(name: str) -> str:
    """The name with all Markdown and HTML escaped."""
    return _SPECIAL.sub(r"\\\1", html.escape(_CONTROL.sub("\ufffd", name), quote=False))


def _table(table: TextTable) -> list[str]:
    lines = [f"### {table.title}", ""]
    if table.note:
        lines += [escaped(table.note), ""]
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("| " + " | ".join("---:" if name in table.numbers else "---" for name in table.columns) + " |")
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in table.rows]
    return [*lines, ""]
