"""Programs of two reports side by side: all of them by one figure, and one of them tile by tile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.join import join, most_different_first, with_rule
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.programs.table import known_integers, program_table, program_tiles, tile_numbers
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.one_sided import numbers_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def compared_programs(source: ReportSource, target: ReportSource, field: str, ipu: int | None = None) -> Table:
    """Programs of both reports: id, target_id, type, name, the field of either side, matched, in_report; the most
    different first. Raises KeyError for a field that is not one of FIELDS."""
    matching, ids = match_programs(source, target), ("id", "type", "name", field)
    tables = program_table(source, ipu).select(ids), program_table(target, ipu).select(ids)
    return in_whole_numbers(most_different_first(with_rule(join(*tables, "id", matching), "id", matching), field))


def in_whole_numbers(table: Table) -> Table:
    """The table with the figures of either side as whole numbers, missing ones as NA."""
    return Table(table.id, [_in_whole_numbers(figure) if figure.side else figure for figure in table])


def _in_whole_numbers(figure: Figure) -> Figure:
    return replace(figure, values=known_integers(np.nan_to_num(numbers_of(figure.values), nan=-1).astype(np.int64)))


def program_tiles_pair(source: ReportSource, target: ReportSource, program: int) -> Table:
    """The same of a program and of its partner in the target: both sides of what either holds, tiles matched by number;
    missing (NaN) where one side has no such tile, program or figure."""
    partner = int(match_programs(source, target).target_rows()[program])
    other = program_tiles(target, partner) if partner >= 0 else Table("program_tiles", tile_numbers(target))
    return join(program_tiles(source, program), other, "tile")
