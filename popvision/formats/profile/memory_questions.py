"""Questions about memory: tiles, categories, variables, liveness, allocations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.profile import compilation_reader
from popvision.formats.profile.model import (
    CategoryMemory,
    EquivalenceClasses,
    Liveness,
    LoweredTile,
    TileMemory,
    Variables,
)
from popvision.formats.profile.profile_file import ProfileFile, present

#: Tiles whose columns are read together, so that memory does not grow with the machine.
_TILES_AT_ONCE = 512


class MemoryQuestions(ProfileFile):
    """What the compilation says of memory."""

    def tile_memory(self) -> TileMemory | None:
        """Totals per tile in bytes; None when no graph profile was written."""
        return compilation_reader.tile_memory(self._tables)

    def category_memory(self) -> list[CategoryMemory]:
        """Bytes per tile by category, region and overlap."""
        return compilation_reader.category_memory(self._tables, self._optionals)

    def bytes_by_category(self) -> dict[str, AnyArray]:
        """Bytes of each category on each tile as table vars_info adds them up, for files without more; addresses that
        several variables share count as often as they do there. {} where it has no rows."""
        ipus, tiles = self.shape()
        return compilation_reader.bytes_by_category(self._tables, ipus * tiles)

    def variables(self) -> Variables | None:
        """Variables before lowering; None when no graph profile was written."""
        return compilation_reader.variables(self._tables)

    def eq_classes(self) -> EquivalenceClasses | None:
        """Ranges of liveness indices; None when not written."""
        found = self._row_arrays("eq_classes", {"id": 0}, ("offsets_array", "starts_array", "ends_array"))
        return None if found is None else EquivalenceClasses(*(present(column) for column in found))

    def liveness(self) -> Liveness | None:
        """Program and bytes at each liveness index; None when not written."""
        return compilation_reader.liveness(self._tables, self._optionals)

    def vars_info(self, tile: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(category, name, bytes) of one tile: rows of CATEGORIES and of `lowered_names()`."""
        return compilation_reader.vars_info(self._tables, tile)

    def lowered_tile(self, tile: int) -> LoweredTile | None:
        """Allocations of one tile by address; None where not written."""
        return compilation_reader.lowered_tile(self._tables, self.arrays, tile)

    def lowered_counts(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(tile, number of its allocations, id of the first) of the tiles that were written, ascending."""
        table = self._tables["lowered_by_tile"]
        tiles, counts, ids = (np.asarray(table[name], np.int64) for name in ("tile", "n", "first_id"))
        return tiles, counts, ids

    def lowered_tiles(
        self, tiles: Sequence[int], columns: Sequence[str]
    ) -> Iterator[list[tuple[int, dict[str, AnyArray]]]]:
        """Named columns of the allocations of many tiles, batch by batch: (tile, {column: values}) of those written.

        Values have their stored narrow types (see `arrays`). A column that several tiles of a batch share is stored
        once and comes as one object, so whoever adds up may do it once."""
        rows = compilation_reader.lowered_rows(self._tables, tiles, columns)
        for begin in range(0, len(rows), _TILES_AT_ONCE):
            batch = rows[begin : begin + _TILES_AT_ONCE]
            found = iter(self.arrays([identity for _, _, ids in batch for identity in ids], narrow=True))
            read = [(tile, count, {name: next(found) for name in columns}) for tile, count, _ in batch]
            for tile, count, values in read:
                compilation_reader.check_rows(self._tables, tile, count, values.values())
            yield [(tile, values) for tile, _, values in read]

    def lowered_names(self) -> list[str]:
        """The string table that `lowered_tile` and `vars_info` refer to."""
        return list(self._tables["vars_string_table"]["string"])
