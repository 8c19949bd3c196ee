"""The columns behind one opened report, each read once: what every object of this package points into.

Runs are counted when any of them is first asked for; what a live program appends later belongs to the next opening, so
that steps, runs and totals of one report agree.
"""

from __future__ import annotations

import operator
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from popvision.analysis.report.source import ReportSource
from popvision.arrays import IntegerArray
from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader, model
from popvision.pva import errors
from popvision.pva.allocations import Allocations
from popvision.pva.array_cache import ArrayCache
from popvision.pva.control_code import ControlCode
from popvision.pva.listview import Printing
from popvision.pva.plain import Lists, ints
from popvision.pva.step_columns import StepColumns
from popvision.pva.vertex_columns import VertexColumns

Figure = Literal["cycles", "rx", "tx", "exchange_code", "control_code"]


def _state(path: Path) -> tuple[int, int, int] | None:
    """What tells one file of that name from another."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class Columns:
    """Lazy columns of one report. Compares by identity: two objects of one report share one instance."""

    def __init__(self, source: ReportSource) -> None:
        self.source = source
        self.printing = Printing()
        self.arrays = ArrayCache(self.same_reader)
        self._report_id = source.reader.report_id
        self._seen = _state(source.reader.path)

    @property
    def reader(self) -> ProfileReader:
        """The opened file. Raises FormatError when another report has taken its place, so that two are never mixed."""
        reader, now = self.source.reader, _state(self.source.reader.path)
        if now is not None and now != self._seen:
            if reader.report_id != self._report_id:
                raise FormatError(f"{reader.path} was replaced by another report since it was opened: open it again.")
            self._seen = now
        return reader

    def same_reader(self) -> ProfileReader:
        """The same as a method."""
        return self.reader

    @cached_property
    def target(self) -> model.Target:
        return self.reader.target()

    @cached_property
    def shape(self) -> model.Target:
        """How many IPUs and tiles there are: of the target, else as far as another tool's file tells; nothing more of
        it means anything."""
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
        return VertexColumns(self.same_reader, self.shape)

    @cached_property
    def variables(self) -> model.Variables | None:
        return self.reader.variables()

    @cached_property
    def is_of_the_graph(self) -> list[bool]:
        """Of each variable whether it is one of the graph, or of a program's exchange; not the compiler's own memory,
        which stands in the table under the name of its category."""
        if self.variables is None:
            return []
        own = set(model.CATEGORIES)
        ids = np.asarray(self.variables.debug_id).tolist()
        return [id >= 0 or name not in own for id, name in zip(ids, self.variables.name, strict=True)]

    @cached_property
    def liveness(self) -> model.Liveness | None:
        return self.reader.liveness()

    @cached_property
    def live_programs(self) -> list[int]:
        """Program of each liveness index."""
        return [] if self.liveness is None else ints(self.liveness.program)

    @cached_property
    def live_bytes(self) -> list[int]:
        """Not-always-live bytes of one replica at each liveness index."""
        return [] if self.liveness is None else ints(self.liveness.bytes)

    @cached_property
    def allocations(self) -> Allocations:
        return Allocations(self.source, self.same_reader, self.shape)

    @cached_property
    def tile_memory(self) -> Lists | None:
        """The columns of model.TileMemory: bytes of each tile."""
        found = self.reader.tile_memory()
        return None if found is None else Lists(found)

    @cached_property
    def category_memory(self) -> dict[tuple[str, int], list[model.CategoryMemory]]:
        """By category and IPU."""
        grouped: dict[tuple[str, int], list[model.CategoryMemory]] = {}
        for part in self.reader.category_memory():
            grouped.setdefault((part.category, part.ipu), []).append(part)
        return grouped

    @cached_property
    def bytes_by_category(self) -> dict[str, list[int]]:
        """Bytes of each category on each tile, as the table of variables of another tool's file adds up."""
        return {name: ints(values) for name, values in self.reader.bytes_by_category().items()}

    @cached_property
    def runs(self) -> model.Runs:
        return self.reader.runs()

    @cached_property
    def num_steps(self) -> int:
        """Steps of the runs that are counted; a database without runs may have steps all the same."""
        runs = self.runs
        if self.reader.foreign:
            return self.reader.step_count()
        return int(runs.first_step[-1] + runs.n_steps[-1]) if len(runs.name) else 0

    @cached_property
    def _all_steps(self) -> model.Steps:
        _ = self.runs  # first, so that no run has steps that are not here
        return self.reader.steps()

    @cached_property
    def step_programs(self) -> list[int]:
        return ints(self._all_steps.program[: self.num_steps])

    @cached_property
    def step_compute_sets(self) -> list[int]:
        return ints(self._all_steps.compute_set[: self.num_steps])

    @cached_property
    def steps_on_ipu(self) -> list[StepColumns]:
        _ = self.runs
        return [StepColumns(self.reader.steps_on_ipu(ipu)) for ipu in range(self.shape.num_ipus)]

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
            raise IndexError(f"tile {tile} is none of the {self.shape.num_tiles} tiles of the target")
        return number

    def check_ipu(self, ipu: int) -> int:
        """`ipu` as an int; raises IndexError for one that the target does not have."""
        number = operator.index(ipu)
        if not 0 <= number < self.shape.num_ipus:
            raise IndexError(f"IPU {ipu} is none of the {self.shape.num_ipus} IPUs of the target")
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

    def program_by_tile(self, program: int, figure: Figure) -> list[int]:
        """One figure of a program on every tile of the target; empty when it is known on no IPU."""
        ipus, ids = self._figures["ipu"], self._figures[f"{figure}_array"]
        values: list[int] = []
        for row in self._figure_rows.get(program, ()):
            array = self.arrays.get(ids, row)
            if array is None:
                continue
            if len(array) == self.shape.num_tiles:
                return ints(array)  # one IPU, hence one row
            values = values or [0] * self.shape.num_tiles
            values[self.tiles_of(int(ipus[row]))] = ints(array)
        return values

    @cached_property
    def control_code(self) -> ControlCode:
        return ControlCode(self.programs, self._figures, self._figure_rows, self.shape, self.arrays)

    @cached_property
    def _touched(self) -> dict[int, int] | None:
        return self.reader.program_variables()

    def variables_touched(self, programs: list[int]) -> IntegerArray | None:
        """Rows of the variables that any of these programs reads or writes; None where the report does not say."""
        if self._touched is None:
            return None
        ids = sorted({self._touched[program] for program in programs if program in self._touched})
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.reader.arrays(ids)]))

    def children_of(self, program: int) -> list[int]:
        offsets = self.programs.child_offsets
        return ints(self.programs.children[offsets[program] : offsets[program + 1]])

    @cached_property
    def absent_execution(self) -> str:
        """Why there is no step: the sentence that lists of runs and steps give."""
        return "" if len(self.runs.name) else errors.EXECUTION_PROFILE
