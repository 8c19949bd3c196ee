"""The vertices of popnn.pooling, which follow worklists, and its kernel over whole tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product as combinations
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_SHORT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import pooling as cycles
from simulator.machine.cycles.described import described
from simulator.machine.cycles.pooling import Kind
from simulator.poplibs.poplin.convolutions.kernel import outputs_of
from simulator.poplibs.poplin.convolutions.sliding_shares import geometry
from simulator.poplibs.poplin.convolutions.sliding_vertices import ITEM
from simulator.poplibs.poplin.planning.canonical_params import Dtype
from simulator.poplibs.poplin.planning.sliding_work import Box
from simulator.poplibs.poplin.products.kernel import store_product
from simulator.poplibs.popnn.pool_params import pool_cycles
from simulator.poplibs.popops.operators import wide
from simulator.runtime.values.kernels import register

_VERTEX = {
    "max": "MaxPooling",
    "sum": "SumPooling",
    "max backward": "MaxPoolingGrad",
    "max scale": "MaxPoolingGradientScale",
}
#: (fields read in windows, fields read at the places of the output, output)
FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "max": (("in",), (), "out"),
    "sum": (("in",), (), "out"),
    "max backward": (("outGrad", "out"), ("in",), "inGrad"),
    "max scale": (("in",), ("fwdActsOut",), "out"),
}
_VALUES = ("numChanGroupsM1", "chansPerGroupD", "inStride", "outStride", "numRows", "rowPositions")


@lru_cache(maxsize=64)
def pooling_vertex(kind: Kind, dtype: Dtype, kernels: int, side: int) -> VertexType:
    """One vertex per tile whose six workers follow worklists (four numbers an item, like those of a convolution)."""
    windows, boxes, target_field = FIELDS[kind]

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        box = Box(*(np.asarray(block.values[v], np.int64) for v in ("numRows", "rowPositions")))
        groups = np.asarray(block.values["numChanGroupsM1"], np.int64) + 1
        spent = pool_cycles(kind, dtype, kernels, box, side, groups)
        return BlockCosts(spent, "exact", described("7.6", cycles.pooling))

    def compute(vertex: Any) -> None:
        items = np.asarray(vertex.worklists, np.int64).reshape(-1, ITEM)
        for number, result in enumerate(getattr(vertex, target_field)):
            total = np.full((len(result) // side, side), _initial_value(kind), np.float32)
            read = [np.asarray(getattr(vertex, f)[number]).reshape(-1, side) for f in windows]
            mine = [np.asarray(getattr(vertex, f)[number]).reshape(-1, side) for f in boxes]
            for _, first, count, at in items.tolist():
                if count:
                    here = slice(first, first + (count - 1) * int(vertex.outStride) + 1, int(vertex.outStride))
                    there = slice(at, at + (count - 1) * int(vertex.inStride) + 1, int(vertex.inStride))
                    _combine(kind, total, here, [r[there] for r in read], [m[here] for m in mine])
            store(result, _finish(kind, total).reshape(-1))

    fields = (
        *(FieldSpec(name, "vectors", "in", None, "one_ptr", 8) for name in (*windows, *boxes)),
        FieldSpec(target_field, "vectors", "out", None, "one_ptr", 8),
        FieldSpec("worklists", "vector", "in", None, "scaled_ptr32", 4),
        *(FieldSpec(name, "value", "", UNSIGNED_SHORT) for name in _VALUES),
    )
    return VertexType(f"popnn::{_VERTEX[kind]}<{dtype}>", "supervisor", fields, costs, compute, doc=f"pooling: {kind}")


def _initial_value(kind: Kind) -> float:
    return float("-inf") if kind == "max" else 0.0


def _combine(kind: Kind, total: AnyArray, here: Any, read: list[AnyArray], mine: list[AnyArray]) -> None:
    """Combine the outputs `here` with the inputs that they meet through one element of the window."""
    if kind == "max":
        np.maximum(total[here], wide(read[0]), out=total[here])
    elif kind == "sum":
        total[here] += wide(read[0])
    elif kind == "max backward":
        total[here] += np.where(mine[0] == read[1], wide(read[0]), 0)
    else:
        total[here] += mine[0] == read[0]


def _finish(kind: Kind, total: AnyArray) -> AnyArray:
    """Turn the number of elements that equal the largest into the share of each."""
    return np.asarray(1 / np.maximum(total, 1)) if kind == "max scale" else total


@register("popnn.pool")
def _pool_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    """All windows at once, one kernel position after another; stored as [channel groups, 1, positions, side]."""
    params, kind = attributes["params"], attributes["kind"]
    whole: tuple[Any, ...] = (slice(None), slice(None))
    in_windows = len(FIELDS[kind][0])
    total = np.full((*inputs[0].shape[:2], *params.output_field), _initial_value(kind), np.float32)
    for place in combinations(*(range(k) for k in params.kernel)):
        met = [outputs_of(s, k, n) for s, k, n in zip(geometry(params), place, params.output_field, strict=True)]
        if all(count for _, _, count in met):
            here, there = whole + tuple(m[0] for m in met), whole + tuple(m[1] for m in met)
            read, mine = [t[there] for t in inputs[:in_windows]], [t[here] for t in inputs[in_windows:]]
            _combine(kind, total, here, read, mine)
    product = np.moveaxis(_finish(kind, total), 1, 0).reshape(params.groups, params.positions, 1)
    store_product(outputs[0], product, 1, attributes["side"])
