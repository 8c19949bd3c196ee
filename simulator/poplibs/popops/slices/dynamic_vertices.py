"""Vertices DynamicSlice1D and DynamicUpdateSlice1D, and 2D for tiles that hold several runs of a slice.

`baseT` holds the tile's part of every slice, one after the other, `subT` that of the slices taken. An offset beyond the
last slice counts as 0; after the last slice the first follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import UNSIGNED_INT
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.popops.vertices import row_lengths, sum_rows

_BYTES = ("char", "schar", "uchar", "bool")


def slice_numbers(offset: Any, base: int, count: int) -> Int64Array:
    """The numbers of `count` slices from an offset on, of `base` in all."""
    first = int(np.asarray(offset).reshape(-1)[0])
    return (np.arange(count) + (first if 0 <= first < base else 0)) % max(base, 1)


@lru_cache(maxsize=64)
def dynamic_vertex(dtype: str, update: bool, flat: bool) -> VertexType:
    """`flat`: one run of a slice (a MultiVertex), else rows: the base slices of each run, then its slices."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        count = np.asarray(block.values["numSubElements"], np.int64)
        if flat:
            region = elements["subT"] // np.maximum(count, 1)
            spent = cycles.dynamic_slice_1d(dtype, region, count)
        else:
            edges = block.edges["subT"]
            assert edges.offsets is not None
            per_row = np.repeat(np.broadcast_to(count, len(block)), np.diff(edges.offsets))
            body = cycles.dynamic_slice_2d_region(dtype, row_lengths(edges) // np.maximum(per_row, 1), per_row)
            spent = cycles.DYNAMIC_2D_BASE + sum_rows(body, edges)
        formula = cycles.dynamic_slice_1d if flat else cycles.dynamic_slice_2d_region
        return BlockCosts(spent, "exact", described("7.3", formula), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        base, count = int(vertex.numBaseElements), int(vertex.numSubElements)
        which = slice_numbers(vertex.offset, base, count)
        pairs = zip(*([vertex.baseT], [vertex.subT]) if flat else (vertex.baseT, vertex.subT), strict=True)
        for whole, part in pairs:
            of = np.asarray(whole).reshape(base, -1)
            if update:
                of = of.copy()
                of[which] = np.asarray(part).reshape(count, -1)
                whole[...] = of.reshape(-1)
            else:
                part[...] = of[which].reshape(-1)

    kind: Any = "vector" if flat else "vectors"
    fields = (
        FieldSpec("offset", "vector", "in", None, "one_ptr", 4),
        FieldSpec("baseT", kind, "inout" if update else "in", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("subT", kind, "in" if update else "out", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("numBaseElements", "value", "", UNSIGNED_INT),
        FieldSpec("numSubElements", "value", "", UNSIGNED_INT),
    )
    name = f"popops::Dynamic{'Update' if update else ''}Slice{'1D' if flat else '2D'}<{dtype}>"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc="slices at an offset")
