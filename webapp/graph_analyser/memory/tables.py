"""Rows and columns of the tables of the memory page, of one report or of two side by side.

Every table depends on the report, the target and a query alone; the query names the tiles or IPUs that are columns,
and the replica. With several tiles of one report, each figure also has its difference to the first tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from popvision.analysis.compare.join import join
from popvision.analysis.compare.matching import (
    Matching,
    match_compute_sets,
    match_programs,
    match_variables,
    match_vertex_types,
)
from popvision.analysis.compare.memory import (
    columns_of_target,
    compared_details,
    details_pair,
    replica_of_target,
)
from popvision.analysis.memory.lowered import lowered_table, variables_table
from popvision.analysis.memory.tile_contents import compute_set_table, exchange_table, vertex_table
from popvision.analysis.memory.tile_details import details_table, tile_details
from popvision.analysis.memory.tile_ranking import fullest_first, tile_table
from popvision.analysis.memory.variable_tiles import variable_table
from popvision.analysis.report.figure import Table, with_changes
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import TileColumns, tile_columns
from popvision.analysis.report.tiles import target_of
from webapp.base.query import number_of, whole_numbers
from webapp.components import Column
from webapp.components.figure_columns import HIDE, figure_columns

Match = Callable[[ReportSource, ReportSource], Matching]
Read = Callable[[ReportSource, TileColumns], Table]

#: (table, rule that matches its rows, figure that identifies a row) of each tab.
TABLES: dict[str, tuple[Read, Match, str]] = {
    "compute_sets": (compute_set_table, match_compute_sets, "compute_set"),
    "vertices": (vertex_table, match_vertex_types, "vertex_type"),
    "exchanges": (exchange_table, match_programs, "program"),
    "sizes": (variable_table, match_variables, "variable"),
}

#: Names of the registered rows.
ROWS = {
    "compute_sets": "memory-compute-sets",
    "vertices": "memory-vertices",
    "exchanges": "memory-exchanges",
    "sizes": "memory-sizes",
}


def table_of(tab: str, source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """The table of a tab. With a target it compares two reports; else columns of the second and later tiles or IPUs
    have their difference to the first."""
    read, match, id_figure = TABLES[tab]
    columns = columns_of(source, query)
    mine = read(source, columns)
    if target is None:
        return with_changes(mine)
    theirs, there = columns_of_target(target, *_chosen(query))
    if theirs is None:
        other = Table(mine.id, [figure for figure in mine.take(slice(0)) if not figure.place])
    else:
        places = [columns.labels[position] for position in there]
        other = read(target, theirs).at_places(dict(zip(theirs.labels, places, strict=True)))
    return join(mine, other, id_figure, match(source, target), mine.placed_ids())


def details_rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """The details tree as a table, of two reports side by side."""
    columns = columns_of(source, query)
    if target is None:
        return details_table(tile_details(source, columns))
    return compared_details(details_pair(source, target, columns, *_chosen(query)))


def tiles_table(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """All tiles of a replica, those with most memory first."""
    _, _, replica = _chosen(query)
    mine = fullest_first(tile_table(source, replica))
    if target is None:
        return mine
    return join(mine, fullest_first(tile_table(target, replica_of_target(target, replica))), "tile")


def lowered(source: ReportSource, query: Mapping[str, str]) -> Table:
    """Allocations of the tile that the query names."""
    return lowered_table(source, number_of(query, "tile"))


def all_variables(source: ReportSource, target: ReportSource | None, _query: Mapping[str, str]) -> Table:
    """Variables before lowering, largest first; in a comparison of both reports."""
    mine = variables_table(source)
    if target is None:
        return mine
    return join(mine, variables_table(target), "variable", match_variables(source, target))


def table_columns(table: Table) -> list[Column]:
    """Columns of a table over tiles: names and ids, the report that has the row, then figures by place. The name takes
    the room that the others leave."""
    layout: dict[str, Mapping[str, Any]] = {figure.id: HIDE for figure in table if figure.id.startswith("target_")}
    if sum(bool(figure.place) for figure in table) > len(table.placed_ids()):
        layout["name"] = {"width": 280}
    return figure_columns(table, layout)


def columns_of(source: ReportSource, query: Mapping[str, str]) -> TileColumns:
    """The tiles or IPUs that a query names as columns."""
    tiles, ipus, replica = _chosen(query)
    return tile_columns(target_of(source), tiles, ipus, replica)


def _chosen(query: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    replica = None if query.get("replica") == "all" else number_of(query, "replica", default=0)
    return whole_numbers(query.get("tiles", "")), whole_numbers(query.get("ipu", "")), replica
