"""Where tensors and vertices live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import invalid_tile_mapping
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import Interval
from simulator.graph.objects import VertexRef
from simulator.graph.tensor import Tensor
from simulator.graph.tile_mapping import merged
from simulator.programming.state import GraphState

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

#: Grain of a linear mapping: at least so many bytes on a tile (poputil's default).
LINEAR_MIN_BYTES = 128


class MappingMethods(GraphState):
    @overload
    def setTileMapping(self, v: VertexRef, tileNum: int) -> None: ...
    @overload
    def setTileMapping(self, t: Tensor, tileNum: int) -> None: ...
    @overload
    def setTileMapping(self, t: Tensor, mapping: Sequence[Sequence[tuple[int, int]]]) -> None: ...
    def setTileMapping(  # type: ignore[misc]  # names are those of the overloads
        self, what: Any = None, where: Any = None, /, **names: Any
    ) -> None:
        """Put a vertex or a tensor on a tile, or a tensor's flattened intervals on tiles (a list per tile).

        A later call wins. Raises `invalid_tile_mapping` for tiles that the graph does not have, and for intervals
        outside the tensor or covering an element twice."""
        if names or where is None:
            what, where = _SET.choose([v for v in (what, where) if v is not None], names)[1].values()
        if isinstance(what, VertexRef):
            builder = what.builder
            if builder.store is not self.store:
                self._own_vertex(what, "setTileMapping")
            builder.set_tile(what.row, self._device_tile(where))
            return
        self._own(what, "setTileMapping")
        if isinstance(where, (int, np.integer)):
            self._map_to_one(what, self._device_tile(int(where)))
            return
        try:
            rows = [(i[0], i[1], tile) for tile, intervals in enumerate(where) for i in intervals]
            begins, ends, tiles = np.array(rows, np.int64).reshape(-1, 3).T
        except (TypeError, IndexError, ValueError):
            raise invalid_tile_mapping(
                f"{where!r:.60} is neither a tile number nor a list of (begin, end) intervals for each tile."
            ) from None
        self.setTileMappingIntervals(what, begins, ends, tiles)

    def _map_to_one(self, t: Tensor, tile: int) -> None:
        variables = self.store.variables
        v = t.view.variable
        if t.view.strides is not None and t.isContiguous():
            begin, n = t.view.start - variables.base[v], t.numElements()
            if n == variables.numel[v]:
                variables.mapping[v] = (np.array([n], np.int64), np.array([tile], np.int64))
                variables.pending_mapping.pop(v, None)
            else:
                variables.pending_mapping.setdefault(v, []).append((begin, begin + n, tile))
            return
        starts, lengths = t.regions()
        self._note_writes(starts, lengths, np.full(len(starts), tile, np.int64))

    def _note_writes(self, starts: Int64Array, lengths: Int64Array, tiles: Int64Array) -> None:
        """Write regions of the element space, each with its tile, to the tables of their variables."""
        pending = self.store.variables.pending_mapping
        owner = self.store.variable_of(starts)
        begins = starts - self.store.bases()[owner]
        order = np.argsort(owner, kind="stable")
        variables, first = np.unique(owner[order], return_index=True)
        for v, rows in zip(variables.tolist(), np.split(order, first[1:]), strict=True):
            pending.setdefault(v, []).append((begins[rows], begins[rows] + lengths[rows], tiles[rows]))

    def setTileMappingIntervals(self, t: Tensor, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> None:
        """`setTileMapping` by columns: flattened interval i, [begins[i], ends[i]), goes to tiles[i]."""
        count = t.numElements()
        begins, ends, tiles = (np.asarray(column, np.int64) for column in (begins, ends, tiles))
        bad = np.flatnonzero((begins < 0) | (ends > count) | (begins > ends))
        if len(bad):
            raise invalid_tile_mapping(
                f"{self._describe(t)} has {count} elements; interval [{begins[bad[0]]}, {ends[bad[0]]}) lies outside."
            )
        order = np.argsort(begins, kind="stable")
        overlap = np.flatnonzero(begins[order][1:] < ends[order][:-1])
        if len(overlap):
            raise invalid_tile_mapping(f"{self._describe(t)}: element {begins[order][1:][overlap[0]]} is mapped twice.")
        device = self._device_tiles(tiles)
        if t.view.strides is not None and t.isContiguous() and len(order):
            b, e = begins[order], ends[order]
            whole = count == self.store.variables.numel[t.view.variable]
            if whole and b[0] == 0 and e[-1] == count and (b[1:] == e[:-1]).all() and (e > b).all():
                self.store.variables.mapping[t.view.variable] = merged(e, device[order])
                self.store.variables.pending_mapping.pop(t.view.variable, None)
                return
        starts, lengths, of = regions.cuts(*t.regions(), begins, ends)
        self._note_writes(starts, lengths, device[of])

    def getTileMappingIntervals(self, t: Tensor) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(begins, ends, tiles): the flattened tensor as runs that are contiguous in memory and on one tile.

        Tiles are those of the device; -1 = unmapped. Nothing is merged across gaps in memory."""
        self._own(t, "getTileMapping")
        starts, lengths = t.regions()
        owners = self.store.variable_of(starts)
        table_ends, table_tiles = self._table(regions.distinct(owners))
        _, lengths, row = regions.split_by_table(starts, lengths, table_ends)
        ends = np.cumsum(lengths)
        return ends - lengths, ends, table_tiles[row]

    def _table(self, variables: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The mapping tables of some variables, ascending, as one table in element space."""
        parts = [(self.store.mapping_of(v), self.store.variables.base[v]) for v in variables.tolist()]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([ends + base for (ends, _), base in parts]), np.concatenate([t for (_, t), _ in parts])

    @overload
    def getTileMapping(
        self, t: Tensor, requireComplete: bool = True, allowExternal: bool = False
    ) -> TileToTensorMapping: ...
    @overload
    def getTileMapping(
        self, t: Tensor, *, isComplete: bool, allowExternal: bool = False
    ) -> tuple[TileToTensorMapping, bool]: ...
    def getTileMapping(
        self, t: Tensor, requireComplete: bool = True, allowExternal: bool = False, *, isComplete: bool | None = None
    ) -> TileToTensorMapping | tuple[TileToTensorMapping, bool]:
        """For each tile of the graph the intervals of the flattened tensor that it holds. With `isComplete` given, the
        pair of that and whether all elements are mapped.

        Raises `invalid_tile_mapping` when an element is unmapped and `requireComplete` (without `isComplete`), or lies
        on a tile that this virtual graph does not have and not `allowExternal`."""
        if isComplete is not None:
            mapping = self._mapping_of(t, False, allowExternal)
            return mapping, bool((self.getTileMappingIntervals(t)[2] >= 0).all())
        return self._mapping_of(t, requireComplete, allowExternal)

    def _mapping_of(self, t: Tensor, requireComplete: bool, allowExternal: bool) -> TileToTensorMapping:
        begins, ends, device = self.getTileMappingIntervals(t)
        begins, ends, device = _joined(begins, ends, device)
        unmapped = np.flatnonzero(device < 0)
        if requireComplete and len(unmapped):
            raise invalid_tile_mapping(
                f"{self._describe(t)} is not mapped: element {begins[unmapped[0]]} has no tile; call setTileMapping."
            )
        tiles = self._graph_tiles(device)
        outside = np.flatnonzero((tiles < 0) & (device >= 0))
        if not allowExternal and len(outside):
            raise invalid_tile_mapping(
                f"{self._describe(t)} lies on tile {device[outside[0]]} of the device, outside this virtual graph."
            )
        out: TileToTensorMapping = [[] for _ in range(self._num_tiles)]
        for begin, end, tile in zip(begins.tolist(), ends.tolist(), tiles.tolist(), strict=True):
            if tile >= 0:
                out[tile].append(Interval(begin, end))
        return out

    def getVariableTileMapping(self, t: Tensor) -> TileToTensorMapping:
        """`getTileMapping` without the elements that are constants; elements without a tile are left out."""
        begins, ends, device = self.getTileMappingIntervals(t)
        starts, lengths = t.regions()
        position = np.cumsum(lengths) - lengths
        owner = self.store.variable_of(starts)[np.searchsorted(position, begins, side="right") - 1]
        constant = np.array([self.store.variables.constant[v] is not None for v in owner.tolist()], bool)
        begins, ends, tiles = _joined(begins[~constant], ends[~constant], self._graph_tiles(device[~constant]))
        out: TileToTensorMapping = [[] for _ in range(self._num_tiles)]
        for begin, end, tile in zip(begins.tolist(), ends.tolist(), tiles.tolist(), strict=True):
            if tile >= 0:
                out[tile].append(Interval(begin, end))
        return out

    def _graph_tiles(self, device: Int64Array) -> Int64Array:
        """Tiles of this graph for tiles of the device; -1 where it does not have them."""
        if self._tiles is None:
            return device
        back = np.full(max(int(self._tiles.max()), int(device.max(initial=-1))) + 2, -1, np.int64)
        back[self._tiles] = np.arange(len(self._tiles))
        return back[device]  # device -1 reads the last entry, which is -1

    def _map_linearly(self, t: Tensor) -> None:
        """Equal shares of whole grains in order of tiles: a grain is a vector, a share at least 128 bytes."""
        type_, count = t.elementType(), t.numElements()
        grain = max(1, self._target.getVectorWidth(type_))
        share = -(-count // self._num_tiles)
        share = max(-(-share // grain) * grain, LINEAR_MIN_BYTES // type_.size)
        begins = np.arange(0, count, share, dtype=np.int64)
        self.setTileMappingIntervals(
            t, begins, np.minimum(begins + share, count), np.arange(len(begins), dtype=np.int64)
        )

    def _describe(self, t: Tensor) -> str:
        names = [self.store.variables.name[v] or f"variable {v}" for v in t.view.variables()[:1]]
        return f"The tensor of shape {t.shape()} ({', '.join(names)})"


def _joined(begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Neighbouring intervals on one tile as one."""
    if not len(begins):
        return begins, ends, tiles
    first = np.flatnonzero(np.append(True, (begins[1:] != ends[:-1]) | (tiles[1:] != tiles[:-1])))
    last = np.append(first[1:] - 1, len(begins) - 1)
    return begins[first], ends[last], tiles[first]
