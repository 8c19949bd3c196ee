"""Layout: an address for every allocation.

A tile's memory has two regions: non-interleaved at the bottom, the only one that can hold code, and interleaved above.
Both consist of memory elements, each of which serves one access per cycle.

Always-live allocations are stacked from the bottom: code, stacks, overhead, constants and variables. Stacks begin at
the first element without code, because workers fetch instructions and use their stacks in the same cycle: published
programs whose tiles hold 1.2 KB of code and 3.2 KB of other data end at 16 KiB + 3.2 KB (published-numbers 6.2). Tiles
without room for that gap close it. Interleaved allocations are stacked from the region border, followed by those that
do not fit below it.

Other allocations are placed above in blocks, largest first, each at the lowest address of its tile that is free over
its range (first fit). A block consists of all allocations on a tile with the same liveness class and element group.
Blocks of two groups that are live at the same time never share a memory element (`VertexType.apart`), unless nothing
else fits. On random ranges without groups the result is within 1 % of the largest sum of live bytes.

A tile whose blocks end behind its memory is laid out a second time, with blocks across the border: addresses go on
there, and only an allocation that must be interleaved has to lie above it. A large block, such as the message of a
product on a Mk1 tile, else leaves more room unused below the border than it has above.

Addresses are multiples of 8 bytes (the data path); those of blocks and of wide fields multiples of 16 (wide loads).
Layout may exceed the memory; the report shows where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from popvision.formats.profile.model import CATEGORIES
from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import link_error
from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Allocations
from simulator.compiler.memory.liveness import LiveClasses

ALIGNMENT = 8
WIDE_ALIGNMENT = 16

#: Default bytes of a memory element (published-numbers 1).
ELEMENT = 16 * 1024

#: The address of a block on tiles without bytes of it.
_NOWHERE = 1 << 60

CODE_CATEGORIES = (
    "controlCode",
    "vertexCode",
    "internalExchangeCode",
    "hostExchangeCode",
    "globalExchangeCode",
    "sharedCodeStorage",
)
_DATA = ("constant", "variable")
_ORDER = [*CODE_CATEGORIES, "stack", *(c for c in CATEGORIES if c not in (*CODE_CATEGORIES, "stack", *_DATA)), *_DATA]
_RANK = np.zeros(len(CATEGORIES), np.int64)
for _position, _name in enumerate(_ORDER):
    _RANK[CATEGORY_NUMBER[_name]] = _position
_STACK_RANK, _DATA_RANK = len(CODE_CATEGORIES), len(_ORDER) - len(_DATA)


@dataclass(frozen=True)
class LayoutConstraints:
    """Constraints by variable row. Rows of different element groups (`group` > 0) must not share a memory element;
    `wide` rows begin at a multiple of 16 bytes. `fixed`: given addresses by (variable row, tile). `apart`: columns of
    pairs of variables that a vertex accesses in one cycle, from which the groups follow, with those of copies."""

    group: Int64Array
    wide: BoolArray
    fixed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    apart: Sequence[tuple[Int64Array, Int64Array]] = ()

    def addresses(self, a: Allocations) -> Int64Array:
        """The fixed address of each allocation, -1 for none."""
        found = np.full(len(a), -1, np.int64)
        for (variable, tile), address in self.fixed.items():
            mine = (a.variable == variable) & (a.tile == tile) & (a.category == CATEGORY_NUMBER["variable"])
            found[mine] = address
        return found


def fixed_ranges(a: Allocations, fixed: Int64Array, tiles: int, nowhere: int) -> tuple[Int64Array, Int64Array]:
    """(address, top) of allocations with a fixed address, each (allocations, tiles); `nowhere` and 0 on other tiles."""
    rows = np.flatnonzero(fixed >= 0)
    address, top = np.full((len(rows), tiles), nowhere, np.int64), np.zeros((len(rows), tiles), np.int64)
    at = np.arange(len(rows)), a.tile[rows]
    address[at], top[at] = fixed[rows], fixed[rows] + a.bytes[rows]
    return address, top


def check_fixed(a: Allocations, fixed: Int64Array, address: Int64Array, names: Sequence[str]) -> None:
    """Raise link_error for an allocation with a fixed address that overlaps another allocation."""
    for row in np.flatnonzero(fixed >= 0).tolist():
        meets = (a.tile == a.tile[row]) & (address < address[row] + a.bytes[row]) & (address + a.bytes > address[row])
        meets[row] = False
        if meets.any():
            other = int(np.flatnonzero(meets)[0])
            raise link_error(
                f"The {a.bytes[row]} bytes preallocated at address {address[row]} of tile {a.tile[row]} overlap "
                f"'{names[a.name[other]]}', which ends at {address[other] + a.bytes[other]}; place them higher.",
                f"overlap at tile {a.tile[row]}, address {address[row]}",
            )


def lay_out(
    a: Allocations,
    live: LiveClasses,
    tiles: int,
    border: int,
    constraints: LayoutConstraints | None = None,
    peak: Int64Array | None = None,
    element: int = ELEMENT,
    low_state: bool = False,
    capacity: int | None = None,
) -> Int64Array:
    """The address of every allocation. `border` = byte offset at which interleaved memory begins; `peak` = largest sum
    per tile of live bytes that are not always live, default 0; `low_state` = vertex state follows the code directly;
    `capacity` = bytes of a tile, default unbounded."""
    if constraints is None:
        rows = int(a.variable.max(initial=0)) + 1
        constraints = LayoutConstraints(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
    fixed = constraints.addresses(a)
    address, taken = fixed.copy(), fixed_ranges(a, fixed, tiles, _NOWHERE)
    group = constraints.group[a.variable]
    rank = _RANK[a.category]
    if low_state:
        rank = np.where(a.category == CATEGORY_NUMBER["vertexInstanceState"], _STACK_RANK - 1, rank)
    peak = peak if peak is not None else np.zeros(tiles, np.int64)
    stacks = _always_live(a, rank, address, constraints, border, peak, element)
    memory = _Memory(border, _NOWHERE if capacity is None else capacity, element)
    _in_blocks(a, group, live, address, stacks, memory, taken)
    return address


@dataclass(frozen=True)
class _Memory:
    """Byte offsets of a tile's memory: where interleaved memory begins, and the end; bytes of an element."""

    border: int
    capacity: int
    element: int


@dataclass
class _Stacks:
    """First free byte per tile, below and above the border."""

    low: Int64Array
    high: Int64Array


def _always_live(
    a: Allocations,
    rank: Int64Array,
    address: Int64Array,
    constraints: LayoutConstraints,
    border: int,
    peak: Int64Array,
    element: int,
) -> _Stacks:
    """Stack always-live allocations without an element group."""
    tiles = len(peak)
    rows = np.flatnonzero((a.live_class < 0) & (constraints.group[a.variable] == 0) & (address < 0))
    wide = constraints.wide[a.variable]
    rows = rows[np.lexsort((rows, ~wide[rows], rank[rows], a.tile[rows]))]
    forced = a.interleaved[rows]
    low_rows = rows[~forced]
    place, _ = _stacked(a, low_rows, np.zeros(tiles, np.int64), wide)
    place = place + _gaps(a, rank, low_rows, place, wide[low_rows], border - peak, element)
    over = place + a.bytes[low_rows] > border
    address[low_rows] = place
    fits = low_rows[~over]
    low = np.zeros(tiles, np.int64)
    np.maximum.at(low, a.tile[fits], address[fits] + _aligned(a.bytes[fits]))
    high_rows = np.concatenate([rows[forced], low_rows[over]])
    high_rows = high_rows[np.argsort(a.tile[high_rows], kind="stable")]
    address[high_rows], high = _stacked(a, high_rows, np.full(tiles, border, np.int64), wide)
    return _Stacks(low, high)


def _gaps(
    a: Allocations,
    ranks: Int64Array,
    rows: Int64Array,
    place: Int64Array,
    wide: BoolArray,
    room: Int64Array,
    element: int,
) -> Int64Array:
    """Gaps to add to the places of stacked rows: stacks begin at an element without code, wide data at a multiple of
    16. `room` = usable bytes per tile."""
    tile, rank = a.tile[rows], ranks[rows]
    tiles = len(room)
    code, rest, total = (np.zeros(tiles, np.int64) for _ in range(3))
    end = place + _aligned(a.bytes[rows])
    np.maximum.at(total, tile, end)
    np.maximum.at(code, tile[rank < _STACK_RANK], end[rank < _STACK_RANK])
    np.maximum.at(rest, tile[rank < _DATA_RANK], end[rank < _DATA_RANK])
    stack = np.zeros(tiles, np.bool_)
    stack[tile[rank == _STACK_RANK]] = True
    gap = np.where(stack, -code % element, 0)
    gap[total + gap + WIDE_ALIGNMENT > room] = 0
    wants = np.zeros(tiles, np.bool_)
    wants[tile[wide]] = True
    gap_before_data = np.where(wants, -(rest + gap) % WIDE_ALIGNMENT, 0)
    return np.asarray(gap[tile] * (rank >= _STACK_RANK) + gap_before_data[tile] * (rank >= _DATA_RANK), np.int64)


def _stacked(
    a: Allocations, rows: Int64Array, base: Int64Array, wide: BoolArray | None = None
) -> tuple[Int64Array, Int64Array]:
    """(addresses of rows, stacked from `base`; first free byte per tile). Rows are sorted by tile, wide rows first in
    their section."""
    size, tile = _aligned(a.bytes[rows]), a.tile[rows]
    if wide is not None:
        size = np.where(wide[rows], _aligned(size, WIDE_ALIGNMENT), size)
    end = np.cumsum(size)
    total = np.bincount(tile, weights=size, minlength=len(base)).astype(np.int64)
    before = np.cumsum(total) - total
    return base[tile] + end - size - before[tile], base + total


def _in_blocks(
    a: Allocations,
    group: Int64Array,
    live: LiveClasses,
    address: Int64Array,
    stacks: _Stacks,
    memory: _Memory,
    taken: tuple[Int64Array, Int64Array],
) -> None:
    """Place allocations that are not always live, and those of element groups, around the `taken` ranges."""
    rows = np.flatnonzero(((a.live_class >= 0) | (group > 0)) & (address < 0))
    if len(rows) == 0:
        return
    tiles = len(stacks.low)
    groups = int(group.max()) + 1
    class_ = np.maximum(a.live_class[rows], -1) + 1
    block = (class_ * groups + group[rows]) * 2 + a.interleaved[rows]
    order = np.lexsort((rows, a.tile[rows], block))
    rows, block = rows[order], block[order]
    found, first = np.unique(block, return_index=True)
    last = np.append(first[1:], len(rows))
    size = np.zeros((len(found), tiles), np.int64)
    inside = np.empty(len(rows), np.int64)
    for number, (i, j) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        inside[i:j], size[number] = _stacked(a, rows[i:j], np.zeros(tiles, np.int64))
    size = _aligned(size, WIDE_ALIGNMENT)
    low, high = _aligned(stacks.low, WIDE_ALIGNMENT), _aligned(stacks.high, WIDE_ALIGNMENT)
    kind, example = _kinds_of_tiles(np.concatenate([size, *taken]), low, high)
    begin, end = _spans(live, found // 2 // groups - 1)

    def bases_of(kinds: Int64Array, crosses_border: bool) -> Int64Array:
        tile = example[kinds]
        placer = _BlockPlacer(
            _Stacks(low[tile], high[tile]),
            memory,
            crosses_border,
            begin,
            end,
            found // 2 % groups,
            found % 2 == 1,
            (taken[0][:, tile], taken[1][:, tile]),
        )
        return placer.place_all(size[:, tile])

    base = bases_of(np.arange(len(example)), False)
    ends = _ends(base, size[:, example])
    full = np.flatnonzero(ends > memory.capacity)
    if len(full):
        across = bases_of(full, True)
        better = _ends(across, size[:, example[full]]) < ends[full]
        base[:, full[better]] = across[:, better]
    row_block = np.repeat(np.arange(len(found)), last - first)
    address[rows] = base[row_block, kind[a.tile[rows]]] + inside


def _ends(base: Int64Array, size: Int64Array) -> Int64Array:
    """The end of the last block on each tile."""
    return np.asarray(np.where(size > 0, base + size, 0).max(axis=0))


def _spans(live: LiveClasses, class_: Int64Array) -> tuple[Int64Array, Int64Array]:
    """First and last position of each class; class -1 is always live."""
    begin, end = live.hulls()
    always = class_ < 0
    if len(begin) == 0:
        return np.zeros(len(class_), np.int64), np.full(len(class_), _NOWHERE)
    at = np.maximum(class_, 0)
    return np.where(always, -1, begin[at]), np.where(always, _NOWHERE, end[at])


def _kinds_of_tiles(size: Int64Array, low: Int64Array, high: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(kind of each tile, an example tile of each kind). Tiles of one kind have equal blocks and stacks, so the same
    layout."""
    columns = np.ascontiguousarray(np.concatenate([size, low[None], high[None]]).T)
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(column.tobytes(), len(kinds)) for column in columns], np.int64)
    _, example = np.unique(kind, return_index=True)
    return kind, example


class _BlockPlacer:
    """Places blocks by first fit. Block i is live in [begin[i], end[i]). Arrays have a row for each tile, because a
    tile's addresses are sorted for each block."""

    def __init__(
        self,
        stacks: _Stacks,
        memory: _Memory,
        crosses_border: bool,
        begin: Int64Array,
        end: Int64Array,
        group: Int64Array,
        interleaved: BoolArray,
        taken: tuple[Int64Array, Int64Array],
    ) -> None:
        self._taken = tuple(np.ascontiguousarray(part.T) for part in taken)
        shape = (len(stacks.low), len(begin))
        self._stacks = stacks
        self._border, self._element, self._crosses_border = memory.border, memory.element, crosses_border
        self._begin, self._end, self._group, self._interleaved = begin, end, group, interleaved
        self._placed = np.zeros(len(begin), np.bool_)
        self._address = np.full(shape, _NOWHERE, np.int64)
        self._top = np.zeros(shape, np.int64)

    def place_all(self, size: Int64Array) -> Int64Array:
        """Place every block, in descending order of total bytes; returns addresses, (blocks, tiles)."""
        addresses = np.zeros_like(size)
        for block in np.lexsort((self._begin, -size.sum(axis=1))).tolist():
            tiles = np.flatnonzero(size[block])
            addresses[block, tiles] = self._place(block, size[block, tiles], tiles)
        return addresses

    def _place(self, block: int, size: Int64Array, tiles: Int64Array) -> Int64Array:
        """The addresses of a block on the tiles that hold bytes of it."""
        meets = np.flatnonzero(self._placed & (self._begin < self._end[block]) & (self._end > self._begin[block]))
        places = tiles[:, None], meets
        address = np.concatenate([self._address[places], self._taken[0][tiles]], axis=1)
        top = np.concatenate([self._top[places], self._taken[1][tiles]], axis=1)
        other_groups = np.zeros(address.shape[1], np.bool_)
        other_groups[: len(meets)] = (self._group[meets] > 0) & (self._group[meets] != self._group[block])
        lowest = None
        if self._group[block] and other_groups.any():
            lowest = self._lowest_free(block, size, tiles, *self._whole_elements(address, top, other_groups))
        if lowest is None or (lowest + size > self._limit(block)).any():
            packed = self._lowest_free(block, size, tiles, address, top)
            lowest = packed if lowest is None else np.where(lowest + size > self._limit(block), packed, lowest)
        self._placed[block] = True
        self._address[tiles, block] = lowest
        self._top[tiles, block] = lowest + size
        return lowest

    def _limit(self, block: int) -> int:
        """The end of memory for a block of an element group: the border, unless it is interleaved."""
        return _NOWHERE if self._interleaved[block] else self._border

    def _whole_elements(
        self, address: Int64Array, top: Int64Array, other_groups: BoolArray
    ) -> tuple[Int64Array, Int64Array]:
        """(addresses, tops) with blocks of other groups extended to whole elements."""
        there = other_groups & (top > 0)
        return (
            np.where(there, address // self._element * self._element, address),
            np.where(there, -(-top // self._element) * self._element, top),
        )

    def _lowest_free(
        self, block: int, size: Int64Array, tiles: Int64Array, address: Int64Array, top: Int64Array
    ) -> Int64Array:
        """The lowest free address on each tile, below the border if possible."""
        order = np.argsort(address, axis=1)  # the order of equal addresses does not matter: no room is between them
        placed = np.take_along_axis(address, order, 1), np.take_along_axis(top, order, 1)
        if self._interleaved[block]:
            return _lowest(*placed, size, self._stacks.high[tiles])
        lowest = _lowest(*placed, size, self._stacks.low[tiles])
        if self._crosses_border:
            return lowest
        over = lowest + size > self._border
        return np.where(over, _lowest(*placed, size, self._stacks.high[tiles]), lowest) if over.any() else lowest


def _lowest(address: Int64Array, top: Int64Array, size: Int64Array, base: Int64Array) -> Int64Array:
    """The lowest address from `base` on with room for `size` bytes on each tile; the rows of `address` are sorted."""
    free = np.maximum.accumulate(np.concatenate([base[:, None], top], axis=1), axis=1)
    has_room = np.ones(free.shape, np.bool_)  # behind all blocks there is room
    has_room[:, :-1] = address - free[:, :-1] >= size[:, None]
    return np.asarray(free[np.arange(len(free)), has_room.argmax(axis=1)], np.int64)


def _aligned(size: Int64Array, to: int = ALIGNMENT) -> Int64Array:
    return np.asarray(-(-size // to) * to, dtype=np.int64)
