"""Execution steps and their figures per IPU. Cycles are tile clock cycles, data bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from popvision.pva import errors
from popvision.pva.listview import PrintedList
from popvision.pva.partly_known import PartlyKnown
from popvision.pva.plain import ListColumns
from popvision.pva.program import Program, make_program
from popvision.pva.vertices import ComputeSet

if TYPE_CHECKING:
    from popvision.formats.profile import model
    from popvision.pva.columns import Columns


@dataclass(frozen=True, repr=False)
class MinMax(PartlyKnown):
    """Least and greatest value over tiles."""

    min: int
    max: int


@dataclass(frozen=True)
class CycleWindow:
    """When tiles began and ended a step, absolute cycles."""

    cyclesFrom: MinMax
    cyclesTo: MinMax


class StepIpu:
    """One step on one IPU. For compute and syncs on hardware that counted on one tile per IPU or device, what single
    tiles did is unknown: balances, the first begin and the first end raise AbsentError."""

    __slots__ = ("_columns", "_step", "_tiles_unknown")

    def __init__(self, columns: ListColumns[model.StepsOnIpu], step: int, tiles_unknown: str) -> None:
        self._columns = columns
        self._step = step
        self._tiles_unknown = tiles_unknown  # why, "" where single tiles are known

    @property
    def cycles(self) -> int:
        """Length of the step: these add up to the total."""
        return int(self._columns.at("cycles", self._step))

    @property
    def activeCycles(self) -> CycleWindow:
        """Window over the tiles that take part."""
        return self._window("active")

    @property
    def allCycles(self) -> CycleWindow:
        """Window over all tiles of the IPU."""
        return self._window("all")

    def _window(self, tiles: str) -> CycleWindow:
        at, step = self._columns.at, self._step
        edge_of: list[Callable[[], Any]] = [partial(at, f"{tiles}_{edge}", step) for edge in _EDGES]
        if self._tiles_unknown:
            edge_of[0] = edge_of[2] = self._refuse
        try:
            edges = [int(edge()) for edge in edge_of]
            return CycleWindow(MinMax(*edges[:2]), MinMax(*edges[2:]))
        except errors.AbsentError:
            return CycleWindow(MinMax.of(min=edge_of[0], max=edge_of[1]), MinMax.of(min=edge_of[2], max=edge_of[3]))

    def _refuse(self) -> NoReturn:
        raise errors.AbsentError(self._tiles_unknown)

    def _balance(self, name: str) -> float:
        if self._tiles_unknown:
            self._refuse()
        return float(self._columns.at(name, self._step))

    @property
    def dataIn(self) -> int:
        """Bytes received."""
        return int(self._columns.at("data_in", self._step))

    @property
    def dataOut(self) -> int:
        """Bytes sent."""
        return int(self._columns.at("data_out", self._step))

    @property
    def activeTiles(self) -> int:
        """Tiles that take part."""
        return int(self._columns.at("active_tiles", self._step))

    @property
    def tileBalance(self) -> float:
        """Mean / maximum of the tiles' cycles over all tiles of the IPU, 0 to 1."""
        return self._balance("tile_balance")

    @property
    def activeTileBalance(self) -> float:
        """The same over the tiles that take part."""
        return self._balance("active_tile_balance")

    def __repr__(self) -> str:
        return f"StepIpu({self.cycles} cycles, {self.activeTiles} tiles)"


_EDGES = ("from_min", "from_max", "to_min", "to_max")


class ExecutionStep:
    """One program as it ran once."""

    __slots__ = ("_columns", "_step")

    def __init__(self, columns: Columns, step: int) -> None:
        self._columns = columns
        self._step = step

    @property
    def program(self) -> Program:
        """What ran: a leaf of the program tree."""
        return make_program(self._columns, self._columns.step_programs[self._step])

    @property
    def ipus(self) -> list[StepIpu]:
        """Figures of the step, one entry per IPU."""
        step, columns = self._step, self._columns
        unknown = columns.tiles_unknown_in(step)
        return [StepIpu(each, step, unknown) for each in columns.steps_on_ipu]

    @property
    def cyclesByTile(self) -> list[int]:
        """Cycles that each tile spent in the step; a sync's include waiting. Empty for compute and syncs on
        hardware that counted on one tile per IPU or device."""
        return self._columns.cycles_by_tile(self._step)

    @property
    def computeSets(self) -> list[ComputeSet]:
        """The compute set that ran, with its cycles on each tile; empty for other programs."""
        compute_set = self._columns.step_compute_sets[self._step]
        compute_sets = [ComputeSet(self._columns, compute_set, self._step)] if compute_set >= 0 else []
        return PrintedList(compute_sets, self._columns.printing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionStep) and self._step == other._step and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "step", self._step))

    def __repr__(self) -> str:
        return f"ExecutionStep({self._step}, {self.program!r})"
