"""Parts of one operation or of a group: its programs, code on each tile, compute sets, variables.

`rows` are rows of owners.Owners; row 0 is "not attributed".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import counted
from popvision.analysis.operations.code import vertex_counts
from popvision.analysis.operations.owners import Owners
from popvision.analysis.report.columns import liveness, programs_of, variables
from popvision.analysis.report.figure import Table, Unit, Values, table_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Figures of `program_rows`, `vertex_type_rows`, `compute_set_rows` and `variable_rows`.
PROGRAM_FIGURES: dict[str, Unit] = {
    "id": "id",
    "depth": "count",
    "type": "text",
    "name": "text",
    "cycles": "cycles",
    "share": "share",
    "steps": "count",
    "exchange_code": "bytes",
    "control_code": "bytes",
    "first_index": "id",
}
VERTEX_TYPE_FIGURES: dict[str, Unit] = {"type": "text", "tiles": "count", "code": "bytes", "compute_sets": "count"}
COMPUTE_SET_FIGURES: dict[str, Unit] = {
    "program": "id",
    "name": "text",
    "flops_once": "flops",
    "steps": "count",
    "flops": "flops",
    "cycles": "cycles",
    "rate": "ratio",
}
VARIABLE_FIGURES: dict[str, Unit] = {
    "variable": "id",
    "name": "text",
    "bytes": "bytes",
    "share": "share",
    "live": "text",
}


@dataclass(frozen=True)
class TileParts:
    """Per tile of all IPUs. `cycles`: estimates of one execution of each program, added up. `vertex`: code of every
    type that the operation has there, also of those that it shares."""

    exchange: Int64Array
    control: Int64Array
    vertex: Int64Array
    cycles: Int64Array


def programs_owned(ownership: Owners, rows: Sequence[int]) -> Int64Array:
    """Ids of the programs of operations, ascending."""
    return np.flatnonzero(np.isin(ownership.program, np.asarray(rows, np.int64))).astype(np.int64)


def program_cycles(source: ReportSource, ipu: int | None = None) -> tuple[Int64Array, Int64Array]:
    """(cycles of its own steps on one IPU or added up over all of them, steps) by program; cycles of runs that are set
    apart (once.py) do not count."""

    def read() -> tuple[Int64Array, Int64Array]:
        n = len(programs_of(source).type)
        program = np.asarray(source.reader.steps().program, np.int64)
        cycles = np.zeros(n, np.int64)
        for each in range(target_of(source).num_ipus) if ipu is None else [ipu]:
            np.add.at(cycles, program, counted(source).cycles(each))
        return cycles, np.bincount(program, minlength=n).astype(np.int64)

    return source.kept.recent(("program_cycles", source.generation, ipu), read)


def program_rows(source: ReportSource, ownership: Owners, rows: Sequence[int], ipu: int | None = None) -> Table:
    """A row per program in the order of ids: id, depth (below the shallowest of them), type, name, cycles, steps,
    exchange_code, control_code (bytes over all tiles), first_index (liveness index, NA where none)."""
    import pandas as pd

    programs, ids = programs_of(source), programs_owned(ownership, rows)
    cycles, steps = program_cycles(source, ipu)
    depth = source.kept.once("program_depths", lambda: _depths(source))[ids]
    code = []
    for column in ("exchange_code", "control_code"):
        owner, size = source.kept.once(("program_sums", column), partial(source.reader.program_sums, column))
        sums = np.zeros(len(programs.type), np.int64)
        np.add.at(sums, owner, size)
        code.append(sums[ids])
    first = first_indices(source)[ids]
    own_cycles = cycles[ids]
    return table_of(
        "operation_programs",
        PROGRAM_FIGURES,
        {
            "id": ids,
            "depth": depth - depth.min(initial=0) if len(depth) else depth,
            "type": [programs.type[each] for each in ids.tolist()],
            "name": [programs.name[each] for each in ids.tolist()],
            "cycles": own_cycles,
            "share": own_cycles / max(1, int(own_cycles.sum())),
            "steps": steps[ids],
            "exchange_code": code[0],
            "control_code": code[1],
            "first_index": pd.arrays.IntegerArray(first, first < 0),
        },
    )


def cycles_by_type(
    source: ReportSource, ownership: Owners, rows: Sequence[int], ipu: int | None = None
) -> dict[str, int]:
    """Cycles by type of program, most first; types without any are left out."""
    cycles, _ = program_cycles(source, ipu)
    types = programs_of(source).type
    sums: dict[str, int] = {}
    for program in programs_owned(ownership, rows).tolist():
        sums[types[program]] = sums.get(types[program], 0) + int(cycles[program])
    return {name: sums[name] for name in sorted(sums, key=lambda name: (-sums[name], name)) if sums[name]}


def tile_parts(source: ReportSource, ownership: Owners, rows: Sequence[int]) -> TileParts:
    """Code and estimated cycles on every tile."""
    target = target_of(source)
    per_ipu = target.tiles_per_ipu
    ids = programs_owned(ownership, rows)
    sums = {name: np.zeros(target.num_tiles, np.int64) for name in ("exchange_code", "control_code", "cycles")}
    for name, column in sums.items():
        for _, ipu, values in source.reader.program_columns(name, ids.tolist()):
            column[ipu * per_ipu : (ipu + 1) * per_ipu] += np.asarray(values, np.int64)
    vertex = np.zeros(target.num_tiles, np.int64)
    size = np.asarray(source.reader.vertex_types().code_bytes, np.int64)
    for type_, present in _types_on_tiles(source, ownership, rows).items():
        vertex += max(int(size[type_]), 0) * present
    return TileParts(sums["exchange_code"], sums["control_code"], vertex, sums["cycles"])


def vertex_type_rows(source: ReportSource, ownership: Owners, rows: Sequence[int]) -> Table:
    """A row per vertex type, most code first: type, tiles (that have some), code (bytes there, NA where not known),
    compute_sets (of the operation)."""
    import pandas as pd

    types = source.reader.vertex_types()
    on_tiles = _types_on_tiles(source, ownership, rows)
    is_owned = np.isin(ownership.compute_set, np.asarray(rows, np.int64))
    sets: dict[int, set[int]] = {}
    compute_sets, vertex_types = vertex_counts(source)[:2]
    for compute_set, type_ in zip(compute_sets.tolist(), vertex_types.tolist(), strict=True):
        if is_owned[compute_set]:
            sets.setdefault(type_, set()).add(compute_set)
    size = np.asarray(types.code_bytes, np.int64)
    types_with_sizes = [
        (types.name[type_], int(np.count_nonzero(present)), int(size[type_]), len(sets.get(type_, ())))
        for type_, present in on_tiles.items()
    ]
    types_with_sizes.sort(key=lambda row: (-row[1] * max(row[2], 0), row[0]))
    code = np.array([tiles * each for _, tiles, each, _ in types_with_sizes], np.int64)
    return table_of(
        "operation_vertex_types",
        VERTEX_TYPE_FIGURES,
        {
            "type": [row[0] for row in types_with_sizes],
            "tiles": [row[1] for row in types_with_sizes],
            "code": pd.arrays.IntegerArray(
                np.maximum(code, 0), np.array([row[2] < 0 for row in types_with_sizes], bool)
            ),
            "compute_sets": [row[3] for row in types_with_sizes],
        },
    )


def compute_set_rows(source: ReportSource, ownership: Owners, rows: Sequence[int], ipu: int | None = None) -> Table:
    """A row per program that runs a compute set, most cycles first: program, name, flops_once (NA where not known),
    steps, flops (flops_once x steps), cycles, rate (flops / cycles, NaN where there are none)."""
    import pandas as pd

    ids = programs_owned(ownership, rows)
    compute_set = np.asarray(programs_of(source).compute_set, np.int64)[ids]
    sets = source.reader.compute_sets()
    has_compute_set = (compute_set >= 0) & (compute_set < len(sets.name))
    ids, compute_set = ids[has_compute_set], compute_set[has_compute_set]
    once = np.asarray(sets.flops, np.int64)[compute_set]
    cycles, steps = (column[ids] for column in program_cycles(source, ipu))
    order = np.lexsort((ids, -cycles))
    done = np.where(once >= 0, once * steps, 0)
    rate = np.where((once >= 0) & (cycles > 0), done / np.maximum(cycles, 1), np.nan)
    return table_of(
        "operation_compute_sets",
        COMPUTE_SET_FIGURES,
        {
            "program": ids[order],
            "name": [sets.name[each] for each in compute_set[order].tolist()],
            "flops_once": pd.arrays.IntegerArray(once[order], once[order] < 0),
            "steps": steps[order],
            "flops": pd.arrays.IntegerArray(done[order], once[order] < 0),
            "cycles": cycles[order],
            "rate": rate[order],
        },
    )


def variable_rows(source: ReportSource, ownership: Owners, rows: Sequence[int]) -> Table:
    """A row per variable created under the operations, largest first: variable (its row), name, bytes (one replica),
    always_live, classes. Raises NotRecordedError when the report holds no variables."""

    known = variables(source)
    ids = np.flatnonzero(np.isin(ownership.variable, np.asarray(rows, np.int64)))
    size = np.asarray(known.bytes, np.int64)[ids] // target_of(source).num_replicas
    order = np.lexsort((ids, -size))
    ids, size = ids[order], size[order]
    always = np.asarray(known.always_live, bool)[ids]
    never = ~always & (np.asarray(known.eq_class, np.int64)[ids] < 0)
    live = np.where(always, "always", np.where(never, "never", "at times"))
    names = [known.name[each] for each in ids.tolist()]
    share = size / max(1, int(size.sum()))
    columns: dict[str, Values] = {"variable": ids, "name": names, "bytes": size, "share": share, "live": live.tolist()}
    return table_of("operation_variables", VARIABLE_FIGURES, columns)


def _types_on_tiles(source: ReportSource, ownership: Owners, rows: Sequence[int]) -> dict[int, BoolArray]:
    """By vertex type the tiles on which the operations have some."""
    target = target_of(source)
    compute_set, vertex_type, ipu, counts = vertex_counts(source)
    present: dict[int, BoolArray] = {}
    for row in np.flatnonzero(np.isin(ownership.compute_set[compute_set], np.asarray(rows, np.int64))).tolist():
        first = int(ipu[row]) * target.tiles_per_ipu
        has_type = present.setdefault(int(vertex_type[row]), np.zeros(target.num_tiles, bool))
        has_type[first : first + len(counts[row])] |= np.asarray(counts[row]) > 0
    return present


def _depths(source: ReportSource) -> Int64Array:
    """Depth of each program in its tree; children may stand before their parents."""
    programs = programs_of(source)
    offsets, children = np.asarray(programs.child_offsets, np.int64), np.asarray(programs.children, np.int64)
    depth = np.zeros(len(programs.type), np.int64)
    is_child = np.zeros(len(depth), bool)
    is_child[children] = True
    level = np.flatnonzero(~is_child)
    for at in range(1, len(depth)):
        count = offsets[level + 1] - offsets[level]
        before = np.cumsum(count) - count
        level = np.unique(children[np.repeat(offsets[level] - before, count) + np.arange(int(count.sum()))])
        if not len(level):
            break
        depth[level] = at
    return depth


def first_indices(source: ReportSource) -> Int64Array:
    """By program its first liveness index, -1 where it has none or the report holds no liveness."""
    first = np.full(len(programs_of(source).type), -1, np.int64)
    try:
        order = np.asarray(liveness(source).program, np.int64)
    except NotRecordedError:
        return first
    first[order[::-1]] = np.arange(len(order))[::-1]
    return first
