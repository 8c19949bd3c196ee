"""Liveness of two reports side by side: matched indices, and variables live at both.

Every table has a row per thing that stands in either report. What stands in one report only counts 0 in the other; a
figure is missing (NaN) where it was not recorded, and on the side where an index has no partner. Variables match by
`match_variables`, allocations without a variable by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.align import align
from popvision.analysis.compare.join import SIDES, join
from popvision.analysis.compare.matching import match_programs, match_variables, pairs_of
from popvision.analysis.liveness.steps import curve_table, cycles_table, flops_table, vertices_table
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.report.columns import liveness
from popvision.analysis.report.figure import Table
from popvision.analysis.report.one_sided import numbers_of
from popvision.analysis.report.tiles import Where
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from popvision.analysis.report.source import ReportSource


#: How indices are paired.
BY = ("index", "programs")


def match_indices(source: ReportSource, target: ReportSource, by: str = "index") -> Int64Array:
    """The target's liveness index of each one of the source, -1 where it has none.

    "index": i is i. "programs": the two orders of programs are laid side by side, matched programs on each other, as
    many as can be in order. Raises ValueError for another way, NotRecordedError without liveness.
    """
    if by not in BY:
        raise ValueError(f"indices are paired by {' or '.join(BY)}, not by {by!r}")
    source_programs, target_programs = (
        np.asarray(liveness(report).program, dtype=np.int64) for report in (source, target)
    )
    if by == "index":
        index = np.arange(len(source_programs))
        return np.where(index < len(target_programs), index, -1)
    return source.kept.beside(target).once(
        "liveness indices", lambda: _by_programs(source, target, source_programs, target_programs)
    )


def _by_programs(
    source: ReportSource, target: ReportSource, source_programs: Int64Array, target_programs: Int64Array
) -> Int64Array:
    partner = match_programs(source, target).target_rows()[source_programs]
    codes = np.where(partner >= 0, partner, -2)  # -2: equal to nothing of the target
    rows, columns = align(codes, target_programs)
    target_position = np.full(len(source_programs), -1, dtype=np.int64)
    target_position[rows] = columns
    return target_position


def only_target(source: ReportSource, target: ReportSource, by: str = "index") -> Int64Array:
    """Liveness indices of the target that no index of the source is paired with."""
    paired = match_indices(source, target, by)
    return np.setdiff1d(np.arange(len(liveness(target).program)), paired)


def curve_pair(source: ReportSource, target: ReportSource, where: Where, by: str = "index") -> Table:
    """Indices of either report, those of the target alone at the end: liveness_index, program (both of either side),
    step, and of either side not_always_live_bytes and live_bytes."""
    matching = pairs_of(match_indices(source, target, by), len(liveness(target).program))
    return join(curve_table(source, where), curve_table(target, where), "liveness_index", matching)


def always_live_pair(source: ReportSource, target: ReportSource, where: Where) -> Table:
    """Always-live variables of either report, largest first: name, variable, target_variable, and size_bytes of either
    side, 0 where that report has no such variable or it is not always live there."""
    tables = [_summed(always_live_table(report, where)) for report in (source, target)]
    return _largest_first(join(tables[0], tables[1], "variable", match_variables(source, target)))


def live_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], where: Where, by: str = "index"
) -> Table:
    """Variables live at any of the source's `indices`, or at the target's partners of these: name, variable,
    target_variable, then of either side size_bytes at each index "i". Where an index has no partner the target's column
    is missing; a variable that a report lacks, or that is not live at its index, counts 0 there."""
    paired = match_indices(source, target, by)
    mine = [index if index < len(paired) else -1 for index in indices]
    partners = [int(paired[index]) if index < len(paired) else -1 for index in indices]
    tables = [_live(report, of_report, indices, where) for report, of_report in ((source, mine), (target, partners))]
    return _largest_first(join(tables[0], tables[1], "variable", match_variables(source, target)))


def _live(source: ReportSource, indices: Sequence[int], places: Sequence[int], where: Where) -> Table:
    """name, variable, and size_bytes at `indices`, called `places`; without those that are -1."""
    table = live_table(source, [*dict.fromkeys(index for index in indices if index >= 0)], where)
    sizes = [
        replace(table.column("size_bytes", str(index)), place=str(place))
        for index, place in zip(indices, places, strict=True)
        if index >= 0
    ]
    return _summed(Table(table.id, [table.column("name"), table.column("variable"), *sizes]))


def _summed(table: Table) -> Table:
    """The table with the sizes of rows of equal variable and name added up, in the order of the first."""
    import pandas as pd

    frame = pd.DataFrame({place: figure.values for place, figure in enumerate(table)})
    sums = frame.groupby([0, 1], sort=False, as_index=False).sum()
    return Table(table.id, [replace(figure, values=sums[place]) for place, figure in enumerate(table)])


def _largest_first(table: Table) -> Table:
    """By the larger side of the first figure that has sides."""
    first = next((figure for figure in table if figure.side), None)
    if first is None:
        return table
    sizes = [numbers_of(table.column(first.id, first.place, side).values) for side in SIDES]
    return table.take(np.argsort(-np.fmax(np.fmax(*sizes), -1), kind="stable"))


def vertices_pair(
    source: ReportSource, target: ReportSource, index: int, tiles: tuple[range, range], by: str = "index"
) -> Table:
    """Vertices at an index and at its partner, types matched by name: name, kind, and instances and state_bytes of
    either side, 0 of a type that does not run there, missing where the index has no partner."""
    partner = int(match_indices(source, target, by)[index])
    tables = [
        vertices_table(report, [place] if place >= 0 else [], where).at_places({f"index {place}": ""})
        for report, place, where in ((source, index, tiles[0]), (target, partner, tiles[1]))
    ]
    return join(tables[0], tables[1], ("name", "kind"))


def cycles_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], tiles: tuple[range, range], by: str = "index"
) -> Table:
    """A row per index: liveness_index, target_liveness_index, step, and of either side longest_cycles, mean_cycles and
    balance."""
    partner = match_indices(source, target, by)
    partners = partner[list(indices)]
    ids = ("liveness_index", "step", "longest_cycles", "mean_cycles", "balance")
    return join(
        cycles_table(source, indices, tiles[0]).select(ids),
        cycles_table(target, partners[partners >= 0].tolist(), tiles[1]).select(ids),
        "liveness_index",
        pairs_of(partner, len(liveness(target).program)),
    )


def flops_pair(source: ReportSource, target: ReportSource, index: int, by: str = "index") -> Table:
    """Floating point operations at an index and its partner: name ("Total" first), flops of either side,
    0 of a type that does not run there."""
    partner = int(match_indices(source, target, by)[index])
    tables = [
        flops_table(report, [place] if place >= 0 else []).at_places({f"index {place}": ""})
        for report, place in ((source, index), (target, partner))
    ]
    return join(tables[0], tables[1], "name")
