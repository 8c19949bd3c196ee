"""Parts of memory and the details tree of two reports side by side, and the places of one in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.join import SIDES
from popvision.analysis.compare.matching import match_vertex_types
from popvision.analysis.memory.tile_details import DetailRow, TileDetails, tile_details
from popvision.analysis.memory.usage import breakdown, breakdown_keys
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.tile_columns import TileColumns, tile_columns
from popvision.analysis.report.tiles import target_of, tiles_of_replica
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def columns_of_target(
    target: ReportSource, tiles: Sequence[int], ipus: Sequence[int], replica: int | None
) -> tuple[TileColumns | None, list[int]]:
    """(columns of the target for those of `tiles` or `ipus` that it has, positions in the source's columns that they
    belong to); (None, []) when it has none of them."""
    machine = target_of(target)
    chosen, limit = (tiles, machine.num_tiles) if tiles else (ipus, machine.num_ipus)
    if not chosen:
        return tile_columns(machine, replica=replica_of_target(target, replica)), [0]
    positions = [position for position, number in enumerate(chosen) if number < limit]
    if not positions:
        return None, []
    numbers = [chosen[position] for position in positions]
    return tile_columns(machine, numbers if tiles else (), () if tiles else numbers), positions


@dataclass(frozen=True)
class BreakdownPair:
    """Parts of memory excluding gaps of two reports, one entry per part that either has: bytes of each tile of the
    source's replica, in the target -1 where it has no such tile."""

    keys: list[str]
    labels: list[str]
    source: list[Int64Array]
    target: list[Int64Array]


def breakdown_pair(source: ReportSource, target: ReportSource, by: str, replica: int | None = 0) -> BreakdownPair:
    """Both reports' `memory.breakdown`, parts matched by name. Raises as that does, of either report."""
    source_parts, target_parts = (
        breakdown(source, by, replica),
        breakdown(target, by, replica_of_target(target, replica)),
    )
    labels = dict(
        zip([*source_parts.keys, *target_parts.keys], [*source_parts.labels, *target_parts.labels], strict=True)
    )
    keys = [key for key in breakdown_keys(by) if key in labels]
    of_source, other = (dict(zip(each.keys, each.values, strict=True)) for each in (source_parts, target_parts))
    none = np.zeros(len(tiles_of_replica(target_of(source), replica)), dtype=np.int64)
    absent = np.zeros(len(tiles_of_replica(target_of(target), replica_of_target(target, replica))), dtype=np.int64)
    return BreakdownPair(
        keys,
        [labels[key] for key in keys],
        [of_source.get(key, none) for key in keys],
        [by_position(source, target, other.get(key, absent), replica) for key in keys],
    )


def replica_of_target(target: ReportSource, replica: int | None) -> int | None:
    """The target's replica of the same number, its first where it has fewer; None (all) stays."""
    return replica if replica is None or replica < target_of(target).num_replicas else 0


@dataclass(frozen=True)
class DetailsPair:
    """The details tree of both reports: `rows` pairs (the source's row or None, the target's or None); values have one
    entry per column of the source, None where the target lacks that tile."""

    columns: list[str]
    rows: list[tuple[DetailRow | None, DetailRow | None]]


def details_pair(
    source: ReportSource,
    target: ReportSource,
    columns: TileColumns,
    tiles: Sequence[int],
    ipus: Sequence[int],
    replica: int | None,
) -> DetailsPair:
    """Rows of bytes that only one report has are 0 B in the other, at the tiles that it has. Raises NotRecordedError
    when either report has no graph profile."""
    details = tile_details(source, columns)
    target_columns, positions = columns_of_target(target, tiles, ipus, replica)
    if target_columns is None:
        return DetailsPair(details.columns, [(row, None) for row in details.rows])
    partner = match_vertex_types(source, target).source_rows()
    target_rows = {
        _key(row, partner): row for row in _widen_rows(tile_details(target, target_columns), positions, columns.width)
    }
    pairs: list[tuple[DetailRow | None, DetailRow | None]] = []
    for row in details.rows:
        pairs.append((row, target_rows.pop(row.key, None) or _empty_row(row, positions)))
    for key, row in target_rows.items():  # below the last row of the same parent
        parent = key.rpartition("/")[0]
        at = max((i for i, (a, b) in enumerate(pairs) if _under(a or b, parent)), default=len(pairs) - 1)
        pairs.insert(at + 1, (_empty_row(row, range(columns.width)), row))
    return DetailsPair(details.columns, pairs)


def _empty_row(row: DetailRow, positions: Sequence[int]) -> DetailRow | None:
    """The row in a report that holds no bytes of it: 0 B in the columns at `positions`; None for what is not bytes."""
    if row.unit != "bytes":
        return None
    values: list[int | None] = [None] * len(row.values)
    for position in positions:
        values[position] = 0
    return replace(row, values=values)


def compared_details(pair: DetailsPair) -> Table:
    """The tree of both reports as `details_table`, size_bytes of both at each column, NaN where a report lacks it."""
    either = [row for pair_of_rows in pair.rows if (row := pair_of_rows[0] or pair_of_rows[1])]
    figures = [Figure("path", "text", [row.key for row in either])]
    figures.append(Figure("memory", "text", [row.label for row in either]))
    for column, place in enumerate(pair.columns):
        for number, side in enumerate(SIDES):
            values = [None if (row := both[number]) is None else row.values[column] for both in pair.rows]
            numbers = np.array([np.nan if value is None else value for value in values], float)
            figures.append(Figure("size_bytes", "bytes", numbers, place, side))
    return Table("memory_details", figures)


def _under(row: DetailRow | None, parent: str) -> bool:
    return row is not None and (row.key == parent or row.key.startswith(parent + "/"))


def _key(row: DetailRow, partner: Int64Array) -> str:
    """The key in the source's words: vertex types have other numbers there."""
    head, _, number = row.key.rpartition("/")
    if head != "vertex/type":
        return row.key
    source_row = int(partner[int(number)])
    return f"{head}/{source_row}" if source_row >= 0 else f"{head}/target {number}"


def _widen_rows(details: TileDetails, positions: Sequence[int], width: int) -> list[DetailRow]:
    rows = []
    for row in details.rows:
        values: list[int | None] = [None] * width
        for position, value in zip(positions, row.values, strict=True):
            values[position] = value
        rows.append(DetailRow(row.key, row.label, row.depth, row.unit, values))
    return rows


def by_position(source: ReportSource, target: ReportSource, values: Int64Array, replica: int | None) -> Int64Array:
    """`values` (one per tile of the target's replica) at the places of the source's tiles, -1 where it has no such
    tile. Replicas are compared from their first tile on, so replica 0 meets replica 0."""
    source_tiles = tiles_of_replica(target_of(source), replica)
    at_positions = np.full(len(source_tiles), -1, dtype=np.int64)
    shared = min(len(source_tiles), len(values))
    at_positions[:shared] = values[:shared]
    return at_positions
