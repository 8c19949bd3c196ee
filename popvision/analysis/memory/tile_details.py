"""The details tree of the memory report: bytes of each selected tile, or of all tiles together.

From the top: including gaps; excluding gaps by memory region and by data type,
each category once under Not Overlapped and once under Overlapped; then vertex data by category and by type. Every
parent is the sum of its children; an overlapped byte is counted once (see CategoryMemory).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.memory.tile_contents import vertex_table
from popvision.analysis.memory.usage import category_arrays, memory_by_tile
from popvision.analysis.report.figure import Figure, Table, Unit, Values
from popvision.analysis.report.memory_labels import CATEGORY_LABELS, REGION_LABELS
from popvision.analysis.report.tile_columns import TileColumns
from popvision.analysis.report.tiles import physical_id, target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Categories that hold data of vertices.
VERTEX_CATEGORIES = ("vertexInstanceState", "vertexFieldData", "copyDescriptor", "vectorListDescriptor", "outputEdge")


@dataclass(frozen=True)
class DetailRow:
    """One line of the tree: `values` has one entry per column, None where the line has no figure there."""

    key: str  #: path of keys, "/" between
    label: str
    depth: int
    unit: Unit  #: "bytes", or "id" in the row of physical tile ids
    values: list[int | None]


@dataclass(frozen=True)
class TileDetails:
    columns: list[str]  #: labels of the columns, such as "all tiles" or "tile 5"
    rows: list[DetailRow]  #: parents before their children


def details_table(details: TileDetails) -> Table:
    """The tree as a table: path (of keys), memory (the label), then size_bytes at each column (in the row of physical
    tile ids: the id)."""
    rows = details.rows
    return Table(
        "memory_details",
        [
            Figure("path", "text", [row.key for row in rows]),
            Figure("memory", "text", [row.label for row in rows]),
            *[
                Figure("size_bytes", "bytes", _integers([row.values[column] for row in rows]), place)
                for column, place in enumerate(details.columns)
            ],
        ],
    )


def _integers(values: list[int | None]) -> Values:
    import pandas as pd

    return pd.array(values, dtype="Int64")


def tile_details(source: ReportSource, columns: TileColumns) -> TileDetails:
    """The tree with the given columns. Raises NotRecordedError without a graph profile."""
    target = target_of(source)
    tree = _Tree(source, columns)
    if columns.single and physical_id(target, 0) is not None:
        ids = [physical_id(target, int(tiles[0])) for tiles in columns.tiles]
        tree.rows.append(DetailRow("physical", "Physical Tile Id", 0, "id", ids))
    memory = memory_by_tile(source, None)
    tree.add("including", "Memory Including Gaps", memory.including_gaps)
    tree.add("gaps", "Gaps", memory.gaps)
    tree.add("excluding", "Memory Excluding Gaps", memory.excluding_gaps)
    _by_region(tree, memory.excluding_gaps)
    _by_data_type(tree, memory.excluding_gaps)
    _vertex_data(tree, source)
    return TileDetails(columns.labels, tree.rows)


class _Tree:
    """Rows being collected; a row's depth is the number of "/" in its key."""

    def __init__(self, source: ReportSource, columns: TileColumns) -> None:
        self.rows: list[DetailRow] = []
        self.columns = columns
        self.num_tiles = target_of(source).num_tiles
        self.parts = category_arrays(source)

    def add(self, key: str, label: str, values: Int64Array) -> None:
        self.add_row(key, label, self.columns.pick(values))

    def add_row(self, key: str, label: str, values: Sequence[int]) -> None:
        self.rows.append(DetailRow(key, label, key.count("/"), "bytes", list(values)))

    def sum(self, category: str | None = None, region: str | None = None, overlapped: bool | None = None) -> Int64Array:
        """Bytes per tile of the parts of this category, region and overlap; None: of all."""
        total = np.zeros(self.num_tiles, dtype=np.int64)
        for part, values in self.parts.items():
            chosen = zip(part, (category, region, overlapped), strict=True)
            if all(wanted is None or own == wanted for own, wanted in chosen):
                total += values
        return total


def _by_region(tree: _Tree, excluding: Int64Array) -> None:
    tree.add("excluding/region", "By Memory Region", excluding)
    for name in REGIONS:
        tree.add(f"excluding/region/{name}", REGION_LABELS[name], tree.sum(region=name))


def _by_data_type(tree: _Tree, excluding: Int64Array) -> None:
    tree.add("excluding/type", "By Data Type", excluding)
    for overlapped, group, label in ((False, "separate", "Not Overlapped"), (True, "overlapped", "Overlapped")):
        tree.add(f"excluding/type/{group}", label, tree.sum(overlapped=overlapped))
        present = {category for category, _, is_overlapped in tree.parts if is_overlapped == overlapped}
        for name in CATEGORIES:
            if name in present or not overlapped:
                total = tree.sum(category=name, overlapped=overlapped)
                tree.add(f"excluding/type/{group}/{name}", CATEGORY_LABELS[name], total)


def _vertex_data(tree: _Tree, source: ReportSource) -> None:
    totals = {name: tree.sum(category=name) for name in VERTEX_CATEGORIES}
    total_of_all = np.sum(list(totals.values()), axis=0)
    tree.add("vertex", "Vertex Data", total_of_all)
    tree.add("vertex/category", "By Category", total_of_all)
    for name, total in totals.items():
        tree.add(f"vertex/category/{name}", CATEGORY_LABELS[name], total)
    table = vertex_table(source, tree.columns)
    places = tree.columns.labels
    states = np.stack([np.asarray(table.column("state_bytes", place).values) for place in places], axis=1)
    tree.add_row("vertex/type", "Vertex State By Type", states.sum(axis=0).tolist())
    for index, name, state in zip(table["vertex_type"], table["name"], states.tolist(), strict=True):
        tree.add_row(f"vertex/type/{index}", name, state)
