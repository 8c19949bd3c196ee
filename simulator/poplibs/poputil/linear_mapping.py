"""Spread tensors evenly over tiles, and measure how even a mapping is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import Interval, Type
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.programming.graph import Graph
from simulator.programming.mapping import grain, least_elements, linear_shares


def mapTensorLinearly(
    graph: Graph, t: Tensor, minElementsPerTile: int | None = None, grainSize: int | None = None
) -> None:
    """Map a tensor evenly over the graph's tiles in flattened order.

    The grain defaults to one 64-bit vector and the least share to 128 bytes, so small tensors occupy few tiles."""
    if t.numElements() == 0:
        return
    type_ = t.elementType()
    minimum = minElementsPerTile if minElementsPerTile is not None else least_elements(type_)
    ends = linear_shares(t.numElements(), graph.getTarget().getNumTiles(), grainSize or grain(type_), minimum)
    map_shares(graph, t, ends, np.arange(len(ends), dtype=np.int64))


@overload
def calcLinearTileMapping(
    graph: Graph, shape: Sequence[int], minElementsPerTile: int, grainSize: int, /
) -> list[list[Interval]]: ...
@overload
def calcLinearTileMapping(graph: Graph, t: Tensor, /) -> list[list[Interval]]: ...
def calcLinearTileMapping(
    graph: Graph, shape: Any, minElementsPerTile: int | None = None, grainSize: int | None = None
) -> list[list[Interval]]:
    """For each tile of the graph the intervals of a tensor under linear mapping.

    `shape` may be a tensor; its type then determines grain and least share as in `mapTensorLinearly`."""
    if isinstance(shape, Tensor):
        elements = shape.numElements()
        minimum, unit = least_elements(shape.elementType()), grain(shape.elementType())
    else:
        elements = prod(shape)
        minimum, unit = minElementsPerTile or 0, grainSize or 1
    mapping: list[list[Interval]] = [[] for _ in range(graph.getTarget().getNumTiles())]
    begin = 0
    for tile, end in enumerate(linear_shares(elements, len(mapping), unit, minimum).tolist() if elements else []):
        mapping[tile].append(Interval(begin, end))
        begin = end
    return mapping


@overload
def getTileImbalance(
    mapping: Sequence[Sequence[tuple[int, int]]], minElementsPerTile: int = 0, grainSize: int = 1, /
) -> int: ...
@overload
def getTileImbalance(graph: Graph, t: Tensor, minElementsPerTile: int = 0, grainSize: int = 1, /) -> int: ...
def getTileImbalance(first: Any, *rest: Any) -> int:
    """How many more elements than an even share the fullest tile holds. An even share is whole grains and at least
    `minElementsPerTile`."""
    arguments = list(rest)
    mapping = first.getTileMapping(arguments.pop(0)) if isinstance(first, Graph) else first
    minimum = arguments.pop(0) if arguments else 0
    unit = arguments.pop(0) if arguments else 1
    elements_of_tile = [sum(end - begin for begin, end in intervals) for intervals in mapping]
    share = -(-sum(elements_of_tile) // max(len(elements_of_tile), 1))
    expected = max(minimum, -(-share // unit) * unit)
    return max(max(elements_of_tile, default=0) - expected, 0)


def map_shares(graph: Graph, t: Tensor, ends: Int64Array, tiles: Int64Array) -> None:
    """Map elements [ends[i - 1], ends[i]) of the flattened tensor to tile `tiles[i]`."""
    begins = np.concatenate([[0], ends[:-1]])
    graph.setTileMappingIntervals(t, begins, ends, tiles)


def clone_mapped(graph: Graph, model: Tensor, type_: Type, name: Context, metadata: Tensor | None = None) -> Tensor:
    """A new variable shaped like `model`, with its mapping where its elements are distinct, else linear. `metadata`: of
    a QUARTER variable."""
    if model.isParallelWriteable():
        return graph.clone(type_, model, name) if metadata is None else graph.clone(type_, metadata, model, name)
    if metadata is None:
        out = graph.addVariable(type_, model.shape(), name)
    else:
        out = graph.addVariable(type_, metadata, model.shape(), name)
    mapTensorLinearly(graph, out)
    return out
