"""The columns of one opened report, each read once. Every object of this package is an index into them.

The number of runs is fixed at the first question about runs; what a live program appends later belongs to the next
opening, so that steps, runs and totals of one report agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import steps_of_tiles_unknown, tiles_unknown
from popvision.arrays import Int64Array, IntegerArray
from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader, model
from popvision.pva import errors
from popvision.pva.allocations import Allocations
from popvision.pva.array_cache import ArrayCache
from popvision.pva.control_code import ControlCode
from popvision.pva.listview import Printing
from popvision.pva.plain import ListColumns, NotKnown, ints

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileReader

Figure = Literal["cycles", "rx", "tx", "exchange_code", "control_code"]


def _file_state(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and time of change, which tell whether a file was replaced; None for a missing file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class Columns:
    """Lazy columns of one report. All objects of a report share one instance and compare it by identity."""

    def __init__(self, source: ReportSource) -> None:
        self.source = source
        self.printing = Printing()
        self.arrays = ArrayCache(self.open_reader)
        self._report_id = source.reader.report_id
        self._seen_state = _file_state(source.reader.path)

    def __reduce__(self) -> Any:
        raise TypeError(
            "objects of an opened report cannot be pickled: open the report in the other process, or pass numbers, "
            "strings and value objects"
        )

    @property
    def reader(self) -> ProfileReader:
        """The opened file. Raises FormatError when another report has taken its place, so that two never mix."""
        reader, state = self.source.reader, _file_state(self.source.reader.path)
        if state is not None and state != self._seen_state:
            if reader.report_id != self._report_id:
                raise FormatError(f"{reader.path} was replaced by another report since it was opened; open it again.")
            self._seen_state = state
        return reader

    def open_reader(self) -> ProfileReader:
        """`reader` as a method, for objects that read later."""
        return self.reader

    @cached_property
    def target(self) -> model.Target:
        return self.reader.target()

    @cached_property
    def shape(self) -> model.Target:
        """A target of which only the numbers of IPUs and tiles are valid: another tool's file may tell no more."""
        ipus, tiles = self.reader.shape()
        return model.Target("Unknown", "Unknown", ipus, tiles, 0, 0.0)

    @cached_property
    def programs(self) -> model.Programs:
        return self.reader.programs()

    @cached_property
    def compute_sets(self) -> model.ComputeSets:
        return self.reader.compute_sets()

    @cached_property
    def vertices(self) -> VertexColumns:
        return VertexColumns(self.open_reader, self.shape)

    @cached_property
    def variables(self) -> model.Variables | None:
        return self.reader.variables()

    @cached_property
    def is_graph_variable(self) -> list[bool]:
        """By variable: False for the compiler's own memory, which the table lists under the name of its category."""
        if self.variables is None:
            return []
        categories = set(model.CATEGORIES)
        ids = np.asarray(self.variables.debug_id).tolist()
        return [id >= 0 or name not in categories for id, name in zip(ids, self.variables.name, strict=True)]

    @cached_property
    def whole_variables(self) -> Int64Array:
        """By row of the table of variables: the row of the variable that it is a part of."""
        known = self.variables
        if known is None:
            return np.empty(0, np.int64)
        return np.arange(len(known.name)) if known.part_of is None else np.asarray(known.part_of, np.int64)

    @cached_property
    def liveness(self) -> model.Liveness | None:
        return self.reader.liveness()

    @cached_property
    def live_programs(self) -> list[int]:
        """Program at each liveness index."""
        return [] if self.liveness is None else ints(self.liveness.program)

    @cached_property
    def live_bytes(self) -> list[int]:
        """Not-always-live bytes of one replica at each liveness index."""
        return [] if self.liveness is None else ints(self.liveness.bytes)

    @cached_property
    def allocations(self) -> Allocations:
        return Allocations(self.source, self.open_reader, self.shape, lambda: self.whole_variables)

    @cached_property
    def tile_memory(self) -> ListColumns[model.TileMemory] | None:
        """Bytes of each tile."""
        memory = self.reader.tile_memory()
        return None if memory is None else ListColumns(memory)

    @cached_property
    def category_memory(self) -> dict[tuple[str, int], list[model.CategoryMemory]]:
        """Parts of the memory by (category, IPU)."""
        grouped: dict[tuple[str, int], list[model.CategoryMemory]] = {}
        for part in self.reader.category_memory():
            grouped.setdefault((part.category, part.ipu), []).append(part)
        return grouped

    @cached_property
    def bytes_by_category(self) -> dict[str, list[int]]:
        """Bytes of each category on each tile, summed over the table of variables of another tool's file."""
        return {name: ints(values) for name, values in self.reader.bytes_by_category().items()}

    @cached_property
    def runs(self) -> model.Runs:
        return self.reader.runs()

    @cached_property
    def num_steps(self) -> int:
        """Steps of the counted runs; another tool's database may have steps without runs."""
        runs = self.runs
        if self.reader.foreign:
            return self.reader.step_count()
        return int(runs.first_step[-1] + runs.n_steps[-1]) if len(runs.name) else 0

    @cached_property
    def _all_steps(self) -> model.Steps:
        _ = self.runs  # read first, so that every counted run has its steps here
        return self.reader.steps()

    @cached_property
    def step_programs(self) -> list[int]:
        return ints(self._all_steps.program[: self.num_steps])

    @cached_property
    def step_compute_sets(self) -> list[int]:
        return ints(self._all_steps.compute_set[: self.num_steps])

    @cached_property
    def steps_on_ipu(self) -> list[ListColumns[model.StepsOnIpu]]:
        _ = self.runs
        return [ListColumns(self.reader.steps_on_ipu(ipu)) for ipu in range(self.shape.num_ipus)]

    @cached_property
    def tiles_unknown(self) -> str:
        """Why the cycles of compute and syncs on single tiles are unknown, "" where they are known."""
        return tiles_unknown(self.source)

    @cached_property
    def _steps_of_tiles_unknown(self) -> list[bool]:
        unknown: list[bool] = steps_of_tiles_unknown(self.source).tolist()
        return unknown

    def tiles_unknown_in(self, step: int) -> str:
        """Why the cycles of a step on single tiles are unknown, "" where they are known."""
        return self.tiles_unknown if self.tiles_unknown and self._steps_of_tiles_unknown[step] else ""

    def cycles_by_tile(self, step: int) -> list[int]:
        """Cycles of a step on every tile of the target; empty where no IPU's are known, and for compute and syncs on
        hardware at a level of instrumentation that counts on one tile (`tiles_unknown_in`)."""
        if unknown := self.tiles_unknown_in(step):
            return NotKnown(unknown)
        by_ipu = [self.arrays.get(each.arrays.cycles_array, step) for each in self.steps_on_ipu]
        if all(cycles is None for cycles in by_ipu):
            return []
        tiles = self.shape.tiles_per_ipu
        return [number for cycles in by_ipu for number in ([0] * tiles if cycles is None else cycles.tolist())]

    @cached_property
    def program_of_compute_set(self) -> dict[int, int]:
        """First program that runs each compute set."""
        sets = np.asarray(self.programs.compute_set)
        programs = np.flatnonzero(sets >= 0)[::-1]
        return dict(zip(sets[programs].tolist(), programs.tolist(), strict=True))

    def tiles_of(self, ipu: int) -> slice:
        """Global tile ids of one IPU."""
        tiles = self.shape.tiles_per_ipu
        return slice(ipu * tiles, (ipu + 1) * tiles)

    def check_tile(self, tile: int) -> int:
        """`tile` as an int; raises IndexError for one that the target does not have."""
        number = operator.index(tile)
        if not 0 <= number < self.shape.num_tiles:
            raise IndexError(f"tile {tile} does not exist: the target has {self.shape.num_tiles} tiles")
        return number

    def check_ipu(self, ipu: int) -> int:
        """`ipu` as an int; raises IndexError for one that the target does not have."""
        number = operator.index(ipu)
        if not 0 <= number < self.shape.num_ipus:
            raise IndexError(f"IPU {ipu} does not exist: the target has {self.shape.num_ipus} IPUs")
        return number

    @cached_property
    def _figures(self) -> dict[str, IntegerArray]:
        """Columns of the table of programs on IPUs."""
        return self.reader.program_figures()

    @cached_property
    def _figure_rows(self) -> dict[int, list[int]]:
        """Rows of that table by program."""
        rows: dict[int, list[int]] = {}
        for row, program in enumerate(np.asarray(self._figures["program"]).tolist()):
            rows.setdefault(program, []).append(row)
        return rows

    @cached_property
    def known_figures(self) -> dict[str, set[int]]:
        """Programs by figure that is known on every tile, and zero where none is stored; {} where the file does not
        say."""
        return {name: set(ints(programs)) for name, programs in self.reader.known_figures().items()}

    def not_known(self, program: int, figure: Figure) -> NotKnown:
        """The empty list for a figure that the file does not have, with the reason."""
        what = f"the {figure.replace('_', ' ')} of {self.programs.type[program]} programs"
        if self.known_figures or self.reader.foreign:
            return NotKnown(f"this report does not know {what}")
        return NotKnown(f"{errors.ZERO_OR_UNKNOWN}: it does not say {what}")

    def program_by_tile(self, program: int, figure: Figure) -> list[int]:
        """One figure of a program on every tile of the target; empty where it is not known."""
        ipus, ids = self._figures["ipu"], self._figures[f"{figure}_array"]
        values: list[int] = []
        for row in self._figure_rows.get(program, ()):
            array = self.arrays.get(ids, row)
            if array is None:
                continue
            if len(array) == self.shape.num_tiles:
                return ints(array)  # the only IPU
            values = values or [0] * self.shape.num_tiles
            values[self.tiles_of(int(ipus[row]))] = ints(array)
        if not values and program in self.known_figures.get(figure, ()):
            return [0] * self.shape.num_tiles
        return values or self.not_known(program, figure)

    @cached_property
    def control_code(self) -> ControlCode:
        known = self.known_figures.get("control_code", set())
        return ControlCode(self.programs, self._figures, self._figure_rows, known, self.shape, self.arrays)

    @cached_property
    def _touched(self) -> dict[int, int] | None:
        return self.reader.program_variables()

    def variables_touched(self, programs: list[int]) -> IntegerArray | None:
        """Rows of the variables that any of these programs reads or writes; None where the report lacks them."""
        if self._touched is None:
            return None
        ids = sorted({self._touched[program] for program in programs if program in self._touched})
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.reader.arrays(ids)]))

    def children_of(self, program: int) -> list[int]:
        offsets = self.programs.child_offsets
        return ints(self.programs.children[offsets[program] : offsets[program + 1]])

    @cached_property
    def absent_execution(self) -> str:
        """Why lists of runs and steps are empty; "" when something ran."""
        return "" if len(self.runs.name) else errors.EXECUTION_PROFILE


# ---- vertices ----


class VertexColumns:
    """The report's table of vertices by compute set, and instances of each type on each tile."""

    def __init__(self, reader: Callable[[], ProfileReader], target: model.Target) -> None:
        self._reader = reader
        self._target = target
        self._arrays = ArrayCache(reader)

    @cached_property
    def types(self) -> model.VertexTypes:
        return self._reader().vertex_types()

    @cached_property
    def _rows(self) -> dict[str, IntegerArray]:
        return self._reader().compute_set_rows()

    @cached_property
    def by_set(self) -> dict[int, dict[int, list[int]]]:
        """Compute set -> vertex type -> rows of the table, one per IPU."""
        rows: dict[int, dict[int, list[int]]] = {}
        keys = (self._rows[name].tolist() for name in ("compute_set", "vertex_type"))
        for row, (compute_set, vertex_type) in enumerate(zip(*keys, strict=True)):
            rows.setdefault(compute_set, {}).setdefault(vertex_type, []).append(row)
        return rows

    def count_by_tile(self, rows: list[int]) -> list[int]:
        """Instances of these rows on each tile of the target."""
        return self._by_tile("count_array", rows)

    def cycles(self, rows: list[int]) -> int:
        """Estimated cycles of these rows over all tiles; -1 when unknown."""
        return sum(self._by_tile("cycles_array", rows)) if (self._rows["cycles_array"][rows] >= 0).all() else -1

    def _by_tile(self, column: str, rows: list[int]) -> list[int]:
        tiles = self._target.tiles_per_ipu
        values = [0] * self._target.num_tiles
        for row in rows:
            first = int(self._rows["ipu"][row]) * tiles
            array = self._arrays.get(self._rows[column], row)
            if array is not None:
                values[first : first + tiles] = array.tolist()
        return values

    @cached_property
    def count_of_types(self) -> Int64Array:
        """Instances of each type (row) on each tile (column)."""
        tiles = self._target.tiles_per_ipu
        instances = np.zeros((len(self.types.name), self._target.num_tiles), np.int64)
        _, vertex_type, ipu, counts = self._reader().compute_set_counts()
        for kind, number, count in zip(vertex_type.tolist(), ipu.tolist(), counts, strict=True):
            if len(count):
                instances[kind, number * tiles : (number + 1) * tiles] += count
        return instances
