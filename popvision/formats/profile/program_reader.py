"""Programs, compute sets, vertices and exchanges in a profile.pop as the columns of `model`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.checksum import Column
from popvision.formats.profile.foreign import numbers
from popvision.formats.profile.model import (
    PROGRAM_TYPES,
    ComputeSets,
    ComputeSetVertices,
    CopyVertices,
    CostTerm,
    Messages,
    ProgramOnIpu,
    Programs,
    VertexLanes,
    VertexTypes,
)
from popvision.formats.profile.profile_file import ProfileFile, or_empty

#: Columns of the tables of tile-to-tile traffic.
_TRAFFIC = {
    "messages": ("src_array", "dst_array", "bytes_array"),
    "sendings": ("src_array", "receivers_array", "bytes_array"),
}

#: Exchange programs whose messages are read together; a large one has millions of them.
_PROGRAMS_AT_ONCE = 64


def programs(file: ProfileFile) -> Programs:
    """The lowered programs."""
    table, child = file.tables["programs"], file.tables["program_children"]
    parents = np.asarray(child["program"])
    count = len(table["name"])
    if len(parents) and not 0 <= int(parents.min()) <= int(parents.max()) < count:
        raise FormatError(f"{file.path}: table program_children names a program that is not there.")
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
        callee=_callees(file, count),
    )


def _callees(file: ProfileFile, count: int) -> AnyArray | None:
    """The program that each Call runs; None in files of format 1.0, which do not say."""
    if not file.tables.holds("program_calls", since=(1, 1)):
        return None
    program, callee = (np.asarray(file.tables["program_calls"][name]) for name in ("program", "callee"))
    for ids in (program, callee):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < count:
            raise FormatError(f"{file.path}: table program_calls names a program that is not there.")
    callees = np.full(count, -1, np.int64)
    callees[program] = callee
    return callees


def compute_sets(file: ProfileFile) -> ComputeSets:
    """The compute sets."""
    table = file.tables["compute_sets"]
    return ComputeSets(list(table["name"]), numbers(table, "debug_id"), numbers(table, "flops"))


def vertex_types(file: ProfileFile) -> VertexTypes:
    """The vertex types."""
    table = file.tables["vertex_types"]
    sizes = numbers(table, "state_bytes"), numbers(table, "code_bytes")
    return VertexTypes(list(table["name"]), list(table["kind"]), *sizes)


def compute_set_vertices(file: ProfileFile, compute_set: int | None) -> list[ComputeSetVertices]:
    """Vertex counts and cycles per tile; of all compute sets where `compute_set` is None."""
    table = file.tables["compute_set_vertices"]
    owner = np.asarray(table["compute_set"])
    rows = np.arange(len(owner)) if compute_set is None else np.flatnonzero(owner == compute_set)
    columns = [np.asarray(table[name])[rows].tolist() for name in ("compute_set", "vertex_type", "ipu", "flops")]
    ids = np.stack([np.asarray(table["count_array"])[rows], np.asarray(table["cycles_array"])[rows]], axis=1)
    arrays = file.optional_arrays(ids.ravel().tolist())
    result = []
    for i, (owner_id, vertex_type, ipu, flops) in enumerate(zip(*columns, strict=True)):
        count, cycles = or_empty(arrays[2 * i]), or_empty(arrays[2 * i + 1])
        provenance = table["provenance"][rows[i]]
        result.append(ComputeSetVertices(owner_id, vertex_type, ipu, count, cycles, str(provenance), flops))
    return result


def copy_vertices(file: ProfileFile) -> list[CopyVertices]:
    """Vertices that copy within tiles, by compute set, type and IPU."""
    if not file.tables.holds("copy_vertices", since=(1, 4)):
        return []
    table = file.tables["copy_vertices"]
    rows = zip(*(table[name] for name in ("compute_set", "type", "ipu", "state_bytes")), strict=True)
    counts, cycles = (
        file.optional_arrays(np.asarray(table[name]).tolist()) for name in ("count_array", "cycles_array")
    )
    return [
        CopyVertices(int(owner), str(name), int(ipu), int(state), or_empty(count), or_empty(spent))
        for (owner, name, ipu, state), count, spent in zip(rows, counts, cycles, strict=True)
    ]


def cost_terms(file: ProfileFile, owner: str) -> list[CostTerm]:
    """Terms behind the figures of `owner`."""
    table = file.tables["cost_terms"]
    rows = [row for row, name in enumerate(table["object"]) if name == owner]
    return [
        CostTerm(owner, str(table["term"][row]), float(table["value"][row]), str(table["source"][row])) for row in rows
    ]


def program_on_ipu(file: ProfileFile, program: int, ipu: int) -> ProgramOnIpu | None:
    """Per-tile figures of a program on one IPU."""
    names = ("cycles_array", "rx_array", "tx_array", "exchange_code_array", "control_code_array")
    arrays = file.row_arrays("program_by_ipu", {"program": program, "ipu": ipu}, names)
    return None if arrays is None else ProgramOnIpu(program, ipu, *arrays)


def program_columns(file: ProfileFile, column: str, programs: Sequence[int]) -> list[tuple[int, int, AnyArray]]:
    """(program, ipu, values per tile) of the programs that store `column`."""
    table = file.tables["program_by_ipu"]
    ids = file.tables.ints("program_by_ipu", f"{column}_array")
    rows = np.flatnonzero(np.isin(table["program"], np.asarray(programs, np.int64)) & (np.asarray(ids) >= 0))
    arrays = file.arrays([int(ids[row]) for row in rows])
    return [(int(table["program"][row]), int(table["ipu"][row]), a) for row, a in zip(rows, arrays, strict=True)]


def program_sums(file: ProfileFile, column: str) -> tuple[AnyArray, AnyArray]:
    """(program, sum over the tiles of an IPU); arrays that rows share are read and added up once."""
    ids = np.asarray(file.tables.ints("program_by_ipu", f"{column}_array"))
    program = np.asarray(file.tables["program_by_ipu"]["program"], np.int64)[ids >= 0]
    unique, which = np.unique(ids[ids >= 0], return_inverse=True)
    arrays = file.arrays(unique.tolist(), narrow=True)
    return program, np.array([np.sum(array, dtype=np.int64) for array in arrays], np.int64)[which]


def messages(file: ProfileFile, program: int, ipu: int) -> Messages | None:
    """Tile-to-tile traffic of an exchange program that starts on `ipu`."""
    arrays = file.row_arrays("messages", {"program": program, "ipu": ipu}, _TRAFFIC["messages"])
    return None if arrays is None else Messages(program, ipu, *(or_empty(column) for column in arrays))


def traffic(
    file: ProfileFile, table: str, programs: Sequence[int], columns: slice = slice(None)
) -> Iterator[tuple[int, int, list[AnyArray]]]:
    """(program, ipu, columns) of many exchange programs."""
    rows = [(program, ipu, ids[columns]) for program, ipu, ids in _traffic_rows(file, table, programs)]
    for begin in range(0, len(rows), _PROGRAMS_AT_ONCE):
        batch = rows[begin : begin + _PROGRAMS_AT_ONCE]
        stored = sorted({identity for _, _, ids in batch for identity in ids if identity >= 0})
        arrays = dict(zip(stored, file.arrays(stored, narrow=True), strict=True))
        for program, ipu, ids in batch:
            yield program, ipu, [or_empty(arrays.get(identity)) for identity in ids]


def program_variables(file: ProfileFile) -> dict[int, int] | None:
    """Program -> id of the array of rows of `variables`."""
    if not file.tables.holds("program_variables", since=(1, 2)):
        return None
    table = file.tables["program_variables"]
    columns = (np.asarray(table[name]).tolist() for name in ("program", "variables_array"))
    return dict(zip(*columns, strict=True))


def known_figures(file: ProfileFile) -> dict[str, AnyArray]:
    """Name of the figure -> programs of which it is known on every tile."""
    if not file.tables.holds("known_figures", since=(1, 3)):
        return {}
    table = file.tables["known_figures"]
    arrays = file.optional_arrays(np.asarray(table["programs_array"]).tolist())
    return {str(name): or_empty(programs) for name, programs in zip(table["figure"], arrays, strict=True)}


def program_figures(file: ProfileFile) -> dict[str, AnyArray]:
    """program, ipu and array ids of the rows of program_by_ipu."""
    return {name: np.asarray(values, np.int64) for name, values in file.tables["program_by_ipu"].items()}


def compute_set_rows(file: ProfileFile) -> dict[str, AnyArray]:
    """compute_set, vertex_type, ipu and array ids of the rows of compute_set_vertices."""
    names = ("compute_set", "vertex_type", "ipu", "count_array", "cycles_array")
    table = file.tables["compute_set_vertices"]
    return {name: np.asarray(table[name], np.int64) for name in names}


def compute_set_counts(file: ProfileFile) -> tuple[AnyArray, AnyArray, AnyArray, list[AnyArray]]:
    """(compute set, vertex type, IPU, instances per tile); rows that share an array get the same object."""
    table = file.tables["compute_set_vertices"]
    ids = np.asarray(table["count_array"], dtype=np.int64)
    unique, which = np.unique(ids, return_inverse=True)
    stored = iter(file.arrays(unique[unique >= 0].tolist(), narrow=True))
    counts = [next(stored) if identity >= 0 else np.empty(0, np.uint8) for identity in unique.tolist()]
    keys = (np.asarray(table[name], dtype=np.int64) for name in ("compute_set", "vertex_type", "ipu"))
    return (*keys, [counts[row] for row in which.tolist()])  # type: ignore[return-value]


def compute_set_provenance(file: ProfileFile) -> list[tuple[int, str]]:
    """(compute set, provenance) of the rows of compute_set_vertices."""
    table = file.tables["compute_set_vertices"]
    return [(int(row), str(name)) for row, name in zip(table["compute_set"], table["provenance"], strict=True)]


def compute_set_types(file: ProfileFile) -> list[tuple[int, int]]:
    """(compute set, vertex type) of the rows of compute_set_vertices."""
    table = file.tables["compute_set_vertices"]
    columns = (np.asarray(table[name]).tolist() for name in ("compute_set", "vertex_type"))
    return list(zip(*columns, strict=True))


def vertex_lanes(file: ProfileFile, compute_set: int, ipu: int) -> VertexLanes | None:
    """Types, thread cycles and workers of the vertices of a compute set."""
    names = ("offsets_array", "type_array", "thread_cycles_array", "worker_array")
    arrays = file.row_arrays("vertex_lanes", {"compute_set": compute_set, "ipu": ipu}, names)
    return None if arrays is None else VertexLanes(compute_set, ipu, *(or_empty(column) for column in arrays))


def _traffic_rows(file: ProfileFile, table: str, programs: Sequence[int]) -> list[tuple[int, int, list[int]]]:
    """(program, ipu, ids of the columns) of those of `programs` that have rows in `table`; none where the file lacks
    the table."""
    if not file.tables.holds(table):
        return []
    rows = np.flatnonzero(np.isin(file.tables[table]["program"], np.asarray(programs, np.int64)))
    names = ("program", "ipu", *_TRAFFIC[table])
    columns = np.stack([np.asarray(file.tables.ints(table, name))[rows] for name in names], axis=1).tolist()
    return [(program, ipu, ids) for program, ipu, *ids in columns]


def _names(names: tuple[str, ...], codes: Column, other: str) -> list[str]:
    """One name per code; `other` for codes that are none."""
    numbers = np.asarray(codes, np.int64)
    known = np.where((numbers >= 0) & (numbers < len(names)), numbers, len(names))
    return [*map([*names, other].__getitem__, known.tolist())]
