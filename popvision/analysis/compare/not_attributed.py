"""Programs and variables behind the cycles and bytes that no operation or no source line accounts for: those that
differ most.

Programs are matched as everywhere (matching.py); those of one name, or of one type where they have none, whose own
cycles differ by the same count as one entry. Variables, code, stacks and other live memory are matched by
name. One pass over the programs, or over what is live at the peak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.identity import stable_name
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.tiles import Where
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
    return _sentence(counts, "program")


def largest_live(source: ReportSource, target: ReportSource, owners: tuple[Int64Array, Int64Array]) -> str:
    """The sentence about what is live at either report's peak without an owner and differs; "" where nothing does.

    `owners` are the rows that own each variable of the source and of the target, 0 = none."""
    before, after = (_live_without_owner(report, owner) for report, owner in zip((source, target), owners, strict=True))
    differences = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    return _sentence({(name, each): 1 for name, each in differences.items() if each}, "item", " B")


def _live_without_owner(report: ReportSource, owner: Int64Array) -> dict[str, int]:
    """Bytes by name, of one replica, that are live at the peak and belong to no operation or line."""
    where = Where()
    sums: dict[str, int] = {}
    for table in (always_live_table(report, where), live_table(report, [peak(curve(report)).index], where)):
        numbers = np.asarray(table["variable"], np.float64)
        rows = zip(numbers.tolist(), table["name"], np.asarray(table["size_bytes"]).tolist(), strict=True)
        for number, name, size in rows:
            if not number >= 0 or owner[int(number)] == 0:
                known = stable_name(str(name))
                sums[known] = sums.get(known, 0) + int(size)
    return sums


def _names(report: ReportSource, rows: Int64Array) -> list[str]:
    programs = programs_of(report)
    return [program_label(programs.type[row], stable_name(programs.name[row])) for row in rows.tolist()]


def program_label(type: str, name: str) -> str:
    """A program by its type and its name; one without a name by its type alone, host copies with what they are."""
    if name:
        return f"{type} ({name})" if type else name
    return f"{type} (host copy without a name)" if type.startswith("StreamCopy") else type


def _sentence(counts: dict[tuple[str, int], int], noun: str, unit: str = "") -> str:
    """The largest entries, (name, difference) by how often it occurs; the others are counted as so many of `noun`."""
    ordered = sorted(counts, key=lambda entry: -abs(entry[1]) * counts[entry])
    if not ordered:
        return ""
    parts = [
        f"{name} {difference:+,}{unit}{_TIMES.get(counts[name, difference], f' {counts[name, difference]:,} times')}"
        for name, difference in ordered[:MOST_NAMED]
    ]
    sizes = [abs(difference) * counts[name, difference] for name, difference in ordered]
    rest = sum(counts[entry] for entry in ordered[MOST_NAMED:])
    if not rest:
        return "; ".join(parts)
    start = "mostly" if 2 * sizes[0] > sum(sizes) else f"largest {noun}s:"
    return f"{start} {'; '.join(parts)}; {rest:,} other {noun}{'s' * (rest > 1)}"
