"""What ran: runs, execution steps and their figures per IPU. Cycles are tile clock cycles, `microseconds` host time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.formats.profile import model
from popvision.pva.block import Block, blocks_of_tile
from popvision.pva.listview import ListView
from popvision.pva.program import Program, make_program
from popvision.pva.vertices import ComputeSet

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class MinMax:
    """Least and greatest over the tiles concerned."""

    min: int
    max: int


@dataclass(frozen=True)
class CycleWindow:
    """When tiles began and ended a step, in absolute cycles."""

    cyclesFrom: MinMax
    cyclesTo: MinMax


class StepIpu:
    """One step on one IPU."""

    __slots__ = ("_columns", "_step")

    def __init__(self, columns: model.StepsOnIpu, step: int) -> None:
        self._columns = columns
        self._step = step

    def _int(self, column: model.IntArray) -> int:
        return int(column[self._step])

    @property
    def cycles(self) -> int:
        """Length of the step: these add up to the total."""
        return self._int(self._columns.cycles)

    @property
    def activeCycles(self) -> CycleWindow:
        """Window over the tiles that take part."""
        c = self._columns
        return CycleWindow(
            MinMax(self._int(c.active_from_min), self._int(c.active_from_max)),
            MinMax(self._int(c.active_to_min), self._int(c.active_to_max)),
        )

    @property
    def allCycles(self) -> CycleWindow:
        """Window over all tiles of the IPU."""
        c = self._columns
        return CycleWindow(
            MinMax(self._int(c.all_from_min), self._int(c.all_from_max)),
            MinMax(self._int(c.all_to_min), self._int(c.all_to_max)),
        )

    @property
    def dataIn(self) -> int:
        """Bytes received."""
        return self._int(self._columns.data_in)

    @property
    def dataOut(self) -> int:
        """Bytes sent."""
        return self._int(self._columns.data_out)

    @property
    def activeTiles(self) -> int:
        return self._int(self._columns.active_tiles)

    @property
    def tileBalance(self) -> float:
        """Mean over all tiles of the IPU / maximum of the tiles' cycles, 0..1."""
        return float(self._columns.tile_balance[self._step])

    @property
    def activeTileBalance(self) -> float:
        """The same over the tiles that take part."""
        return float(self._columns.active_tile_balance[self._step])


class ExecutionStep:
    """One program as it ran once."""

    __slots__ = ("_columns", "_step")

    def __init__(self, columns: Columns, step: int) -> None:
        self._columns = columns
        self._step = step

    @property
    def program(self) -> Program:
        return make_program(self._columns, int(self._columns.steps.program[self._step]))

    @property
    def ipus(self) -> list[StepIpu]:
        """Figures of the step, one entry per IPU."""
        return [StepIpu(columns, self._step) for columns in self._columns.steps_on_ipu]

    @property
    def cyclesByTile(self) -> list[int]:
        """Cycles each tile spent in the step, waiting included for syncs."""
        ids = [int(columns.cycles_array[self._step]) for columns in self._columns.steps_on_ipu]
        return [int(c) for array in self._columns.reader.arrays(ids) for c in array.tolist()]

    @property
    def computeSets(self) -> list[ComputeSet]:
        """The compute set that ran, with what it took on each tile; empty for other programs."""
        compute_set = int(self._columns.steps.compute_set[self._step])
        return [ComputeSet(self._columns, compute_set, self.cyclesByTile)] if compute_set >= 0 else []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionStep) and self._step == other._step and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._step))

    def __repr__(self) -> str:
        return f"ExecutionStep({self._step}, {self.program!r})"


@dataclass(frozen=True)
class HostInterval:
    """Host clock, microseconds since the epoch."""

    start: int
    end: int


class Run:
    """One recorded `Engine.run`."""

    def __init__(self, columns: Columns, run: int) -> None:
        self._columns = columns
        self._run = run

    @property
    def name(self) -> str:
        """The text given to `run`."""
        return self._columns.runs.name[self._run]

    @property
    def microseconds(self) -> HostInterval:
        runs = self._columns.runs
        return HostInterval(int(runs.host_start_us[self._run]), int(runs.host_end_us[self._run]))

    @property
    def steps(self) -> ListView[ExecutionStep]:
        runs = self._columns.runs
        first = int(runs.first_step[self._run])
        return ListView(int(runs.n_steps[self._run]), lambda i: ExecutionStep(self._columns, first + i))

    @property
    def cyclesByIpu(self) -> list[int]:
        """Sum of the steps' lengths on each IPU."""
        runs = self._columns.runs
        rows = slice(int(runs.first_step[self._run]), int(runs.first_step[self._run] + runs.n_steps[self._run]))
        return [int(np.sum(columns.cycles[rows], dtype=np.int64)) for columns in self._columns.steps_on_ipu]

    def __repr__(self) -> str:
        return f"Run({self._run}, {self.name!r}, {len(self.steps)} steps)"


@dataclass(frozen=True)
class TotalCycles:
    """Device cycles of all recorded runs."""

    total: int


class ExecutionReport:
    """What ran; lists are empty when the program was not profiled or did not run."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @cached_property
    def runs(self) -> ListView[Run]:
        return ListView(len(self._columns.runs.name), lambda i: Run(self._columns, i))

    @cached_property
    def steps(self) -> ListView[ExecutionStep]:
        """All steps of all runs."""
        return ListView(len(self._columns.steps.program), lambda i: ExecutionStep(self._columns, i))

    def blocks(self, tile: int) -> ListView[Block]:
        """What lightweight profiling recorded on one tile (numbered over all IPUs), by beginning; empty where it
        recorded nothing. Raises IndexError for a tile that the target does not have."""
        return blocks_of_tile(self._columns, tile)

    @cached_property
    def totalCycles(self) -> TotalCycles:
        return TotalCycles(int(self._columns.reader.total_cycles()))
