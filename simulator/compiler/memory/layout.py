"""Layout: an address for every allocation.

A tile's memory has two regions: non-interleaved at the bottom, the only one that can hold code, and interleaved above;
both consist of memory elements, each of which serves one access per cycle.

Always-live allocations are stacked from the bottom: code, stacks, what the compiler adds, constants and variables. The
stacks begin at the first element that holds no code, because workers fetch instructions and use their stacks in the
same cycle: published programs whose tiles hold 1.2 KB of code and 3.2 KB of other things end at 16 KiB + 3.2 KB
(published-numbers 6.2). Where a tile is too full for that gap it is closed. What must be interleaved is stacked from
the border; what does not fit below the border follows there.

What is not always live is placed above, block by block, the largest first, each at the lowest address of its tile where
nothing lies that is live at the same time. A block = all allocations on a tile of one class of liveness and one element
group. Blocks of two groups never share a memory element while both are live (`apart`), unless only that makes room. On
random ranges without groups this stays within 1 % of the largest sum of live bytes.

Addresses are multiples of 8 bytes (the data path), of blocks and of what a field wants so of 16 (wide loads). Memory
may be exceeded: that is seen afterwards.
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

#: Bytes of a memory element (published-numbers 1), unless the caller says otherwise.
ELEMENT = 16 * 1024

#: The address of a block on tiles where it has no bytes.
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
class Needs:
    """What variable rows want beyond a place: `group` numbers sets of rows that must not share a memory element with
    another set's (0 = no matter), `wide` = begins at a multiple of 16 bytes. `fixed`: address of what others have
    placed, by (variable row, tile)."""

    group: Int64Array
    wide: BoolArray
    fixed: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def addresses(self, a: Allocations) -> Int64Array:
        """The fixed address of each allocation, -1 for those that layout places."""
        found = np.full(len(a), -1, np.int64)
        for (variable, tile), address in self.fixed.items():
            mine = (a.variable == variable) & (a.tile == tile) & (a.category == CATEGORY_NUMBER["variable"])
            found[mine] = address
        return found


def taken_by(a: Allocations, fixed: Int64Array, tiles: int, nowhere: int) -> tuple[Int64Array, Int64Array]:
    """(address, top) of each allocation with a fixed address, (allocations, tiles): `nowhere` and 0 on other tiles."""
    rows = np.flatnonzero(fixed >= 0)
    address, top = np.full((len(rows), tiles), nowhere, np.int64), np.zeros((len(rows), tiles), np.int64)
    at = np.arange(len(rows)), a.tile[rows]
    address[at], top[at] = fixed[rows], fixed[rows] + a.bytes[rows]
    return address, top


def check_fixed(a: Allocations, fixed: Int64Array, address: Int64Array, names: Sequence[str]) -> None:
    """Raise link_error where something with a fixed address overlaps what is stacked from the bottom, or another."""
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
    needs: Needs | None = None,
    peak: Int64Array | None = None,
    element: int = ELEMENT,
    low_state: bool = False,
) -> Int64Array:
    """The address of every allocation. `border` = byte offset at which interleaved memory begins; `peak` = most bytes
    per tile that are live at a time besides the always-live ones, 0 if not given; `low_state` = vertex state follows
    the code, before anything else."""
    if needs is None:
        rows = int(a.variable.max(initial=0)) + 1
        needs = Needs(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
    fixed = needs.addresses(a)
    address, taken = fixed.copy(), taken_by(a, fixed, tiles, _NOWHERE)
    group = needs.group[a.variable]
    rank = _RANK[a.category]
    if low_state:
        rank = np.where(a.category == CATEGORY_NUMBER["vertexInstanceState"], _STACK_RANK - 1, rank)
    peak = peak if peak is not None else np.zeros(tiles, np.int64)
    stacks = _always_live(a, rank, address, needs, border, peak, element)
    _in_blocks(a, group, live, address, stacks, border, element, taken)
    return address


@dataclass
class _Stacks:
    """First free byte per tile, below and above the border."""

    low: Int64Array
    high: Int64Array


def _always_live(
    a: Allocations, rank: Int64Array, address: Int64Array, needs: Needs, border: int, peak: Int64Array, element: int
) -> _Stacks:
    """Stack what is always live and of no element group."""
    tiles = len(peak)
    rows = np.flatnonzero((a.live_class < 0) & (needs.group[a.variable] == 0) & (address < 0))
    wide = needs.wide[a.variable]
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
    """What to add to the places of stacked rows: stacks begin at an element without code, wide data at a multiple of
    16. `room` = bytes per tile that may be used."""
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
    """Addresses of rows sorted by tile, one on top of the other from `base`; and the first free byte per tile. Wide
    rows must come before others of their section."""
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
    border: int,
    element: int,
    taken: tuple[Int64Array, Int64Array],
) -> None:
    """Place what is not always live, and always-live rows of element groups, around what is `taken`."""
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
    shelf = _Shelf(
        _Stacks(low[example], high[example]),
        border,
        element,
        begin,
        end,
        found // 2 % groups,
        found % 2 == 1,
        (taken[0][:, example], taken[1][:, example]),
    )
    base = shelf.place_all(size[:, example])
    row_block = np.repeat(np.arange(len(found)), last - first)
    address[rows] = base[row_block, kind[a.tile[rows]]] + inside


def _spans(live: LiveClasses, class_: Int64Array) -> tuple[Int64Array, Int64Array]:
    """First and last position of each class; class -1 is always live."""
    begin, end = live.hulls()
    always = class_ < 0
    if len(begin) == 0:
        return np.zeros(len(class_), np.int64), np.full(len(class_), _NOWHERE)
    at = np.maximum(class_, 0)
    return np.where(always, -1, begin[at]), np.where(always, _NOWHERE, end[at])


def _kinds_of_tiles(size: Int64Array, low: Int64Array, high: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Tiles with the same blocks and the same room get the same layout: (kind of each tile, a tile of each kind)."""
    columns = np.ascontiguousarray(np.concatenate([size, low[None], high[None]]).T)
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(column.tobytes(), len(kinds)) for column in columns], np.int64)
    _, example = np.unique(kind, return_index=True)
    return kind, example


class _Shelf:
    """Blocks with an address and a top per tile; block i is live in [begin[i], end[i])."""

    def __init__(
        self,
        stacks: _Stacks,
        border: int,
        element: int,
        begin: Int64Array,
        end: Int64Array,
        group: Int64Array,
        interleaved: BoolArray,
        taken: tuple[Int64Array, Int64Array],
    ) -> None:
        self._taken = taken
        shape = (len(begin), len(stacks.low))
        self._stacks = stacks
        self._border, self._element = border, element
        self._begin, self._end, self._group, self._interleaved = begin, end, group, interleaved
        self._placed = np.zeros(len(begin), np.bool_)
        self._address = np.empty(shape, np.int64)
        self._top = np.empty(shape, np.int64)

    def place_all(self, size: Int64Array) -> Int64Array:
        """Place every block, the largest sum over tiles first; returns addresses, (blocks, tiles)."""
        addresses = np.zeros_like(size)
        for block in np.lexsort((self._begin, -size.sum(axis=1))).tolist():
            addresses[block] = self._place(block, size[block])
        return addresses

    def _place(self, block: int, size: Int64Array) -> Int64Array:
        meets = self._placed & (self._begin < self._end[block]) & (self._end > self._begin[block])
        address = np.concatenate([self._address[meets], self._taken[0]])
        top = np.concatenate([self._top[meets], self._taken[1]])
        strangers = np.zeros(len(address), np.bool_)
        strangers[: np.count_nonzero(meets)] = (self._group[meets] > 0) & (self._group[meets] != self._group[block])
        found = None
        if self._group[block] and strangers.any():
            found = self._found(block, size, *self._whole_elements(address, top, strangers))
        if found is None or (found + size > self._limit(block)).any():
            packed = self._found(block, size, address, top)
            found = packed if found is None else np.where(found + size > self._limit(block), packed, found)
        self._placed[block] = True
        self._address[block] = np.where(size > 0, found, _NOWHERE)
        self._top[block] = np.where(size > 0, found + size, 0)
        return found

    def _limit(self, block: int) -> int:
        """Where a block that keeps away from others may end: below the border if it began there."""
        return _NOWHERE if self._interleaved[block] else self._border

    def _whole_elements(
        self, address: Int64Array, top: Int64Array, strangers: BoolArray
    ) -> tuple[Int64Array, Int64Array]:
        """Blocks of other groups grown to the elements that they touch; where one has no bytes it stays nowhere."""
        there = strangers[:, None] & (top > 0)
        return (
            np.where(there, address // self._element * self._element, address),
            np.where(there, -(-top // self._element) * self._element, top),
        )

    def _found(self, block: int, size: Int64Array, address: Int64Array, top: Int64Array) -> Int64Array:
        """The lowest address that is free on each tile: below the border where that is possible."""
        order = np.argsort(address, axis=0, kind="stable")
        shelf = list(zip(np.take_along_axis(address, order, 0), np.take_along_axis(top, order, 0), strict=True))
        if self._interleaved[block]:
            return _lowest(shelf, size, self._stacks.high)
        found = _lowest(shelf, size, self._stacks.low)
        over = found + size > self._border
        return np.where(over, _lowest(shelf, size, self._stacks.high), found) if over.any() else found


def _lowest(shelf: list[tuple[Int64Array, Int64Array]], size: Int64Array, base: Int64Array) -> Int64Array:
    """The lowest address from `base` on with room for `size` bytes on each tile; `shelf` is sorted by address."""
    free = base.copy()
    found = np.zeros(len(size), np.bool_)
    for address, top in shelf:
        found |= address - free >= size
        np.maximum(free, top, out=free, where=~found)
    return free


def _aligned(size: Int64Array, to: int = ALIGNMENT) -> Int64Array:
    return np.asarray(-(-size // to) * to, dtype=np.int64)
