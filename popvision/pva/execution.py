"""Recorded execution: runs, their steps and totals. Cycles are tile clock cycles, `microseconds` host time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.tile_knowledge import phases_of_tiles_unknown
from popvision.formats.profile.model import PHASE_OF_TYPE
from popvision.pva import errors
from popvision.pva.block import Block, blocks_of_tile
from popvision.pva.listview import ListView
from popvision.pva.plain import ints
from popvision.pva.step import ExecutionStep

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class HostInterval:
    """Host clock, microseconds since the epoch."""

    start: int
    end: int


class Run:
    """One recorded `Engine.run`."""

    __slots__ = ("_columns", "_run")

    def __init__(self, columns: Columns, run: int) -> None:
        self._columns = columns
        self._run = run

    @property
    def name(self) -> str:
        """The name that was passed to `run`."""
        return self._columns.runs.name[self._run]

    @property
    def microseconds(self) -> HostInterval:
        """When the run began and ended on the host."""
        runs = self._columns.runs
        return HostInterval(int(runs.host_start_us[self._run]), int(runs.host_end_us[self._run]))

    @property
    def steps(self) -> ListView[ExecutionStep]:
        """The steps of this run; the same objects as those of `execution.steps`."""
        columns = self._columns
        first, count = (int(column[self._run]) for column in (columns.runs.first_step, columns.runs.n_steps))
        return ListView(count, lambda i: ExecutionStep(columns, first + i), columns.printing)

    @property
    def cyclesByIpu(self) -> list[int]:
        """Sum of the steps' lengths on each IPU."""
        runs = self._columns.runs
        first = int(runs.first_step[self._run])
        rows = slice(first, first + int(runs.n_steps[self._run]))
        return [int(np.sum(each.arrays.cycles[rows], dtype=np.int64)) for each in self._columns.steps_on_ipu]

    @property
    def tailByTile(self) -> list[int]:
        """Cycles between a tile's last step and the end of the run, on each tile of the target: with `cyclesByTile` of
        the steps they add up to the length of the run on every tile. Raises AbsentError where another tool's file lacks
        them."""
        columns = self._columns
        if columns.reader.foreign:
            raise errors.absent("this report has no tails of runs: it was written by another tool")
        ipus = range(columns.shape.num_ipus)
        return [cycles for ipu in ipus for cycles in ints(columns.reader.run_tail(self._run, ipu))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self._run == other._run and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "run", self._run))

    def __repr__(self) -> str:
        return f"Run({self._run}, {self.name!r}, {len(self.steps)} steps)"


class TotalCycles:
    """Cycles of all recorded runs. `total` counts device cycles. The others sum cycles of steps of one kind over all
    tiles; together with the tails of the runs (`Run.tailByTile`) they give `total` x tiles. `compute` and `sync` raise
    AbsentError for hardware that counted on one tile per IPU or device."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @property
    def total(self) -> int:
        """Device cycles: the lengths of the runs."""
        columns = self._columns
        return columns.reader.total_cycles() if columns.reader.foreign else int(np.sum(columns.runs.cycles))

    @property
    def compute(self) -> int:
        """Tile cycles of OnTileExecute steps."""
        return self._of("OnTileExecute")

    @property
    def doExchange(self) -> int:
        """Tile cycles of exchanges within IPUs."""
        return self._of("DoExchange")

    @property
    def globalExchange(self) -> int:
        """Tile cycles of exchanges between IPUs."""
        return self._of("GlobalExchange")

    @property
    def streamCopy(self) -> int:
        """Tile cycles of all three parts of copies to and from the host."""
        return self._of("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd")

    @property
    def sync(self) -> int:
        """Tile cycles of synchronisation, waiting included."""
        return self._of("Sync", "SyncAns", "Sans")

    def _of(self, *types: str) -> int:
        columns = self._columns
        if columns.tiles_unknown and phases_of_tiles_unknown(columns.source) & {PHASE_OF_TYPE[kind] for kind in types}:
            raise errors.AbsentError(columns.tiles_unknown)
        kinds = np.array([kind in types for kind in columns.programs.type], bool)
        chosen = kinds[np.array(columns.step_programs, np.int64)]
        return sum(int(each.arrays.tile_cycles[: len(chosen)][chosen].sum()) for each in columns.steps_on_ipu)

    def __repr__(self) -> str:
        return f"TotalCycles(total={self.total})"


class ExecutionReport:
    """Recorded execution; lists are empty when the program was not profiled or did not run."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @cached_property
    def runs(self) -> ListView[Run]:
        """One per recorded `Engine.run`, in order."""
        c = self._columns
        return ListView(len(c.runs.name), partial(Run, c), c.printing, c.absent_execution)

    @cached_property
    def steps(self) -> ListView[ExecutionStep]:
        """All steps of all runs."""
        c = self._columns
        return ListView(c.num_steps, partial(ExecutionStep, c), c.printing, c.absent_execution)

    def blocks(self, tile: int) -> ListView[Block]:
        """Blocks that lightweight profiling recorded on one tile (numbered over all IPUs), by begin; empty where it
        recorded nothing. Raises IndexError for a tile that the target does not have."""
        return blocks_of_tile(self._columns, tile)

    @cached_property
    def totalCycles(self) -> TotalCycles:
        """Sums over all runs; 0 when nothing ran."""
        return TotalCycles(self._columns)

    def __repr__(self) -> str:
        return f"ExecutionReport({len(self.runs)} runs, {self.totalCycles.total} cycles)"
