"""Pairs of reports for tests of comparisons."""

from __future__ import annotations

from pathlib import Path

from popvision.analysis.compare.identity import stable_name
from popvision.analysis.compare.matching import Matching
from popvision.analysis.report.source import ReportSource
from tests.plain_report import PlainReport


def opened(folder: Path, report: PlainReport) -> ReportSource:
    report.write(folder)
    return ReportSource(folder)


def is_whole(matching: Matching) -> bool:
    """Every row stands once: matched, or among the unmatched of its side."""
    for matched, alone in ((matching.source, matching.only_source), (matching.target, matching.only_target)):
        rows = sorted([*matched.tolist(), *alone.tolist()])
        if rows != list(range(len(rows))):
            return False
    return True


def renames(source: ReportSource, target: ReportSource, matching: Matching) -> list[tuple[str, str]]:
    names = source.reader.programs().name, target.reader.programs().name
    pairs = [(names[0][a], names[1][b]) for a, b in zip(matching.source, matching.target, strict=True)]
    return [pair for pair in pairs if stable_name(pair[0]) != stable_name(pair[1])]
