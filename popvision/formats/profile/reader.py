"""ProfileReader: profile.pop as the columns of `model`.

Every call opens the file, reads and closes it again; scalar tables are cached until the file changes. What
one call returns belongs to one state of the file, also while a program is still appending runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from popvision.arrays import AnyArray
from popvision.formats.integrity import LostPart
from popvision.formats.profile import facts_reader, memory_reader, program_reader, run_reader
from popvision.formats.profile.model import (
    BranchRecord,
    CategoryMemory,
    ComputeSets,
    ComputeSetVertices,
    CopyVertices,
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
)
from popvision.formats.profile.profile_file import ProfileFile
from popvision.formats.profile.schema_report import SchemaReport, schema_report


class ProfileReader:
    """A profile.pop opened for reading. All methods raise FormatError, nothing else. Safe to share between threads.

    A foreign SQLite database opens as far as its tables are known: `missing` names the rest, which reads as empty."""

    def __init__(self, path: str | Path, *, salvage: bool = False, one_state: bool = False) -> None:
        """With `salvage` a damaged file opens as well: reading what is damaged raises LostError, the rest is read, and
        `lost` lists the damage. With `one_state` the report stays as it is now, whatever runs its program adds."""
        self._file = ProfileFile(path, salvage=salvage, one_state=one_state)
        self.path = self._file.path

    # The file: its state, its damage, its tables.

    @property
    def foreign(self) -> bool:
        """The file was not written by ProfileWriter: no checksums, and perhaps only some of the tables."""
        return self._file.foreign

    @property
    def missing(self) -> list[str]:
        """Tables, and columns as "table.column", of the format that are not in the file."""
        return self._file.tables.missing

    @property
    def unknown(self) -> list[str]:
        """Tables, and columns as "table.column", of the file that the format does not know; they are left unread."""
        return self._file.tables.unknown

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Within the context all calls of this thread read one state of the file through one connection: for requests
        of many small calls."""
        with self._file.database.connect():
            yield

    @property
    def lost(self) -> list[LostPart]:
        """The damage, one sentence each; empty for an undamaged file, and always without `salvage`.

        Reads a file of up to 4 MB through once; of a larger one, lists what calls met until now (`survey()` reads
        any)."""
        return self._file.losses.known()

    @property
    def noticed(self) -> list[LostPart]:
        """The damage that calls met until now, without looking further."""
        return self._file.losses.noticed()

    def survey(self) -> list[LostPart]:
        """The damage after everything in the file has been read and checked, however long that takes."""
        return self._file.losses.survey()

    def schema_report(self) -> SchemaReport:
        """Tables, columns, row counts and sizes, without any contents."""
        return schema_report(self._file.database)

    def rows(self, table: str) -> int:
        """Rows of a scalar table as they stand in the file, unchecked; 0 where the table is not there."""
        return self._file.tables.rows(table)

    def check_tables(self, names: Iterable[str]) -> None:
        """Read scalar tables through. Raises FormatError where one does not match its checksums."""
        for name in names:
            self._file.tables[name]

    def array(self, id: int) -> AnyArray:
        """One stored array as int64, checksum verified."""
        return self._file.arrays([id])[0]

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[AnyArray]:
        """Stored arrays in the order of `ids`, checksums verified, read-only.

        They come as int64, so that sums do not wrap; `narrow=True` leaves the stored u1, u2, u4, u8 or i8, which is
        eight times smaller at best and which NumPy adds modulo its width."""
        return self._file.arrays(ids, narrow=narrow)

    # The report: its identity and its target.

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the report: Compilation.meta and format, formatVersion, generation, target, counts.

        {} where they were lost (with `salvage`)."""
        return self._file.meta

    @property
    def generation(self) -> int:
        """Number of commits after the compilation; grows while a program is running."""
        return facts_reader.generation(self._file)

    @property
    def report_id(self) -> str:
        """Identity of the report, "" in a foreign file."""
        return str(self.meta.get("reportId", ""))

    @property
    def format_version(self) -> tuple[int, int, int]:
        """Version of the layout of the file, (0, 0, 0) in a foreign one."""
        return facts_reader.format_version(self._file)

    def target(self) -> Target:
        """The machine. Raises FormatError when the file does not say."""
        return facts_reader.target(self._file)

    def shape(self) -> tuple[int, int]:
        """(number of IPUs, tiles of each): the target's, or where a foreign file has none those of its steps and
        tiles. Raises FormatError when there are no tiles either."""
        return facts_reader.shape(self._file)

    def counts(self) -> dict[str, int]:
        """num_vertices, num_edges, num_variables, num_compute_sets. Raises AbsentError where another tool's file does
        not say; `rows("compute_sets")` still may."""
        return facts_reader.counts(self._file)

    # Programs, compute sets and vertices.

    def programs(self) -> Programs:
        """The lowered programs; the row is the Id users see."""
        return program_reader.programs(self._file)

    def program_on_ipu(self, program: int, ipu: int) -> ProgramOnIpu | None:
        """Per-tile figures of a program on one IPU, None where nothing was stored."""
        return program_reader.program_on_ipu(self._file, program, ipu)

    def program_columns(self, column: str, programs: Sequence[int]) -> list[tuple[int, int, AnyArray]]:
        """(program, ipu, values per tile) of many programs in one read, where stored; `column` is a field of
        ProgramOnIpu: cycles, rx, tx, exchange_code or control_code."""
        return program_reader.program_columns(self._file, column, programs)

    def program_sums(self, column: str) -> tuple[AnyArray, AnyArray]:
        """(program, sum over the tiles of an IPU) of every row where `column` of ProgramOnIpu is stored: a row per
        program and IPU."""
        return program_reader.program_sums(self._file, column)

    def program_figures(self) -> dict[str, AnyArray]:
        """program, ipu and the ids of the arrays of every row that `program_on_ipu` can give."""
        return program_reader.program_figures(self._file)

    def known_figures(self) -> dict[str, AnyArray]:
        """By name of model.PROGRAM_FIGURES: programs of which the figure is known on every tile, zero where no array is
        stored. {} where the file does not say, as those before format 1.3."""
        return program_reader.known_figures(self._file)

    def program_variables(self) -> dict[int, int] | None:
        """Program -> id of the array with the rows of `variables` that it reads or writes by itself; None where the
        file does not say, as those before format 1.2."""
        return program_reader.program_variables(self._file)

    def compute_sets(self) -> ComputeSets:
        """Names, debug ids and floating point operations of the compute sets."""
        return program_reader.compute_sets(self._file)

    def vertex_types(self) -> VertexTypes:
        """Names, kinds and sizes in bytes of the vertex types."""
        return program_reader.vertex_types(self._file)

    def compute_set_vertices(self, compute_set: int | None = None) -> list[ComputeSetVertices]:
        """Vertex counts and cycles per tile: of one compute set, or of all of them."""
        return program_reader.compute_set_vertices(self._file, compute_set)

    def copy_vertices(self) -> list[CopyVertices]:
        """Vertices that copy within tiles, with instances and thread cycles per tile; [] where the file does not say,
        as those before format 1.4."""
        return program_reader.copy_vertices(self._file)

    def compute_set_rows(self) -> dict[str, AnyArray]:
        """compute_set, vertex_type, ipu, and the ids of the arrays of every row of compute_set_vertices."""
        return program_reader.compute_set_rows(self._file)

    def compute_set_counts(self) -> tuple[AnyArray, AnyArray, AnyArray, list[AnyArray]]:
        """(compute set, vertex type, IPU, instances per tile) of every row of compute_set_vertices, without cycles.

        Instances have their stored narrow types (see `arrays`); rows that share an array get the same object."""
        return program_reader.compute_set_counts(self._file)

    def compute_set_provenance(self) -> list[tuple[int, str]]:
        """(compute set, provenance) of every row of compute_set_vertices, without its arrays."""
        return program_reader.compute_set_provenance(self._file)

    def compute_set_types(self) -> list[tuple[int, int]]:
        """(compute set, vertex type) of every row of compute_set_vertices, without its arrays."""
        return program_reader.compute_set_types(self._file)

    def vertex_lanes(self, compute_set: int, ipu: int) -> VertexLanes | None:
        """Which vertex ran on which worker, None where nothing was stored."""
        return program_reader.vertex_lanes(self._file, compute_set, ipu)

    def cost_terms(self, object: str) -> list[CostTerm]:
        """Terms behind the figures of `object`, for example "program:12" or "computeSet:3"."""
        return program_reader.cost_terms(self._file, object)

    # Data that moves.

    def messages(self, program: int, ipu: int) -> Messages | None:
        """Tile-to-tile traffic of an exchange program that starts on `ipu`, None where nothing was stored."""
        return program_reader.messages(self._file, program, ipu)

    def traffic(
        self, table: str, programs: Sequence[int], columns: slice = slice(None)
    ) -> Iterator[tuple[int, int, list[AnyArray]]]:
        """(program, ipu, columns) of many exchange programs; `table` is "messages" (source, destination, bytes) or
        "sendings" (source, receivers, bytes: model.Sendings); only the columns that `columns` selects are read.
        Columns have their stored narrow types (see `arrays`). Nothing where the file lacks the table; format 1.0 has
        no sendings."""
        return program_reader.traffic(self._file, table, programs, columns)

    # Memory.

    def tile_memory(self) -> TileMemory | None:
        """Totals per tile in bytes; None when no graph profile was written."""
        return memory_reader.tile_memory(self._file)

    def category_memory(self) -> list[CategoryMemory]:
        """Bytes per tile by category, region and overlap."""
        return memory_reader.category_memory(self._file)

    def bytes_by_category(self) -> dict[str, AnyArray]:
        """Bytes of each category on each tile as table vars_info adds them up, for files without more; addresses that
        several variables share count as often as they do there. {} where it has no rows."""
        return memory_reader.bytes_by_category(self._file)

    def variables(self) -> Variables | None:
        """Variables before lowering; None when no graph profile was written."""
        return memory_reader.variables(self._file)

    def eq_classes(self) -> EquivalenceClasses | None:
        """Ranges of liveness indices, without the class of always-live variables; None when not written."""
        return memory_reader.eq_classes(self._file)

    def liveness(self) -> Liveness | None:
        """Program and bytes at each liveness index; None when not written."""
        return memory_reader.liveness(self._file)

    def vars_info(self, tile: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(category, name, bytes) of one tile: rows of CATEGORIES and of `lowered_names()`."""
        return memory_reader.vars_info(self._file, tile)

    def lowered_tile(self, tile: int) -> LoweredTile | None:
        """Allocations of one tile by address; None where not written."""
        return memory_reader.lowered_tile(self._file, tile)

    def lowered_counts(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """(tile, number of its allocations, id of the first) of the tiles that were written, ascending."""
        return memory_reader.lowered_counts(self._file)

    def lowered_tiles(
        self, tiles: Sequence[int], columns: Sequence[str]
    ) -> Iterator[list[tuple[int, dict[str, AnyArray]]]]:
        """Named columns of the allocations of many tiles, batch by batch: (tile, {column: values}) of those written.

        Values have their stored narrow types (see `arrays`), but for classes, of which -1 = always live. A column that
        several tiles of a batch share is stored once and comes as one object, so that a sum over it can be taken
        once."""
        return memory_reader.lowered_tiles(self._file, tiles, columns)

    def lowered_names(self) -> list[str]:
        """The string table that `lowered_tile` and `vars_info` refer to."""
        return memory_reader.lowered_names(self._file)

    # Recorded execution.

    def runs(self) -> Runs:
        """One row per recorded run."""
        return run_reader.runs(self._file)

    def total_cycles(self) -> int:
        """Device cycles of all recorded runs together."""
        return run_reader.total_cycles(self._file)

    def steps(self) -> Steps:
        """One row per execution step, all runs."""
        return run_reader.steps(self._file)

    def step_count(self) -> int:
        """Rows of `steps`, also where another tool's file lacks some of its columns."""
        return run_reader.step_count(self._file)

    def steps_on_ipu(self, ipu: int) -> StepsOnIpu:
        """One row per execution step on one IPU; cycles, from and to absolute."""
        return run_reader.steps_on_ipu(self._file, ipu)

    def intervals(self, ipu: int, first_step: int, last_step: int) -> Iterator[tuple[int, int, AnyArray, AnyArray]]:
        """(step, base, start, cycles) of steps first..last, the last included: tile t is busy in
        [base + start[t], base + start[t] + cycles[t]), int64 cycles. Streams: memory does not grow with the window."""
        return run_reader.intervals(self._file, self.steps_on_ipu(ipu), first_step, last_step)

    def run_tail(self, run: int, ipu: int) -> AnyArray:
        """Cycles per tile from the end of its last step to the end of the run."""
        return run_reader.run_tail(self._file, run, ipu)

    def branch_record(self, run: int) -> BranchRecord:
        """What loops and switches did in a run; no rows where control flow was not instrumented."""
        return run_reader.branch_record(self._file, run)

    def blocks(self, tile: int) -> list[TileBlocks]:
        """What lightweight profiling recorded on a tile, run after run; nothing where it did not, or in a file before
        format 1.2."""
        return run_reader.blocks(self._file, tile)

    def tiles_with_blocks(self) -> list[int]:
        """Tiles that recorded blocks, ascending."""
        return run_reader.tiles_with_blocks(self._file)
