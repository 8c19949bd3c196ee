"""What takes most memory, over all tiles, on one IPU and on one tile; and how many tiles use which sixth of theirs.

Cost: the counts of vertices and the code of programs per tile once, and the live variables of each scope (an IPU adds
up the allocations of its tiles).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from popvision.analysis.insights.program_code import CodeColumn, program_code
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.usage import by_ipu, memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import Where, target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table
    from popvision.analysis.report.source import ReportSource

_Instances = dict[tuple[int, int], Int64Array]  #: instances by tile of a (vertex type, IPU)

Kind = Literal[
    "vertex state", "vertex code", "always-live variable", "variable at the peak", "exchange code", "control code"
]
SIXTHS = 6


@dataclass(frozen=True)
class LargestUser:
    """The one thing of its kind that takes most in a scope."""

    where: str  #: "all tiles", "IPU 0", "tile 12"
    kind: Kind
    name: str
    bytes: int
    id: int  #: of the vertex type, variable or program; -1 where there is none


@dataclass(frozen=True)
class MemoryUse:
    """The tiles of all replicas: those that use most, how many use which part, and the largest users."""

    capacity: int  #: bytes of one tile
    tiles: Int64Array  #: the tiles that use most, most first; those furthest over their memory before others
    including_gaps: Int64Array  #: bytes of these
    excluding_gaps: Int64Array
    #: tiles by the sixth of their memory up to which they use bytes, gaps excluded; the last entry: more than all of it
    sixths: Int64Array
    users: tuple[LargestUser, ...]


def memory_use(source: ReportSource, most: int = 5) -> MemoryUse:
    """Raises NotRecordedError without a graph profile."""
    return source.kept.recent(("memory_use", source.generation, most), lambda: _memory_use(source, most))


def _memory_use(source: ReportSource, most: int) -> MemoryUse:
    memory = memory_by_tile(source, None)
    order = np.lexsort((-memory.excluding_gaps, -np.maximum(memory.including_gaps - memory.capacity, 0)))[:most]
    part = np.minimum(memory.excluding_gaps * SIXTHS // max(memory.capacity, 1), SIXTHS)
    ipu = int(by_ipu(memory.excluding_gaps, memory.tiles_per_ipu).argmax())
    held = _instances(source)
    users = []
    for where in (Where("all", 0), Where("ipu", ipu), Where("tile", int(order[0]))):
        users += list(_users(source, where, held))
    return MemoryUse(
        memory.capacity,
        order,
        memory.including_gaps[order],
        memory.excluding_gaps[order],
        np.bincount(part, minlength=SIXTHS + 1),
        tuple(users),
    )


def _users(source: ReportSource, where: Where, held: _Instances) -> Iterator[LargestUser]:
    name = {"all": "all tiles", "ipu": f"IPU {where.number}", "tile": f"tile {where.number:,}"}[where.kind]
    found = [*_vertices(source, where, held), *_variables(source, where), *_code(source, where)]
    for kind, (label, size, number) in found:
        if size > 0:
            yield LargestUser(name, kind, label, size, number)


def _tiles(source: ReportSource, where: Where, ipu: int) -> slice | None:
    """The part of the tiles of an IPU that a scope takes; None for none."""
    per_ipu = target_of(source).tiles_per_ipu
    if where.kind == "ipu":
        return slice(None) if where.number == ipu else None
    if where.kind == "tile":
        own, local = divmod(where.number, per_ipu)
        return slice(local, local + 1) if own == ipu else None
    return slice(None)


def _instances(source: ReportSource) -> _Instances:
    """Instances of each vertex type on the tiles of each IPU, over all compute sets."""
    held: _Instances = {}
    _, vertex_types, ipus, counts = source.reader.compute_set_counts()
    for type_, ipu, count in zip(vertex_types.tolist(), ipus.tolist(), counts, strict=True):
        if not len(count):
            continue
        key = (type_, ipu)
        if key in held:
            np.add(held[key], count, out=held[key], casting="unsafe")
        else:
            held[key] = np.array(count, np.int64)
    return held


def _vertices(source: ReportSource, where: Where, held: _Instances) -> Iterator[tuple[Kind, tuple[str, int, int]]]:
    types = source.reader.vertex_types()
    if not len(types.name):
        return
    instances, holders = np.zeros(len(types.name), np.int64), np.zeros(len(types.name), np.int64)
    for (type_, ipu), on_tiles in held.items():
        window = _tiles(source, where, ipu)
        if window is not None:
            instances[type_] += on_tiles[window].sum()
            holders[type_] += np.count_nonzero(on_tiles[window])
    state = instances * np.asarray(types.state_bytes, np.int64)
    yield "vertex state", _largest(state, types.name)
    code = np.asarray(types.code_bytes, np.int64)
    yield "vertex code", _largest(np.where(code > 0, code * holders, 0), types.name)


def _variables(source: ReportSource, where: Where) -> Iterator[tuple[Kind, tuple[str, int, int]]]:
    try:
        yield "always-live variable", _first(always_live_table(source, where))
        index = peak(curve(source, where)).index
        yield "variable at the peak", _first(live_table(source, [index], where))
    except NotRecordedError:
        return


def _code(source: ReportSource, where: Where) -> Iterator[tuple[Kind, tuple[str, int, int]]]:
    names = source.reader.programs().name
    columns: tuple[tuple[Kind, CodeColumn], ...] = (
        ("exchange code", "exchange_code"),
        ("control code", "control_code"),
    )
    for kind, column in columns:
        code = program_code(source, column)
        sums = np.zeros(len(names), np.int64)
        for ipu in np.unique(code.ipu).tolist():
            window = _tiles(source, where, ipu)
            if window is not None:
                here = code.ipu == ipu
                np.add.at(sums, code.program[here], code.bytes_on(window)[here])
        yield kind, _largest(sums, names)


def _largest(sizes: Int64Array, names: list[str]) -> tuple[str, int, int]:
    if not len(sizes):
        return "", 0, -1
    row = int(sizes.argmax())
    return names[row] or f"program {row}", int(sizes[row]), row


def _first(table: Table) -> tuple[str, int, int]:
    """Name, bytes and id of the largest variable of the user; rows stand in order of their size. Rows named as a
    category of memory are no variables."""
    sizes, ids = table.column("size_bytes").values, table["variable"]
    row = next((row for row, name in enumerate(table["name"]) if name not in CATEGORIES), None)
    return ("", 0, -1) if row is None else (str(table["name"][row]), int(sizes[row]), int(ids[row]))
