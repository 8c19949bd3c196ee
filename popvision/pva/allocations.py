"""Allocations of all tiles as one long list, read tile by tile: those of the tiles used last are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import Where, live_classes, tile_curve
from popvision.analysis.liveness.variables import Group, group_of, rows_of_classes, scope
from popvision.analysis.report.kept import kept
from popvision.arrays import AnyArray, Int64Array, IntegerArray
from popvision.formats.profile import model
from popvision.pva import errors
from popvision.pva.plain import ints

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile import ProfileReader


#: Tiles whose allocations are kept, some 200 kB each on a full tile; more of them while there are few allocations.
MOST_TILES = 48
MOST_ROWS = 400_000

#: Tiles that are read together when a script goes from tile to tile.
_AT_ONCE = 32

_COLUMNS = ("bytes", "address", "category", "region", "variable", "eq_class", "name")


class TileAllocations:
    """The allocations of one tile, and what scripts ask of all of them at once."""

    def __init__(self, allocations: Allocations, lowered: model.LoweredTile) -> None:
        self._of = allocations
        self.lowered = lowered
        self._lists: dict[str, list[int]] = {}

    def column(self, name: str) -> list[int]:
        """A column of model.LoweredTile; it becomes a list when it is first asked for."""
        values = self._lists.get(name)
        if values is None:
            values = self._lists[name] = ints(getattr(self.lowered, name))
        return values

    @cached_property
    def size_of_variable(self) -> dict[int, int]:
        """Bytes of each variable on the tile."""
        ids, back = np.unique(self.lowered.variable, return_inverse=True)
        sizes = np.bincount(back, self.lowered.bytes, len(ids)).astype(np.int64)
        return dict(zip(ids.tolist(), sizes.tolist(), strict=True))

    @cached_property
    def live_bytes(self) -> list[int]:
        """Not-always-live bytes at each liveness index."""
        return ints(self._of.curve(self.lowered))

    @cached_property
    def by_class(self) -> Group:
        """Bytes by variable, those of a class beside each other."""
        return group_of(self.lowered)


class Allocations:
    """Rows count over all tiles, tile by tile; ids are those of the file."""

    def __init__(self, source: ReportSource, reader: Callable[[], ProfileReader], target: model.Target) -> None:
        self._source = source
        self._opened = reader
        self._num_tiles = target.num_tiles
        self._kept: OrderedDict[int, TileAllocations] = OrderedDict()
        self._rows_kept = 0
        self._read_last = -1  #: number of the tile that was read last
        self._intervals: dict[int, list[tuple[int, int]]] = {}  #: of classes asked for so far

    @property
    def _reader(self) -> ProfileReader:
        return self._opened()

    @cached_property
    def names(self) -> list[str]:
        return self._reader.lowered_names()

    @cached_property
    def _counts(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(tile, first row, first id) of each tile that was written; one more first row stands at the end."""
        tiles, counts, ids = self._reader.lowered_counts()
        return tiles, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), ids

    def __len__(self) -> int:
        return int(self._counts[1][-1])

    def place(self, row: int) -> tuple[int, int]:
        """(tile, row on it) of a row."""
        tiles, first, _ = self._counts
        number = int(np.searchsorted(first, row, side="right")) - 1
        return int(tiles[number]), row - int(first[number])

    def on_tile(self, tile: int) -> TileAllocations | None:
        """None where nothing was recorded."""
        if tile not in self._kept:
            for lowered in self._read(tile):
                self._kept[lowered.tile] = TileAllocations(self, lowered)
                self._rows_kept += len(lowered.bytes)
            while len(self._kept) > MOST_TILES and self._rows_kept > MOST_ROWS:
                _, given_up = self._kept.popitem(last=False)
                self._rows_kept -= len(given_up.lowered.bytes)
        found = self._kept.get(tile)
        if found is not None:
            self._kept.move_to_end(tile)
        return found

    def _read(self, tile: int) -> Iterator[model.LoweredTile]:
        """The allocations of a tile; those of further ones before it, where tiles are asked for one after another."""
        tiles, _, ids = self._counts
        number = int(np.searchsorted(tiles, tile))
        in_order, self._read_last = number and self._read_last == number - 1, number
        if in_order and number < len(tiles) and int(tiles[number]) == tile:
            ahead = tiles[number : number + _AT_ONCE].tolist()
            self._read_last = number + len(ahead) - 1
            for batch in self._reader.lowered_tiles(ahead, _COLUMNS):
                for each, columns in reversed(batch):  # so that the tile that was asked for is the last to be given up
                    wide = {name: values.astype(np.int64) for name, values in columns.items()}
                    yield model.LoweredTile(each, int(ids[int(np.searchsorted(tiles, each))]), **wide)
            return
        lowered = self._reader.lowered_tile(tile)
        if lowered is not None:
            yield lowered

    def needed(self, tile: int) -> TileAllocations:
        """The same; raises AbsentError where nothing was recorded."""
        found = self.on_tile(tile)
        if found is None:
            raise errors.absent(errors.LOWERED_VARIABLES)
        return found

    def brief(self, rows: range) -> Iterator[tuple[int, int, int, int]]:
        """(id, bytes, tile, class) of rows, streamed."""
        tiles, first, ids = self._counts
        begin, end = (int(np.searchsorted(first, row, side="right")) - 1 for row in (rows.start, rows.stop - 1))
        number = begin
        for batch in self._reader.lowered_tiles(tiles[begin : end + 1].tolist(), ("bytes", "eq_class")):
            for tile, columns in batch:
                window = slice(max(0, rows.start - int(first[number])), max(0, rows.stop - int(first[number])))
                sizes, classes = (columns[name][window].tolist() for name in ("bytes", "eq_class"))
                start = int(ids[number]) + window.start
                yield from zip(range(start, start + len(sizes)), sizes, [tile] * len(sizes), classes, strict=True)
                number += 1

    @cached_property
    def _rows_by_variable(self) -> tuple[AnyArray, Int64Array]:
        """Rows of all allocations ordered by variable, and where each variable's begin."""
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
        indices = kept(self._source, "liveness_indices", self._indices)
        if classes is None or not indices:
            return np.zeros(indices, np.int64)
        return tile_curve(lowered, classes, indices)

    @cached_property
    def _classes(self) -> model.EquivalenceClasses | None:
        return kept(self._source, "eq_classes", self._reader.eq_classes)

    def _indices(self) -> int:
        liveness = self._reader.liveness()
        return 0 if liveness is None else len(liveness.program)

    def intervals_of(self, eq_class: int) -> list[tuple[int, int]]:
        """Half-open ranges of liveness indices of a class; none of an always-live one."""
        classes = self._classes
        if classes is None or eq_class < 0:
            return []
        found = self._intervals.get(eq_class)
        if found is None:
            rows = slice(int(classes.offsets[eq_class]), int(classes.offsets[eq_class + 1]))
            pairs = zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)
            found = self._intervals[eq_class] = list(pairs)
        return found

    def scope(self, where: Where) -> Group:
        """Bytes by variable over all tiles, one IPU or one tile; raises AbsentError where they were not recorded."""
        if where.kind == "tile":
            return self.needed(where.number).by_class
        try:
            return scope(self._source, where)
        except errors.NotRecordedError:
            raise errors.absent(errors.LOWERED_VARIABLES) from None

    def live(self, group: Group, index: int) -> Group:
        """Those of `group` that are live at a liveness index."""
        return (
            group.take(slice(0, 0))
            if self._classes is None
            else rows_of_classes(group, live_classes(self._source, index))
        )
