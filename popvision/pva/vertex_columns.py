"""Counts of vertices: by compute set and type, and by type and tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import Int64Array, IntegerArray
from popvision.formats.profile import model
from popvision.pva.array_cache import ArrayCache

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileReader


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
