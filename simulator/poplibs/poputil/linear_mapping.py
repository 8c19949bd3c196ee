"""Spread tensors evenly over tiles, and measure how even a mapping is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.base.types import Interval, Type
from simulator.building.graph import Graph
from simulator.building.mapping import grain, least_elements, linear_shares
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.exceptions import poplibs_error

#: The 32-bit fraction of the golden ratio: multiples of it spread evenly over any range (Knuth, volume 3, 6.4).
GOLDEN_RATIO_32 = 2654435769


def mapTensorLinearly(
    graph: Graph, t: Tensor, minElementsPerTile: int | None = None, grainSize: int | None = None
) -> None:
    """Map a tensor evenly over the graph's tiles in flattened order.

    The grain defaults to one 64-bit vector and the least share to 128 bytes, so small tensors occupy few tiles."""
    _map_linearly(graph, t, minElementsPerTile, grainSize, 0, True)


@overload
def mapTensorLinearlyWithOffset(graph: Graph, t: Tensor, /, offset: int = 0, ascending: bool = True) -> None: ...
@overload
def mapTensorLinearlyWithOffset(
    graph: Graph, t: Tensor, /, minElementsPerTile: int, grainSize: int, offset: int = 0, ascending: bool = True
) -> None: ...
def mapTensorLinearlyWithOffset(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> None:
    """Map a tensor as `mapTensorLinearly` does, but beginning at the tile `offset` and going on behind the last tile at
    the first; descending from the tile `offset` before the last one, where not `ascending`.

    Raises poplibs_error for an offset that is no tile of the graph."""
    chosen = _WITH_OFFSET.choose(arguments, named)[1]
    tiles = graph.getTarget().getNumTiles()
    if not 0 <= chosen["offset"] < tiles:
        raise poplibs_error(
            f"mapTensorLinearlyWithOffset: offset {chosen['offset']} is not one of the {tiles} tiles of the graph."
        )
    unit = chosen.get("minElementsPerTile"), chosen.get("grainSize")
    _map_linearly(graph, t, *unit, chosen["offset"], chosen["ascending"])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


_PLACE = (Parameter("offset", _is_number, 0), Parameter("ascending", instance_of(bool), True))
_SHARE = (Parameter("minElementsPerTile", _is_number), Parameter("grainSize", _is_number))
_WITH_OFFSET = Overloads("mapTensorLinearlyWithOffset", poplibs_error, (_PLACE, (*_SHARE, *_PLACE)))


def _map_linearly(graph: Graph, t: Tensor, minimum: int | None, unit: int | None, offset: int, ascending: bool) -> None:
    if t.numElements() == 0:
        return
    type_, tiles = t.elementType(), graph.getTarget().getNumTiles()
    least = least_elements(type_) if minimum is None else minimum
    ends = linear_shares(t.numElements(), tiles, unit or grain(type_), least)
    places = (offset + np.arange(len(ends), dtype=np.int64)) % tiles
    map_shares(graph, t, ends, places if ascending else tiles - 1 - places)


def map_from_hashed_tile(graph: Graph, t: Tensor) -> None:
    """Map a tensor as `mapTensorLinearly` does, but start at a tile that its number of elements determines.

    Libraries and front ends place their own small tensors so: with tile 0 as the start of all, a few tiles would take
    part in every small exchange and hold the code of all. Tensors of equal size still lie on the same tiles, so that
    element-wise work on them needs no exchange. PopLibs too starts its linear mappings at a tile chosen by a hash;
    which hash is not published, this one is a guess (Fibonacci hashing). A tensor with a share for every tile of an
    IPU starts at tile 0, and smaller ones stay on the first IPU of the graph."""
    if t.numElements() == 0:
        return
    type_ = t.elementType()
    tiles = graph.getTarget().getNumTiles()
    ends = linear_shares(t.numElements(), tiles, grain(type_), least_elements(type_))
    map_shares(graph, t, ends, hashed_tiles(graph, t.numElements(), len(ends)))


def hashed_tiles(graph: Graph, size: int, shares: int) -> Int64Array:
    """The tile of each share of a tensor of this `size`: consecutive ones from a tile that the size determines, as
    `map_from_hashed_tile` says."""
    target = graph.getTarget()
    on_one_ipu = min(target.getNumTiles(), target.getTilesPerIPU())
    places = np.arange(shares, dtype=np.int64)
    if shares >= on_one_ipu:
        return places
    return (places + ((size * GOLDEN_RATIO_32 % 2**32) * on_one_ipu >> 32)) % on_one_ipu


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
