"""Vertices StaticSparseDenseElementWise and StaticSparseDenseMatMulBlock, and the kernel of a whole product.

A vertex multiplies its tile's run of sparse blocks with the dense rows that they meet; its list (`work_lists`) says
which rows those are. The dense operand lies as [row of blocks][column][row within the block], partial results alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import FLOAT, HALF, UNSIGNED_INT, UNSIGNED_SHORT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import sparse as cycles
from simulator.machine.cycles.described import described_as
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popsparse.static_.work_lists import BLOCK_HEADER, ELEMENT_HEADER
from simulator.runtime.values.kernels import as_array, register

#: Products of one slice of a kernel, so that it takes little memory.
_AT_ONCE = 1 << 22


def product_vertex(dtype: str, block: int, spent: Int64Array, entries: Int64Array) -> VertexType:
    """The vertex type of one product. `spent`: tile cycles of each vertex, by its list; `entries`: multiplications."""
    names = ("in", "out", "nz", "workList") if block == 1 else ("s", "q", "r", "metaInfo")
    formula = cycles.element_product if block == 1 else cycles.block_product

    def costs(vertices: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        source = described_as("PopLibs' public planner of static sparse products", formula)
        return BlockCosts(spent, "exact", source, flop_counts.typed(2 * entries, dtype))

    def compute(vertex: Any) -> None:
        dense, values = (wide(np.asarray(getattr(vertex, name))) for name in (names[0], names[2]))
        numbers = np.asarray(getattr(vertex, names[3])).astype(np.int64)
        out = getattr(vertex, names[1])
        total = np.zeros(len(out), np.float32)
        if block == 1:
            _elements(total, dense, values, numbers, int(vertex.numZ))
        else:
            _blocks(total, dense, values, numbers, block, 2 if dtype == "float" else 4)
        store(out, total)

    type_ = FLOAT if dtype == "float" else HALF
    size = FieldSpec("numZ" if block == 1 else "zeroInfo", "value", "", UNSIGNED_INT)
    fields = (
        FieldSpec(names[0], "vector", "in", type_, "one_ptr", 8),
        FieldSpec(names[1], "vector", "out", type_, "one_ptr", 8),
        FieldSpec(names[2], "vector", "in", type_, "one_ptr", 8),
        FieldSpec(names[3], "vector", "in", UNSIGNED_SHORT, "one_ptr", 4),
        size,
    )
    name = "StaticSparseDenseElementWise" if block == 1 else "StaticSparseDenseMatMulBlock"
    sizes = "" if block == 1 else f",{block},{block}"
    full = f"popsparse::{name}<{dtype},{dtype}{sizes}>"
    return VertexType(full, "multi", fields, costs, compute, doc="a part of a sparse product")


def _elements(out: AnyArray, dense: AnyArray, values: AnyArray, numbers: Int64Array, n: int) -> None:
    """Add the products of single elements: `out` [rows, n]."""
    result = out.reshape(-1, n)
    for worker in range(WORKERS):
        rows, place, value, width, left, first = numbers[
            ELEMENT_HEADER * worker : ELEMENT_HEADER * (worker + 1)
        ].tolist()
        for row in range(rows):
            count = int(numbers[place])
            rows_of_dense = numbers[place + 1 : place + 1 + count, None] + left + np.arange(width)
            result[first + row, left : left + width] = values[value : value + count] @ dense[rows_of_dense]
            place, value = place + 1 + count, value + count


def _blocks(out: AnyArray, dense: AnyArray, values: AnyArray, numbers: Int64Array, block: int, vector: int) -> None:
    """Add the products of blocks: `out` and `dense` [row of blocks, n, block]."""
    place, value = BLOCK_HEADER * WORKERS + 1, 0
    n = int(numbers[1 : BLOCK_HEADER * WORKERS : BLOCK_HEADER].sum())
    result, rows = out.reshape(-1, n, block), dense.reshape(-1, n, block)
    for _ in range(int(numbers[BLOCK_HEADER * WORKERS]) + 1):
        row, count = int(numbers[place]) * vector // n, int(numbers[place + 1]) + 1
        for number in numbers[place + 2 : place + 2 + count].tolist():
            weights = values[value : value + block * block].reshape(block, block)
            result[row] += rows[number * vector // n] @ weights.T
            value += block * block
        place += 2 + count


@register("popsparse.staticMatMul")
def _product_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    """Values of blocks in the order of the device and the dense operand [k, n] to the product [m, n]."""
    rows, columns, block = as_array(attributes, "rows"), as_array(attributes, "columns"), attributes["block"]
    values = wide(inputs[0]).reshape(-1, block, block)
    dense = wide(inputs[1])
    dense = dense.reshape(-1, block, dense.shape[-1])
    total = np.zeros((outputs[0].size // outputs[0].shape[-1] // block, block, dense.shape[-1]), dense.dtype)
    order = np.argsort(rows, kind="stable")
    part = max(1, _AT_ONCE // (block * dense.shape[-1]))
    for first in range(0, len(order), part):
        some = order[first : first + part]
        heads = np.flatnonzero(np.diff(rows[some], prepend=-1))
        total[rows[some[heads]]] += np.add.reduceat(values[some] @ dense[columns[some]], heads, axis=0)
    store(outputs[0], total.reshape(outputs[0].shape))
