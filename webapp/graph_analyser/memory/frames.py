"""Rows of the tables of the memory page: of one report, or of two side by side.

Every frame depends on a query alone: tiles or IPUs that are its columns, the replica, and `vs`, the report compared
with. Of one report with several tiles, each figure also has its difference to the first tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from popvision.analysis.compare.matching import (
    Matching,
    match_compute_sets,
    match_programs,
    match_variables,
    match_vertex_types,
)
from popvision.analysis.compare.memory import columns_of_target, details_pair, joined, joined_tiles, replica_of_target
from popvision.analysis.memory.lowered import lowered_table, variables
from popvision.analysis.memory.tile_contents import compute_set_table, exchange_table, vertex_table
from popvision.analysis.memory.tile_details import tile_details
from popvision.analysis.memory.tile_ranking import FIGURES, tile_ranking
from popvision.analysis.memory.variable_tiles import variable_table
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import TileColumns, tile_columns
from popvision.analysis.report.tiles import target_of
from webapp.components.difference import add_difference
from webapp.query import number_of, whole_numbers

if TYPE_CHECKING:
    import pandas as pd

Match = Callable[[ReportSource, ReportSource], Matching]
Table = Callable[[ReportSource, TileColumns], "pd.DataFrame"]

#: Tab -> (table, how its rows are matched, column of the id).
TABLES: dict[str, tuple[Table, Match, str]] = {
    "compute_sets": (compute_set_table, match_compute_sets, "Id"),
    "vertices": (vertex_table, match_vertex_types, "Id"),
    "exchanges": (exchange_table, match_programs, "Program"),
    "sizes": (variable_table, match_variables, "Id"),
}

#: Names under which the rows are registered.
ROWS = {
    "compute_sets": "memory-compute-sets",
    "vertices": "memory-vertices",
    "exchanges": "memory-exchanges",
    "sizes": "memory-sizes",
}


def figures_of(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """(figure, label of its column) of the "<figure>, <label>" columns of a frame, in order."""
    return [(name.split(", ", 1)[0], name.split(", ", 1)[1]) for name in frame.columns if ", " in name]


def table_frame(tab: str, source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """Rows of a tab. With `vs` in the query every figure has `_source`, `_target`, `_diff` and `_rel`; else those of
    the second and later columns have `_change`, the difference to the first."""
    table, match, id_column = TABLES[tab]
    columns = columns_of(source, query)
    mine = table(source, columns)
    if target is None:
        return _with_changes(mine)
    theirs, there = columns_of_target(target, *_chosen(query))
    other = mine.iloc[:0] if theirs is None else table(target, theirs)
    if theirs is not None:
        renamed = {
            f"{figure}, {label}": f"{figure}, {columns.labels[there[theirs.labels.index(label)]]}"
            for figure, label in figures_of(other)
        }
        other = other.rename(columns=renamed).reindex(columns=mine.columns)
    figures = [name for name in mine.columns if ", " in name]
    return add_difference(joined(mine, other, match(source, target), id_column, figures), *figures)


def _with_changes(frame: pd.DataFrame) -> pd.DataFrame:
    """Differences of later columns to the first column of the same figure."""
    first: dict[str, str] = {}
    added = {}
    for figure, label in figures_of(frame):
        name = f"{figure}, {label}"
        if figure in first:
            added[f"{name}_change"] = frame[name] - frame[first[figure]]
        else:
            first[figure] = name
    return frame.assign(**added) if added else frame


def details_frame(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """The details tree as a table: Path, Memory, then a column per tile, or of both reports."""
    import pandas as pd

    columns = columns_of(source, query)
    if target is None:
        details = tile_details(source, columns)
        frame = pd.DataFrame({"Path": [r.key for r in details.rows], "Memory": [r.label for r in details.rows]})
        for column, name in enumerate(details.columns):
            frame[name] = pd.array([row.values[column] for row in details.rows], dtype="Int64")
        return frame
    pair = details_pair(source, target, columns, *_chosen(query))
    either = [mine or theirs for mine, theirs in pair.rows]
    frame = pd.DataFrame({"Path": [r.key for r in either if r], "Memory": [r.label for r in either if r]})
    for column, name in enumerate(pair.columns):
        for side, end in ((0, "source"), (1, "target")):
            values = [None if (row := both[side]) is None else row.values[column] for both in pair.rows]
            frame[f"{name}_{end}"] = pd.array(values, dtype="Int64").astype(float)
    return add_difference(frame, *pair.columns)


def tiles_frame(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """All tiles of a replica, most memory first."""
    _, _, replica = _chosen(query)
    mine = tile_ranking(source, replica)
    if target is None:
        return mine
    other = tile_ranking(target, replica_of_target(target, replica))
    return add_difference(joined_tiles(mine, other, FIGURES), *FIGURES)


def lowered_frame(source: ReportSource, query: Mapping[str, str]) -> pd.DataFrame:
    """Allocations of the tile that the query names."""
    return lowered_table(source, number_of(query, "tile"))


def variables_frame(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """Variables before lowering, largest first: Variable, Id, Bytes (of one replica), Live; or of both reports."""
    mine = _variables(source)
    if target is None:
        return mine
    both = joined(mine, _variables(target), match_variables(source, target), "Id", ["Bytes"])
    return add_difference(both, "Bytes")


def _variables(source: ReportSource) -> pd.DataFrame:
    import pandas as pd

    known = variables(source)
    replicas = target_of(source).num_replicas
    frame = pd.DataFrame(
        {
            "Variable": known.name,
            "Id": range(len(known.name)),
            "Bytes": known.bytes // replicas,
            "Live": ["always" if each else "at times" for each in known.always_live.tolist()],
        }
    )
    return frame.sort_values(["Bytes", "Id"], ascending=[False, True])


def columns_of(source: ReportSource, query: Mapping[str, str]) -> TileColumns:
    """The columns that a query names."""
    tiles, ipus, replica = _chosen(query)
    return tile_columns(target_of(source), tiles, ipus, replica)


def _chosen(query: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    replica = None if query.get("replica") == "all" else number_of(query, "replica", default=0)
    return whole_numbers(query.get("tiles", "")), whole_numbers(query.get("ipu", "")), replica
