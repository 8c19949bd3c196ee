"""Everything known when compilation ended."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.pva.listview import ListView
from popvision.pva.liveness import LivenessProgramStep, Variable, tile_variables, variable_list
from popvision.pva.lowered import LoweredVariables
from popvision.pva.program import Program, make_program
from popvision.pva.target import IPU, Graph, Target
from popvision.pva.tile import Tile
from popvision.pva.vertices import ComputeSet

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


class CompilationReport:
    """Target, graph, memory, programs and liveness. Tiles are numbered over all IPUs, IPU-major."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @cached_property
    def target(self) -> Target:
        return Target(self._columns.target)

    @cached_property
    def graph(self) -> Graph:
        counts = self._columns.reader.counts()
        names = ("num_compute_sets", "num_vertices", "num_edges", "num_variables")
        return Graph(*(int(counts[name]) for name in names))

    @cached_property
    def tiles(self) -> ListView[Tile]:
        """Every tile of every IPU; empty when the report holds no graph profile."""
        known = self._columns.tile_memory is not None
        return ListView(self._columns.target.num_tiles if known else 0, lambda t: Tile(self._columns, t))

    @cached_property
    def ipus(self) -> list[IPU]:
        return [IPU(i, self.tiles[self._columns.tiles_of(i)]) for i in range(self._columns.target.num_ipus)]

    @cached_property
    def computeSets(self) -> ListView[ComputeSet]:
        return ListView(len(self._columns.compute_sets.name), lambda i: ComputeSet(self._columns, i))

    @cached_property
    def programs(self) -> ListView[Program]:
        """Every program once, those inside others too; position = `_id`."""
        return ListView(len(self._columns.programs.type), lambda i: make_program(self._columns, i))

    @cached_property
    def livenessProgramSteps(self) -> ListView[LivenessProgramStep]:
        liveness = self._columns.liveness
        size = 0 if liveness is None else len(liveness.program)
        return ListView(size, lambda i: LivenessProgramStep(self._columns, i))

    @cached_property
    def alwaysLiveVariables(self) -> list[Variable]:
        """Always-live variables, sizes summed over tiles, the largest first."""
        variables = self._columns.variables
        if variables is None:
            return []
        ids = np.flatnonzero(variables.always_live)
        return variable_list(self._columns, ids, variables.bytes[ids])

    def alwaysLiveVariablesForTile(self, tile: int) -> list[Variable]:
        """Always-live variables of one tile with their bytes there."""
        return tile_variables(self._columns, tile, lambda eq_class: eq_class < 0)

    @cached_property
    def loweredVariables(self) -> LoweredVariables:
        return LoweredVariables(self._columns)
