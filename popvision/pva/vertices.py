"""Compute sets, vertex types and vertex instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.pva.listview import PrintedList
from popvision.pva.plain import NotKnown

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class VertexType:
    """A codelet: `size` is the bytes of one instance's state."""

    name: str
    size: int


def vertex_type(columns: Columns, row: int) -> VertexType:
    """The type of a row of the report's table of vertex types."""
    types = columns.vertices.types
    return VertexType(types.name[row], int(types.state_bytes[row]))


class VertexInstances:
    """The vertices of one type in one compute set."""

    __slots__ = ("_columns", "_rows", "type")

    def __init__(self, columns: Columns, row: int, rows: list[int]) -> None:
        self._columns = columns
        self._rows = rows
        self.type = vertex_type(columns, row)

    @property
    def countByTile(self) -> list[int]:
        """Instances on each tile of the target."""
        return self._columns.vertices.count_by_tile(self._rows)

    @property
    def estimatedCycles(self) -> int:
        """Estimated cycles of one execution, all instances on all tiles together: thread cycles of workers, tile
        cycles of supervisor and multi vertices; -1 where there is no estimate."""
        return self._columns.vertices.cycles(self._rows)

    def __repr__(self) -> str:
        return f"VertexInstances({self.type.name!r}, {sum(self.countByTile)} instances)"


class ComputeSet:
    """Vertices that may run at the same time: as compiled, or as one execution step ran them. `_id` is the position in
    `compilation.computeSets`; two objects of the same set are equal, whichever step ran them."""

    __slots__ = ("_columns", "_id", "_step")

    def __init__(self, columns: Columns, id: int, step: int = -1) -> None:
        self._columns = columns
        self._id = id
        self._step = step

    @property
    def name(self) -> str:
        """Debug path of the compute set."""
        return self._columns.compute_sets.name[self._id]

    @property
    def vertices(self) -> list[VertexInstances]:
        """One entry per vertex type in the set."""
        by_type = self._columns.vertices.by_set.get(self._id, {})
        instances = [VertexInstances(self._columns, row, rows) for row, rows in by_type.items()]
        return PrintedList(instances, self._columns.printing)

    @property
    def estimatedCyclesByTile(self) -> list[int]:
        """Estimated tile cycles of one execution on each tile of the target; empty where there is no estimate."""
        program = self._columns.program_of_compute_set.get(self._id)
        if program is None:
            return NotKnown("no program of this report runs the compute set")
        return self._columns.program_by_tile(program, "cycles")

    @property
    def cyclesByTile(self) -> list[int]:
        """Cycles of the step on each tile of the target; empty for a member of `compilation.computeSets`, which has not
        run, and on hardware that counted on one tile per IPU or device."""
        if self._step < 0:
            return NotKnown("a compute set of the compilation has not run; take those of an execution step")
        return self._columns.cycles_by_tile(self._step)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComputeSet) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "compute set", self._id))

    def __repr__(self) -> str:
        return f"ComputeSet({self.name!r})"
