"""Code bytes of the operations of a layer, over all tiles.

- Exchange and control code belong to a program, hence to its operation (owners.py).
- The code of a vertex type lies on a tile once, however many compute sets use it there. It belongs to an operation
  where no other operation (and nothing outside the layer) has vertices of that type on that tile; else it is shared,
  and counts as not attributed. `vertex_used` is what an operation needs, shared or not; these do not add up.

So own exchange, control and vertex code of all operations, and what is not attributed, add up to the code in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.operations.owners import NO_OPERATION, Owners, owners
from popvision.analysis.report.code_memory import code_in_memory
from popvision.analysis.report.not_recorded import CODE_SIZES, NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


_NOBODY, _SEVERAL = -1, -2


@dataclass(frozen=True)
class OperationCode:
    """Bytes by operation (rows of Owners), all IPUs. Row 0 is not attributed, so that each but `vertex_used` adds up to
    the report's total."""

    exchange: Int64Array
    control: Int64Array
    vertex: Int64Array  #: of types that no other operation has on the same tile
    vertex_used: Int64Array  #: of all types that it has on a tile

    @property
    def total(self) -> Int64Array:
        return self.exchange + self.control + self.vertex


@dataclass(frozen=True)
class VertexSharing:
    """`tiles[o]` = tiles on which operation o has vertices."""

    own: Int64Array
    used: Int64Array
    tiles: Int64Array


def operation_code(source: ReportSource, layer: str = "") -> OperationCode:
    """Raises NotRecordedError where the program was compiled without code, and as `owners`."""
    ownership = owners(source, layer)
    return source.kept.recent(("operation_code", ownership.layer), lambda: _code(source, ownership))


def vertex_sharing(source: ReportSource, layer: str = "") -> VertexSharing:
    """Vertex code and tiles by operation; no code where the sizes of types are not known. Raises as `owners`."""
    ownership = owners(source, layer)
    return source.kept.recent(("operation_vertices", ownership.layer), lambda: _sharing(source, ownership))


def vertex_counts(source: ReportSource) -> tuple[Int64Array, Int64Array, Int64Array, list[npt.NDArray[np.integer]]]:
    """(compute set, vertex type, IPU, instances per tile) of every row whose compute set, type and IPU the report has;
    a database of another producer may name others."""

    def read() -> tuple[Int64Array, Int64Array, Int64Array, list[npt.NDArray[np.integer]]]:
        compute_set, vertex_type, ipu, counts = source.reader.compute_set_counts()
        sizes = (len(source.reader.compute_sets().name), len(source.reader.vertex_types().name))
        columns = [np.asarray(each, np.int64) for each in (compute_set, vertex_type, ipu)]
        in_report = np.ones(len(counts), bool)
        for column, size in zip(columns, (*sizes, target_of(source).num_ipus), strict=True):
            in_report &= (column >= 0) & (column < size)
        counts_in_report = [count for count, is_there in zip(counts, in_report.tolist(), strict=True) if is_there]
        return columns[0][in_report], columns[1][in_report], columns[2][in_report], counts_in_report

    return source.kept.once("vertex_counts", read)


def _code(source: ReportSource, ownership: Owners) -> OperationCode:
    totals = code_in_memory(source)
    if not any(totals.values()):
        raise NotRecordedError(CODE_SIZES)
    n = len(ownership.context)
    exchange, control = (_code_of_programs(source, ownership, f"{name}_code", n) for name in ("exchange", "control"))
    sharing = vertex_sharing(source, ownership.layer)
    columns = {"exchange": exchange, "control": control, "vertex": sharing.own.copy()}
    for name, column in columns.items():  # what lies in memory beyond what programs say is not attributed either
        column[NO_OPERATION] = totals[name] - int(column[1:].sum())
    return OperationCode(exchange, control, columns["vertex"], sharing.used)


def _code_of_programs(source: ReportSource, ownership: Owners, column: str, n: int) -> Int64Array:
    program, size = source.reader.program_sums(column)
    sums = np.zeros(n, np.int64)
    np.add.at(sums, ownership.program[program], size)
    return sums


def _sharing(source: ReportSource, ownership: Owners) -> VertexSharing:
    """One pass over the compute sets' vertices: who has each type on each tile, and on which tiles anyone is."""
    target = target_of(source)
    per_ipu = target.tiles_per_ipu
    compute_set, vertex_type, ipu, counts = vertex_counts(source)
    size = np.maximum(np.asarray(source.reader.vertex_types().code_bytes, np.int64), 0)
    owner_of = ownership.compute_set[compute_set]
    holder: dict[int, Int64Array] = {}
    uses: dict[tuple[int, int], BoolArray] = {}
    present: dict[int, BoolArray] = {}
    seen: set[tuple[int, int, int, int]] = set()
    rows = zip(owner_of.tolist(), vertex_type.tolist(), ipu.tolist(), counts, strict=True)
    for owner, type_, place, count in rows:
        key = (owner, type_, place, id(count))  # compute sets that are alike share their arrays
        if key in seen or not len(count):
            continue
        seen.add(key)
        tiles_of_ipu = slice(place * per_ipu, (place + 1) * per_ipu)
        if id(count) not in present:
            present[id(count)] = np.asarray(count) > 0
        present_tiles = present[id(count)]
        holders = holder.setdefault(type_, np.full(target.num_tiles, _NOBODY, np.int64))[tiles_of_ipu]
        alone = (holders == _NOBODY) | (holders == owner)
        np.copyto(holders, np.where(alone, owner, _SEVERAL), where=present_tiles)
        uses.setdefault((owner, type_), np.zeros(target.num_tiles, bool))[tiles_of_ipu] |= present_tiles
    n = len(ownership.context)
    own, used, tiles = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for type_, holders in holder.items():
        own += size[type_] * np.bincount(holders[holders >= 0], minlength=n).astype(np.int64)
    tiles_of_owner: dict[int, BoolArray] = {}
    for (owner, type_), present_tiles in uses.items():
        used[owner] += size[type_] * int(np.count_nonzero(present_tiles))
        tiles_of_owner[owner] = tiles_of_owner[owner] | present_tiles if owner in tiles_of_owner else present_tiles
    for owner, present_tiles in tiles_of_owner.items():
        tiles[owner] = np.count_nonzero(present_tiles)
    return VertexSharing(own, used, tiles)
