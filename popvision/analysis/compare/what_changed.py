"""The difference of two reports as a waterfall: device cycles by phase, and memory by category.

The parts of each report add up to its total, so the signed differences of the parts add up to the difference of the
totals. A category that only one report has counts in full: the other holds 0 B of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.analysis.execution.phases import phase_totals
from popvision.analysis.memory.usage import breakdown
from popvision.analysis.report.memory_labels import CATEGORY_LABELS
from popvision.analysis.report.not_recorded import NotRecordedError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Part:
    """One part of a total in both reports."""

    label: str
    source: float
    target: float

    @property
    def difference(self) -> float:
        """Target - source."""
        return self.target - self.source


@dataclass(frozen=True)
class Waterfall:
    """A total of both reports and its parts, those with the largest difference first; equal parts are left out."""

    title: str
    kind: str  #: "cycles" or "bytes"
    total: Part
    parts: list[Part]


def waterfalls(source: ReportSource, target: ReportSource) -> list[Waterfall]:
    """Those whose parts both reports hold completely."""
    found = []
    for title, kind, question in (
        ("Device cycles by phase, mean over tiles", "cycles", _cycles_by_phase),
        ("Memory in use by category, without gaps", "bytes", _memory_by_category),
    ):
        try:
            before, after = question(source), question(target)
        except NotRecordedError:
            continue
        if before is not None and after is not None:
            found.append(_waterfall(title, kind, before, after))
    return found


def _waterfall(title: str, kind: str, before: dict[str, float], after: dict[str, float]) -> Waterfall:
    parts = [Part(label, before.get(label, 0), after.get(label, 0)) for label in {**before, **after}]
    changed = sorted((each for each in parts if each.difference), key=lambda each: -abs(each.difference))
    return Waterfall(title, kind, Part("Total", sum(before.values()), sum(after.values())), changed)


def _cycles_by_phase(source: ReportSource) -> dict[str, float] | None:
    """Tile cycles of each phase / tiles, which add up to the device cycles of all runs; None where not all phases were
    recorded."""
    if not len(source.reader.runs().name):
        return None
    totals = phase_totals(source)
    if totals.unknown or not totals.of_tiles:
        return None
    return {phase: cycles / totals.tiles for phase, cycles in totals.tile_cycles.items()}


def _memory_by_category(source: ReportSource) -> dict[str, float]:
    parts = breakdown(source, "category", None)
    return {
        CATEGORY_LABELS.get(key, key): int(values.sum()) for key, values in zip(parts.keys, parts.values, strict=True)
    }
