"""Map tensors to the tiles that use them.

A use is a region with a tile. Elements with the same set of using tiles are spread evenly over that set, in whole
grains and with a least share per tile.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.building.mapping import grain, linear_shares, map_regions
from simulator.graph.debug_context import Context
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor
from simulator.poplibs.poputil.exceptions import poplibs_error

TileSet = tuple[int, ...]


class TensorUseTracker:
    """Collects which tiles use which elements, and maps the elements accordingly."""

    class MappingMethod(Enum):
        #: a piece used by several tiles goes to one tile where its neighbours are used by some of these only
        OptimizeHaloRegions = "optimize halo regions"
        #: only tiles that use an element may hold it, even where that divides grains
        ConstrainMappingToUsedTiles = "constrain mapping to used tiles"
        None_ = "none"

    def __init__(self, numTiles: int) -> None:
        self.numTiles = numTiles
        self._uses: list[tuple[Int64Array, Int64Array, int]] = []
        self._resolved: list[tuple[int, int, int]] | None = None

    def add(self, *what: object) -> None:
        """`add(graph, tile, t)`: the tile uses the tensor. `add(other)`: all uses of another tracker."""
        self._resolved = None
        if len(what) == 1 and isinstance(what[0], TensorUseTracker):
            self._uses += what[0]._uses
            return
        graph, tile, tensor = what
        assert isinstance(graph, Graph)
        assert isinstance(tensor, Tensor)
        assert isinstance(tile, int)
        if not 0 <= tile < self.numTiles:
            raise poplibs_error(f"TensorUseTracker: there is no tile {tile}; it was made for {self.numTiles} tiles.")
        self._uses.append((*tensor.regions(), tile))

    def empty(self) -> bool:
        return not any(len(starts) for starts, _, _ in self._uses)

    def resolve(
        self,
        graph: Graph,
        grainSize: int,
        minElementsPerTile: int,
        extendPartialUsage: bool = False,
        mappingMethod: MappingMethod = MappingMethod.None_,
    ) -> None:
        """Choose one tile for each used element. With `extendPartialUsage` the other elements of the same variables get
        the tile of the used element before them (or after them, at the beginning)."""
        pieces = _pieces(graph.store, self._uses)
        if extendPartialUsage:
            pieces = _extended(graph.store, pieces)
        if mappingMethod is TensorUseTracker.MappingMethod.OptimizeHaloRegions:
            pieces = _halos_settled(pieces)
        if mappingMethod is not TensorUseTracker.MappingMethod.ConstrainMappingToUsedTiles:
            pieces = _whole_grains(graph.store, pieces, grainSize)
        groups: dict[TileSet, list[tuple[int, int]]] = {}
        for begin, end, tiles in pieces:
            groups.setdefault(tiles, []).append((begin, end))
        self._resolved = []
        for tiles, intervals in groups.items():
            self._resolved += _spread(intervals, tiles, grainSize, minElementsPerTile)

    def mapTensorsByUse(
        self,
        graph: Graph,
        grainSize: int,
        minElementsPerTile: int,
        extendPartialUsage: bool = False,
        mappingMethod: MappingMethod = MappingMethod.None_,
    ) -> None:
        """`resolve`, then set the tile mapping of the variables accordingly."""
        self.resolve(graph, grainSize, minElementsPerTile, extendPartialUsage, mappingMethod)
        rows = np.array(self._resolved or [], np.int64).reshape(-1, 3)
        if len(rows):
            map_regions(graph.store, rows[:, 0], rows[:, 1] - rows[:, 0], graph.state.device_tiles(rows[:, 2]))


Piece = tuple[int, int, TileSet]


def _pieces(store: GraphStore, uses: list[tuple[Int64Array, Int64Array, int]]) -> list[Piece]:
    """Runs of elements with the tiles that use them, in order."""
    if not uses:
        return []
    starts = np.concatenate([u[0] for u in uses])
    ends = starts + np.concatenate([u[1] for u in uses])
    tiles = np.repeat([u[2] for u in uses], [len(u[0]) for u in uses])
    table = np.unique(np.concatenate([starts, ends]))
    first, last = np.searchsorted(table, starts), np.searchsorted(table, ends)
    piece = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
    pairs = np.unique(np.stack([piece, np.repeat(tiles, last - first)]), axis=1)
    number, offset = np.unique(pairs[0], return_index=True)
    sets = [tuple(part.tolist()) for part in np.split(pairs[1], offset[1:])]
    variable = store.variable_of(table[number])
    out: list[Piece] = []
    previous = -1
    for i, users, v in zip(number.tolist(), sets, variable.tolist(), strict=True):
        begin, end = int(table[i]), int(table[i + 1])
        if out and out[-1][1] == begin and out[-1][2] == users and v == previous:
            out[-1] = (out[-1][0], end, users)
        else:
            out.append((begin, end, users))
        previous = v
    return out


def _extended(store: GraphStore, pieces: list[Piece]) -> list[Piece]:
    by_variable: dict[int, list[Piece]] = {}
    for piece in pieces:
        by_variable.setdefault(int(store.variable_of(np.array([piece[0]]))[0]), []).append(piece)
    out: list[Piece] = []
    for v, mine in by_variable.items():
        begins = [store.variables.base[v], *[p[0] for p in mine[1:]]]
        ends = [*[p[0] for p in mine[1:]], store.variables.base[v] + store.variables.numel[v]]
        out += [(begin, end, p[2]) for begin, end, p in zip(begins, ends, mine, strict=True)]
    return out


def _halos_settled(pieces: list[Piece]) -> list[Piece]:
    out = list(pieces)
    for i in range(1, len(pieces) - 1):
        begin, end, users = pieces[i]
        around = [pieces[i - 1], pieces[i + 1]]
        touching = around[0][1] == begin and around[1][0] == end
        if len(users) > 1 and touching and all(set(p[2]) < set(users) for p in around):
            out[i] = (begin, end, around[0][2][:1])
    return out


def _whole_grains(store: GraphStore, pieces: list[Piece], grain_size: int) -> list[Piece]:
    """Move the border between adjacent pieces up to the next whole grain of the variable."""
    out: list[Piece] = []
    for begin, end, users in pieces:
        if out and out[-1][1] >= begin:
            base = int(store.bases()[store.variable_of(np.array([begin]))[0]])
            if begin > base:
                begin = min(base + -(-(begin - base) // grain_size) * grain_size, end)
                out[-1] = (out[-1][0], max(begin, out[-1][1]), out[-1][2])
        if begin < end:
            out.append((begin, end, users))
    return out


def _spread(
    intervals: list[tuple[int, int]], tiles: TileSet, grain_size: int, least: int
) -> list[tuple[int, int, int]]:
    ends = linear_shares(sum(e - b for b, e in intervals), len(tiles), grain_size, least).tolist()
    out, place, share = [], 0, 0
    for begin, end in intervals:
        while begin < end:
            while place >= ends[share]:
                share += 1
            step = min(end - begin, ends[share] - place)
            out.append((begin, begin + step, tiles[share]))
            begin, place = begin + step, place + step
    return out


def createBroadcastOperand(
    graph: Graph,
    fullTensor: Tensor,
    type: Type,
    dim: int,
    ditherMapping: bool = False,
    debugContext: Context = "",
) -> Tensor:
    """A vector as long as dimension `dim` of a tensor. Each element is on one of the tiles that hold the elements it
    will meet. With `ditherMapping` all of it moves by as many tiles as the graph has variables, so that several such
    vectors do not share the first tiles."""
    if not 0 <= dim < fullTensor.rank():
        raise poplibs_error(f"createBroadcastOperand: a tensor of shape {fullTensor.shape()} has no dimension {dim}.")
    out = graph.addVariable(type, [fullTensor.dim(dim)], debugContext)
    begins, ends, device = graph.getTileMappingIntervals(fullTensor.dimRoll(dim).flatten())
    tiles = graph.state.graph_tiles(device)
    count = graph.getTarget().getNumTiles()
    each = max(fullTensor.numElements() // max(fullTensor.dim(dim), 1), 1)
    tracker = TensorUseTracker(count)
    base = int(out.regions()[0][0]) if out.numElements() else 0
    first, last = begins // each, -(-ends // each)
    for tile in np.unique(tiles).tolist():
        mine = tiles == tile
        starts, lengths = regions.merged(*_sorted(base + first[mine], (last - first)[mine]))
        tracker._uses.append((starts, lengths, tile))
    unit = grain(type)
    tracker.resolve(graph, unit, unit)
    shift = len(graph.store.variables.base) % count if ditherMapping else 0
    rows = np.array(tracker._resolved, np.int64).reshape(-1, 3)
    graph.setTileMappingIntervals(out, rows[:, 0] - base, rows[:, 1] - base, (rows[:, 2] + shift) % count)
    return out


def _sorted(starts: Int64Array, lengths: Int64Array) -> tuple[Int64Array, Int64Array]:
    order = np.argsort(starts, kind="stable")
    return starts[order], lengths[order]
