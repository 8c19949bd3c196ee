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
from simulator.poplibs.poplin.convolutions.sliding_shares import geometry
from simulator.poplibs.poplin.convolutions.sliding_vertices import ITEM
from simulator.poplibs.poplin.convolutions.windows import outputs_of
from simulator.poplibs.poplin.convolutions.work_items import WorkItems
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
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
_VALUES = ("numChanGroupsM1", "chansPerGroupD", "inStride", "outStride")


def pooling_vertex(kind: Kind, dtype: Dtype, kernels: int, side: int, items: WorkItems) -> VertexType:
    """One vertex per tile whose six workers follow worklists (four numbers an item, like those of a convolution), which
    say what it costs."""
    windows, boxes, target_field = FIELDS[kind]

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        groups = np.asarray(block.values["numChanGroupsM1"], np.int64) + 1
        work = items.listed(len(block), kernels, 1, 1)
        spent = pool_cycles(kind, dtype, work, side, groups, elements[target_field] // (groups * side))
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


def _combine(
    kind: Kind, total: AnyArray, here: Any, read: list[AnyArray], mine: list[AnyArray], apart: bool = False
) -> None:
    """Combine the outputs `here` with the inputs that they meet through one element of the window. `apart`: they meet
    none through the others."""
    if kind == "max backward" and apart:
        np.multiply(wide(read[0]).view(np.int32), mine[0] == read[1], out=total.view(np.int32)[here])
    elif kind == "max":
        np.maximum(total[here], wide(read[0]), out=total[here])
    elif kind == "sum":
        total[here] += wide(read[0])
    elif kind == "max backward":
        total[here] += _selected(wide(read[0]), mine[0] == read[1])
    else:
        total[here] += mine[0] == read[0]


def _selected(values: AnyArray, chosen: AnyArray) -> AnyArray:
    """The values that are chosen, else 0, infinities and NaN too: a product of their bits takes a ninth of the time of
    a choice among them."""
    return np.multiply(values.view(np.int32), chosen).view(np.float32)


def _finish(kind: Kind, total: AnyArray) -> AnyArray:
    """Turn the number of elements that equal the largest into the share of each."""
    return np.asarray(1 / np.maximum(total, 1)) if kind == "max scale" else total


@lru_cache(maxsize=1024)
def _meetings(params: CanonicalConvParams, order: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """(outputs, inputs) that meet through each element of the window, as indices of arrays with axes in this order."""
    both: list[tuple[Any, Any]] = []
    shapes = geometry(params)
    for place in combinations(*(range(k) for k in params.kernel)):
        met = [outputs_of(s, k, n) for s, k, n in zip(shapes, place, params.output_field, strict=True)]
        if all(count for _, _, count in met):
            every = [slice(None)] * 2
            here, there = [*every, *(out for out, _, _ in met)], [*every, *(read for _, read, _ in met)]
            both.append((tuple(here[axis] for axis in order), tuple(there[axis] for axis in order)))
    return both


@register("popnn.pool", stores="images")
def _pool_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    """All windows at once, one kernel position after another; stored as [channel groups, 1, positions, side]. All
    arrays have their axes in the order of the largest input in memory, so that NumPy's inner loops are long."""
    params, kind = attributes["params"], attributes["kind"]
    largest = max(inputs, key=lambda one: one.size)
    order = tuple(sorted(range(largest.ndim), key=lambda axis: -abs(largest.strides[axis])))
    shape = (*inputs[0].shape[:2], *params.output_field)
    total = np.full([shape[axis] for axis in order], _initial_value(kind), np.float32)
    operands = [one.transpose(order) for one in inputs]
    in_windows = len(FIELDS[kind][0])
    apart = all(one.input_dilation >= one.kernel and one.kernel_dilation == 1 for one in geometry(params))
    for here, there in _meetings(params, order):
        read, mine = [t[there] for t in operands[:in_windows]], [t[here] for t in operands[in_windows:]]
        _combine(kind, total, here, read, mine, apart)
    result = _finish(kind, total).transpose([order.index(axis) for axis in range(len(order))])
    side = attributes["side"]
    if params.groups % side:
        product = np.moveaxis(result, 1, 0).reshape(params.groups, params.positions, 1)
        store_product(outputs[0], product, 1, side)
        return
    groups = result.reshape(shape[0], -1, side, *shape[2:])
    stored = outputs[0].reshape(-1, shape[0], *shape[2:], side)
    store(stored, groups.transpose(1, 0, *range(3, groups.ndim), 2))
