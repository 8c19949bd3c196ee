"""Tile mapping of tensors and vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import invalid_tile_mapping
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import Interval, Type
from simulator.base.wrong_arguments import is_file
from simulator.building.state import GraphState
from simulator.graph.objects import VertexRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor
from simulator.graph.tile_mapping import merged

TileToTensorMapping = list[list[Interval]]

_TENSOR = Parameter("t", other_than(VertexRef))
_SET = Overloads(
    "setTileMapping",
    invalid_tile_mapping,
    (
        (Parameter("v", instance_of(VertexRef)), Parameter("tileNum")),
        (_TENSOR, Parameter("tileNum")),
        (_TENSOR, Parameter("mapping")),
    ),
)

#: smallest number of bytes that linear mapping gives to a tile (published-numbers 7.7)
MIN_BYTES_PER_TILE = 128


def set_tile_mapping(state: GraphState, what: Any, where: Any, names: Mapping[str, Any]) -> None:
    """`Graph.setTileMapping`, with arguments by position or by Poplar's names."""
    if names or where is None:
        what, where = _SET.choose([v for v in (what, where) if v is not None], names)[1].values()
    if isinstance(what, VertexRef):
        builder = what.builder
        if builder.store is not state.store:
            state.require_vertex(what, "setTileMapping")
        builder.set_tile(what.row, state.device_tile(where))
        return
    state.require_tensor(what, "setTileMapping")
    if isinstance(where, (int, np.integer)):
        map_to_one(state.store, what, state.device_tile(int(where)))
        return
    try:
        if is_file(where):  # an empty file is no empty list
            raise TypeError
        rows = [(i[0], i[1], tile) for tile, intervals in enumerate(where) for i in intervals]
        begins, ends, tiles = np.array(rows, np.int64).reshape(-1, 3).T
    except OverflowError:
        raise invalid_tile_mapping(
            f"{' '.join(repr(where).split()):.60} reaches outside the {what.numElements()} elements of the tensor."
        ) from None
    except (TypeError, IndexError, ValueError):
        raise invalid_tile_mapping(
            f"{' '.join(repr(where).split()):.60} is neither a tile number nor a list of (begin, end) intervals for "
            "each tile."
        ) from None
    set_intervals(state, what, begins, ends, tiles)


def map_to_one(store: GraphStore, t: Tensor, tile: int) -> None:
    """Put a tensor on one tile of the device."""
    variables, view, v = store.variables, t.view, t.view.variable
    if view.strides is not None and view.is_contiguous():
        begin, n = view.start - variables.base[v], t.numElements()
        if n == variables.numel[v]:
            variables.mapping[v] = (np.array([n], np.int64), np.array([tile], np.int64))
            variables.pending_mapping.pop(v, None)
        else:
            variables.pending_mapping.setdefault(v, []).append((begin, begin + n, tile))
        return
    starts, lengths = t.regions()
    map_regions(store, starts, lengths, np.full(len(starts), tile, np.int64))


def map_regions(store: GraphStore, starts: Int64Array, lengths: Int64Array, tiles: Int64Array) -> None:
    """Put regions of the element space, each within one variable, on tiles of the device."""
    if not len(starts):
        return
    pending = store.variables.pending_mapping
    owner = store.variable_of(starts)
    begins = starts - store.bases()[owner]
    order = np.argsort(owner, kind="stable")
    variables, first = np.unique(owner[order], return_index=True)
    for v, rows in zip(variables.tolist(), np.split(order, first[1:]), strict=True):
        pending.setdefault(v, []).append((begins[rows], begins[rows] + lengths[rows], tiles[rows]))


def set_intervals(state: GraphState, t: Tensor, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> None:
    """`Graph.setTileMappingIntervals`."""
    store, view, count = state.store, t.view, t.numElements()
    begins, ends, tiles = (np.asarray(column, np.int64) for column in (begins, ends, tiles))
    if not (begins.ndim == 1 and begins.shape == ends.shape == tiles.shape):
        shapes = ", ".join(str(column.shape) for column in (begins, ends, tiles))
        raise invalid_tile_mapping(
            f"setTileMappingIntervals: begins, ends and tiles must be lists of one length; their shapes are {shapes}."
        )
    bad = np.flatnonzero((begins < 0) | (ends > count) | (begins > ends))
    if len(bad):
        raise invalid_tile_mapping(
            f"{_described(t)} has {count} elements; interval [{begins[bad[0]]}, {ends[bad[0]]}) lies outside."
        )
    order = np.argsort(begins, kind="stable")
    order = order[(ends > begins)[order]]
    overlap = np.flatnonzero(begins[order][1:] < ends[order][:-1])
    if len(overlap):
        raise invalid_tile_mapping(f"{_described(t)}: element {begins[order][1:][overlap[0]]} is mapped twice.")
    device = state.device_tiles(tiles)
    if view.strides is not None and view.is_contiguous() and len(order):
        b, e = begins[order], ends[order]
        whole = count == store.variables.numel[view.variable]
        if whole and b[0] == 0 and e[-1] == count and (b[1:] == e[:-1]).all():
            store.variables.mapping[view.variable] = merged(e, device[order])
            store.variables.pending_mapping.pop(view.variable, None)
            return
    starts, lengths, of = regions.cuts(*t.regions(), begins[order], ends[order])
    map_regions(store, starts, lengths, device[order][of])


def intervals_of(state: GraphState, t: Tensor) -> tuple[Int64Array, Int64Array, Int64Array]:
    """`Graph.getTileMappingIntervals`: (begins, ends, tiles of the device)."""
    state.require_tensor(t, "getTileMapping")
    starts, lengths = t.regions()
    owners = state.store.variable_of(starts)
    table_ends, table_tiles = _joined_tables(state.store, regions.distinct(owners))
    _, lengths, row = regions.split_by_table(starts, lengths, table_ends)
    ends = np.cumsum(lengths)
    return ends - lengths, ends, table_tiles[row]


def _joined_tables(store: GraphStore, variables: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The mapping tables of some variables, ascending, as one table in element space."""
    parts = [(store.mapping_of(v), store.variables.base[v]) for v in variables.tolist()]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([ends + base for (ends, _), base in parts]), np.concatenate([t for (_, t), _ in parts])


def tile_mapping(
    state: GraphState, t: Tensor, require_complete: bool, allow_external: bool, is_complete: bool | None
) -> TileToTensorMapping | tuple[TileToTensorMapping, bool]:
    """`Graph.getTileMapping`."""
    if is_complete is None:
        return complete_mapping(state, t, require_complete, allow_external)
    mapping = complete_mapping(state, t, False, allow_external)
    return mapping, bool((intervals_of(state, t)[2] >= 0).all())


def complete_mapping(
    state: GraphState, t: Tensor, require_complete: bool = True, allow_external: bool = False
) -> TileToTensorMapping:
    """The intervals of the flattened tensor on each tile of the graph. Raises `invalid_tile_mapping` for elements
    without a tile where `require_complete`, and for tiles of other graphs unless `allow_external`."""
    begins, ends, device = _joined(*intervals_of(state, t))
    unmapped = np.flatnonzero(device < 0)
    if require_complete and len(unmapped):
        raise invalid_tile_mapping(
            f"{_described(t)} is not mapped: element {begins[unmapped[0]]} has no tile; call setTileMapping."
        )
    tiles = state.graph_tiles(device)
    outside = np.flatnonzero((tiles < 0) & (device >= 0))
    if not allow_external and len(outside):
        raise invalid_tile_mapping(
            f"{_described(t)} lies on tile {device[outside[0]]} of the device, outside this virtual graph."
        )
    return _by_tile(state, begins, ends, tiles)


def variable_mapping(state: GraphState, t: Tensor) -> TileToTensorMapping:
    """`Graph.getVariableTileMapping`."""
    begins, ends, device = intervals_of(state, t)
    starts, lengths = t.regions()
    position = np.cumsum(lengths) - lengths
    owner = state.store.variable_of(starts)[np.searchsorted(position, begins, side="right") - 1]
    constant = np.array([state.store.variables.constant[v] is not None for v in owner.tolist()], bool)
    return _by_tile(state, *_joined(begins[~constant], ends[~constant], state.graph_tiles(device[~constant])))


def _by_tile(state: GraphState, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> TileToTensorMapping:
    """A list of intervals for each tile of the graph; those on tile -1 are left out."""
    out: TileToTensorMapping = [[] for _ in range(state.num_tiles)]
    for begin, end, tile in zip(begins.tolist(), ends.tolist(), tiles.tolist(), strict=True):
        if tile >= 0:
            out[tile].append(Interval(begin, end))
    return out


def map_linearly(state: GraphState, t: Tensor) -> None:
    """Map a tensor to tiles 0, 1, ... by poputil's rule: shares differ by one grain of 8 bytes at the most, and none
    is below 128 bytes unless the tensor is."""
    type_, count = t.elementType(), t.numElements()
    if count == 0:
        return
    ends = linear_shares(count, state.num_tiles, grain(type_), least_elements(type_))
    begins = np.append(np.int64(0), ends[:-1])
    set_intervals(state, t, begins, ends, np.arange(len(ends), dtype=np.int64))


def linear_shares(elements: int, tiles: int, grain_size: int, min_elements: int) -> Int64Array:
    """Where the share of each tile ends when `elements` are spread evenly in whole grains, at least `min_elements` to a
    tile. Where these do not suffice for all tiles, there are fewer ends."""
    grains = -(-elements // grain_size)
    min_grains = max(-(-min_elements // grain_size), 1)
    used = max(min(tiles, grains // min_grains), 1)
    bounds = np.arange(1, used + 1, dtype=np.int64) * grains // used
    return np.minimum(bounds * grain_size, elements)


def grain(type_: Type) -> int:
    """Elements of one 64-bit access: the unit in which elements are divided between tiles."""
    return max(8 // type_.size, 1)


def least_elements(type_: Type) -> int:
    """Elements of the least share of a tile under linear mapping."""
    return -(-MIN_BYTES_PER_TILE // type_.size)


def _described(t: Tensor) -> str:
    names = [t.view.store.variables.name[v] or f"variable {v}" for v in t.view.variables()[:1]]
    return f"The tensor of shape {t.shape()} ({', '.join(names)})"


def _joined(begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Neighbouring intervals on one tile as one."""
    if not len(begins):
        return begins, ends, tiles
    first = np.flatnonzero(np.append(True, (begins[1:] != ends[:-1]) | (tiles[1:] != tiles[:-1])))
    last = np.append(first[1:] - 1, len(begins) - 1)
    return begins[first], ends[last], tiles[first]
