"""The columns behind one opened report, each read once: what every object of this package points into."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from popvision.analysis.source import ReportSource
from popvision.formats.profile import model
from popvision.pva.vertices import VertexType

Figure = Literal["cycles", "rx", "tx", "exchange_code", "control_code"]


class Columns:
    """Lazy columns of one report. Compares by identity: two objects of one report share one instance."""

    def __init__(self, source: ReportSource) -> None:
        self.source = source
        self.reader = source.reader

    @cached_property
    def target(self) -> model.Target:
        return self.reader.target()

    @cached_property
    def programs(self) -> model.Programs:
        return self.reader.programs()

    @cached_property
    def compute_sets(self) -> model.ComputeSets:
        return self.reader.compute_sets()

    @cached_property
    def vertex_types(self) -> model.VertexTypes:
        return self.reader.vertex_types()

    @cached_property
    def variables(self) -> model.Variables | None:
        return self.reader.variables()

    @cached_property
    def whole_variable(self) -> model.IntArray:
        """The variable that each variable's row is a part of: the first row of the same name and debug record."""
        if self.variables is None:
            return np.empty(0, np.int64)
        first: dict[tuple[str, int], int] = {}
        rows = zip(self.variables.name, self.variables.debug_id.tolist(), strict=True)
        return np.array([first.setdefault(key, i) if key[1] >= 0 else i for i, key in enumerate(rows)], np.int64)

    @cached_property
    def eq_classes(self) -> model.EquivalenceClasses | None:
        return self.reader.eq_classes()

    @cached_property
    def liveness(self) -> model.Liveness | None:
        return self.reader.liveness()

    @cached_property
    def lowered_names(self) -> list[str]:
        return self.reader.lowered_names()

    @cached_property
    def tile_memory(self) -> model.TileMemory | None:
        return self.reader.tile_memory()

    @cached_property
    def category_memory(self) -> dict[str, list[model.CategoryMemory]]:
        grouped: dict[str, list[model.CategoryMemory]] = {}
        for part in self.reader.category_memory():
            grouped.setdefault(part.category, []).append(part)
        return grouped

    @cached_property
    def steps(self) -> model.Steps:
        return self.reader.steps()

    @cached_property
    def runs(self) -> model.Runs:
        return self.reader.runs()

    @cached_property
    def steps_on_ipu(self) -> list[model.StepsOnIpu]:
        return [self.reader.steps_on_ipu(ipu) for ipu in range(self.target.num_ipus)]

    @cached_property
    def program_of_compute_set(self) -> dict[int, int]:
        """First program that runs each compute set."""
        sets = self.programs.compute_set
        programs = np.flatnonzero(sets >= 0)
        return {int(sets[p]): int(p) for p in programs[::-1]}

    @cached_property
    def _vertices_by_set(self) -> dict[int, list[model.ComputeSetVertices]]:
        grouped: dict[int, list[model.ComputeSetVertices]] = {}
        for part in self.reader.compute_set_vertices():
            grouped.setdefault(part.compute_set, []).append(part)
        return grouped

    def vertices_of(self, compute_set: int) -> list[model.ComputeSetVertices]:
        return self._vertices_by_set.get(compute_set, [])

    def all_vertices(self) -> list[model.ComputeSetVertices]:
        return [part for parts in self._vertices_by_set.values() for part in parts]

    def vertex_type(self, row: int) -> VertexType:
        return VertexType(self.vertex_types.name[row], int(self.vertex_types.state_bytes[row]))

    def tiles_of(self, ipu: int) -> slice:
        """Global tile ids of one IPU."""
        tiles = self.target.tiles_per_ipu
        return slice(ipu * tiles, (ipu + 1) * tiles)

    def program_by_tile(self, program: int, figure: Figure) -> list[int]:
        """One figure of a program on every tile of the target; empty when it is known on no IPU."""
        values = np.zeros(self.target.num_tiles, np.int64)
        known = False
        for ipu in range(self.target.num_ipus):
            part = self.reader.program_on_ipu(program, ipu)
            array = None if part is None else getattr(part, figure)
            if array is not None:
                known = True
                values[self.tiles_of(ipu)] = array
        return [int(v) for v in values.tolist()] if known else []

    def children_of(self, program: int) -> list[int]:
        offsets = self.programs.child_offsets
        return [int(c) for c in self.programs.children[offsets[program] : offsets[program + 1]]]
