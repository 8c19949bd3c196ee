"""Tables written when compilation ended, back as the columns of `model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.checksum import Column
from popvision.formats.profile.foreign import AbsentColumn, numbers, row_count
from popvision.formats.profile.model import (
    CATEGORIES,
    PROGRAM_TYPES,
    REGIONS,
    CategoryMemory,
    ComputeSets,
    ComputeSetVertices,
    CostTerm,
    Liveness,
    LoweredTile,
    Programs,
    Target,
    TileMemory,
    Variables,
    VertexTypes,
)
from popvision.formats.profile.tables import Tables

Optionals = Callable[[Sequence[int]], list[AnyArray | None]]


def find_row(table: dict[str, Column], key: dict[str, int]) -> int | None:
    """Row whose columns equal `key`; rows are sorted by the first of them."""
    (first, value), *rest = key.items()
    column = np.asarray(table[first])
    begin, end = (int(np.searchsorted(column, np.int64(value), side)) for side in ("left", "right"))
    match = np.ones(end - begin, dtype=bool)
    for name, wanted in rest:
        match &= np.asarray(table[name])[begin:end] == wanted
    found = np.flatnonzero(match)
    return begin + int(found[0]) if len(found) else None


def target(facts: dict[str, Any], array: Callable[[int], AnyArray | None]) -> Target:
    """The target from the JSON facts of `meta`; unknown facts are left out."""
    known = {field.name: facts[field.name] for field in fields(Target) if field.name in facts}
    try:
        for name in ("relative_sync_delay", "physical_tile"):
            known[name] = array(known.get(name, -1))
        return Target(**known)
    except (TypeError, ValueError) as error:
        raise FormatError(f"the target in table meta is damaged: {error}.") from None


def programs(tables: Tables) -> Programs:
    table, child = tables["programs"], tables["program_children"]
    parents = np.asarray(child["program"])
    count = len(table["name"])
    if len(parents) and not 0 <= int(parents.min()) <= int(parents.max()) < count:
        raise FormatError(f"{tables.file.path}: table program_children names a program that is not there.")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=count)[:count])])
    return Programs(
        type=_names(PROGRAM_TYPES, table["type"], "Unknown"),
        name=list(table["name"]),
        owner=list(table["owner"]),
        compute_set=numbers(table, "compute_set"),
        repeat_count=numbers(table, "repeat_count"),
        debug_id=numbers(table, "debug_id"),
        sync_type=list(table["sync_type"]),
        child_offsets=offsets.astype(np.int64),
        children=np.asarray(child["child"]),
        callee=_callees(tables, count),
    )


def _callees(tables: Tables, count: int) -> AnyArray | None:
    """The program that each Call runs; None in files of format 1.0, which do not say."""
    if not tables.holds("program_calls", since=(1, 1)):
        return None
    program, callee = (np.asarray(tables["program_calls"][name]) for name in ("program", "callee"))
    for ids in (program, callee):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < count:
            raise FormatError(f"{tables.file.path}: table program_calls names a program that is not there.")
    callees = np.full(count, -1, np.int64)
    callees[program] = callee
    return callees


def compute_sets(tables: Tables) -> ComputeSets:
    table = tables["compute_sets"]
    return ComputeSets(list(table["name"]), numbers(table, "debug_id"), numbers(table, "flops"))


def vertex_types(tables: Tables) -> VertexTypes:
    table = tables["vertex_types"]
    sizes = numbers(table, "state_bytes"), numbers(table, "code_bytes")
    return VertexTypes(list(table["name"]), list(table["kind"]), *sizes)


def compute_set_vertices(tables: Tables, arrays: Optionals, compute_set: int | None) -> list[ComputeSetVertices]:
    table = tables["compute_set_vertices"]
    owner = np.asarray(table["compute_set"])
    rows = np.arange(len(owner)) if compute_set is None else np.flatnonzero(owner == compute_set)
    columns = [np.asarray(table[name])[rows].tolist() for name in ("compute_set", "vertex_type", "ipu", "flops")]
    ids = np.stack([np.asarray(table["count_array"])[rows], np.asarray(table["cycles_array"])[rows]], axis=1)
    found = arrays(ids.ravel().tolist())
    result = []
    for i, (owner_id, vertex_type, ipu, flops) in enumerate(zip(*columns, strict=True)):
        count, cycles = _there(found[2 * i]), _there(found[2 * i + 1])
        provenance = table["provenance"][rows[i]]
        result.append(ComputeSetVertices(owner_id, vertex_type, ipu, count, cycles, str(provenance), flops))
    return result


def cost_terms(tables: Tables, owner: str) -> list[CostTerm]:
    table = tables["cost_terms"]
    rows = [row for row, name in enumerate(table["object"]) if name == owner]
    return [
        CostTerm(owner, str(table["term"][row]), float(table["value"][row]), str(table["source"][row])) for row in rows
    ]


def tile_memory(tables: Tables) -> TileMemory | None:
    table = tables["memory_by_tile"]
    names = ("total", "excluding_gaps", "always_live", "not_always_live", "overflowed")
    return TileMemory(*(numbers(table, name) for name in names)) if row_count(table) else None


def tiles_listed(tables: Tables) -> int:
    """How many tiles memory_by_tile lists, or where it lists none how many vars_info speaks of."""
    tile, listed = tables["vars_info"]["tile"], row_count(tables["memory_by_tile"])
    if listed or isinstance(tile, AbsentColumn) or not len(tile):
        return listed
    return max(0, int(np.max(np.asarray(tile))) + 1)


def bytes_by_category(tables: Tables, tiles: int) -> dict[str, AnyArray]:
    """Bytes of each category on each tile, by vars_info: all that a foreign file says of categories."""
    table = tables["vars_info"]
    if not row_count(table):
        return {}
    category, tile, size = (np.asarray(table[name]) for name in ("category", "tile", "size_bytes"))
    inside = (tile >= 0) & (tile < tiles)
    sums = np.bincount(category[inside] * tiles + tile[inside], size[inside], len(CATEGORIES) * tiles)
    found = np.rint(sums).astype(np.int64).reshape(len(CATEGORIES), tiles)
    return {CATEGORIES[code]: found[code] for code in np.unique(category).tolist()}


def category_memory(tables: Tables, arrays: Optionals) -> list[CategoryMemory]:
    table = tables["memory_arrays"]
    found = arrays(_list(table["bytes_array"]))
    columns = (_list(table[name]) for name in ("category", "region", "overlapped", "ipu"))
    return [
        CategoryMemory(_name(CATEGORIES, category), _name(REGIONS, region), bool(overlapped), ipu, _there(values))
        for category, region, overlapped, ipu, values in zip(*columns, found, strict=True)
    ]


def variables(tables: Tables, always_live_class: int) -> Variables | None:
    table = tables["variables"]
    if not row_count(table):
        return None
    if not tables.holds("variable_parts", since=(1, 3)):
        always_live = np.asarray(table["always_live"]) != 0
        columns = numbers(table, "debug_id"), numbers(table, "bytes"), always_live, numbers(table, "eq_class")
        return Variables(list(table["name"]), *columns)
    parts, names = tables["variable_parts"], list(table["name"])
    owner, eq_class = np.asarray(parts["variable"]), np.asarray(parts["eq_class"])
    if len(owner) and not 0 <= int(owner.min()) <= int(owner.max()) < len(names):
        raise FormatError(f"{tables.file.path}: table variable_parts names a variable that is not there.")
    always_live = eq_class == always_live_class
    if always_live_class < 0:  # a file without classes
        always_live = np.asarray(table["always_live"])[owner] != 0
    return Variables(
        [names[row] for row in owner.tolist()],
        np.asarray(numbers(table, "debug_id"))[owner],
        numbers(parts, "bytes"),
        always_live,
        without_always_live(eq_class, always_live_class),
        None if (owner == np.arange(len(owner))).all() else owner,
    )


def without_always_live(eq_class: AnyArray, number: int) -> AnyArray:
    """Classes as `model` has them: -1 in place of the class of always-live variables, which has that number."""
    if number < 0:
        return eq_class
    classes = eq_class.astype(np.int32 if eq_class.itemsize < 4 else np.int64)
    classes[eq_class == number] = -1
    return classes


def liveness(tables: Tables, arrays: Optionals) -> Liveness | None:
    table = tables["liveness"]
    if not row_count(table):
        return None
    by_ipu = [_there(values) for values in arrays(_list(tables["liveness_by_ipu"]["bytes_array"]))]
    return Liveness(numbers(table, "program"), numbers(table, "bytes"), by_ipu)


def vars_info(tables: Tables, tile: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    table = tables["vars_info"]
    tiles = np.asarray(table["tile"])
    if tables.foreign:  # rows of unknown order
        rows: Any = np.flatnonzero(tiles == tile)
    else:
        rows = slice(*(int(np.searchsorted(tiles, np.int64(tile), side)) for side in ("left", "right")))
    category, name, size = (np.asarray(table[column])[rows] for column in ("category", "name", "size_bytes"))
    return category, name, size


def lowered_tile(
    tables: Tables, arrays: Callable[[Sequence[int]], list[AnyArray]], tile: int, always_live_class: int
) -> LoweredTile | None:
    table = tables["lowered_by_tile"]
    row = find_row(table, {"tile": tile})
    if row is None:
        return None
    names = ("bytes", "address", "category", "region", "variable", "eq_class", "name")
    columns = arrays([int(np.asarray(table[f"{name}_array"])[row]) for name in names])
    check_rows(tables, tile, int(np.asarray(table["n"])[row]), columns)
    columns[5] = without_always_live(columns[5], always_live_class)
    return LoweredTile(tile, int(np.asarray(table["first_id"])[row]), *columns)


def lowered_rows(tables: Tables, tiles: Sequence[int], columns: Sequence[str]) -> list[tuple[int, int, list[int]]]:
    """(tile, its number of allocations, ids of the named columns) of those of `tiles` that were written, in order."""
    table = tables["lowered_by_tile"]
    wanted, stored = np.asarray(tiles, dtype=np.int64), np.asarray(table["tile"], dtype=np.int64)
    if not len(stored):
        return []
    row = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
    row = row[stored[row] == wanted]
    ids = np.stack([np.asarray(table[f"{name}_array"], dtype=np.int64)[row] for name in columns], axis=1)
    counts = np.asarray(table["n"], dtype=np.int64)[row]
    return list(zip(stored[row].tolist(), counts.tolist(), ids.tolist(), strict=True))


def check_rows(tables: Tables, tile: int, count: int, columns: Iterable[AnyArray]) -> None:
    """Raises FormatError when a column of a tile's allocations does not have `count` rows."""
    if any(len(column) != count for column in columns):
        raise FormatError(f"{tables.file.path}: the columns of tile {tile} do not have {count} rows each.")


def _list(column: Column) -> list[int]:
    values: list[int] = np.asarray(column).tolist()
    return values


def _name(names: tuple[str, ...], code: int, other: str = "multiple") -> str:
    return names[code] if 0 <= code < len(names) else other


def _names(names: tuple[str, ...], codes: Column, other: str) -> list[str]:
    """One name per code; `other` for codes that are none."""
    numbers = np.asarray(codes, np.int64)
    known = np.where((numbers >= 0) & (numbers < len(names)), numbers, len(names))
    return [*map([*names, other].__getitem__, known.tolist())]


def _there(values: AnyArray | None) -> AnyArray:
    return np.empty(0, dtype=np.int64) if values is None else values
