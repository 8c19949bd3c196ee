"""Lowered variables: the allocations on each tile after layout."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from popvision.formats.profile import model
from popvision.pva.listview import ListView
from popvision.pva.liveness import Variable

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


class Interval(NamedTuple):
    """A half-open range of liveness indices."""

    start: int
    end: int


class EquivalenceClass:
    """Variables that are live over the same steps; an always-live variable has the id -1 and no steps."""

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self.id = id

    @property
    def steps(self) -> list[Interval]:
        classes = self._columns.eq_classes
        if classes is None or self.id < 0:
            return []
        rows = slice(int(classes.offsets[self.id]), int(classes.offsets[self.id + 1]))
        return [
            Interval(int(a), int(b))
            for a, b in zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)
        ]


class BriefVar(NamedTuple):
    """The light record of an allocation."""

    id: int
    bytes: int
    tileId: int
    equivalenceClass: EquivalenceClass


class LoweredVar:
    """The full record of an allocation on a tile; `offset` is bytes from the beginning of the tile's memory."""

    __slots__ = ("_columns", "_row", "_tile")

    def __init__(self, columns: Columns, tile: model.LoweredTile, row: int) -> None:
        self._columns = columns
        self._tile = tile
        self._row = row

    @property
    def _id(self) -> int:
        return self._tile.first_id + self._row

    @property
    def name(self) -> str:
        return self._columns.lowered_names[int(self._tile.name[self._row])]

    @property
    def bytes(self) -> int:
        return int(self._tile.bytes[self._row])

    @property
    def offset(self) -> int:
        return int(self._tile.address[self._row])

    @property
    def category(self) -> str:
        return model.CATEGORIES[int(self._tile.category[self._row])]

    @property
    def alwaysLive(self) -> bool:
        return int(self._tile.eq_class[self._row]) < 0

    @property
    def equivalenceClass(self) -> EquivalenceClass:
        return EquivalenceClass(self._columns, int(self._tile.eq_class[self._row]))

    @property
    def hasUnloweredVar(self) -> bool:
        return int(self._tile.variable[self._row]) >= 0

    @property
    def unloweredVar(self) -> Variable:
        """The variable this allocation is a part of, with its bytes on this tile."""
        variable = int(self._tile.variable[self._row])
        if variable < 0 or self._columns.variables is None:
            raise AttributeError(f"lowered variable {self._id} has no unlowered variable; test hasUnloweredVar first")
        size = int(self._tile.bytes[self._tile.variable == variable].sum())
        return Variable(self._columns, variable, self._columns.variables.name[variable], size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoweredVar) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._id))

    def __repr__(self) -> str:
        return f"LoweredVar(_id={self._id}, name={self.name!r}, bytes={self.bytes})"


class LoweredVariables:
    """All allocations; empty when the report was made without `autoReport.outputLoweredVars`."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @cached_property
    def allBriefVars(self) -> ListView[BriefVar]:
        """Light records of every allocation on every tile."""
        ids, sizes, tiles, classes = [], [], [], []
        for tile in range(self._columns.target.num_tiles):
            lowered = self._columns.reader.lowered_tile(tile)
            if lowered is None:
                continue
            n = len(lowered.bytes)
            ids.append(np.arange(lowered.first_id, lowered.first_id + n))
            sizes.append(np.asarray(lowered.bytes))
            tiles.append(np.full(n, tile, np.uint32))
            classes.append(np.asarray(lowered.eq_class))
        if not ids:
            return ListView(0, lambda i: BriefVar(0, 0, 0, EquivalenceClass(self._columns, -1)))
        columns = [np.concatenate(parts) for parts in (ids, sizes, tiles, classes)]

        def make(row: int) -> BriefVar:
            id, size, tile, eq_class = (int(column[row]) for column in columns)
            return BriefVar(id, size, tile, EquivalenceClass(self._columns, eq_class))

        return ListView(len(columns[0]), make)

    def forTile(self, tile: int) -> ListView[LoweredVar]:
        """Full records of one tile, by address."""
        lowered = self._columns.reader.lowered_tile(tile)
        if lowered is None:
            return ListView(0, lambda i: LoweredVar(self._columns, _nothing(), i))
        return ListView(len(lowered.bytes), lambda row: LoweredVar(self._columns, lowered, row))


def _nothing() -> model.LoweredTile:
    raise IndexError("this report has no lowered variables")
