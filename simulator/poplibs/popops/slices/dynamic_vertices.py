"""Vertices DynamicSlice1D and DynamicUpdateSlice1D, and 2D for tiles that hold several runs of a slice.

`baseT` holds the tile's part of every slice, one after the other, `subT` that of the slices taken: in 1D in one vector,
in 2D a vector for each slice of each run, as PopLibs' codelet has them. An offset beyond the
last slice counts as 0; after the last slice the first follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import UNSIGNED_INT, UNSIGNED_SHORT
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
    """`flat`: one run of all slices (a MultiVertex), else vectors [run * slices + slice] for a worker's runs."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        if flat:
            count = np.asarray(block.values["numSubElements"], np.int64)
            region = elements["subT"] // np.maximum(count, 1)
            spent = cycles.dynamic_slice_1d(dtype, region, count)
        else:
            edges = block.edges["subT"]
            each = cycles.dynamic_slice_2d_region(dtype, row_lengths(edges), 1) - cycles.DYNAMIC_2D_REGION
            per_region = cycles.DYNAMIC_2D_REGION * np.asarray(block.values["numRegions"], np.int64)
            spent = cycles.DYNAMIC_2D_BASE + per_region + sum_rows(each, edges)
        formula = cycles.dynamic_slice_1d if flat else cycles.dynamic_slice_2d_region
        return BlockCosts(spent, "exact", described("7.3", formula), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        base, count = int(vertex.numBaseElements), int(vertex.numSubElements)
        which = slice_numbers(vertex.offset, base, count)
        if flat:
            slices = np.asarray(vertex.baseT).reshape(base, -1)
            if update:
                slices = slices.copy()
                slices[which] = np.asarray(vertex.subT).reshape(count, -1)
                vertex.baseT[...] = slices.reshape(-1)
            else:
                vertex.subT[...] = slices[which].reshape(-1)
            return
        for region in range(int(vertex.numRegions)):
            for place, number in enumerate(which.tolist()):
                whole, part = vertex.baseT[region * base + number], vertex.subT[region * count + place]
                if update:
                    whole[...] = np.asarray(part)
                else:
                    part[...] = np.asarray(whole)

    kind: Any = "vector" if flat else "vectors"
    layout: Any = "one_ptr" if flat else "span"
    fields: tuple[FieldSpec, ...] = (
        FieldSpec("offset", "vector", "in", None, "one_ptr", 4),
        FieldSpec("baseT", kind, "inout" if update else "in", None, layout, 8, outer="one_ptr"),
        FieldSpec("subT", kind, "in" if update else "out", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("numBaseElements", "value", "", UNSIGNED_INT),
        FieldSpec("numSubElements", "value", "", UNSIGNED_INT),
    )
    if not flat:
        fields = (*fields, FieldSpec("numRegions", "value", "", UNSIGNED_SHORT))
    name = f"popops::Dynamic{'Update' if update else ''}Slice{'1D' if flat else '2D'}<{dtype}>"
    return VertexType(name, "multi" if flat else "worker", fields, costs, compute, doc="slices at an offset")
