"""Programs of two reports side by side: all of them by one figure, and one of them tile by tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import HOW, match_programs
from popvision.analysis.programs.table import (
    FIELDS,
    TILE_FIGURES,
    known_integers,
    program_columns,
    program_tiles,
    tile_numbers,
)
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Side, Table, Values
from popvision.analysis.report.one_sided import both_in_full
from popvision.arrays import AnyArray, Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def compared_programs(source: ReportSource, target: ReportSource, field: str, ipu: int | None = None) -> Table:
    """A row per pair of matched programs and per program that only one report has: id, target_id, type, name, matched
    ("debug identity", "name", "order", "only source", "only target") and the field of either side; largest absolute
    difference first. A program that a report lacks counts 0 there; a figure that it did not record is missing. Raises
    KeyError for a field that is not one of FIELDS."""
    matching = match_programs(source, target)
    lone, other = len(matching.only_source), len(matching.only_target)
    source_rows = np.concatenate([matching.source, matching.only_source, np.full(other, -1)])
    target_rows = np.concatenate([matching.target, np.full(lone, -1), matching.only_target])
    how = [HOW[each] for each in matching.how.tolist()] + ["only source"] * lone + ["only target"] * other
    source_programs, target_programs = programs_of(source), programs_of(target)
    absent = source_rows < 0, target_rows < 0
    sides = ((source, source_rows), (target, target_rows))
    stored = [_values_at(program_columns(report, ipu)[field], rows) for report, rows in sides]
    known = [np.where(values < 0, np.nan, values) for values in stored]
    before, after = both_in_full(known[0], known[1], absent, FIELDS[field])
    order = np.argsort(-np.abs(np.nan_to_num(after) - np.nan_to_num(before)), kind="stable")
    source_rows, target_rows = source_rows[order], target_rows[order]
    which = list(zip(source_rows.tolist(), target_rows.tolist(), strict=True))
    return Table(
        "programs",
        [
            Figure("id", "id", known_integers(source_rows)),
            Figure("target_id", "id", known_integers(target_rows)),
            Figure("type", "text", [source_programs.type[a] if a >= 0 else target_programs.type[b] for a, b in which]),
            Figure("name", "text", [source_programs.name[a] if a >= 0 else target_programs.name[b] for a, b in which]),
            Figure("matched", "text", [how[row] for row in order.tolist()]),
            Figure(field, FIELDS[field], _whole(before[order]), side="source"),
            Figure(field, FIELDS[field], _whole(after[order]), side="target"),
        ],
    )


def _whole(values: Float64Array) -> Values:
    return known_integers(np.nan_to_num(values, nan=-1.0).astype(np.int64))


def _values_at(values: Int64Array, rows: Int64Array) -> Int64Array:
    return np.where(rows >= 0, values[np.maximum(rows, 0)], -1) if len(values) else np.full(len(rows), -1)


def program_tiles_pair(source: ReportSource, target: ReportSource, program: int) -> Table:
    """The same of a program and of its partner in the target: both sides of what either holds, tiles matched by number;
    missing (NaN) where one side has no such tile, program or figure."""
    partner = int(match_programs(source, target).target_rows()[program])
    of_source = program_tiles(source, program)
    other = program_tiles(target, partner) if partner >= 0 else Table("program_tiles", [])
    count = max(len(of_source), len(other))
    figures = tile_numbers(source if len(of_source) >= len(other) else target)
    sides: tuple[tuple[Side, Table], ...] = (("source", of_source), ("target", other))
    for id, (unit, _) in TILE_FIGURES.items():
        if id in of_source or id in other:
            for side, table in sides:
                provenance = table.column(id).provenance if id in table else ""
                figures.append(Figure(id, unit, _values_by_tile(table, id, count), side=side, provenance=provenance))
    return Table("program_tiles", figures)


def _values_by_tile(table: Table, id: str, count: int) -> AnyArray:
    """Values by tile; as numbers with NaN where there are fewer than `count`."""
    if id in table and len(table) == count:
        return np.asarray(table[id])
    values = np.full(count, np.nan)
    if id in table:
        values[: len(table)] = table[id]
    return values
