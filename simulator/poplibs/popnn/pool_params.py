"""The parameters of popnn.pooling, their plan, and their counts of operations.

A pooling has the shape of a convolution with many groups of one input and one output channel, so it shares boxes,
windows with halos and worklists with `simulator.poplibs.poplin`. Its plan is the split of channels, batch and field
with the fewest cycles: window exchange (4 bytes a cycle) + pooling vertex (published-numbers 7.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from math import prod

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import poplar_error
from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.machine.cycles.pooling import Kind, pooling
from simulator.machine.cycles.rounding import passing_cycles, vector_width, whole
from simulator.machine.cycles.worklist import ListedWork, Worklists, deal
from simulator.poplibs.poplin.convolutions.sliding_shares import geometry
from simulator.poplibs.poplin.planning.canonical_params import ELEMENT_BYTES, CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.convolution_planner import sliding_share
from simulator.poplibs.poplin.planning.methods import Method, groups_of
from simulator.poplibs.poplin.planning.objective import ONCE_TERMS, PASS_TERMS, Columns
from simulator.poplibs.poplin.planning.plan import Plan, plan_of_candidate
from simulator.poplibs.poplin.planning.splits import enumerate_splits


class PoolingType(Enum):
    MAX = "MAX"
    AVG = "AVG"
    SUM = "SUM"


@dataclass
class PoolParams:
    """Names as in PopLibs; a negative `inputTruncationOrPadding` truncates, a positive one pads. AVG divides by the
    number of elements of the window that are not padding.

    Raises `poplar_error` for sizes that no pooling can have."""

    poolingType: PoolingType
    inputFieldShape: Sequence[int]
    kernelShape: Sequence[int]
    stride: Sequence[int]
    inputTruncationOrPaddingLower: Sequence[int]
    inputTruncationOrPaddingUpper: Sequence[int]
    numChannels: int
    batchSize: int
    dType: Type = field(default=FLOAT)

    def __post_init__(self) -> None:
        sizes = (self.kernelShape, self.stride, self.inputTruncationOrPaddingLower, self.inputTruncationOrPaddingUpper)
        if any(len(values) != len(self.inputFieldShape) for values in sizes) or not self.inputFieldShape:
            raise poplar_error(
                f"PoolParams: the field {list(self.inputFieldShape)} needs kernel, stride and padding of as many "
                "dimensions."
            )
        if min(self.numChannels, self.batchSize, *self.inputFieldShape, *self.kernelShape, *self.stride) < 1:
            raise poplar_error("PoolParams: batch, channels, field, kernel and stride must all be at least 1.")
        if min(self.getOutputFieldShape()) < 1:
            raise poplar_error(f"PoolParams: kernel {list(self.kernelShape)} does not fit into the padded input.")

    def getNumFieldDims(self) -> int:
        return len(self.inputFieldShape)

    def getOutputFieldShape(self) -> list[int]:
        return [
            (n + low + high - k) // s + 1
            for n, low, high, k, s in zip(
                self.inputFieldShape,
                self.inputTruncationOrPaddingLower,
                self.inputTruncationOrPaddingUpper,
                self.kernelShape,
                self.stride,
                strict=True,
            )
        ]

    def forward(self, dtype: Dtype) -> CanonicalConvParams:
        """The pooling as a convolution of one channel in each group."""
        return CanonicalConvParams(
            dtype,
            dtype,
            self.numChannels,
            self.batchSize,
            tuple(self.inputFieldShape),
            tuple(self.kernelShape),
            1,
            1,
            tuple(self.stride),
            tuple(self.inputTruncationOrPaddingLower),
            tuple(self.inputTruncationOrPaddingUpper),
        )

    def backward(self, dtype: Dtype) -> CanonicalConvParams:
        """Its gradient: each input meets the outputs whose windows contain it."""
        there = self.forward(dtype)
        dims = range(len(there.field))
        lower = tuple(there.kernel[d] - 1 - there.padding_lower[d] for d in dims)
        spread = [(there.output_size(d) - 1) * there.stride[d] + 1 for d in dims]
        upper = tuple(there.field[d] + there.kernel[d] - 1 - spread[d] - lower[d] for d in dims)
        return replace(
            there,
            field=there.output_field,
            stride=(),
            padding_lower=lower,
            padding_upper=upper,
            input_dilation=there.stride,
        )

    def window_sizes(self) -> Int64Array:
        """[output field]: the number of elements of each window that are not padding."""
        sizes = np.ones((1,), np.int64)
        for dim, one in enumerate(geometry(self.forward("float"))):
            begin = np.arange(self.getOutputFieldShape()[dim]) * one.stride + one.base
            inside = np.clip(begin + one.kernel, 0, one.size) - np.clip(begin, 0, one.size)
            sizes = np.multiply.outer(sizes, inside)
        return np.asarray(sizes[0])


def pool_cycles(
    kind: Kind, dtype: Dtype, work: Worklists | ListedWork, side: int, groups: Int64Array, positions: Int64Array
) -> Int64Array:
    """Tile cycles of a pooling vertex, those of its longest worker, with `positions` outputs. An item is a kernel
    position of a part of a row (published-numbers 7.6)."""
    elements, rounds = work.by_round(whole)
    items, _ = work.by_round(np.ones_like)
    return pooling(
        kind,
        items.max(axis=0),
        items.sum(axis=0) * rounds,
        elements.sum(axis=0) * rounds,
        channel_vectors=side // vector_width(dtype),
        channel_groups=groups,
        initialised=positions,
    )


@lru_cache(maxsize=256)
def plan_pooling(params: CanonicalConvParams, kind: Kind, side: int, tiles: int, exchange_rate: float) -> Plan:
    """The cheapest split for groups of `side` channels."""
    method = Method("POOLING", params.dtype, side, 1, 1)
    splits = enumerate_splits(groups_of(params.groups, side), (params.batch, *params.output_field), 1, 1, tiles)
    share, box = sliding_share(params, method, splits)
    exchange = passing_cycles(share.inputs * ELEMENT_BYTES[params.dtype], exchange_rate)
    work = deal(*box, rounds=prod(params.kernel))
    spent = pool_cycles(kind, params.dtype, work, side, share.work.conv_groups, share.work.positions)
    none = dict.fromkeys((*PASS_TERMS, *ONCE_TERMS), np.zeros_like(spent))
    columns = Columns({**none, "input_exchange": exchange, "partials": spent}, splits.passes)
    memory = (share.inputs + share.outputs) * ELEMENT_BYTES[params.dtype]
    row = int(np.lexsort((splits.tiles, columns.total))[0])
    return plan_of_candidate(params, False, method, splits, columns, memory, row, True)


def asString(method: PoolingType) -> str:
    """The name of a kind: "max", "avg" or "sum"."""
    return method.value.lower()


def getOutputFieldShape(params: PoolParams) -> list[int]:
    """The field of the output."""
    return params.getOutputFieldShape()


def getFwdFlops(params: PoolParams) -> int:
    """One for each element of each window that is not padding; with AVG one more for each output."""
    sizes = params.window_sizes()
    scaled = sizes.size if params.poolingType is PoolingType.AVG else 0
    return int(params.batchSize * params.numChannels * (int(sizes.sum()) + scaled))


def getBwdFlops(params: PoolParams) -> int:
    """As many pairs of inputs and outputs as forward; with AVG one more for each input."""
    scaled = prod(params.inputFieldShape) if params.poolingType is PoolingType.AVG else 0
    return int(params.batchSize * params.numChannels * (int(params.window_sizes().sum()) + scaled))


def getFwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Cycles of the flops if each tile did a vector of them in each cycle."""
    target = graph.getTarget()
    return getFwdFlops(params) / (target.getVectorWidth(params.dType) * target.getNumTiles())


def getBwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Twice the cycles of the pooling, as PopLibs estimates the gradient."""
    return 2 * getFwdPerfectCycleCount(graph, params)
