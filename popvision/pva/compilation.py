"""The compilation: target, graph, memory, programs and liveness."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from popvision.pva import errors
from popvision.pva.listview import ListView, PrintedList
from popvision.pva.liveness import LivenessProgramStep, always_live, always_live_on_tile
from popvision.pva.lowered import LoweredVariables, Variable
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
        """The machine that was compiled for. Raises FormatError where the file does not say."""
        return Target(self._columns.target)

    @cached_property
    def graph(self) -> Graph:
        """Counts of the graph."""
        names = ("num_compute_sets", "num_vertices", "num_edges", "num_variables")
        try:
            counts = self._columns.reader.counts()
        except errors.AbsentError as absent:
            return self._graph_of_tables(absent)
        return Graph(*(int(counts[name]) for name in names))

    def _graph_of_tables(self, absent: errors.AbsentError) -> Graph:
        """Counts of the graph from the tables of another tool's file."""

        def unknown() -> int:
            raise absent

        sets = self._columns.reader.rows("compute_sets")
        names = ("numVertices", "numEdges", "numVars")
        return Graph.of(numComputeSets=(lambda: sets) if sets else unknown, **dict.fromkeys(names, unknown))

    @cached_property
    def tiles(self) -> ListView[Tile]:
        """Every tile of every IPU; empty when the report holds no graph profile."""
        c = self._columns
        size = c.shape.num_tiles if c.tile_memory is not None else 0
        return ListView(size, partial(Tile, c), c.printing, errors.GRAPH_PROFILE)

    @cached_property
    def ipus(self) -> list[IPU]:
        """Every IPU with its tiles."""
        c = self._columns
        return PrintedList([IPU(i, self.tiles[c.tiles_of(i)]) for i in range(int(c.shape.num_ipus))], c.printing)

    @cached_property
    def computeSets(self) -> ListView[ComputeSet]:
        """Every compute set by id."""
        c = self._columns
        return ListView(len(c.compute_sets.name), partial(ComputeSet, c), c.printing)

    @cached_property
    def programs(self) -> ListView[Program]:
        """Every program once, nested ones included; position = `_id`."""
        c = self._columns
        return ListView(len(c.programs.type), partial(make_program, c), c.printing)

    @cached_property
    def livenessProgramSteps(self) -> ListView[LivenessProgramStep]:
        """Leaf programs in static order with the memory live there; empty without a graph profile."""
        c = self._columns
        return ListView(len(c.live_programs), partial(LivenessProgramStep, c), c.printing, errors.GRAPH_PROFILE)

    @cached_property
    def alwaysLiveVariables(self) -> ListView[Variable]:
        """Always-live variables, sizes summed over all tiles, the largest first; empty without a graph profile."""
        return always_live(self._columns)

    def alwaysLiveVariablesForTile(self, tile: int) -> ListView[Variable]:
        """Always-live variables of one tile with their bytes there. Raises AbsentError without lowered variables,
        IndexError for a tile that is not there."""
        return always_live_on_tile(self._columns, tile)

    @cached_property
    def loweredVariables(self) -> LoweredVariables:
        """Allocations of every tile."""
        return LoweredVariables(self._columns)

    @property
    def engineOptions(self) -> dict[str, str]:
        """Options of the engine that compiled it, by name, defaults included; empty where the file lacks them."""
        return self._strings("engineOptions")

    @property
    def targetOptions(self) -> dict[str, str]:
        """Options of the target: its type, its architecture, and constants that a what-if changed."""
        return self._strings("targetOptions")

    @property
    def hostInfo(self) -> dict[str, str]:
        """Host machine and software of the compilation, without names of hosts or users."""
        return self._strings("host")

    @property
    def name(self) -> str:
        """Name of the engine, possibly empty."""
        return str(self._columns.reader.meta.get("engineName", ""))

    @property
    def timestamp(self) -> str:
        """Time of the compilation, ISO 8601 in UTC; "" where the file lacks it."""
        return str(self._columns.reader.meta.get("timestamp", ""))

    def _strings(self, key: str) -> dict[str, str]:
        facts = self._columns.reader.meta.get(key)
        return {str(name): str(value) for name, value in facts.items()} if isinstance(facts, dict) else {}

    def __repr__(self) -> str:
        return f"CompilationReport({len(self.programs)} programs, {len(self.tiles)} tiles)"
