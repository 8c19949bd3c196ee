"""popops.CircBuf: the last tensors of a shape, of which programs add one and read one so many entries ago.

The entries are a dimension of one variable, spread over all tiles in grains of four elements; an index, on tile 0,
says where the newest is. Adding is an increment of the index and a dynamicUpdate; reading computes a place from the
index and is a dynamicSlice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, LibraryGroup
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.described import described_as
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.padding import pad
from simulator.poplibs.popops.slices.dynamic import dynamicSlice, dynamicUpdate
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.runtime.values.kernels import register

#: Elements that stay together: 64 bits of halves.
_GRAIN = 4


class CircBuf:
    """The last `size` tensors of a shape. What was never added is what the memory holds: zeros after load."""

    def __init__(
        self, graph: Graph, dataType: Type, size: int, shape: Sequence[int], debugContext: Context = ""
    ) -> None:
        if size < 1 or prod(shape) < 1:
            raise poplibs_error(f"CircBuf: {size} entries of shape {list(shape)}; give at least one of one element.")
        call = operation(graph, debugContext, "popops", "CircBuf", size=size, shape=list(shape))
        self._graph, self._size, self._shape = graph, size, list(shape)
        grains = -(-prod(shape) // _GRAIN)
        self._padding = grains * _GRAIN - prod(shape)
        self._entries = graph.addVariable(dataType, [grains, size, _GRAIN], (call, "CircBuf"))
        each = size * _GRAIN
        tiles = min(grains, graph.getTarget().getNumTiles())
        ends = np.arange(1, tiles + 1, dtype=np.int64) * grains // tiles * each
        graph.setTileMappingIntervals(self._entries, np.append(0, ends[:-1]), ends, np.arange(tiles))
        self._index = graph.addVariable(UNSIGNED_INT, [1], (call, "CircBufIndex"))
        graph.setInitialValue(self._index, [0])
        graph.setTileMapping(self._index, 0)

    def prev(self, i: int, seq: ProgramSequence, debugContext: Context = "") -> Tensor:
        """The entry that was added `i` additions before the newest. Raises `poplibs_error` unless i < size()."""
        if not 0 <= i < self._size:
            raise poplibs_error(f"CircBuf.prev({i}): the buffer has {self._size} entries, 0 to {self._size - 1} ago.")
        call = operation(self._graph, debugContext, "popops", "CircBuf.prev", i=i)
        place = self._graph.addVariable(UNSIGNED_INT, [1], (call, "Offset"))
        self._graph.setTileMapping(place, 0)
        step = _places(self._graph, self._index, place, self._size, self._size - i, (call, "CircBufPrev"))
        seq.add(LibraryGroup([step], "popops.circularPlace", [self._index], [place], self._attributes(self._size - i)))
        entry = dynamicSlice(self._graph, self._entries, place, [1], [1], seq, (call, "CircBuf")).flatten()
        return entry.slice(0, prod(self._shape), 0).reshape(self._shape)

    def add(self, t: Tensor, seq: ProgramSequence, debugContext: Context = "") -> None:
        """Add a tensor in the place of the oldest entry. Raises `poplibs_error` for another shape or type."""
        if t.shape() != self._shape or t.elementType() is not self._entries.elementType():
            raise poplibs_error(
                f"CircBuf.add: {t.elementType()} of shape {t.shape()}; the buffer holds {self._entries.elementType()} "
                f"of shape {self._shape}."
            )
        call = operation(self._graph, debugContext, "popops", "CircBuf.add", t=t)
        step = _places(self._graph, self._index, None, self._size, 1, (call, "CircBufSet"))
        seq.add(LibraryGroup([step], "popops.circularPlace", [self._index], [self._index], self._attributes(1)))
        padded = pad(self._graph, t.flatten(), [0], [self._padding])
        rows = padded.reshape([self._entries.dim(0), 1, _GRAIN])
        dynamicUpdate(self._graph, self._entries, rows, self._index, [1], [1], seq, (call, "CircBuf"))

    def getIndex(self) -> Tensor:
        """Where the newest entry is."""
        return self._index

    def size(self) -> int:
        """The number of entries."""
        return self._size

    def _attributes(self, offset: int) -> dict[str, int]:
        return {"size": self._size, "offset": offset}


def _places(graph: Graph, index: Tensor, out: Tensor | None, size: int, offset: int, name: Context) -> Execute:
    """A compute set that increments the index, or computes a place from it."""
    cs = graph.addComputeSet(name)
    if out is None:
        graph.addVertices(cs, _INCREMENT, [0], {"index": index}, {"hSize": size})
    else:
        graph.addVertices(cs, _OFFSET, [0], {"indexIn": index, "indexOut": out}, {"hSize": size, "offset": offset})
    return Execute(cs)


@register("popops.circularPlace")
def _place_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    outputs[0][...] = (inputs[0].astype(np.int64) + attributes["offset"]) % attributes["size"]


def _increment(vertex: Any) -> None:
    vertex.index[...] = (int(vertex.index) + 1) % int(vertex.hSize)


def _offset(vertex: Any) -> None:
    vertex.indexOut[...] = (int(vertex.indexIn) + int(vertex.offset)) % int(vertex.hSize)


def _type(name: str, fields: tuple[FieldSpec, ...], compute: Any, spent: int) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        source = described_as("PopLibs' public estimators of popops", cycles.circular_place)
        return BlockCosts(np.full(len(block), spent, np.int64), "exact", source)

    return VertexType(name, "worker", fields, costs, compute, doc="the place in a circular buffer")


_SIZE = FieldSpec("hSize", "value", "", UNSIGNED_INT)
_INCREMENT = _type(
    "popops::CircBufIncrIndex",
    (FieldSpec("index", "scalar", "inout", UNSIGNED_INT), _SIZE),
    _increment,
    cycles.circular_place(False),
)
_OFFSET = _type(
    "popops::CircOffset",
    (
        FieldSpec("indexIn", "scalar", "in", UNSIGNED_INT),
        FieldSpec("indexOut", "scalar", "out", UNSIGNED_INT),
        _SIZE,
        FieldSpec("offset", "value", "", UNSIGNED_INT),
    ),
    _offset,
    cycles.circular_place(True),
)
