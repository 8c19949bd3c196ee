"""Layout: an address for every allocation.

A tile's memory has two regions: non-interleaved at the bottom, the only one that can hold code, and interleaved above.
Always-live allocations are stacked from the bottom, code first; what must be interleaved is stacked from the border;
what does not fit below the border follows there. What is not always live is placed above, class by class, the largest
first, each at the lowest address of its tile where nothing lies that is live at the same time; all of a class's
allocations on a tile lie together. On random ranges this stays within 1 % of the largest sum of live bytes. Addresses
are multiples of 8 bytes. Memory may be exceeded: that is seen afterwards. (Pairs of operands that want different memory
elements are not modelled.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import CATEGORIES
from simulator.compiler.inventory import CATEGORY_NUMBER, Allocations
from simulator.compiler.liveness import LiveClasses

I8 = npt.NDArray[np.int64]

ALIGNMENT = 8

#: The address of a block on tiles where it has no bytes.
_NOWHERE = 1 << 60

_CODE = (
    "controlCode", "vertexCode", "internalExchangeCode", "hostExchangeCode", "globalExchangeCode", "sharedCodeStorage",
)  # fmt: skip
_ORDER = [*_CODE, "stack", *(c for c in CATEGORIES if c not in (*_CODE, "stack", "constant", "variable"))]
_RANK = np.zeros(len(CATEGORIES), np.int64)
for _position, _name in enumerate([*_ORDER, "constant", "variable"]):
    _RANK[CATEGORY_NUMBER[_name]] = _position


def lay_out(a: Allocations, live: LiveClasses, tiles: int, border: int) -> I8:
    """The address of every allocation. `border` = byte offset at which interleaved memory begins."""
    address = np.zeros(len(a), np.int64)
    stacks = _always_live(a, address, tiles, border)
    _by_liveness(a, live, address, stacks, tiles, border)
    return address


@dataclass
class _Stacks:
    """First free byte per tile, below and above the border."""

    low: I8
    high: I8


def _always_live(a: Allocations, address: I8, tiles: int, border: int) -> _Stacks:
    rows = np.flatnonzero(a.live_class < 0)
    rows = rows[np.lexsort((rows, _RANK[a.category[rows]], a.tile[rows]))]
    forced = a.interleaved[rows]
    low_rows = rows[~forced]
    place, low = _stacked(a, low_rows, np.zeros(tiles, np.int64))
    over = place + a.bytes[low_rows] > border
    address[low_rows] = place
    fits = low_rows[~over]
    low = np.zeros(tiles, np.int64)
    np.maximum.at(low, a.tile[fits], address[fits] + _aligned(a.bytes[fits]))
    high_rows = np.concatenate([rows[forced], low_rows[over]])
    high_rows = high_rows[np.argsort(a.tile[high_rows], kind="stable")]
    address[high_rows], high = _stacked(a, high_rows, np.full(tiles, border, np.int64))
    return _Stacks(low, high)


def _stacked(a: Allocations, rows: I8, base: I8) -> tuple[I8, I8]:
    """Addresses of rows sorted by tile, one on top of the other from `base`; and the first free byte per tile."""
    size, tile = _aligned(a.bytes[rows]), a.tile[rows]
    end = np.cumsum(size)
    total = np.bincount(tile, weights=size, minlength=len(base)).astype(np.int64)
    before = np.cumsum(total) - total
    return base[tile] + end - size - before[tile], base + total


def _by_liveness(a: Allocations, live: LiveClasses, address: I8, stacks: _Stacks, tiles: int, border: int) -> None:
    rows = np.flatnonzero(a.live_class >= 0)
    if len(rows) == 0:
        return
    begin, end = live.hulls()
    block = a.live_class[rows] * 2 + a.interleaved[rows]
    order = np.lexsort((rows, a.tile[rows], block))
    rows, block = rows[order], block[order]
    found, first = np.unique(block, return_index=True)
    last = np.append(first[1:], len(rows))
    size = np.zeros((len(found), tiles), np.int64)
    inside = np.empty(len(rows), np.int64)
    for number, (i, j) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        inside[i:j], size[number] = _stacked(a, rows[i:j], np.zeros(tiles, np.int64))
    kind, example = _kinds_of_tiles(size, stacks)
    shelf = _Shelf(
        _Stacks(stacks.low[example], stacks.high[example]), border, begin[found // 2], end[found // 2], found % 2 == 1
    )
    base = shelf.place_all(size[:, example])
    row_block = np.repeat(np.arange(len(found)), last - first)
    address[rows] = base[row_block, kind[a.tile[rows]]] + inside


def _kinds_of_tiles(size: I8, stacks: _Stacks) -> tuple[I8, I8]:
    """Tiles with the same blocks and the same room get the same layout: (kind of each tile, a tile of each kind)."""
    columns = np.ascontiguousarray(np.concatenate([size, stacks.low[None], stacks.high[None]]).T)
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(column.tobytes(), len(kinds)) for column in columns], np.int64)
    _, example = np.unique(kind, return_index=True)
    return kind, example


class _Shelf:
    """Blocks with an address and a top per tile; block i is live in [begin[i], end[i])."""

    def __init__(self, stacks: _Stacks, border: int, begin: I8, end: I8, interleaved: npt.NDArray[np.bool_]) -> None:
        shape = (len(begin), len(stacks.low))
        self._stacks = stacks
        self._border = border
        self._begin, self._end, self._interleaved = begin, end, interleaved
        self._placed = np.zeros(len(begin), np.bool_)
        self._address = np.empty(shape, np.int64)
        self._top = np.empty(shape, np.int64)

    def place_all(self, size: I8) -> I8:
        """Place every block, the largest sum over tiles first; returns addresses, (blocks, tiles)."""
        addresses = np.zeros_like(size)
        for block in np.lexsort((self._begin, -size.sum(axis=1))).tolist():
            addresses[block] = self._place(block, size[block])
        return addresses

    def _place(self, block: int, size: I8) -> I8:
        meets = self._placed & (self._begin < self._end[block]) & (self._end > self._begin[block])
        address, top = self._address[meets], self._top[meets]
        order = np.argsort(address, axis=0, kind="stable")
        shelf = list(zip(np.take_along_axis(address, order, 0), np.take_along_axis(top, order, 0), strict=True))
        if self._interleaved[block]:
            found = _lowest(shelf, size, self._stacks.high)
        else:
            found = _lowest(shelf, size, self._stacks.low)
            over = found + size > self._border
            if over.any():
                found = np.where(over, _lowest(shelf, size, self._stacks.high), found)
        self._placed[block] = True
        self._address[block] = np.where(size > 0, found, _NOWHERE)
        self._top[block] = np.where(size > 0, found + size, 0)
        return found


def _lowest(shelf: list[tuple[I8, I8]], size: I8, base: I8) -> I8:
    """The lowest address from `base` on with room for `size` bytes on each tile; `shelf` is sorted by address."""
    free = base.copy()
    found = np.zeros(len(size), np.bool_)
    for address, top in shelf:
        found |= address - free >= size
        np.maximum(free, top, out=free, where=~found)
    return free


def _aligned(size: I8) -> I8:
    return np.asarray(-(-size // ALIGNMENT) * ALIGNMENT, dtype=np.int64)
