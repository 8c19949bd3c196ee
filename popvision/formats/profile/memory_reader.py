"""Memory in a profile.pop as the columns of `model`: tiles, categories, variables, liveness, allocations.

The file has a liveness class for always-live variables; `model` has -1 in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile import facts_reader
from popvision.formats.profile.checksum import Column
from popvision.formats.profile.foreign import numbers, row_count
from popvision.formats.profile.model import (
    CATEGORIES,
    REGIONS,
    CategoryMemory,
    EquivalenceClasses,
    Liveness,
    LoweredTile,
    TileMemory,
    Variables,
)
from popvision.formats.profile.profile_file import ProfileFile, find_row, or_empty

#: Tiles whose columns are read together, so that memory does not grow with the machine.
_TILES_AT_ONCE = 512


def tile_memory(file: ProfileFile) -> TileMemory | None:
    """Totals per tile in bytes."""
    table = file.tables["memory_by_tile"]
    names = ("total", "excluding_gaps", "always_live", "not_always_live", "overflowed")
    return TileMemory(*(numbers(table, name) for name in names)) if row_count(table) else None


def category_memory(file: ProfileFile) -> list[CategoryMemory]:
    """Bytes per tile by category, region and overlap."""
    table = file.tables["memory_arrays"]
    arrays = file.optional_arrays(_list(table["bytes_array"]))
    columns = (_list(table[name]) for name in ("category", "region", "overlapped", "ipu"))
    return [
        CategoryMemory(_name(CATEGORIES, category), _name(REGIONS, region), bool(overlapped), ipu, or_empty(values))
        for category, region, overlapped, ipu, values in zip(*columns, arrays, strict=True)
    ]


def bytes_by_category(file: ProfileFile) -> dict[str, AnyArray]:
    """Bytes of each category on each tile, by vars_info."""
    ipus, tiles_per_ipu = facts_reader.shape(file)
    table, tiles = file.tables["vars_info"], ipus * tiles_per_ipu
    if not row_count(table):
        return {}
    category, tile, size = (np.asarray(table[name]) for name in ("category", "tile", "size_bytes"))
    inside = (tile >= 0) & (tile < tiles)
    sums = np.bincount(category[inside] * tiles + tile[inside], size[inside], len(CATEGORIES) * tiles)
    by_category = np.rint(sums).astype(np.int64).reshape(len(CATEGORIES), tiles)
    return {CATEGORIES[code]: by_category[code] for code in np.unique(category).tolist()}


def variables(file: ProfileFile) -> Variables | None:
    """Variables before lowering, a row per part; before format 1.3, a row per variable."""
    table = file.tables["variables"]
    if not row_count(table):
        return None
    if not file.tables.holds("variable_parts", since=(1, 3)):
        always_live = np.asarray(table["always_live"]) != 0
        columns = numbers(table, "debug_id"), numbers(table, "bytes"), always_live, numbers(table, "eq_class")
        return Variables(list(table["name"]), *columns)
    parts, names, always_live_class = file.tables["variable_parts"], list(table["name"]), _always_live_class(file)
    owner, eq_class = np.asarray(parts["variable"]), np.asarray(parts["eq_class"])
    if len(owner) and not 0 <= int(owner.min()) <= int(owner.max()) < len(names):
        raise FormatError(f"{file.path}: table variable_parts names a variable that is not there.")
    always_live = eq_class == always_live_class
    if always_live_class < 0:  # a file without classes
        always_live = np.asarray(table["always_live"])[owner] != 0
    return Variables(
        [names[row] for row in owner.tolist()],
        np.asarray(numbers(table, "debug_id"))[owner],
        numbers(parts, "bytes"),
        always_live,
        _without_always_live(eq_class, always_live_class),
        None if (owner == np.arange(len(owner))).all() else owner,
    )


def eq_classes(file: ProfileFile) -> EquivalenceClasses | None:
    """Ranges of liveness indices of each class but the always-live one, which is the last of the file."""
    arrays = file.row_arrays("eq_classes", {"id": 0}, ("offsets_array", "starts_array", "ends_array"))
    if arrays is None:
        return None
    offsets, starts, ends = (or_empty(column) for column in arrays)
    number = _always_live_class(file)
    if number >= 0:
        if number != len(offsets) - 2:
            raise FormatError(f"{file.path}: the class of always-live variables in table meta is damaged.")
        offsets = offsets[:-1]
        starts, ends = starts[: int(offsets[-1])], ends[: int(offsets[-1])]
    return EquivalenceClasses(offsets, starts, ends)


def liveness(file: ProfileFile) -> Liveness | None:
    """Program and bytes at each liveness index."""
    table = file.tables["liveness"]
    if not row_count(table):
        return None
    arrays = file.optional_arrays(_list(file.tables["liveness_by_ipu"]["bytes_array"]))
    return Liveness(numbers(table, "program"), numbers(table, "bytes"), [or_empty(values) for values in arrays])


def vars_info(file: ProfileFile, tile: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(category, name, bytes) of one tile."""
    table = file.tables["vars_info"]
    tiles = np.asarray(table["tile"])
    if file.foreign:  # rows of unknown order
        rows: Any = np.flatnonzero(tiles == tile)
    else:
        rows = slice(*(int(np.searchsorted(tiles, np.int64(tile), side)) for side in ("left", "right")))
    category, name, size = (np.asarray(table[column])[rows] for column in ("category", "name", "size_bytes"))
    return category, name, size


def lowered_tile(file: ProfileFile, tile: int) -> LoweredTile | None:
    """Allocations of one tile by address."""
    table = file.tables["lowered_by_tile"]
    row = find_row(table, {"tile": tile})
    if row is None:
        return None
    names = ("bytes", "address", "category", "region", "variable", "eq_class", "name")
    columns = dict(
        zip(names, file.arrays([int(np.asarray(table[f"{name}_array"])[row]) for name in names]), strict=True)
    )
    _check_lengths(file, tile, int(np.asarray(table["n"])[row]), columns)
    columns["eq_class"] = _without_always_live(columns["eq_class"], _always_live_class(file))
    return LoweredTile(tile, int(np.asarray(table["first_id"])[row]), *columns.values())


def lowered_counts(file: ProfileFile) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(tile, number of its allocations, id of the first)."""
    table = file.tables["lowered_by_tile"]
    tiles, counts, ids = (np.asarray(table[name], np.int64) for name in ("tile", "n", "first_id"))
    return tiles, counts, ids


def lowered_tiles(
    file: ProfileFile, tiles: Sequence[int], columns: Sequence[str]
) -> Iterator[list[tuple[int, dict[str, AnyArray]]]]:
    """(tile, {column: values}) in batches of tiles."""
    rows = _lowered_rows(file, tiles, columns)
    for begin in range(0, len(rows), _TILES_AT_ONCE):
        batch = rows[begin : begin + _TILES_AT_ONCE]
        arrays = iter(file.arrays([identity for _, _, ids in batch for identity in ids], narrow=True))
        columns_of_tiles = [(tile, count, {name: next(arrays) for name in columns}) for tile, count, _ in batch]
        if "eq_class" in columns:
            _mark_always_live(file, [values for _, _, values in columns_of_tiles])
        for tile, count, values in columns_of_tiles:
            _check_lengths(file, tile, count, values)
        yield [(tile, values) for tile, _, values in columns_of_tiles]


def lowered_names(file: ProfileFile) -> list[str]:
    """The names of allocations by row."""
    return list(file.tables["vars_string_table"]["string"])


def _lowered_rows(file: ProfileFile, tiles: Sequence[int], columns: Sequence[str]) -> list[tuple[int, int, list[int]]]:
    """(tile, its number of allocations, ids of the named columns) of those of `tiles` that were written, in order."""
    table = file.tables["lowered_by_tile"]
    wanted, stored = np.asarray(tiles, dtype=np.int64), np.asarray(table["tile"], dtype=np.int64)
    if not len(stored):
        return []
    row = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
    row = row[stored[row] == wanted]
    ids = np.stack([np.asarray(table[f"{name}_array"], dtype=np.int64)[row] for name in columns], axis=1)
    counts = np.asarray(table["n"], dtype=np.int64)[row]
    return list(zip(stored[row].tolist(), counts.tolist(), ids.tolist(), strict=True))


def _check_lengths(file: ProfileFile, tile: int, count: int, columns: dict[str, AnyArray]) -> None:
    """Raises FormatError when a column of a tile's allocations does not have `count` rows."""
    if any(len(column) != count for column in columns.values()):
        raise FormatError(f"{file.path}: the columns of tile {tile} do not have {count} rows each.")


def _always_live_class(file: ProfileFile) -> int:
    """Number of the class of always-live variables in the file; -1 where it has none, as before format 1.3.

    Raises LostError where the table that says it is lost: another number would count always-live bytes as temporary."""
    if not file.tables.holds("variable_parts", since=(1, 3)):
        return -1
    number = file.facts().get("alwaysLiveClass", -1)
    if type(number) is not int:
        raise FormatError(f"{file.path}: the class of always-live variables in table meta is damaged.")
    return number


def _without_always_live(eq_class: AnyArray, number: int) -> AnyArray:
    """The classes with -1 in place of `number`, the class of always-live variables; unchanged where it is negative."""
    if number < 0:
        return eq_class
    classes = eq_class.astype(np.int32 if eq_class.itemsize < 4 else np.int64)
    classes[eq_class == number] = -1
    return classes


def _mark_always_live(file: ProfileFile, tiles: Sequence[dict[str, AnyArray]]) -> None:
    """Put -1 for the class of always-live variables; a column that tiles share stays one object."""
    number = _always_live_class(file)
    marked: dict[int, tuple[AnyArray, AnyArray]] = {}  # the first of a pair keeps its identity in use
    for values in tiles:
        stored = values["eq_class"]
        if id(stored) not in marked:
            marked[id(stored)] = stored, _without_always_live(stored, number)
        values["eq_class"] = marked[id(stored)][1]


def _list(column: Column) -> list[int]:
    values: list[int] = np.asarray(column).tolist()
    return values


def _name(names: tuple[str, ...], code: int) -> str:
    return names[code] if 0 <= code < len(names) else "multiple"
