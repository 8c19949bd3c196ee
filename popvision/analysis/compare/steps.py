"""Execution steps of two reports side by side: matched ones in one row; a step that one report lacks counts 0 there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.join import join, with_rule
from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.step_details import STEP_FIGURES, steps_in_window
from popvision.analysis.report.figure import Figure, Table, headings
from popvision.analysis.report.one_sided import numbers_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures that are set side by side.
COMPARED = ("cycles", "max_cycles", "mean_cycles", "data_in")

_EVERYTHING = (0, np.iinfo(np.int64).max // 2)


def compared_headings() -> Table:
    """`steps_of_both` without rows."""
    nothing = headings("window_steps", STEP_FIGURES)
    both = join(_of_source(nothing), _of_target(nothing), "name")
    ids = [Figure("target_step", "id", ()), Figure("matched", "text", ())]
    return Table(both.id, [*both.figures, *ids])


def steps_of_both(
    source: ReportSource, target: ReportSource, ipu: int, window: tuple[int, int], other: tuple[int, int]
) -> Table:
    """Steps of the source in `window` with their partners, wherever those are, then steps of the target in `other`
    whose partner does not lie in `window`: step, target_step, name, type, last_tile, target_last_tile, COMPARED of
    both, 0 in a report that recorded a run and lacks the step, matched ("in another window": the partner lies there)
    and in_report. Raises what `timeline` raises."""
    matching = match_steps(source, target)
    rows = steps_in_window(source, ipu, *window)
    step = np.asarray(rows["step"], np.int64)
    theirs = np.asarray(steps_in_window(target, ipu, *other)["step"], np.int64)
    partner = matching.source_rows()[theirs]
    outside = partner[(partner >= 0) & ~np.isin(partner, step)]
    ran = bool(source.reader.runs().name), bool(target.reader.runs().name)
    both = join(
        _of_source(_of_steps(source, ipu, np.append(step, outside)) if len(outside) else rows),
        _of_target(_of_steps(target, ipu, np.append(matching.target_rows()[step], theirs))),
        "step",
        matching,
        recorded=ran,
    )
    is_outside = np.isin(numbers_of(both["step"]), outside)
    both = both.take(np.argsort(is_outside, kind="stable"))
    return _with_windows(with_rule(both, "step", matching), outside)


def _with_windows(table: Table, outside: Int64Array) -> Table:
    is_outside = np.isin(numbers_of(table["step"]), outside)
    rules = np.where(is_outside, "in another window", np.asarray(table["matched"], object)).tolist()
    return Table(table.id, [replace(figure, values=rules) if figure.id == "matched" else figure for figure in table])


def _of_steps(report: ReportSource, ipu: int, steps: Int64Array) -> Table:
    table = steps_in_window(report, ipu, *_EVERYTHING)
    return table.take(np.isin(np.asarray(table["step"], np.int64), steps))


def _of_source(table: Table) -> Table:
    return table.select(["step", "name", "type", "last_tile", *COMPARED])


def _of_target(table: Table) -> Table:
    """The same, with the last tile as a figure of its own."""
    figures = _of_source(table)
    return Table(
        table.id,
        [replace(figure, id="target_last_tile") if figure.id == "last_tile" else figure for figure in figures],
    )
