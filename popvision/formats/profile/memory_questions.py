"""Questions about memory: tiles, categories, variables, liveness, allocations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
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
        return compilation_reader.variables(self._tables, self._always_live_class())

    def eq_classes(self) -> EquivalenceClasses | None:
        """Ranges of liveness indices, without the class of always-live variables; None when not written."""
        found = self._row_arrays("eq_classes", {"id": 0}, ("offsets_array", "starts_array", "ends_array"))
        if found is None:
            return None
        offsets, starts, ends = (present(column) for column in found)
        number = self._always_live_class()
        if number >= 0:
            if number != len(offsets) - 2:
                raise FormatError(f"{self.path}: the class of always-live variables in table meta is damaged.")
            offsets = offsets[:-1]
            starts, ends = starts[: int(offsets[-1])], ends[: int(offsets[-1])]
        return EquivalenceClasses(offsets, starts, ends)

    def _always_live_class(self) -> int:
        """Number of the class of always-live variables; -1 where the file has none, as those before format 1.3."""
        number = self.meta.get("alwaysLiveClass", -1)
        if type(number) is not int:
            raise FormatError(f"{self.path}: the class of always-live variables in table meta is damaged.")
        return number

    def liveness(self) -> Liveness | None:
        """Program and bytes at each liveness index; None when not written."""
        return compilation_reader.liveness(self._tables, self._optionals)

    def vars_info(self, tile: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(category, name, bytes) of one tile: rows of CATEGORIES and of `lowered_names()`."""
        return compilation_reader.vars_info(self._tables, tile)

    def lowered_tile(self, tile: int) -> LoweredTile | None:
        """Allocations of one tile by address; None where not written."""
        return compilation_reader.lowered_tile(self._tables, self.arrays, tile, self._always_live_class())

    def lowered_counts(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(tile, number of its allocations, id of the first) of the tiles that were written, ascending."""
        table = self._tables["lowered_by_tile"]
        tiles, counts, ids = (np.asarray(table[name], np.int64) for name in ("tile", "n", "first_id"))
        return tiles, counts, ids

    def lowered_tiles(
        self, tiles: Sequence[int], columns: Sequence[str]
    ) -> Iterator[list[tuple[int, dict[str, AnyArray]]]]:
        """Named columns of the allocations of many tiles, batch by batch: (tile, {column: values}) of those written.

        Values have their stored narrow types (see `arrays`), but for classes, of which -1 = always live. A column that
        several tiles of a batch share is stored once and comes as one object, so whoever adds up may do it once."""
        rows = compilation_reader.lowered_rows(self._tables, tiles, columns)
        for begin in range(0, len(rows), _TILES_AT_ONCE):
            batch = rows[begin : begin + _TILES_AT_ONCE]
            found = iter(self.arrays([identity for _, _, ids in batch for identity in ids], narrow=True))
            read = [(tile, count, {name: next(found) for name in columns}) for tile, count, _ in batch]
            if "eq_class" in columns:
                self._mark_always_live([values for _, _, values in read])
            for tile, count, values in read:
                compilation_reader.check_rows(self._tables, tile, count, values.values())
            yield [(tile, values) for tile, _, values in read]

    def _mark_always_live(self, tiles: Sequence[dict[str, AnyArray]]) -> None:
        """Put -1 for the class of always-live variables; a column that tiles share stays one object."""
        number = self._always_live_class()
        marked: dict[int, tuple[AnyArray, AnyArray]] = {}  # the first of a pair keeps its identity in use
        for values in tiles:
            stored = values["eq_class"]
            if id(stored) not in marked:
                marked[id(stored)] = stored, compilation_reader.without_always_live(stored, number)
            values["eq_class"] = marked[id(stored)][1]

    def lowered_names(self) -> list[str]:
        """The string table that `lowered_tile` and `vars_info` refer to."""
        return list(self._tables["vars_string_table"]["string"])
