"""Questions about programs, compute sets, vertices and exchanges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.profile import compilation_reader
from popvision.formats.profile.model import (
    ComputeSets,
    ComputeSetVertices,
    CostTerm,
    Messages,
    ProgramOnIpu,
    Programs,
    VertexLanes,
    VertexTypes,
)
from popvision.formats.profile.profile_file import ProfileFile, present
from popvision.formats.profile.traffic_reader import traffic_rows

#: Exchange programs whose messages are read together; a large one has millions of them.
_TRAFFIC_AT_ONCE = 64


class ProgramQuestions(ProfileFile):
    """What the compilation says of programs."""

    def programs(self) -> Programs:
        """The lowered programs; the row is the Id users see."""
        return compilation_reader.programs(self._tables)

    def compute_sets(self) -> ComputeSets:
        """Names, debug ids and floating point operations of the compute sets."""
        return compilation_reader.compute_sets(self._tables)

    def vertex_types(self) -> VertexTypes:
        """Names, kinds and sizes in bytes of the vertex types."""
        return compilation_reader.vertex_types(self._tables)

    def program_on_ipu(self, program: int, ipu: int) -> ProgramOnIpu | None:
        """Per-tile figures of a program on one IPU, None where nothing was stored."""
        names = ("cycles_array", "rx_array", "tx_array", "exchange_code_array", "control_code_array")
        found = self._row_arrays("program_by_ipu", {"program": program, "ipu": ipu}, names)
        return None if found is None else ProgramOnIpu(program, ipu, *found)

    def program_columns(self, column: str, programs: Sequence[int]) -> list[tuple[int, int, AnyArray]]:
        """(program, ipu, values per tile) of many programs in one go, where stored; `column` is a field of
        ProgramOnIpu: cycles, rx, tx, exchange_code or control_code."""
        table = self._tables["program_by_ipu"]
        ids = self._tables.ints("program_by_ipu", f"{column}_array")
        rows = np.flatnonzero(np.isin(table["program"], np.asarray(programs, np.int64)) & (np.asarray(ids) >= 0))
        arrays = self.arrays([int(ids[row]) for row in rows])
        return [(int(table["program"][row]), int(table["ipu"][row]), a) for row, a in zip(rows, arrays, strict=True)]

    def program_sums(self, column: str) -> tuple[AnyArray, AnyArray]:
        """(program, sum over the tiles of an IPU) of every row where `column` of ProgramOnIpu is stored: a row per
        program and IPU. Arrays that rows share are read and added up once."""
        ids = np.asarray(self._tables.ints("program_by_ipu", f"{column}_array"))
        program = np.asarray(self._tables["program_by_ipu"]["program"], np.int64)[ids >= 0]
        unique, which = np.unique(ids[ids >= 0], return_inverse=True)
        arrays = self.arrays(unique.tolist(), narrow=True)
        return program, np.array([np.sum(array, dtype=np.int64) for array in arrays], np.int64)[which]

    def messages(self, program: int, ipu: int) -> Messages | None:
        """Tile-to-tile traffic of an exchange program that starts on `ipu`, None where nothing was stored."""
        names = ("src_array", "dst_array", "bytes_array")
        found = self._row_arrays("messages", {"program": program, "ipu": ipu}, names)
        return None if found is None else Messages(program, ipu, *(present(column) for column in found))

    def traffic(
        self, table: str, programs: Sequence[int], columns: slice = slice(None)
    ) -> Iterator[tuple[int, int, list[AnyArray]]]:
        """(program, ipu, columns) of many exchange programs; `table` is "messages" (source, destination, bytes) or
        "sendings" (source, receivers, bytes: model.Sendings); `columns` leaves some of them unread. Columns have their
        stored narrow types (see `arrays`). Nothing where the file lacks the table; format 1.0 has no sendings."""
        rows = [(program, ipu, ids[columns]) for program, ipu, ids in traffic_rows(self._tables, table, programs)]
        for begin in range(0, len(rows), _TRAFFIC_AT_ONCE):
            batch = rows[begin : begin + _TRAFFIC_AT_ONCE]
            wanted = sorted({identity for _, _, ids in batch for identity in ids if identity >= 0})
            known = dict(zip(wanted, self.arrays(wanted, narrow=True), strict=True))
            for program, ipu, ids in batch:
                yield program, ipu, [known[identity] if identity >= 0 else present(None) for identity in ids]

    def program_variables(self) -> dict[int, int] | None:
        """Program -> id of the array with the rows of `variables` that it reads or writes by itself; None where the
        file does not say, as those before format 1.2."""
        if not self._tables.holds("program_variables", since=(1, 2)):
            return None
        table = self._tables["program_variables"]
        columns = (np.asarray(table[name]).tolist() for name in ("program", "variables_array"))
        return dict(zip(*columns, strict=True))

    def known_figures(self) -> dict[str, AnyArray]:
        """By name of model.PROGRAM_FIGURES: programs of which the figure is known on every tile, zero where no array is
        stored. {} where the file does not say, as those before format 1.3."""
        if not self._tables.holds("known_figures", since=(1, 3)):
            return {}
        table = self._tables["known_figures"]
        arrays = self._optionals(np.asarray(table["programs_array"]).tolist())
        return {str(name): present(programs) for name, programs in zip(table["figure"], arrays, strict=True)}

    def program_figures(self) -> dict[str, AnyArray]:
        """program, ipu and the ids of the arrays of every row that `program_on_ipu` can give."""
        return {name: np.asarray(values, np.int64) for name, values in self._tables["program_by_ipu"].items()}

    def compute_set_rows(self) -> dict[str, AnyArray]:
        """compute_set, vertex_type, ipu, and the ids of the arrays of every row of compute_set_vertices."""
        names = ("compute_set", "vertex_type", "ipu", "count_array", "cycles_array")
        table = self._tables["compute_set_vertices"]
        return {name: np.asarray(table[name], np.int64) for name in names}

    def compute_set_vertices(self, compute_set: int | None = None) -> list[ComputeSetVertices]:
        """Vertex counts and cycles per tile: of one compute set, or of all of them."""
        return compilation_reader.compute_set_vertices(self._tables, self._optionals, compute_set)

    def compute_set_counts(self) -> tuple[AnyArray, AnyArray, AnyArray, list[AnyArray]]:
        """(compute set, vertex type, IPU, instances per tile) of every row of compute_set_vertices, without cycles.

        Instances have their stored narrow types (see `arrays`); rows that share an array get the same object."""
        table = self._tables["compute_set_vertices"]
        ids = np.asarray(table["count_array"], dtype=np.int64)
        unique, which = np.unique(ids, return_inverse=True)
        known = iter(self.arrays(unique[unique >= 0].tolist(), narrow=True))
        found = [next(known) if identity >= 0 else np.empty(0, np.uint8) for identity in unique.tolist()]
        keys = (np.asarray(table[name], dtype=np.int64) for name in ("compute_set", "vertex_type", "ipu"))
        return (*keys, [found[row] for row in which.tolist()])  # type: ignore[return-value]

    def compute_set_provenance(self) -> list[tuple[int, str]]:
        """(compute set, provenance) of every row of compute_set_vertices, without its arrays."""
        table = self._tables["compute_set_vertices"]
        return [(int(row), str(name)) for row, name in zip(table["compute_set"], table["provenance"], strict=True)]

    def compute_set_types(self) -> list[tuple[int, int]]:
        """(compute set, vertex type) of every row of compute_set_vertices, without its arrays."""
        table = self._tables["compute_set_vertices"]
        columns = (np.asarray(table[name]).tolist() for name in ("compute_set", "vertex_type"))
        return list(zip(*columns, strict=True))

    def vertex_lanes(self, compute_set: int, ipu: int) -> VertexLanes | None:
        """Which vertex ran on which worker, None where nothing was stored."""
        names = ("offsets_array", "type_array", "thread_cycles_array", "worker_array")
        found = self._row_arrays("vertex_lanes", {"compute_set": compute_set, "ipu": ipu}, names)
        return None if found is None else VertexLanes(compute_set, ipu, *(present(column) for column in found))

    def cost_terms(self, object: str) -> list[CostTerm]:
        """Terms behind the figures of `object`, for example "program:12" or "computeSet:3"."""
        return compilation_reader.cost_terms(self._tables, object)
