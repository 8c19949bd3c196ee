"""Allocations of all tiles as one list, read tile by tile through a least-recently-used cache of tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import live_classes, tile_curve
from popvision.analysis.liveness.variables import Group, group_of, rows_of_classes, scope
from popvision.analysis.report.columns import stored_eq_classes
from popvision.analysis.report.tiles import Where
from popvision.arrays import AnyArray, Int64Array, IntegerArray
from popvision.formats.profile import model
from popvision.kept import BoundedCache
from popvision.pva import errors
from popvision.pva.plain import ListColumns, ints

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile import ProfileReader


#: Bytes of allocations in memory, and of one row: its numbers as arrays and, once a script asks, as lists.
MOST_BYTES = 128 << 20
_ROW_BYTES = 340

#: Tiles read together when a script goes from tile to tile.
_TILES_READ_AHEAD = 32

_COLUMNS = ("bytes", "address", "category", "region", "variable", "eq_class", "name")


class TileAllocations:
    """The allocations of one tile as lists, and sums over all of them."""

    def __init__(self, allocations: Allocations, lowered: model.LoweredTile) -> None:
        self._allocations = allocations
        self.lowered = lowered
        self.columns = ListColumns(lowered)

    @cached_property
    def size_of_variable(self) -> dict[int, int]:
        """Bytes of each variable on the tile, all its parts together."""
        part = np.asarray(self.lowered.variable, np.int64)
        whole = np.append(self._allocations.whole_variables, -1)  # the last one is that of allocations without variable
        ids, back = np.unique(whole[part], return_inverse=True)
        sizes = np.bincount(back, self.lowered.bytes, len(ids)).astype(np.int64)
        return dict(zip(ids.tolist(), sizes.tolist(), strict=True))

    @cached_property
    def live_bytes(self) -> list[int]:
        """Not-always-live bytes at each liveness index."""
        return ints(self._allocations.curve(self.lowered))

    @cached_property
    def by_class(self) -> Group:
        """Bytes by variable, grouped by equivalence class."""
        return group_of(self.lowered)


class Allocations:
    """A row is an allocation, counted tile by tile; ids are the file's."""

    def __init__(
        self,
        source: ReportSource,
        reader: Callable[[], ProfileReader],
        target: model.Target,
        whole_variables: Callable[[], Int64Array],
    ) -> None:
        self._source = source
        self._whole_variables = whole_variables
        self._open_reader = reader
        self._num_tiles = target.num_tiles
        self._tiles: BoundedCache[int, TileAllocations | None] = BoundedCache(MOST_BYTES, _bytes_of)
        self._last_read = -1  #: position of the tile that was read last
        self._intervals: dict[int, list[tuple[int, int]]] = {}  #: by equivalence class

    @property
    def _reader(self) -> ProfileReader:
        return self._open_reader()

    @property
    def whole_variables(self) -> Int64Array:
        """By row of the table of variables: the row of the variable that it is a part of."""
        return self._whole_variables()

    @cached_property
    def names(self) -> list[str]:
        return self._reader.lowered_names()

    @cached_property
    def _counts(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(tile, first row, first id) of each recorded tile; the number of rows ends the first rows."""
        tiles, counts, ids = self._reader.lowered_counts()
        return tiles, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), ids

    def __len__(self) -> int:
        return int(self._counts[1][-1])

    def locate(self, row: int) -> tuple[int, int]:
        """(tile, row on that tile) of a row."""
        tiles, first, _ = self._counts
        position = int(np.searchsorted(first, row, side="right")) - 1
        return int(tiles[position]), row - int(first[position])

    def on_tile(self, tile: int) -> TileAllocations | None:
        """The allocations of a tile; None where nothing was recorded."""
        return self._tiles.get(tile, lambda: self._read_around(tile))

    def _read_around(self, tile: int) -> TileAllocations | None:
        """Read a tile, and cache the tiles that were read ahead with it."""
        requested = None
        for lowered in self._read(tile):
            allocations = TileAllocations(self, lowered)
            if lowered.tile == tile:
                requested = allocations
            else:
                self._tiles.put(lowered.tile, allocations)
        return requested

    def _read(self, tile: int) -> Iterator[model.LoweredTile]:
        """Read a tile. When a script reads tile after tile, the next tiles are read with it and come first."""
        tiles, _, ids = self._counts
        position = int(np.searchsorted(tiles, tile))
        in_order, self._last_read = position and self._last_read == position - 1, position
        if in_order and position < len(tiles) and int(tiles[position]) == tile:
            ahead = tiles[position : position + _TILES_READ_AHEAD].tolist()
            self._last_read = position + len(ahead) - 1
            for batch in self._reader.lowered_tiles(ahead, _COLUMNS):
                for each, columns in batch:
                    wide = {name: values.astype(np.int64) for name, values in columns.items()}
                    yield model.LoweredTile(each, int(ids[int(np.searchsorted(tiles, each))]), **wide)
            return
        lowered = self._reader.lowered_tile(tile)
        if lowered is not None:
            yield lowered

    def on_recorded_tile(self, tile: int) -> TileAllocations:
        """The allocations of a tile. Raises AbsentError where nothing was recorded."""
        allocations = self.on_tile(tile)
        if allocations is None:
            raise errors.absent(errors.LOWERED_VARIABLES)
        return allocations

    def brief_rows(self, rows: range) -> Iterator[tuple[int, int, int, int]]:
        """(id, bytes, tile, class) of each row, streamed from the file."""
        tiles, first, ids = self._counts
        begin, end = (int(np.searchsorted(first, row, side="right")) - 1 for row in (rows.start, rows.stop - 1))
        position = begin
        for batch in self._reader.lowered_tiles(tiles[begin : end + 1].tolist(), ("bytes", "eq_class")):
            for tile, columns in batch:
                window = slice(max(0, rows.start - int(first[position])), max(0, rows.stop - int(first[position])))
                sizes, classes = (columns[name][window].tolist() for name in ("bytes", "eq_class"))
                start = int(ids[position]) + window.start
                yield from zip(range(start, start + len(sizes)), sizes, [tile] * len(sizes), classes, strict=True)
                position += 1

    @cached_property
    def _rows_by_variable(self) -> tuple[AnyArray, Int64Array]:
        """Rows of all allocations ordered by variable, and the position of each variable's first one."""
        tiles = self._counts[0].tolist()
        parts = [np.empty(0, np.int32)]
        for batch in self._reader.lowered_tiles(tiles, ("variable",)):
            parts += [columns["variable"].astype(np.int32) for _, columns in batch]
        variable = np.concatenate(parts)
        order = np.argsort(variable, kind="stable")
        count = np.bincount(np.maximum(variable, -1) + 1)
        return order.astype(np.int32), np.concatenate([[0], np.cumsum(count)])

    def rows_of_variables(self, variables: IntegerArray) -> AnyArray:
        """Ascending rows of the allocations of these variables, on all tiles."""
        order, first = self._rows_by_variable
        known = [v for v in np.asarray(variables).tolist() if v + 2 < len(first)]
        parts = [order[first[v + 1] : first[v + 2]] for v in known]
        return np.sort(np.concatenate([np.empty(0, np.int32), *parts]))

    def curve(self, lowered: model.LoweredTile) -> Int64Array:
        """Not-always-live bytes of a tile at each liveness index."""
        classes = self._classes
        indices = self._source.kept.once("liveness_indices", self._indices)
        if classes is None or not indices:
            return np.zeros(indices, np.int64)
        return tile_curve(lowered, classes, indices)

    @cached_property
    def _classes(self) -> model.EquivalenceClasses | None:
        return stored_eq_classes(self._source)

    def _indices(self) -> int:
        liveness = self._reader.liveness()
        return 0 if liveness is None else len(liveness.program)

    @cached_property
    def always_live_class(self) -> int:
        """Number of the class of always-live variables: the one after those that the file lists."""
        return 0 if self._classes is None else len(self._classes.offsets) - 1

    def intervals_of(self, eq_class: int) -> list[tuple[int, int]]:
        """Half-open ranges of liveness indices of a class; that of always-live variables covers all of them."""
        classes = self._classes
        if classes is None or eq_class == self.always_live_class:
            indices = self._source.kept.once("liveness_indices", self._indices)
            return [(0, indices)] if indices else []
        intervals = self._intervals.get(eq_class)
        if intervals is None:
            rows = slice(int(classes.offsets[eq_class]), int(classes.offsets[eq_class + 1]))
            pairs = zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)
            intervals = self._intervals[eq_class] = list(pairs)
        return intervals

    def scope(self, where: Where) -> Group:
        """Bytes by variable over all tiles, one IPU or one tile; raises AbsentError where they were not recorded."""
        if where.kind == "tile":
            return self.on_recorded_tile(where.number).by_class
        try:
            return scope(self._source, where)
        except errors.NotRecordedError:
            raise errors.absent(errors.LOWERED_VARIABLES) from None

    def live_at(self, group: Group, index: int) -> Group:
        """The part of `group` that is live at a liveness index."""
        return (
            group.take(slice(0, 0))
            if self._classes is None
            else rows_of_classes(group, live_classes(self._source, index))
        )


def _bytes_of(allocations: TileAllocations | None) -> int:
    return 0 if allocations is None else _ROW_BYTES * len(allocations.lowered.bytes)
