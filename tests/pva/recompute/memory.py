"""Memory of tiles, by region and category, and the vertex types on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.pva.plain_file import PlainFile

T = 3

_REGIONS = ("nonInterleaved", "interleaved", "overflowed")


def _totals(column: str) -> Callable[[PlainFile], list[int]]:
    return lambda f: f.column(f"SELECT {column} FROM memory_by_tile ORDER BY tile")


def _each_tile(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda r: [read(tile.memory) for tile in r.compilation.tiles]


def _region_bytes(f: PlainFile, region: str, category: str = "%", overlapped: str = "0, 1") -> list[int]:
    rows = f.rows(
        "SELECT m.ipu, m.bytes_array FROM memory_arrays m JOIN var_categories c ON c.id = m.category"
        " JOIN var_regions g ON g.id = m.region"
        f" WHERE g.name LIKE ? AND c.name LIKE ? AND m.overlapped IN ({overlapped})",
        region,
        category,
    )
    return f.by_tile(rows) or [0] * f.tiles


def _gaps(f: PlainFile, region: str) -> list[int]:
    found = []
    capacity = f.target["bytes_per_tile"]
    for total, over in f.rows("SELECT total, overflowed FROM memory_by_tile ORDER BY tile"):
        low = min(total, f.target["region_split"])
        beyond = max(total - capacity, over, 0)
        found.append({"nonInterleaved": low, "interleaved": total - low - beyond, "overflowed": beyond}[region])
    return found


def _types_of_tile(f: PlainFile) -> list[tuple[str, int, int]]:
    ipu, place = divmod(T, f.per_ipu)
    count: dict[int, int] = {}
    rows = f.rows("SELECT vertex_type, count_array FROM compute_set_vertices WHERE ipu=?", ipu)
    for kind, identity in rows:
        count[kind] = count.get(kind, 0) + f.array(identity)[place]
    types = {row[0]: row[1:] for row in f.rows("SELECT id, name, state_bytes, code_bytes FROM vertex_types")}
    return sorted((types[k][0], types[k][2], n * types[k][1]) for k, n in count.items() if n)


def _both(region: Any) -> int:
    return region.nonOverlapped + region.overlapped


def _category(name: str) -> tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]:
    return _each_tile(lambda m: getattr(m.category, name).total), lambda f: _region_bytes(f, "%", name)


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[PlainFile], Any]]] = {
    "TileMemory.total": (
        _each_tile(lambda m: (m.total.includingGaps, m.total.excludingGaps)),
        lambda f: f.rows("SELECT total, excluding_gaps FROM memory_by_tile ORDER BY tile"),
    ),
    "TileMemory.nonInterleaved": (
        _each_tile(lambda m: (m.nonInterleaved.includingGaps, m.nonInterleaved.excludingGaps)),
        lambda f: list(zip(_gaps(f, "nonInterleaved"), _region_bytes(f, "nonInterleaved"), strict=True)),
    ),
    "TileMemory.interleaved": (
        _each_tile(lambda m: (m.interleaved.includingGaps, m.interleaved.excludingGaps)),
        lambda f: list(zip(_gaps(f, "interleaved"), _region_bytes(f, "interleaved"), strict=True)),
    ),
    "TileMemory.overflowed": (
        _each_tile(lambda m: (m.overflowed.includingGaps, m.overflowed.excludingGaps)),
        lambda f: list(zip(_gaps(f, "overflowed"), _region_bytes(f, "overflowed"), strict=True)),
    ),
    "TileMemory.alwaysLiveBytes": (_each_tile(lambda m: m.alwaysLiveBytes), _totals("always_live")),
    "TileMemory.notAlwaysLiveBytes": (_each_tile(lambda m: m.notAlwaysLiveBytes), _totals("not_always_live")),
    "CategoryMemory.total": (
        _each_tile(lambda m: m.category.variable.total),
        lambda f: [
            sum(each) for each in zip(*(_region_bytes(f, region, "variable") for region in _REGIONS), strict=True)
        ],
    ),
    "RegionMemory.nonOverlapped": (
        _each_tile(lambda m: m.category.variable.nonInterleaved.nonOverlapped),
        lambda f: _region_bytes(f, "nonInterleaved", "variable", "0"),
    ),
    "RegionMemory.overlapped": (
        _each_tile(lambda m: m.category.variable.nonInterleaved.overlapped),
        lambda f: _region_bytes(f, "nonInterleaved", "variable", "1"),
    ),
    "CategoryMemory.interleaved": (
        _each_tile(
            lambda m: m.category.variable.interleaved.nonOverlapped + m.category.variable.interleaved.overlapped
        ),
        lambda f: _region_bytes(f, "interleaved", "variable"),
    ),
    "CategoryMemory.overflowed": (
        _each_tile(lambda m: _both(m.category.variable.overflowed)),
        lambda f: _region_bytes(f, "overflowed", "variable"),
    ),
    "TileVertex": (
        lambda r: sorted((v.type.name, v.codeBytes, v.vertexDataBytes) for v in r.compilation.tiles[T].memory.vertices),
        _types_of_tile,
    ),
}
VALUES |= {
    f"Categories.{name}": _category(name)
    for name in (
        "variable",
        "constant",
        "hostExchangePacketHeader",
        "globalExchangePacketHeader",
        "stack",
        "vertexInstanceState",
        "copyDescriptor",
        "vertexFieldData",
        "controlId",
        "controlCode",
        "vertexCode",
        "internalExchangeCode",
        "hostExchangeCode",
        "globalExchangeCode",
        "instrumentationResults",
        "message",
    )
}
