"""Comparison of two reports: headline figures, the largest changes of each kind, unmatched rows, different settings.

`popvision diff` prints it and the Summary page shows it; the rules are in docs/compare.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from popvision.analysis.compare.changes import (
    Changes,
    compute_set_changes,
    program_changes,
    tile_changes,
    variable_changes,
    vertex_type_changes,
)
from popvision.analysis.compare.difference import relative, signed
from popvision.analysis.compare.matching import match_steps
from popvision.analysis.compare.metrics import METRICS, Metric, measure_together
from popvision.analysis.compare.settings import Setting, settings
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.target import type_name
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Figure:
    """One metric of two reports; None = that report does not hold it."""

    metric: Metric
    source: float | None
    target: float | None

    @property
    def difference(self) -> float | None:
        """Target - source."""
        if self.source is None or self.target is None:
            return None
        change: float = signed(self.source, self.target).item()
        return change

    @property
    def relative(self) -> float | None:
        """(target - source) / source; infinite where only the source is 0."""
        if self.source is None or self.target is None:
            return None
        return float(relative(self.source, self.target))


@dataclass(frozen=True)
class StepsMatched:
    """Execution steps: pairs, and those that only one report ran."""

    matched: int
    only_source: int
    only_target: int


@dataclass(frozen=True)
class ReportDiff:
    """Everything that `diff` knows about two reports; each output chooses what it prints."""

    source: ReportSource
    target: ReportSource
    figures: list[Figure]
    settings: list[Setting]
    steps: StepsMatched | None  #: None = a report recorded no run
    changes: list[Changes]  #: programs, variables, tiles, vertex types, compute sets; those both reports hold

    @property
    def settings_that_differ(self) -> list[Setting]:
        return [setting for setting in self.settings if setting.differs]

    @property
    def notes(self) -> list[str]:
        """Why some differences say less than they seem to: one sentence each."""
        return notes(self.source, self.target)


def figures_of(source: ReportSource, target: ReportSource) -> list[Figure]:
    """Every metric of both, in the order of METRICS. Raises FormatError when a report is damaged."""
    before, after = measure_together((source, target))
    return [Figure(metric, before[metric.name], after[metric.name]) for metric in METRICS]


CHANGES: tuple[Callable[[ReportSource, ReportSource], Changes], ...] = (
    program_changes,
    variable_changes,
    tile_changes,
    vertex_type_changes,
    compute_set_changes,
)


def compare_reports(source: ReportSource, target: ReportSource) -> ReportDiff:
    """The comparison, cached until either report grows. Raises FormatError when a report is damaged."""
    stamp = source.generation, target.generation
    parts = source.kept.beside(target).recent(("report diff", stamp), lambda: _compare(source, target))
    return ReportDiff(source, target, *parts)  # the cached parts refer to no report, so that a closed one is freed


def _compare(
    source: ReportSource, target: ReportSource
) -> tuple[list[Figure], list[Setting], StepsMatched | None, list[Changes]]:
    changes_of_kind = [if_recorded(lambda question=question: question(source, target)) for question in CHANGES]  # type: ignore[misc]
    return (
        figures_of(source, target),
        settings(source, target),
        if_recorded(lambda: _steps(source, target)),
        [changes for changes in changes_of_kind if changes is not None],
    )


def _steps(source: ReportSource, target: ReportSource) -> StepsMatched | None:
    if not source.reader.runs().name or not target.reader.runs().name:
        return None
    steps = match_steps(source, target)
    return StepsMatched(len(steps.source), len(steps.only_source), len(steps.only_target))


def notes(source: ReportSource, target: ReportSource) -> list[str]:
    """See ReportDiff.notes; needs no row to be compared."""
    sentences = []
    runs = [if_recorded(report.reader.runs) for report in (source, target)]
    counts = [0 if each is None else len(each.name) for each in runs]
    if counts[0] != counts[1] and not min(counts):
        sentences.append(f"The {'target' if counts[0] else 'source'} recorded no run: what it took is not known.")
    elif counts[0] != counts[1]:
        sentences.append(
            f"The source recorded {counts[0]:,} runs and the target {counts[1]:,}: figures over all runs differ for "
            "that alone; cycles per run and shares do not."
        )
    for name, each in zip(("source", "target"), runs, strict=True):
        if each is not None and bool(each.truncated.any()):
            sentences.append(
                f"The {name} is truncated: the cap on recorded steps was reached, later steps are missing."
            )
    one, other = (if_recorded(partial(target_of, report)) for report in (source, target))
    if one is not None and other is not None:
        if one.num_tiles != other.num_tiles:
            sentences.append(f"The machines differ: {one.num_tiles:,} and {other.num_tiles:,} tiles.")
        if one.type != other.type:
            sentences.append(f"One report is of {type_name(one)}, the other of {type_name(other)}.")
    models = [report.reader.meta.get("modelVersion") for report in (source, target)]
    if None not in models and models[0] != models[1]:
        sentences.append(
            f"The costs are of two models, version {models[0]} and {models[1]}: figures differ for that alone; record "
            "both with the same version."
        )
    for name, report in (("source", source), ("target", target)):
        if report.lost:
            sentences.append(f"The {name} is damaged, {len(report.lost)} parts of it are lost and not compared.")
    return sentences
