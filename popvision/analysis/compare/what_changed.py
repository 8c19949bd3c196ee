"""The difference of two reports as waterfalls: signed parts that add up to the difference of a total.

Device cycles by phase, operation and source line; bytes by category (in use on all tiles), operation and source line
(live at each report's own peak, one replica). The parts of each report are whole numbers that add up to its total, so
their differences add up exactly. A part that only one report has counts in full: it is 0 in the other. Operations
match by name, source lines by their text where both reports hold it, else by number (source_code/rows.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.identity import stable_name
from popvision.analysis.compare.not_attributed import largest_live, largest_programs
from popvision.analysis.execution.phases import phase_totals
from popvision.analysis.memory.usage import breakdown
from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.owners import Owners, chosen_layer, owners
from popvision.analysis.report.memory_labels import CATEGORY_LABELS
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.source_code.lines import LineFigures, Places, busiest_ipu, line_figures, places
from popvision.analysis.source_code.rows import same_file, source_rows
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Label of what no operation or no line accounts for.
NOT_ATTRIBUTED = "Not attributed"

#: What the parts of a phase count: the longest program of one tile shows as the waiting of the others.
PHASE_NOTE = (
    "Mean over the tiles. Sync holds the time in which tiles wait: a host copy or a vertex that takes longer on one "
    "tile shows as Sync of all others."
)


@dataclass(frozen=True)
class Part:
    """One part of a total in both reports, cycles or bytes."""

    label: str
    source: int
    target: int
    named: str = ""  #: of what is not attributed: the programs or variables that differ most, in words

    @property
    def difference(self) -> int:
        """Target - source."""
        return self.target - self.source


@dataclass(frozen=True)
class Waterfall:
    """A total of both reports and its parts, those with the largest difference first; equal parts are left out."""

    measure: str  #: "Device cycles", "Memory in use" or "Live memory at the peak"
    by: str  #: "phase", "category", "operation" or "source line"
    kind: str  #: "cycles" or "bytes"
    total: Part
    parts: list[Part]

    @property
    def title(self) -> str:
        """The measure and what it is split by."""
        return f"{self.measure} by {self.by}"

    def with_at_most(self, most: int) -> Waterfall:
        """At most so many parts (0 = all): the last one adds up those that are left out."""
        if not 0 < most < len(self.parts):
            return self
        rest = self.parts[most - 1 :]
        other = Part(f"{len(rest):,} others", sum(each.source for each in rest), sum(each.target for each in rest))
        return replace(self, parts=[*self.parts[: most - 1], other])

    @property
    def note(self) -> str:
        """What the difference of a phase holds, or what is not attributed consists of; "" for others."""
        if self.by == "phase":
            return PHASE_NOTE if self.parts else ""
        part = next((each for each in self.parts if each.named), None)
        unit = " B" if self.kind == "bytes" else ""
        return "" if part is None else f"{part.label} {part.difference:+,}{unit}: {part.named}."


_Parts = tuple[dict[str, int], dict[str, int]]


def waterfalls(source: ReportSource, target: ReportSource) -> list[Waterfall]:
    """Those whose parts both reports hold completely: cycles first. Raises FormatError when a report is damaged."""
    stamp = "what changed", source.generation, target.generation
    return source.kept.beside(target).recent(stamp, lambda: _waterfalls(source, target))


def nothing_changed(of_both: list[Waterfall]) -> str:
    """The sentence for reports that are equal in every part; "" where a part differs, or there is no waterfall."""
    if not of_both or any(each.parts for each in of_both):
        return ""
    *first, last = dict.fromkeys(each.measure.lower() for each in of_both)
    measures = f"{', '.join(first)} and {last} are" if first else f"{last} is"
    return f"Nothing changed: {measures} equal in every part."


def _waterfalls(source: ReportSource, target: ReportSource) -> list[Waterfall]:
    questions: tuple[tuple[str, str, str, Callable[[ReportSource, ReportSource], _Parts | None]], ...] = (
        ("Device cycles", "phase", "cycles", _cycles_by_phase),
        ("Device cycles", "operation", "cycles", _cycles_by_operation),
        ("Device cycles", "source line", "cycles", _cycles_by_line),
        ("Memory in use", "category", "bytes", _memory_by_category),
        ("Live memory at the peak", "operation", "bytes", _live_by_operation),
        ("Live memory at the peak", "source line", "bytes", _live_by_line),
    )
    answers = []
    for measure, by, kind, question in questions:
        try:
            both = question(source, target)
        except NotRecordedError:
            continue
        if both is not None:
            answers.append(_with_names(_waterfall(measure, by, kind, *both), source, target))
    return answers


def _with_names(waterfall: Waterfall, source: ReportSource, target: ReportSource) -> Waterfall:
    """The waterfall whose cycles or bytes that are not attributed name their programs or variables."""
    if all(each.label != NOT_ATTRIBUTED for each in waterfall.parts):
        return waterfall
    both: tuple[Owners | Places, Owners | Places]
    if waterfall.by == "operation":
        layer = chosen_layer(source)
        both = owners(source, layer), owners(target, layer)
    else:
        both = places(source), places(target)
    if waterfall.kind == "cycles":
        named = largest_programs(source, target, (both[0].program, both[1].program))
    else:
        named = largest_live(source, target, (both[0].variable, both[1].variable))
    parts = [replace(each, named=named) if each.label == NOT_ATTRIBUTED else each for each in waterfall.parts]
    return replace(waterfall, parts=parts)


def _waterfall(measure: str, by: str, kind: str, before: dict[str, int], after: dict[str, int]) -> Waterfall:
    parts = [Part(label, before.get(label, 0), after.get(label, 0)) for label in {**before, **after}]
    changed = sorted((each for each in parts if each.difference), key=lambda each: -abs(each.difference))
    return Waterfall(measure, by, kind, Part("Total", sum(before.values()), sum(after.values())), changed)


def _cycles_by_phase(source: ReportSource, target: ReportSource) -> _Parts | None:
    before, after = _phases_of(source), _phases_of(target)
    return None if before is None or after is None else (before, after)


def _phases_of(source: ReportSource) -> dict[str, int] | None:
    """Mean cycles of a tile in each phase over all runs, which add up to the device cycles; None where not all phases
    were recorded."""
    if not len(source.reader.runs().name):
        return None
    totals = phase_totals(source)
    if totals.unknown or not totals.of_tiles:
        return None
    return {name.capitalize(): cycles for name, cycles in _means(totals.tile_cycles, totals.tiles).items()}


def _means(sums: dict[str, int], count: int) -> dict[str, int]:
    """Each sum / count in whole numbers that add up to the rounded mean of all (largest remainder method)."""
    means = {name: value // count for name, value in sums.items()}
    missing = round(sum(sums.values()) / count) - sum(means.values())
    for name in sorted(sums, key=lambda name: -(sums[name] % count))[:missing]:
        means[name] += 1
    return means


def _memory_by_category(source: ReportSource, target: ReportSource) -> _Parts:
    return _categories_of(source), _categories_of(target)


def _categories_of(source: ReportSource) -> dict[str, int]:
    parts = breakdown(source, "category", None)
    return {
        CATEGORY_LABELS.get(key, key): int(values.sum()) for key, values in zip(parts.keys, parts.values, strict=True)
    }


def _cycles_by_operation(source: ReportSource, target: ReportSource) -> _Parts | None:
    return _by_operation(source, target, ("cycles",))


def _live_by_operation(source: ReportSource, target: ReportSource) -> _Parts | None:
    return _by_operation(source, target, ("always_live", "live_at_peak"))


def _by_operation(source: ReportSource, target: ReportSource, columns: tuple[str, ...]) -> _Parts | None:
    """The columns added up by the operation's name, in the layer that the source shows first; None where a report has
    no such layer or lacks a column."""
    layer = chosen_layer(source)
    sums = []
    for report in (source, target):
        try:
            figures = operations(report, layer, busiest_ipu(report))
        except ValueError:
            return None
        known = figures.columns()
        if any(column not in known for column in columns):
            return None
        names = [stable_name(name) or NOT_ATTRIBUTED for name in figures.owners.name]
        sums.append(_added_up(names, np.sum([known[column] for column in columns], axis=0)))
    return sums[0], sums[1]


def _cycles_by_line(source: ReportSource, target: ReportSource) -> _Parts | None:
    before, after = line_figures(source), line_figures(target)
    if before.cycles is None or after.cycles is None:
        return None
    labels = _line_labels(source, target, before, after)
    return _added_up(labels[0], before.cycles), _added_up(labels[1], after.cycles)


def _live_by_line(source: ReportSource, target: ReportSource) -> _Parts | None:
    before, after = line_figures(source), line_figures(target)
    if before.live is None or after.live is None:
        return None
    labels = _line_labels(source, target, before, after)
    return _added_up(labels[0], before.live), _added_up(labels[1], after.live)


def _line_labels(
    source: ReportSource, target: ReportSource, before: LineFigures, after: LineFigures
) -> tuple[list[str], list[str]]:
    """Label of each place of both reports: a target's line that matches a line of the source has that one's."""
    own = [_line_label(file, line) for file, line in _lines_of(before)]
    label_of: dict[tuple[str, int], str] = {}
    for file in dict.fromkeys(name for name in before.places.file if name):
        other = same_file(target, file)
        if not other:
            continue
        rows = source_rows(source, file, target)
        for mine, theirs in zip(rows.source.tolist(), rows.target.tolist(), strict=True):
            if theirs:
                shown = _line_label(file, mine) if mine else f"{_line_label(other, theirs)} of the target"
                label_of[other, theirs] = shown
    others = [
        label_of.get((file, line)) or _line_label(file, line) + (" of the target" if file else "")
        for file, line in _lines_of(after)
    ]
    return own, others


def _lines_of(figures: LineFigures) -> list[tuple[str, int]]:
    return list(zip(figures.places.file, figures.places.line.tolist(), strict=True))


def _line_label(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}" if file else NOT_ATTRIBUTED


def _added_up(labels: list[str], values: Int64Array) -> dict[str, int]:
    """Sums of the values that have the same label."""
    sums: dict[str, int] = {}
    for label, value in zip(labels, values.tolist(), strict=True):
        sums[label] = sums.get(label, 0) + int(value)
    return sums
