"""ProfileReader: profile.pop as the columns of `model`.

Every call opens the file, reads and closes it again; scalar tables are kept in memory until the file changes. What
one call returns belongs to one state of the file, also while a program is still appending runs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.errors import AbsentError, FormatError, LostError
from popvision.formats.profile import compilation_reader, run_reader
from popvision.formats.profile.array_reader import read_arrays
from popvision.formats.profile.arrays import AnyArray, widened
from popvision.formats.profile.connection import SqliteFile
from popvision.formats.profile.losses import Losses
from popvision.formats.profile.model import (
    BranchRecord,
    CategoryMemory,
    ComputeSets,
    ComputeSetVertices,
    CostTerm,
    EquivalenceClasses,
    Liveness,
    LoweredTile,
    Messages,
    ProgramOnIpu,
    Programs,
    Runs,
    Steps,
    StepsOnIpu,
    Target,
    TileBlocks,
    TileMemory,
    Variables,
    VertexLanes,
    VertexTypes,
)  # fmt: skip
from popvision.formats.profile.schema_report import SchemaReport, schema_report
from popvision.formats.profile.tables import Tables
from popvision.formats.profile.traffic_reader import traffic_rows

#: Tiles whose columns are read together, so that memory does not grow with the machine.
_TILES_AT_ONCE = 512

#: Exchange programs whose messages are read together; a large one has millions of them.
_TRAFFIC_AT_ONCE = 64


class ProfileReader:
    """A profile.pop opened for reading. All methods raise FormatError, nothing else. Safe to share between threads.

    A foreign SQLite database opens as far as its tables are known: `missing` names the rest, which reads as empty."""

    def __init__(self, path: str | Path, *, salvage: bool = False) -> None:
        """With `salvage` a damaged file opens as well: what is damaged raises LostError, the rest answers, and `lost`
        says what is gone."""
        self.path = Path(path)
        self._file = SqliteFile(self.path, "profile.pop", salvage=salvage)
        self._tables = Tables(self._file, salvage=salvage)
        self._losses = Losses(self._file, self._tables)
        if not self._tables.foreign and not salvage:
            self._tables["meta"]

    @property
    def foreign(self) -> bool:
        """The file was not written by ProfileWriter: no checksums, and perhaps only some of the tables."""
        return self._tables.foreign

    @property
    def missing(self) -> list[str]:
        """Tables, and columns as "table.column", of the format that are not in the file."""
        return self._tables.missing

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Questions that this thread asks within the context are answered of one state of the file, by one connection:
        for requests of many small questions."""
        with self._file.connect():
            yield

    @property
    def lost(self) -> list[str]:
        """What damage has cost, one sentence each; empty for a whole file, and always without `salvage`.

        A file of up to 4 MB is read through once to say so; of a larger one, what questions met until now
        (`survey()` reads any)."""
        return self._losses.known()

    @property
    def noticed(self) -> list[str]:
        """What the questions asked until now met of it, without looking further."""
        return self._losses.noticed()

    def survey(self) -> list[str]:
        """The same after everything in the file has been read and checked, however long that takes."""
        return self._losses.survey()

    @property
    def unknown(self) -> list[str]:
        """Tables, and columns as "table.column", of the file that the format does not know; they are left unread."""
        return self._tables.unknown

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the report: Compilation.meta and format, formatVersion, generation, target, counts.

        {} where they were lost (with `salvage`)."""
        try:
            table = self._tables["meta"]
        except LostError:
            return {}
        try:
            return {key: json.loads(value) for key, value in zip(table["key"], table["value"], strict=True)}
        except ValueError:
            if self.foreign:
                return {}  # a table of that name, of which nothing is known
            raise FormatError(f"{self.path}: table meta is damaged: a value is not JSON.") from None

    @property
    def generation(self) -> int:
        """Number of commits after the compilation; grows while a program is running."""
        value = self.meta.get("generation", 0)
        return value if isinstance(value, int) else 0

    @property
    def report_id(self) -> str:
        """Identity of the report, "" in a foreign file."""
        return str(self.meta.get("reportId", ""))

    @property
    def format_version(self) -> tuple[int, int, int]:
        """Version of the layout of the file, (0, 0, 0) in a foreign one."""
        try:
            major, minor, point = (int(part) for part in str(self.meta.get("formatVersion", "0.0.0")).split("."))
        except ValueError:
            raise FormatError(f"{self.path}: the format version in table meta is damaged.") from None
        return major, minor, point

    def _facts(self) -> dict[str, Any]:
        """`meta`, but raises LostError where it was lost."""
        self._tables["meta"]
        return self.meta

    def schema_report(self) -> SchemaReport:
        """Tables, columns, row counts and sizes, without any contents."""
        return schema_report(self._file)

    def target(self) -> Target:
        """The machine. Raises FormatError when the file does not say."""
        facts = self._facts().get("target")
        if not isinstance(facts, dict):
            raise AbsentError(f"{self.path} does not say which target the program was compiled for.")
        return compilation_reader.target(facts, self._optional)

    def shape(self) -> tuple[int, int]:
        """(number of IPUs, tiles of each): the target's, or where a foreign file has none what its steps and tiles
        tell. Raises FormatError when there are no tiles either."""
        try:
            target = self.target()
        except LostError:
            raise
        except AbsentError:
            ipus, tiles = run_reader.ipus_of_steps(self._tables), compilation_reader.tiles_listed(self._tables)
            if not tiles or tiles % ipus:
                raise
            return ipus, tiles // ipus
        return target.num_ipus, target.tiles_per_ipu

    def counts(self) -> dict[str, int]:
        """num_vertices, num_edges, num_variables, num_compute_sets. Raises AbsentError where another tool's file does
        not say; `rows("compute_sets")` still may."""
        counts = self._facts().get("counts", {})
        if not counts and (self._tables.salvage or self.foreign):
            raise AbsentError(f"{self.path} does not say how many vertices and variables the graph has.")
        names = ("num_vertices", "num_edges", "num_variables", "num_compute_sets")
        return {name: int(counts.get(name, 0)) for name in names}

    def rows(self, table: str) -> int:
        """Rows of a scalar table as they stand in the file, unchecked; 0 where the table is not there."""
        return self._tables.rows(table)

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
        return None if found is None else Messages(program, ipu, *(_present(column) for column in found))

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
                yield program, ipu, [known[identity] if identity >= 0 else _present(None) for identity in ids]

    def program_variables(self) -> dict[int, int] | None:
        """Program -> id of the array with the rows of `variables` that it reads or writes by itself; None where the
        file does not say, as those before format 1.2."""
        if not self._tables.holds("program_variables", since=(1, 2)):
            return None
        table = self._tables["program_variables"]
        columns = (np.asarray(table[name]).tolist() for name in ("program", "variables_array"))
        return dict(zip(*columns, strict=True))

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
        return None if found is None else VertexLanes(compute_set, ipu, *(_present(column) for column in found))

    def cost_terms(self, object: str) -> list[CostTerm]:
        """Terms behind the figures of `object`, for example "program:12" or "computeSet:3"."""
        return compilation_reader.cost_terms(self._tables, object)

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
        return None if found is None else EquivalenceClasses(*(_present(column) for column in found))

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

    def runs(self) -> Runs:
        """One row per recorded run."""
        return run_reader.runs(self._tables)

    def steps(self) -> Steps:
        """One row per execution step, all runs."""
        return run_reader.steps(self._tables)

    def step_count(self) -> int:
        """Rows of `steps`, also where another tool's file lacks some of its columns."""
        return run_reader.step_count(self._tables)

    def steps_on_ipu(self, ipu: int) -> StepsOnIpu:
        """One row per execution step on one IPU; cycles, from and to absolute."""
        return run_reader.steps_on_ipu(self._tables, ipu)

    def array(self, id: int) -> AnyArray:
        """One stored array as int64, checksum verified."""
        return self.arrays([id])[0]

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[AnyArray]:
        """Stored arrays in the order asked for, checksums verified, read-only.

        They come as int64, so that sums do not wrap; `narrow=True` leaves the stored u1, u2, u4, u8 or i8, which is
        eight times smaller at best and which NumPy adds modulo its width."""
        try:
            with self._naming_the_file(), self._file.connect() as db:
                found = read_arrays(db, [int(identity) for identity in ids])
        except FormatError as problem:
            if not self._tables.salvage:
                raise
            self._losses.note(str(problem))
            raise LostError(str(problem)) from problem
        return found if narrow else [widened(values) for values in found]

    def run_tail(self, run: int, ipu: int) -> AnyArray:
        """Cycles per tile between its last step and the end of the run."""
        found = self._row_arrays("run_tail", {"run": run, "ipu": ipu}, ("tail_array",))
        if found is None:
            raise FormatError(f"{self.path} has no tail of run {run} on IPU {ipu}.")
        return _present(found[0])

    def branch_record(self, run: int) -> BranchRecord:
        """What loops and switches did in a run; no rows where control flow was not instrumented."""
        return run_reader.branch_record(self._tables, run)

    def blocks(self, tile: int) -> list[TileBlocks]:
        """What lightweight profiling recorded on a tile, run after run; nothing where it did not, or in a file before
        format 1.2."""
        return run_reader.blocks(self._tables, self.arrays, tile)

    def tiles_with_blocks(self) -> list[int]:
        """Tiles that recorded blocks, ascending."""
        return run_reader.tiles_with_blocks(self._tables)

    def total_cycles(self) -> int:
        """Device cycles of all recorded runs together."""
        return run_reader.total_cycles(self._tables)

    def intervals(self, ipu: int, first_step: int, last_step: int) -> Iterator[tuple[int, int, AnyArray, AnyArray]]:
        """(step, base, start, cycles) of steps first..last, the last included: tile t is busy in
        [base + start[t], base + start[t] + cycles[t]), int64 cycles. Streams: memory does not grow with the window."""
        return run_reader.intervals(self.steps_on_ipu(ipu), self.arrays, first_step, last_step)

    def _row_arrays(self, table: str, key: dict[str, int], columns: Sequence[str]) -> list[AnyArray | None] | None:
        row = compilation_reader.find_row(self._tables[table], key)
        if row is None:
            return None
        return self._optionals([int(self._tables.ints(table, column)[row]) for column in columns])

    def _optional(self, identity: int) -> AnyArray | None:
        return self._optionals([identity])[0]

    def _optionals(self, ids: Sequence[int]) -> list[AnyArray | None]:
        """Arrays as int64, None where the id is negative."""
        known = iter(self.arrays([identity for identity in ids if identity >= 0]))
        return [next(known) if identity >= 0 else None for identity in ids]

    @contextlib.contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except FormatError as error:
            text = str(error)
            raise FormatError(text if str(self.path) in text else f"{self.path}: {text}") from None


def _present(column: AnyArray | None) -> AnyArray:
    return np.empty(0, dtype=np.int64) if column is None else column
