"""Compute sets, vertex types and vertex instances, as compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.formats.profile import model

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class VertexType:
    """A codelet: `size` is the bytes of one instance's state."""

    name: str
    size: int


@dataclass(frozen=True)
class VertexInstances:
    """The vertices of one type in one compute set."""

    type: VertexType
    _columns: Columns = field(repr=False, compare=False)
    _parts: tuple[model.ComputeSetVertices, ...] = field(repr=False, compare=False)

    @property
    def countByTile(self) -> list[int]:
        """Instances on each tile of the target."""
        counts = np.zeros(self._columns.target.num_tiles, np.int64)
        for part in self._parts:
            counts[self._columns.tiles_of(part.ipu)] += part.count
        return _ints(counts)


class ComputeSet:
    """A set of vertices that may run at the same time. `cyclesByTile` is what a step of it took where it ran; as a
    member of `compilation.computeSets` it is empty."""

    def __init__(self, columns: Columns, id: int, cycles: list[int] | None = None) -> None:
        self._columns = columns
        self._id = id
        self.cyclesByTile: list[int] = cycles if cycles is not None else []

    @property
    def name(self) -> str:
        """Debug path of the compute set."""
        return self._columns.compute_sets.name[self._id]

    @cached_property
    def vertices(self) -> list[VertexInstances]:
        """One entry per vertex type in the set."""
        by_type: dict[int, list[model.ComputeSetVertices]] = {}
        for part in self._columns.vertices_of(self._id):
            by_type.setdefault(part.vertex_type, []).append(part)
        return [VertexInstances(self._columns.vertex_type(t), self._columns, tuple(p)) for t, p in by_type.items()]

    @property
    def estimatedCyclesByTile(self) -> list[int]:
        """Estimated tile cycles of one execution; empty when there is no estimate."""
        program = self._columns.program_of_compute_set.get(self._id)
        return [] if program is None else self._columns.program_by_tile(program, "cycles")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComputeSet) and (other._columns, other._id) == (self._columns, self._id)

    def __hash__(self) -> int:
        return hash((id(self._columns), self._id))

    def __repr__(self) -> str:
        return f"ComputeSet({self.name!r})"


def _ints(values: model.IntArray) -> list[int]:
    return [int(v) for v in values.tolist()]
