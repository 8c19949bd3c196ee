"""The arena: the values of all variables in one block of bytes, a row per replica; and places within a row.

A place is a tensor as the runtime sees it: a strided window of the arena if possible, which is read without a copy,
else a box, a window whose axes are split (`boxes`), else a precomputed list of item numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision import pvti
from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.types import numpy_type
from simulator.codelets.compiled.runner import SharedBytes
from simulator.codelets.compiled.session import Session
from simulator.runtime.values.boxes import Box, box_of_loops, box_of_runs

if TYPE_CHECKING:
    from simulator.codelets.compiled.linking import Program
    from simulator.graph.store import GraphStore
    from simulator.graph.tensor import Tensor
    from simulator.runtime.values.temporaries import Temporaries


_channel = pvti.channel("Poplar Runtime")

#: Alignment of variables, so that every item type can index the arena and vector loads are aligned.
_ALIGNMENT = 64


class ArenaLayout:
    """The place of each variable. Items of a type are numbered from the beginning of the arena.

    Of the groups of `temporaries`, each shares the memory of its first, which is the largest."""

    def __init__(self, store: GraphStore, temporaries: Temporaries | None = None) -> None:
        shared = [] if temporaries is None else temporaries.groups
        self._orders = {} if temporaries is None else temporaries.orders
        v = store.variables
        self._bases = np.array(v.base, np.int64)
        self._item_bytes = np.array([t.size for t in v.type], np.int64)
        size = -(-np.array(v.numel, np.int64) * self._item_bytes // _ALIGNMENT) * _ALIGNMENT
        for group in shared:
            size[group[1:]] = 0
        self._offsets = np.cumsum(size) - size
        for group in shared:
            self._offsets[group] = self._offsets[group[0]]
        self.total_bytes = int(size.sum())
        self.replicas = store.replicas
        self.initial: list[tuple[int, AnyArray]] = []  #: (byte offset, values) of constants and initial values
        #: (byte offset, values by replica) of initial values that differ between replicas
        own = self.items(np.array([*v.by_replica], np.int64)).tolist()
        self.by_replica = [(4 * at, np.array(w, np.uint32)) for at, w in zip(own, v.by_replica.values(), strict=True)]
        for variable, (constant, initial) in enumerate(zip(v.constant, v.initial, strict=True)):
            offset, item = int(self._offsets[variable]), int(self._item_bytes[variable])
            if constant is not None:
                self.initial.append((offset, np.ascontiguousarray(constant).copy()))
            self.initial += [(offset + first * item, values) for first, values in initial]

    def byte_offset(self, variable: int) -> int:
        """The byte offset of a variable."""
        return int(self._offsets[variable])

    def items(self, starts: Int64Array) -> Int64Array:
        """The item numbers of elements of the element space; a region's items are consecutive."""
        if len(starts) == 0:
            return starts
        ends = np.array([starts.min(), starts.max()])
        first, last = np.searchsorted(self._bases, ends, side="right") - 1
        if first == last:
            return np.asarray(starts + (self._offsets[first] // self._item_bytes[first] - self._bases[first]))
        variable = np.searchsorted(self._bases, starts, side="right") - 1
        return np.asarray(
            self._offsets[variable] // self._item_bytes[variable] + starts - self._bases[variable], dtype=np.int64
        )

    def place(self, tensor: Tensor) -> Place:
        """The place of a tensor."""
        dtype = numpy_type(tensor.elementType())
        shape = tuple(tensor.shape())
        variables = tensor.view.variables() if self._orders else []
        if any(v in self._orders for v in variables):
            return self._ordered_place(tensor, variables, dtype, shape)
        strided = tensor.strided()
        if strided is not None:
            variable, offset, strides = strided
            begin = self.byte_offset(variable) + offset * dtype.itemsize
            return Place(dtype, shape, begin, tuple(s * dtype.itemsize for s in strides), None)
        starts, lengths = tensor.regions()
        return _place_of_runs(dtype, shape, self.items(starts), lengths)

    def _ordered_place(
        self, tensor: Tensor, variables: list[int], dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> Place:
        """The place of a tensor with elements of variables that have their own order."""
        starts, lengths = tensor.regions()
        base = int(self._bases[variables[0]])
        if len(variables) == 1 and len(starts) == 1 and int(starts[0]) == base:
            order = self._orders[variables[0]]
            if prod(order.sizes) == int(lengths[0]):
                box = box_of_loops(list(zip(order.sizes, order.steps, strict=True)), shape)
                if box is not None:
                    return _place_of_box(dtype, shape, int(self.items(starts)[0]), box)
        rows = gcd(*(self._orders[variable].row for variable in variables if variable in self._orders))
        starts, lengths = self._cut_at_rows(starts, lengths, rows)
        items = np.empty_like(starts)
        owner = np.searchsorted(self._bases, starts, side="right") - 1 if len(variables) > 1 else None
        for variable in variables:
            mine = slice(None) if owner is None else owner == variable
            inside = starts[mine] - self._bases[variable]
            if variable in self._orders:
                row, place = np.divmod(inside, rows)
                inside = self._orders[variable].places(rows)[row] + place
            items[mine] = inside + self._offsets[variable] // self._item_bytes[variable]
        return _place_of_runs(dtype, shape, *regions.merged(items, lengths))

    def _cut_at_rows(self, starts: Int64Array, lengths: Int64Array, row: int) -> regions.Regions:
        """Regions cut at each multiple of `row` elements from the first of their variable."""
        if row == 1:
            elements = regions.elements(starts, lengths)
            return elements, np.ones_like(elements)
        variable = np.searchsorted(self._bases, starts, side="right") - 1
        inside = starts - self._bases[variable]
        first, last = inside // row, (inside + lengths - 1) // row
        count = last - first + 1
        region = np.repeat(np.arange(len(starts)), count)
        number = np.arange(len(region)) - np.repeat(np.cumsum(count) - count, count) + first[region]
        begin = np.maximum(inside[region], number * row)
        end = np.minimum((inside + lengths)[region], (number + 1) * row)
        return self._bases[variable[region]] + begin, end - begin


@dataclass(frozen=True)
class Place:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int  #: byte offset of the first element of a strided window or a box
    strides: tuple[int, ...]  #: bytes, by dimension of the window or the box
    items: Int64Array | None  #: item numbers in flattened order, None for a strided window or a box
    box: Box | None = None

    @property
    def is_window(self) -> bool:
        """Whether the arena holds the tensor as a strided array."""
        return self.items is None and self.box is None


def _place_of_runs(dtype: np.dtype[Any], shape: tuple[int, ...], firsts: Int64Array, lengths: Int64Array) -> Place:
    """The place of a tensor whose flattened elements are these runs of items."""
    length = int(np.gcd.reduce(lengths)) if len(lengths) else 1
    if (lengths != length).any():
        count = lengths // length
        before = np.repeat(np.cumsum(count) - count, count)
        firsts = np.repeat(firsts, count) + (np.arange(len(before)) - before) * length
        lengths = np.full(len(firsts), length)
    box = box_of_runs(firsts, length, shape)
    if box is not None:
        return _place_of_box(dtype, shape, int(firsts[0]), box)
    return Place(dtype, shape, 0, (), firsts if length == 1 else regions.elements(firsts, lengths))


def _place_of_box(dtype: np.dtype[Any], shape: tuple[int, ...], first: int, box: Box) -> Place:
    plain = box.plain_strides()
    strides = box.strides if plain is None else plain
    in_bytes = tuple(step * dtype.itemsize for step in strides)
    return Place(dtype, shape, first * dtype.itemsize, in_bytes, None, box if plain is None else None)


class Rows:
    """A matrix whose elements lie scattered in the arena, read and written by row numbers as an array would be:
    `rows[numbers]` copies, `rows[numbers] = values` stores."""

    def __init__(self, flat: AnyArray, items: Int64Array) -> None:
        self._flat, self._items = flat, items
        self.shape, self.dtype = items.shape, flat.dtype

    def __getitem__(self, numbers: Int64Array) -> AnyArray:
        return np.asarray(self._flat[self._items[numbers]])

    def __setitem__(self, numbers: Int64Array, values: AnyArray) -> None:
        self._flat[self._items[numbers]] = values


class Arena:
    """The bytes of one replica. `memory`, its row, must be zero; constants and initial values are written into it, from
    the host or from the replica `loaded`. `session`: the process of compiled codelets that shares the memory."""

    def __init__(
        self,
        layout: ArenaLayout,
        memory: AnyArray,
        replica: int,
        session: Session | None = None,
        loaded: Arena | None = None,
    ) -> None:
        self.replica = replica
        self.session = session
        self.offset = replica * layout.total_bytes  #: of the row within the memory of all replicas
        self._bytes = memory
        self._flat: dict[np.dtype[Any], AnyArray] = {}
        own = [(offset, values[replica : replica + 1]) for offset, values in layout.by_replica]
        if loaded is None:
            with pvti.Tracepoint(_channel, "poplar::core::loadFromHost"):
                self._take(layout.initial)
        else:
            with pvti.Tracepoint(_channel, "poplar::core::loadFromReplica"):
                for offset, values in layout.initial:
                    self._bytes[offset : offset + values.nbytes] = loaded._bytes[offset : offset + values.nbytes]
        self._take(own)

    def _take(self, initial: Sequence[tuple[int, AnyArray]]) -> None:
        for offset, values in initial:
            raw = values.view(np.uint8).reshape(-1)
            self._bytes[offset : offset + len(raw)] = raw

    def flat(self, dtype: np.dtype[Any]) -> AnyArray:
        """The whole arena as items of a type."""
        if dtype not in self._flat:
            self._flat[dtype] = self._bytes.view(dtype)
        return self._flat[dtype]

    def window(self, place: Place) -> AnyArray:
        """The view of a strided place, or of a box with its axes split."""
        shape = place.shape if place.box is None else place.box.sizes
        return np.ndarray(shape, place.dtype, self._bytes.data, place.begin, place.strides)

    def view(self, place: Place, sizes: tuple[int, ...], strides: tuple[int, ...]) -> AnyArray:
        """A place that is no list, with other dimensions; strides in bytes."""
        return np.ndarray(sizes, place.dtype, self._bytes.data, place.begin, strides)

    def reader(self, place: Place) -> Callable[[], AnyArray]:
        """A function that reads a place: a view of a strided place, else a new array. That of a box has the axes in
        memory as they lie in the arena, which makes the longest runs."""
        if place.is_window:
            window = self.window(place)
            return lambda: window
        if place.box is None:
            return partial(self.read, place)
        box = place.box
        sorted_view = self.window(place).transpose(box.dimensions(box.order))
        shape = tuple(place.shape[axis] for axis in box.order)
        back = tuple(box.order.index(axis) for axis in range(len(shape)))
        return lambda: sorted_view.reshape(shape).transpose(back)

    def read(self, place: Place) -> AnyArray:
        """The values: a view of a strided place, else a new array."""
        if place.is_window:
            return self.window(place)
        if place.items is None:
            return self.reader(place)()
        # the mode "wrap" skips the check of bounds, which takes as long as the copy
        return self.flat(place.dtype).take(place.items, mode="wrap").reshape(place.shape)

    def rows(self, place: Place) -> Rows:
        """The rows of a scattered matrix."""
        items = place.items
        if items is None:
            assert place.box is not None
            items = place.box.items(place.begin // place.dtype.itemsize)
        return Rows(self.flat(place.dtype), items.reshape(place.shape))

    def write(self, place: Place, values: AnyArray) -> None:
        """Store values of the place's shape, or flattened."""
        if place.items is None:
            window = self.window(place)
            window[...] = values.reshape(window.shape)
        else:
            self.flat(place.dtype)[place.items] = values.reshape(-1)


def arenas(layout: ArenaLayout, codelets: Program | None = None, autoload: bool = False) -> list[Arena]:
    """The arenas of all replicas in their initial state: rows of one block, shared with the process of `codelets`.
    `autoload`: the host loads the first; the others copy it."""
    session = None
    if codelets is None:
        block: AnyArray = np.zeros((layout.replicas, layout.total_bytes), np.uint8)
    else:
        shared = SharedBytes(layout.replicas * layout.total_bytes)
        session = Session(codelets, shared)
        size = layout.replicas * layout.total_bytes  # may be 0: vertices may have no fields
        block = shared.memory[:size].reshape(layout.replicas, layout.total_bytes)
    made: list[Arena] = []
    for replica, row in enumerate(block):
        made.append(Arena(layout, row, replica, session, made[0] if autoload and made else None))
    return made
