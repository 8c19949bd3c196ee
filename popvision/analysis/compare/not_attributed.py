"""Programs behind the cycles that no operation or no source line accounts for: those that differ most.

Programs are matched as everywhere (matching.py); those of one name, or of one type where they have none, whose own
cycles differ by the same count as one entry. One pass over the programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.identity import stable_name
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of
from popvision.analysis.source_code.lines import busiest_ipu
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Entries that are named; the others are counted.
MOST_NAMED = 3

_TIMES = {1: "", 2: " twice"}


def largest_programs(source: ReportSource, target: ReportSource, owners: tuple[Int64Array, Int64Array]) -> str:
    """The sentence about the programs of owner 0 in either report whose own cycles differ; "" where none does.

    `owners` are the rows that own each program of the source and of the target, 0 = none. A program that only one of
    the two attributes counts with the cycles of the other."""
    matching = match_programs(source, target)
    own = [
        np.where(owner == 0, figures(report, busiest_ipu(report)).self_cycles, 0)
        for report, owner in zip((source, target), owners, strict=True)
    ]
    differences = np.concatenate(
        [
            own[1][matching.target] - own[0][matching.source],
            -own[0][matching.only_source],
            own[1][matching.only_target],
        ]
    )
    names = _names(source, np.concatenate([matching.source, matching.only_source]))
    names += _names(target, matching.only_target)
    counts: dict[tuple[str, int], int] = {}
    for row in np.flatnonzero(differences).tolist():
        entry = names[row], int(differences[row])
        counts[entry] = counts.get(entry, 0) + 1
    return _sentence(counts)


def _names(report: ReportSource, rows: Int64Array) -> list[str]:
    programs = programs_of(report)
    return [program_label(programs.type[row], stable_name(programs.name[row])) for row in rows.tolist()]


def program_label(type: str, name: str) -> str:
    """A program by its type and its name; one without a name by its type alone, host copies with what they are."""
    if name:
        return f"{type} ({name})" if type else name
    return f"{type} (host copy without a name)" if type.startswith("StreamCopy") else type


def _sentence(counts: dict[tuple[str, int], int]) -> str:
    ordered = sorted(counts, key=lambda entry: -abs(entry[1]) * counts[entry])
    if not ordered:
        return ""
    parts = [
        f"{name} {difference:+,}{_TIMES.get(counts[name, difference], f' {counts[name, difference]:,} times')}"
        for name, difference in ordered[:MOST_NAMED]
    ]
    sizes = [abs(difference) * counts[name, difference] for name, difference in ordered]
    start = "mostly" if 2 * sizes[0] > sum(sizes) else "largest programs:"
    rest = sum(counts[entry] for entry in ordered[MOST_NAMED:])
    return f"{start} {'; '.join(parts)}{f'; {rest:,} other program' + 's' * (rest > 1) if rest else ''}"
