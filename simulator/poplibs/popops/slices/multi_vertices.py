"""Vertices MultiSlice, MultiUpdate and MultiUpdateOp: many rows of a block of a matrix, by index.

`baseT` is the tile's block of rows, `subT` a row for each offset. Offsets outside the block leave rows of zeros in a
slice and do nothing in an update.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.target import TargetType
from simulator.base.types import UNSIGNED_INT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.described import described
from simulator.machine.cycles.rounding import ceil_div, per_worker
from simulator.poplibs.popops.operators import wide
from simulator.runtime.values.arena import Rows


def sliced_rows(base: AnyArray | Rows, offsets: AnyArray, out: AnyArray) -> None:
    """out[i] = base[offsets[i]], zeros for offsets out of range."""
    at = offsets.reshape(-1).astype(np.int64)
    there = (at >= 0) & (at < base.shape[0])
    out[...] = base[np.where(there, at, 0)] if base.shape[0] else 0
    out[~there] = 0


def updated_rows(
    base: AnyArray | Rows, offsets: AnyArray, sub: AnyArray, op: str, scale: Any = None
) -> tuple[Int64Array, AnyArray]:
    """(the numbers of the rows of `base` that change, in ascending order; their values): rows replaced ("none"), added
    to (times scale) or raised to a maximum, one offset after the other; halves in float32, rounded once."""
    at = offsets.reshape(-1).astype(np.int64)
    there = (at >= 0) & (at < base.shape[0])
    changed, places = np.unique(at[there], return_inverse=True)
    rows = wide(sub[there])
    before = base[changed]
    total = wide(before).copy()
    if op == "none":
        total[places] = rows  # of equal offsets the last wins
    elif op == "add":
        np.add.at(total, places, rows if scale is None else rows * np.asarray(scale).reshape(()).astype(total.dtype))
    else:
        np.maximum.at(total, places, rows)
    after = np.empty_like(before)
    store(after, total)
    return changed, after


@lru_cache(maxsize=64)
def multi_slice_vertex(dtype: str, in_order: bool) -> VertexType:
    """`in_order`: the offsets are sorted, which costs a binary search."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["offsets"]
        each = elements["subT"] // np.maximum(n, 1)
        spent = cycles.multi_slice(dtype, each, per_worker(n))
        if in_order:
            spent = spent + cycles.sorted_search(n)
        return BlockCosts(spent, "exact", described("7.3", cycles.multi_slice), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        offsets = np.asarray(vertex.offsets).astype(np.int64) - int(vertex.baseOffset)
        base = np.asarray(vertex.baseT).reshape(int(vertex.numBaseElements), -1)
        rows = np.empty((len(offsets), base.shape[1]), base.dtype)
        sliced_rows(base, offsets, rows)
        vertex.subT[...] = rows.reshape(-1)

    return _type(f"popops::MultiSlice<{dtype}>", "in", "out", (), costs, compute)


@lru_cache(maxsize=64)
def multi_update_vertex(dtype: str, op: str, scale_dtype: str, entries: int, one_point: bool = False) -> VertexType:
    """`scale_dtype`: type of the scale, "" for none. `entries`: rows of the whole matrix.

    An update with an operation costs what its busiest worker does, and that depends on the offsets, which nobody knows
    before a run. On the IPU Model one worker applies all, as in PopLibs' estimator of the vertex, with which the
    published cycles of an embedding agree (benchmarks/tools). Published times of hardware contradict that: there
    offsets are spread evenly over the entries, as PopLibs' planner takes them (benchmarks/validation/rearrangement.py).
    `one_point`: all are equal."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["offsets"]
        each = elements["subT"] // np.maximum(n, 1)
        if op == "none":
            spent, formula = cycles.multi_update(dtype, each, per_worker(n)), cycles.multi_update
        else:
            rows = per_worker(np.broadcast_to(block.values["numBaseElements"], n.shape))
            one_worker = one_point or target.type is TargetType.IPU_MODEL
            own = n if one_worker else np.minimum(n, ceil_div(n * rows, entries))
            spent = cycles.multi_update_add(dtype, each, own, n - own, scaled=bool(scale_dtype))
            formula = cycles.multi_update_add
        count = 0 if op == "none" else (flop_counts.SCALED_ADD if scale_dtype else 1)
        return BlockCosts(spent, "exact", described("7.3", formula), flop_counts.typed(count * elements["subT"], dtype))

    def compute(vertex: Any) -> None:
        offsets = np.asarray(vertex.offsets).astype(np.int64) - int(vertex.baseOffset)
        base = np.asarray(vertex.baseT).reshape(int(vertex.numBaseElements), -1)
        sub = np.asarray(vertex.subT).reshape(len(offsets), -1)
        changed, rows = updated_rows(base, offsets, sub, op, vertex.scale if scale_dtype else None)
        result = base.copy()
        result[changed] = rows
        vertex.baseT[...] = result.reshape(-1)

    scale = (FieldSpec("scale", "vector", "in", None, "one_ptr", 4),) if scale_dtype else ()
    if op == "none":
        name = f"popops::MultiUpdate<{dtype}>"
    else:
        subword = str(dtype == "half").lower()
        parts = [dtype, scale_dtype, subword] if scale_dtype else [dtype, subword]
        name = f"popops::{'Scaled' if scale_dtype else ''}MultiUpdateOp<{','.join(parts)},Operation::{op.upper()}>"
    return _type(name, "inout", "in", scale, costs, compute)


def _type(name: str, base: Any, sub: Any, more: tuple[FieldSpec, ...], costs: Any, compute: Any) -> VertexType:
    fields = (
        FieldSpec("offsets", "vector", "in", UNSIGNED_INT, "span", 4),
        FieldSpec("baseT", "vector", base, None, "one_ptr", 8),
        FieldSpec("subT", "vector", sub, None, "one_ptr", 8),
        *more,
        FieldSpec("baseOffset", "value", "", UNSIGNED_INT),
        FieldSpec("numBaseElements", "value", "", UNSIGNED_INT),
        FieldSpec("regionSize", "value", "", UNSIGNED_INT),
    )
    return VertexType(name, "multi", fields, costs, compute, doc="rows by index")
